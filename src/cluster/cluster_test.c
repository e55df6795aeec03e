// cluster_test.c: a lead, workers and servers that talk as processes do, here as threads over the transport inproc: the
// bits of a run over threads, several runs one after the other, workers that leave and come late, too few of them, and
// farewells.
#include "base/alloc.h"
#include "base/clock.h"
#include "cluster/cluster.h"
#include "cluster/job.h"
#include "cluster/join.h"
#include "cluster/range_state.h"
#include "fixture.h"
#include "recipe/rows_test.h"
#include "run/work.h"
#include "shards/packed.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 3, SERVERS = 2, VERSIONS = 30, STEPS = 40, BATCH = 60, MOST = 6 };
// Bytes of a message: a job, and what a small run says. Rings of threads have room for each, and take it from the heap.
enum { MESSAGE_MAX = GP_JOB_TEXT_MAX + (1 << 16) };
static char folder[] = "/tmp/advgp-cluster-XXXXXX";

static void make_packed(size_t n, uint64_t seed)
{
    make_table(n, seed, "0.1"); // for the rows; the shards are the packed ones
    advgp_error err;
    gp_source *source = table_source(n);
    gp_split split;
    const gp_pack_options o = {.dir = folder, .n_shards = 12, .seed = seed};
    must(gp_split_parse("0.1", seed, &split, &err), &err);
    rmdir(folder);
    must(gp_pack(source, t.schema, &split, &o, NULL, NULL, NULL, &err), &err);
    gp_source_free(source);
    gp_shards_free(t.shards);
    must(gp_packed_open(folder, &t.shards, NULL, NULL, &err), &err);
}

static void remove_packed(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0) fail_msg("%s", command);
    free_table();
}

// ---- workers --------------------------------------------------------------------------------------------------------

typedef struct process {
    pthread_t thread;
    gp_endpoint *endpoint;
    atomic_bool stop;
    gp_join_options o;
    gp_follower_result result;
    advgp_status status;
    advgp_error error;
} process;

static int stops(void *ctx)
{
    return atomic_load(&((process *)ctx)->stop);
}

static void *be_a_worker(void *arg)
{
    process *m = arg;
    m->status = gp_join(&m->o, &m->result, &m->error);
    m->endpoint->transport->close(m->endpoint);
    return NULL;
}

// By which workers reach a server of a range; its address is its number.
typedef struct hub {
    gp_endpoint *endpoints[MOST + 1];
    atomic_size_t reached;
    gp_join_service service;
} hub;
static hub hubs[SERVERS];

static advgp_status reach(void *ctx, const char *address, const char *key, gp_endpoint **endpoint, size_t *peer,
                          advgp_error *err)
{
    (void)ctx, (void)key, (void)err;
    hub *h = &hubs[address[0] - '0'];
    *endpoint = h->endpoints[1 + atomic_fetch_add(&h->reached, 1)];
    *peer = 0;
    return ADVGP_OK;
}

static void start_as(process *m, gp_endpoint *endpoint, size_t k, const gp_join_service *service)
{
    *m = (process){.endpoint = endpoint};
    m->o = (gp_join_options){.endpoint = endpoint,
                             .service = service,
                             .reach = reach,
                             .name = "host:1",
                             .wish = GP_ANY_WORKER,
                             .random = 1000 + k,
                             .give_up = 30,
                             .stop = stops,
                             .ctx = m};
    assert_int_equal(pthread_create(&m->thread, NULL, be_a_worker, m), 0);
}

static void start(process *m, gp_endpoint *endpoint, size_t k)
{
    start_as(m, endpoint, k, NULL);
}

static void end(process *m, advgp_status expected)
{
    assert_int_equal(pthread_join(m->thread, NULL), 0);
    CHECK(m->status == expected, "a worker", "%s: %s", advgp_status_name(m->status), m->error.text);
}

// ---- the lead -------------------------------------------------------------------------------------------------------

typedef struct team {
    gp_endpoint *endpoints[MOST + 1];
    gp_cluster *cluster;
    process processes[MOST];
    size_t n;
    char said[4096];
} team;

static void hear(void *ctx, const char *text)
{
    team *w = ctx;
    const size_t n = strlen(w->said);
    snprintf(w->said + n, sizeof w->said - n, "%s\n", text);
}

static const gp_lead_options usual = {.workers = WORKERS,
                                      .workers_min = 1,
                                      .workers_max = MOST,
                                      .wait = 20,
                                      .heartbeat = 0.1,
                                      .lost_after = 5,
                                      .stuck_after = 60,
                                      .random = 77};

static void assemble(team *w, size_t n, const gp_lead_options *options)
{
    advgp_error err;
    *w = (team){.n = n};
    must(gp_inproc_open(MOST, MESSAGE_MAX, w->endpoints, &err), &err);
    gp_cluster_options o = {.endpoint = w->endpoints[0], .lead = *options};
    o.lead.report = hear, o.lead.ctx = w;
    must(gp_cluster_new(&o, &w->cluster, &err), &err);
    gp_cluster_set_data(w->cluster, folder, gp_packed_fingerprint(t.shards));
    for (size_t k = 0; k < n; k++) start(&w->processes[k], w->endpoints[1 + k], k);
}

// Two of them, after the workers.
static void add_servers(team *w)
{
    static const char *const addresses[SERVERS] = {"0", "1"};
    advgp_error err;
    for (size_t i = 0; i < SERVERS; i++) {
        hub *h = &hubs[i];
        must(gp_inproc_open(MOST, MESSAGE_MAX, h->endpoints, &err), &err);
        atomic_store(&h->reached, 0);
        h->service = (gp_join_service){h->endpoints[0], addresses[i], ""};
        start_as(&w->processes[w->n], w->endpoints[1 + w->n], w->n, &h->service);
        w->n++;
    }
}

static void close_hubs(void) // what nobody has reached
{
    for (size_t i = 0; i < SERVERS; i++)
        for (size_t k = 1 + atomic_load(&hubs[i].reached); k <= MOST; k++)
            hubs[i].endpoints[k]->transport->close(hubs[i].endpoints[k]);
}

static void disband(team *w, advgp_status expected, const char *why)
{
    gp_cluster_free(w->cluster, why);
    for (size_t k = 0; k < w->n; k++) end(&w->processes[k], expected);
    for (size_t k = w->n; k < MOST; k++) w->endpoints[1 + k]->transport->close(w->endpoints[1 + k]);
}

static gp_run_options options_of(const gp_learner *l, const gp_rule_ops *rule, gp_cluster *cluster)
{
    return (gp_run_options){.spec = &l->spec,
                            .theta = l->theta,
                            .shards = t.shards,
                            .schedule.rule = rule,
                            .schedule.natural_rate = 0.2,
                            .schedule.adam_rate = 0.1,
                            .schedule.workers = WORKERS,
                            .schedule.batch = BATCH,
                            .schedule.mixed = true,
                            .schedule.quorum = rule->quorum,
                            .schedule.steps = STEPS,
                            .schedule.seed = 3,
                            .cluster = cluster};
}

static gp_run *begin(const gp_run_options *o, uint64_t versions)
{
    advgp_error err;
    gp_run *run;
    must(gp_cluster_run_new(o, &run, &err), &err);
    must(gp_server_allow(run->server, versions, &err), &err);
    must(gp_run_start(run, &err), &err);
    return run;
}

static void until(gp_run *run, uint64_t version)
{
    advgp_error err;
    while (gp_server_version(run->server) < version) must(run->ops->turn(run, 0.2, &err), &err);
}

static void run_to_end(const gp_run_options *o, double *theta, size_t size)
{
    gp_run *run = begin(o, VERSIONS);
    until(run, VERSIONS);
    memcpy(theta, gp_server_theta(run->server), size * sizeof *theta);
    gp_run_free(run);
}

// ---- tests ----------------------------------------------------------------------------------------------------------

static void runs_over_processes_have_the_bits_of_threads(void **state)
{
    (void)state;
    make_packed(1500, 31);
    gp_learner *l = make_learner(12);
    const size_t size = l->layout.size;
    double *threads = doubles(size), *processes = doubles(size);
    team w;
    assemble(&w, WORKERS, &usual);
    for (const gp_rule_ops *const *rule = gp_rules; *rule; rule++) // one after the other, as pilots and steps are
        for (int again = 0; again < 2; again++) {
            const gp_run_options alone = options_of(l, *rule, NULL), o = options_of(l, *rule, w.cluster);
            run_to_end(&alone, threads, size);
            run_to_end(&o, processes, size);
            CHECK_BITS(size, threads, processes, (*rule)->name);
        }
    disband(&w, ADVGP_OK, NULL);
    for (size_t k = 0; k < WORKERS; k++) assert_int_equal(w.processes[k].result.runs, 4);
    free(threads);
    free(processes);
    gp_learner_free(l);
    remove_packed();
}

static void a_lead_that_fails_before_its_first_run_tells_those_who_come(void **state)
{
    (void)state;
    make_packed(1500, 36);
    team w;
    gp_lead_options o = usual;
    o.together = true;
    assemble(&w, WORKERS, &o);
    disband(&w, ADVGP_ECLUSTER, "no such column");
    for (size_t k = 0; k < WORKERS; k++)
        CHECK(strstr(w.processes[k].error.text, "no such column"), "a worker", "%s", w.processes[k].error.text);
    remove_packed();
}

static void a_worker_that_leaves_is_replaced_by_a_late_one(void **state)
{
    (void)state;
    make_packed(1500, 32);
    gp_learner *l = make_learner(12);
    team w;
    assemble(&w, WORKERS, &usual);
    const gp_run_options o = options_of(l, &gp_rule_natural, w.cluster);
    gp_run *run = begin(&o, VERSIONS);
    until(run, 5);
    atomic_store(&w.processes[1].stop, true);
    until(run, 10);
    while (gp_server_live(run->server) == WORKERS) {
        advgp_error err;
        must(run->ops->turn(run, 0.05, &err), &err);
    }
    start(&w.processes[w.n], w.endpoints[1 + w.n], w.n);
    w.n++;
    while (gp_server_live(run->server) < WORKERS) {
        advgp_error err;
        must(run->ops->turn(run, 0.05, &err), &err);
    }
    until(run, VERSIONS);
    const gp_server_counts c = gp_server_count(run->server);
    CHECK(c.lost == 1 && strstr(w.said, "has left"), "a worker", "lost %d: %s", (int)c.lost, w.said);
    double rows = 0;
    for (uint32_t k = 0; k < gp_run_members(run); k++)
        if (gp_server_member(run->server, k).live) rows += gp_shard_table_weight(gp_server_shards(run->server), k);
    CHECK(rows == gp_shards_weight(t.shards, GP_TRAIN), "all rows", "%g are somebody's", rows);
    gp_run_free(run);
    assert_int_equal(pthread_join(w.processes[1].thread, NULL), 0);
    assert_int_equal(w.processes[1].status, ADVGP_ESTOPPED);
    gp_cluster_free(w.cluster, NULL);
    for (size_t k = 0; k < w.n; k++)
        if (k != 1) end(&w.processes[k], ADVGP_OK);
    for (size_t k = w.n; k < MOST; k++) w.endpoints[1 + k]->transport->close(w.endpoints[1 + k]);
    gp_learner_free(l);
    remove_packed();
}

// It says hello again, and does not ask: that is for the next run.
static void a_worker_that_was_lost_and_came_back_hears_the_end(void **state)
{
    (void)state;
    make_packed(1500, 37);
    gp_learner *l = make_learner(12);
    team w;
    gp_lead_options one = usual;
    one.workers = 1;
    assemble(&w, 1, &one);
    gp_run_options o = options_of(l, &gp_rule_natural, w.cluster);
    gp_run *run = begin(&o, VERSIONS);
    advgp_error err;
    until(run, 5);
    must(gp_server_on_lost(run->server, 0, &err), &err);
    until(run, VERSIONS);
    CHECK(gp_server_count(run->server).joined == 2 && strstr(w.said, "worker 0 (host:1) has joined"), "a worker", "%s",
          w.said);
    gp_run_free(run);
    disband(&w, ADVGP_OK, NULL);
    gp_learner_free(l);
    remove_packed();
}

static void it_begins_with_fewer_when_they_do_not_come_and_not_with_too_few(void **state)
{
    (void)state;
    make_packed(1500, 33);
    gp_learner *l = make_learner(12);
    for (size_t least = 2; least <= 3; least++) {
        team w;
        gp_lead_options few = usual;
        advgp_error err = {0};
        few.wait = 1, few.workers_min = least;
        assemble(&w, 2, &few);
        const gp_run_options o = options_of(l, &gp_rule_natural, w.cluster);
        gp_run *run = begin(&o, VERSIONS);
        advgp_status st = ADVGP_OK;
        while (st == ADVGP_OK && gp_server_version(run->server) < VERSIONS) st = run->ops->turn(run, 0.2, &err);
        if (least == 2)
            CHECK(st == ADVGP_OK && strstr(w.said, "2 of 3 workers are here"), "begins", "%s, %s", err.text, w.said);
        else
            CHECK(st == ADVGP_ECLUSTER && strstr(err.text, "at least 3 are needed"), "does not", "%s", err.text);
        gp_run_free(run);
        disband(&w, least == 2 ? ADVGP_OK : ADVGP_ECLUSTER, least == 2 ? NULL : err.text);
        if (least == 3) assert_non_null(strstr(w.processes[0].error.text, "at least 3 are needed"));
    }
    gp_learner_free(l);
    remove_packed();
}

// Nor one that has died in the run before: it costs the wait once, not before every run.
static void who_did_not_come_is_not_waited_for_again(void **state)
{
    (void)state;
    make_packed(1500, 41);
    gp_learner *l = make_learner(12);
    team w;
    gp_lead_options few = usual;
    few.wait = 2;
    assemble(&w, 2, &few);
    const gp_run_options o = options_of(l, &gp_rule_natural, w.cluster);
    double *theta = doubles(l->layout.size);
    run_to_end(&o, theta, l->layout.size);
    CHECK(strstr(w.said, "2 of 3 workers are here after"), "the first", "%s", w.said);
    w.said[0] = 0;
    run_to_end(&o, theta, l->layout.size);
    CHECK(!strstr(w.said, "it begins with these"), "the second", "%s", w.said);
    start(&w.processes[w.n], w.endpoints[1 + w.n], w.n); // it comes late, and is one of those again
    w.n++;
    gp_run *run = begin(&o, VERSIONS);
    while (gp_server_live(run->server) < WORKERS) {
        advgp_error err;
        must(run->ops->turn(run, 0.05, &err), &err);
    }
    gp_run_free(run);
    run = begin(&o, VERSIONS);
    until(run, VERSIONS);
    assert_int_equal(run->o.schedule.workers, WORKERS);
    gp_run_free(run);
    disband(&w, ADVGP_OK, NULL);
    free(theta);
    gp_learner_free(l);
    remove_packed();
}

static void other_rows_are_refused(void **state)
{
    (void)state;
    make_packed(1500, 34);
    team w;
    advgp_error err;
    assemble(&w, 1, &usual);
    gp_cluster_set_data(w.cluster, folder, 12345);
    gp_learner *l = make_learner(12);
    const gp_run_options o = options_of(l, &gp_rule_natural, w.cluster);
    gp_run *run = begin(&o, VERSIONS);
    for (int i = 0; i < 100; i++) must(run->ops->turn(run, 0.02, &err), &err);
    gp_run_free(run);
    disband(&w, ADVGP_ECLUSTER, NULL);
    CHECK(strstr(w.processes[0].error.text, "other rows than the lead's"), "other rows", "%s",
          w.processes[0].error.text);
    gp_learner_free(l);
    remove_packed();
}

static void a_worker_without_a_lead_gives_up(void **state)
{
    (void)state;
    team w = {.n = 1};
    advgp_error err;
    must(gp_inproc_open(MOST, 4096, w.endpoints, &err), &err);
    w.processes[0] = (process){.endpoint = w.endpoints[1]};
    const gp_join_options o = {
        .endpoint = w.endpoints[1], .name = "host", .wish = GP_ANY_WORKER, .random = 5, .give_up = 0.5};
    const double began = gp_clock_wall();
    CHECK_FAILS(ADVGP_ECLUSTER, gp_join(&o, NULL, &err), "no lead");
    CHECK(gp_clock_wall() - began >= 0.5, "no lead", "after %g s", gp_clock_wall() - began);
    for (size_t k = 0; k <= MOST; k++) w.endpoints[k]->transport->close(w.endpoints[k]);
}

// ---- a slow worker --------------------------------------------------------------------------------------------------

typedef struct slow {
    pthread_t thread;
    gp_worker_life_options life;
    advgp_status status;
} slow;

static advgp_status take_a_second(void *ctx, const gp_work *work, double *push, gp_work_done *done, advgp_error *err)
{
    (void)err;
    const size_t n_values = *(const size_t *)ctx;
    size_t rows = 0;
    for (size_t i = 0; i < work->n_shards; i++) rows += t.shards->rows[work->shards[i]];
    *done = (gp_work_done){
        .shard_weight = (double)rows, .batch_weight = (double)rows, .rows = rows, .n_values = n_values};
    memset(push, 0, n_values * sizeof *push);
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    return ADVGP_OK;
}

static void *be_slow(void *arg)
{
    slow *s = arg;
    s->status = gp_worker_live(&s->life, NULL);
    return NULL;
}

// The first thing that it has to do is a pass over all rows, which takes longer than --stuck-after.
static void a_slow_worker_is_not_lost_for_ever(void **state)
{
    (void)state;
    make_packed(1500, 40);
    gp_learner *l = make_learner(12);
    team w;
    gp_lead_options one = usual;
    one.workers = 1, one.stuck_after = 0.3;
    assemble(&w, 0, &one);
    const gp_run_options o = options_of(l, &gp_rule_prox, w.cluster);
    gp_run *run = begin(&o, 0);
    size_t n_values = 1 + l->layout.size;
    slow s = {.life = {.endpoint = w.endpoints[1],
                       .computer = {.ctx = &n_values, .compute = take_a_second},
                       .worker = {.size = l->layout.size,
                                  .push_size = n_values,
                                  .n_shards = t.shards->n_train,
                                  .wish = GP_ANY_WORKER,
                                  .run = {run->o.id[0], run->o.id[1]},
                                  .fingerprint = gp_packed_fingerprint(t.shards),
                                  .token = 5,
                                  .resend = 1}}};
    assert_int_equal(pthread_create(&s.thread, NULL, be_slow, &s), 0);
    gp_server_collect(run->server, l->theta, GP_FLAG_ALL_ROWS, 0);
    advgp_error err;
    const double began = gp_clock_wall();
    while (!gp_server_collected(run->server) && gp_clock_wall() - began < hang_limit())
        must(run->ops->turn(run, 0.1, &err), &err);
    CHECK(gp_server_collected(run->server), "a pass", "%s", w.said);
    CHECK(gp_server_count(run->server).lost > 0 && strstr(w.said, "({stuck-after})"), "a pass", "%s", w.said);
    gp_run_free(run);
    assert_int_equal(pthread_join(s.thread, NULL), 0);
    assert_int_equal(s.status, ADVGP_OK);
    w.endpoints[1]->transport->close(w.endpoints[1]);
    gp_cluster_free(w.cluster, NULL);
    for (size_t k = 1; k < MOST; k++) w.endpoints[1 + k]->transport->close(w.endpoints[1 + k]);
    gp_learner_free(l);
    remove_packed();
}

// ---- several servers ------------------------------------------------------------------------------------------------

// Somebody of an interval that is no more, over and over, until it is told so.
static void is_dismissed(gp_run *run, gp_endpoint *e, unsigned flags)
{
    const gp_message sign = {.kind = GP_HEARTBEAT, .flags = flags, .run = {7, 9}, .worker = GP_ANY_WORKER};
    const gp_message_limits words = {.text = GP_JOB_TEXT_MAX};
    _Alignas(8) char bytes[256];
    gp_message m = {0};
    advgp_error err;
    gp_message_encode(&sign, bytes);
    for (int i = 0; i < 20 && m.kind != GP_BYE; i++) {
        size_t peer, n;
        const void *answer;
        must(e->transport->send(e, 0, bytes, gp_message_size(&sign), &err), &err);
        must(run->ops->turn(run, 0.05, &err), &err);
        must(e->transport->receive(e, 0.05, &peer, &answer, &n, &err), &err);
        if (answer) must(gp_message_decode(answer, n, &words, &m, &err), &err);
    }
    CHECK(m.kind == GP_BYE && m.run[0] == 7 && m.run[1] == 9, "dismissed", "kind %d", (int)m.kind);
}

static void servers_have_the_bits_of_threads_and_who_is_behind_is_told(void **state)
{
    (void)state;
    make_packed(1500, 38);
    gp_learner *l = make_learner(12);
    const size_t size = l->layout.size;
    double *threads = doubles(size);
    team w;
    gp_lead_options split = usual;
    split.servers = SERVERS;
    assemble(&w, WORKERS, &split);
    add_servers(&w);
    const gp_run_options alone = options_of(l, &gp_rule_prox, NULL);
    gp_run_options o = options_of(l, &gp_rule_prox, w.cluster);
    o.split = true;
    run_to_end(&alone, threads, size);
    gp_run *run = begin(&o, VERSIONS / 2); // two intervals
    until(run, VERSIONS / 2);
    is_dismissed(run, w.endpoints[MOST], 0);
    is_dismissed(run, w.endpoints[MOST], GP_FLAG_SERVES);
    advgp_error err;
    must(gp_server_allow(run->server, VERSIONS, &err), &err);
    until(run, VERSIONS);
    CHECK_BITS(size, threads, gp_server_theta(run->server), "two servers");
    gp_run_free(run);
    disband(&w, ADVGP_OK, NULL);
    close_hubs();
    free(threads);
    gp_learner_free(l);
    remove_packed();
}

// In one interval: every one begins with full copies.
static void servers_filter_what_they_send(void **state)
{
    (void)state;
    make_packed(1500, 42);
    gp_learner *l = make_learner(12);
    const size_t size = l->layout.size;
    double *results[2] = {doubles(size), doubles(size)};
    team w;
    gp_lead_options split = usual;
    split.servers = SERVERS;
    assemble(&w, WORKERS, &split);
    add_servers(&w);
    gp_run_options alone = options_of(l, &gp_rule_prox, NULL), o = options_of(l, &gp_rule_prox, w.cluster);
    alone.schedule.filter = o.schedule.filter = 0.05, o.split = true;
    run_to_end(&alone, results[0], size);
    run_to_end(&o, results[1], size); // one interval
    CHECK_BITS(size, results[0], results[1], "two servers with a filter");
    alone.schedule.filter = 0;
    run_to_end(&alone, results[0], size);
    assert_memory_not_equal(results[0], results[1], size * sizeof(double));
    disband(&w, ADVGP_OK, NULL);
    close_hubs();
    free(results[0]);
    free(results[1]);
    gp_learner_free(l);
    remove_packed();
}

// A worker leaves, which is to stop the run: the servers know it, the lead says it.
static void what_ends_a_server_is_told_by_the_lead(void **state)
{
    (void)state;
    make_packed(1500, 39);
    gp_learner *l = make_learner(12);
    team w;
    gp_lead_options split = usual;
    split.servers = SERVERS;
    assemble(&w, WORKERS, &split);
    add_servers(&w);
    gp_run_options o = options_of(l, &gp_rule_prox, w.cluster);
    o.split = true, o.schedule.on_loss = GP_LOSS_STOP, o.schedule.steps = 0;
    gp_run *run = begin(&o, UINT32_MAX / 4);
    advgp_error err = {0};
    advgp_status st = ADVGP_OK;
    const double began = gp_clock_wall();
    while (st == ADVGP_OK && gp_clock_wall() - began < hang_limit()) {
        st = run->ops->turn(run, 0.1, &err);
        if (gp_clock_wall() - began > 1) atomic_store(&w.processes[1].stop, true);
    }
    CHECK(st == ADVGP_ECLUSTER && strstr(err.text, "server ") && strstr(err.text, "(host:1): worker"), "the lead",
          "%s: %s", advgp_status_name(st), err.text);
    CHECK(!strstr(w.said, "without a word"), "the lead", "%s", w.said);
    gp_run_free(run);
    gp_cluster_free(w.cluster, err.text);
    for (size_t k = 0; k < w.n; k++) end(&w.processes[k], k == 1 ? ADVGP_ESTOPPED : ADVGP_ECLUSTER);
    for (size_t k = w.n; k < MOST; k++) w.endpoints[1 + k]->transport->close(w.endpoints[1 + k]);
    close_hubs();
    gp_learner_free(l);
    remove_packed();
}

// ---- tasks ----------------------------------------------------------------------------------------------------------

enum { TASKS = 40 };

typedef struct errands { // task i gives the sum of 1 .. i
    atomic_size_t here, elsewhere;
    size_t taken[TASKS];
    double results[TASKS];
    bool fails, stops;
} errands;
static errands work;

static double sum_to(size_t n)
{
    double sum = 0;
    for (size_t i = 1; i <= n; i++) sum += (double)i;
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    return sum;
}

static advgp_status compute_errand(void *ctx, size_t task, double *result, size_t *n, advgp_error *err)
{
    errands *e = ctx;
    if (e->fails && task == TASKS / 2) return gp_fail(err, ADVGP_ENOMEM, "no memory for an errand");
    atomic_fetch_add(&e->here, 1);
    *result = sum_to(task), *n = 1;
    return ADVGP_OK;
}

static advgp_status pack_errand(void *ctx, size_t task, gp_parcel *out, advgp_error *err)
{
    (void)ctx, (void)err;
    out->values = gp_alloc(1, sizeof(double));
    assert_non_null(out->values);
    out->values[0] = (double)task, out->n_values = 1;
    return ADVGP_OK;
}

static bool take_errand(void *ctx, size_t task, const double *result, size_t n)
{
    errands *e = ctx;
    e->taken[task]++;
    e->results[task] = result[0];
    return n == 1;
}

static advgp_status do_errand(void *ctx, const gp_parcel *task, const gp_shards *rows, uint64_t fingerprint,
                              double **result, size_t *n, advgp_error *err)
{
    (void)ctx, (void)err;
    CHECK(rows && fingerprint == gp_packed_fingerprint(t.shards), "an errand", "has no rows");
    atomic_fetch_add(&work.elsewhere, 1);
    *result = gp_alloc(1, sizeof(double));
    assert_non_null(*result);
    **result = sum_to((size_t)task->values[0]), *n = 1;
    return ADVGP_OK;
}

static int when_some_are_done(void *ctx)
{
    const errands *e = ctx;
    return e->stops && atomic_load(&e->here) + atomic_load(&e->elsewhere) > TASKS / 4;
}

static advgp_status do_errands(gp_cluster *cluster, size_t threads, advgp_error *err)
{
    const gp_tasks tasks = {.n = TASKS,
                            .result_max = 1,
                            .what = "an errand",
                            .compute = compute_errand,
                            .pack = pack_errand,
                            .take = take_errand,
                            .ctx = &work};
    memset(work.taken, 0, sizeof work.taken);
    atomic_store(&work.here, 0), atomic_store(&work.elsewhere, 0);
    return gp_cluster_do(cluster, threads, &tasks, when_some_are_done, &work, err);
}

static void are_done(const char *label)
{
    for (size_t i = 0; i < TASKS; i++)
        CHECK(work.taken[i] == 1 && work.results[i] == (double)(i * (i + 1)) / 2, label, "task %zu: %zu times, %g", i,
              work.taken[i], work.results[i]);
}

static void tasks_are_done_by_threads_and_workers_once_each(void **state)
{
    (void)state;
    make_packed(1500, 43);
    gp_learner *l = make_learner(12);
    double *theta = doubles(l->layout.size);
    advgp_error err = {0};
    team w;
    work = (errands){0};
    CHECK_OK(do_errands(NULL, 2, &err), "threads alone");
    are_done("threads alone");
    assemble(&w, 0, &usual);
    CHECK_OK(do_errands(w.cluster, 2, &err), "nobody comes");
    are_done("nobody comes");
    for (size_t k = 0; k < WORKERS; k++) {
        process *m = &w.processes[w.n++];
        *m = (process){.endpoint = w.endpoints[1 + k]};
        m->o = (gp_join_options){.endpoint = m->endpoint,
                                 .name = "host:1",
                                 .wish = GP_ANY_WORKER,
                                 .random = 1000 + k,
                                 .give_up = 30,
                                 .task = k ? do_errand : NULL, // the first cannot
                                 .stop = stops,
                                 .ctx = m};
        assert_int_equal(pthread_create(&m->thread, NULL, be_a_worker, m), 0);
    }
    const gp_run_options o = options_of(l, &gp_rule_natural, w.cluster);
    run_to_end(&o, theta, l->layout.size);
    CHECK_OK(do_errands(w.cluster, 1, &err), "between runs");
    are_done("between runs");
    CHECK(atomic_load(&work.elsewhere) > 0, "between runs", "nobody else did any: %s", w.said);
    CHECK(strstr(w.said, "could not do an errand"), "between runs", "%s", w.said);
    run_to_end(&o, theta, l->layout.size); // they come back to it
    work.stops = true;
    CHECK_FAILS(ADVGP_ESTOPPED, do_errands(w.cluster, 1, &err), "stopped");
    work.stops = false, work.fails = true;
    const advgp_status st = do_errands(w.cluster, WORKERS, &err); // unless a worker has taken just that one
    CHECK(st == ADVGP_OK || (st == ADVGP_ENOMEM && strstr(err.text, "no memory for an errand")), "fails", "%s",
          err.text);
    disband(&w, ADVGP_OK, NULL);
    free(theta);
    gp_learner_free(l);
    remove_packed();
}

// What comes from elsewhere is a job, or is refused with a text.
static void jobs_survive_the_way_and_others_are_refused(void **state)
{
    (void)state;
    make_table(300, 35, "0.1");
    gp_learner *l = make_learner(12);
    double delays[] = {0, 0.5};
    char data[] = "/some/where";
    const gp_job job = {.claims = {.spec = l->spec},
                        .schedule.rule = &gp_rule_prox,
                        .schedule.batch = 17,
                        .schedule.mixed = true,
                        .data = data,
                        .fingerprint = 0x123456789abcdef0,
                        .heartbeat = 1.5,
                        .delays = delays,
                        .n_delays = 2};
    char *text = gp_job_to_text(&job);
    assert_non_null(text);
    gp_job got;
    advgp_error err;
    must(gp_job_from_text(text, strlen(text), &got, &err), &err);
    assert_true(got.schedule.rule == job.schedule.rule && got.schedule.batch == 17 && got.schedule.mixed &&
                got.fingerprint == job.fingerprint && got.n_delays == 2);
    assert_true(!strcmp(got.data, data) && got.delays[1] == 0.5 && got.heartbeat == 1.5);
    gp_features *f;
    must(gp_features_new(&got.claims.spec, &f, &err), &err);
    assert_int_equal(gp_theta_layout_of(f).size, l->layout.size);
    gp_features_free(f);
    gp_job_fini(&got);
    for (size_t n = 0; n < strlen(text); n++) {
        CHECK_FAILS(ADVGP_EFILE, gp_job_from_text(text, n, &got, &err), "cut off");
        gp_job_fini(&got);
    }
    free(text);
    gp_learner_free(l);
    free_table();
}

// A server's state, cut into ranges, told as messages tell it, and put together again, is the same to the bit.
static void range_states_make_up_the_whole(void **state)
{
    (void)state;
    make_table(1500, 36, "0.1");
    gp_learner *l = make_learner(12);
    advgp_error err;
    gp_run_options o = options_of(l, &gp_rule_prox, NULL);
    gp_run *run = begin(&o, VERSIONS), *other;
    until(run, VERSIONS);
    enum { N = 3 };
    const size_t size = l->layout.size;
    gp_range_state parts[N];
    gp_server_copy copies[N];
    for (size_t i = 0; i < N; i++) {
        const size_t first = i * size / N;
        const gp_range range = {first, (i + 1) * size / N - first};
        gp_range_state cut = {0};
        must(gp_server_copy_take(run->server, run->rule, range, &cut.copy, &err), &err);
        cut.rows = 100 + i, cut.live = i;
        char *text = gp_range_state_text(&cut);
        assert_non_null(text);
        must(gp_range_state_read(cut.copy.values, cut.copy.n_values, text, strlen(text), &parts[i], &err), &err);
        copies[i] = parts[i].copy;
        assert_true(parts[i].rows == 100 + i && parts[i].live == i);
        for (size_t n = 0; n < strlen(text); n += 7) { // cut off
            gp_range_state bad;
            CHECK_FAILS(ADVGP_EFILE, gp_range_state_read(cut.copy.values, cut.copy.n_values, text, n, &bad, &err),
                        "cut");
            gp_range_state_fini(&bad);
        }
        gp_range_state bad;
        CHECK_FAILS(ADVGP_EFILE, gp_range_state_read(cut.copy.values, range.count, text, strlen(text), &bad, &err),
                    "too few");
        gp_range_state_fini(&bad);
        cut.copy.values[3] = NAN;
        CHECK_FAILS(ADVGP_EFILE,
                    gp_range_state_read(cut.copy.values, cut.copy.n_values, text, strlen(text), &bad, &err),
                    "not finite");
        gp_range_state_fini(&bad);
        free(text);
        gp_range_state_fini(&cut);
    }
    must(gp_cluster_run_new(&o, &other, &err), &err);
    CHECK_FAILS(ADVGP_EINVAL, gp_server_copies_restore(copies, N - 1, other->server, other->rule, &err),
                "one is missing");
    CHECK_FAILS(ADVGP_EINVAL, gp_server_copies_restore(copies + 1, N - 1, other->server, other->rule, &err),
                "the first");
    must(gp_server_copies_restore(copies, N, other->server, other->rule, &err), &err);
    assert_int_equal(gp_server_version(other->server), VERSIONS);
    CHECK_BITS(size, gp_server_theta(run->server), gp_server_theta(other->server), "theta");
    const gp_rule_state a = run->rule->ops->state(run->rule), b = other->rule->ops->state(other->rule);
    for (size_t i = 0; i < a.n_arrays; i++) CHECK_BITS(size, a.arrays[i].values, b.arrays[i].values, a.arrays[i].name);
    for (size_t i = 0; i < N; i++) gp_range_state_fini(&parts[i]);
    gp_run_free(run);
    gp_run_free(other);
    gp_learner_free(l);
    free_table();
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_over_processes_have_the_bits_of_threads),
        cmocka_unit_test(a_lead_that_fails_before_its_first_run_tells_those_who_come),
        cmocka_unit_test(a_worker_that_leaves_is_replaced_by_a_late_one),
        cmocka_unit_test(a_worker_that_was_lost_and_came_back_hears_the_end),
        cmocka_unit_test(it_begins_with_fewer_when_they_do_not_come_and_not_with_too_few),
        cmocka_unit_test(who_did_not_come_is_not_waited_for_again),
        cmocka_unit_test(other_rows_are_refused),
        cmocka_unit_test(a_worker_without_a_lead_gives_up),
        cmocka_unit_test(a_slow_worker_is_not_lost_for_ever),
        cmocka_unit_test(servers_have_the_bits_of_threads_and_who_is_behind_is_told),
        cmocka_unit_test(servers_filter_what_they_send),
        cmocka_unit_test(what_ends_a_server_is_told_by_the_lead),
        cmocka_unit_test(tasks_are_done_by_threads_and_workers_once_each),
        cmocka_unit_test(jobs_survive_the_way_and_others_are_refused),
        cmocka_unit_test(range_states_make_up_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
