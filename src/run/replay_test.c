// replay_test.c: a server driven by a script of chance (slow workers, lost ones, newcomers, steps that fail) and its
// log replayed: the same versions, the same bits. What a log cannot say is refused.
#include "base/alloc.h"
#include "fixture.h"
#include "recipe/rows_test.h"
#include "recipe/train.h"
#include "run/replay.h"

#include <jansson.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 4, BATCH = 40 };

typedef struct script {
    const gp_rule_ops *rule;
    size_t max_delay;
    double filter, adam_rate;
    double lose, repeat; // chance of each act: a worker goes; it asks again
    gp_on_loss on_loss;
    uint64_t versions, seed;
} script;

// A message on its way: a copy.
typedef struct letter {
    gp_message m;
    double *values;
    uint64_t *mask;
    uint32_t *shards;
} letter;

typedef struct actor {
    gp_worker *worker; // NULL: it is gone
    uint64_t token;
    letter inbox[8];
    size_t n_inbox;
} actor;

typedef struct stage {
    gp_run run; // the same server that a replay makes
    const gp_learner *learner;
    gp_row_computer *computer;
    actor actors[WORKERS];
    gp_rng rng;
    uint64_t tokens;
    json_t *log; // array of lines
    size_t n_kinds[16], n_rolled_back, n_dropped;
} stage;

static void no_stop(gp_run *run)
{
    (void)run;
}
static const gp_run_ops stage_ops = {.stop = no_stop};

static void on_event(void *ctx, const gp_ps_event *e)
{
    stage *s = ctx;
    s->n_kinds[e->kind]++;
    s->n_rolled_back += e->kind == GP_EVENT_ADVANCE && e->rolled_back;
    s->n_dropped += e->kind == GP_EVENT_PUSH && e->dropped;
    json_t *line = gp_pslog_fields(e);
    json_object_set_new(line, "event", json_string(gp_pslog_name(e->kind)));
    json_array_append_new(s->log, line);
}

static gp_run_options options_of(const gp_learner *l, const script *sc)
{
    return (gp_run_options){.spec = &l->spec,
                            .theta = l->theta,
                            .shards = t.shards,
                            .schedule.rule = sc->rule,
                            .schedule.natural_rate = 0.2,
                            .schedule.adam_rate = sc->adam_rate,
                            .schedule.workers = WORKERS,
                            .schedule.batch = BATCH,
                            .schedule.mixed = true,
                            .schedule.max_delay = sc->max_delay,
                            .schedule.quorum = sc->rule->quorum,
                            .schedule.follow_pace = sc->seed % 2,
                            .schedule.filter = sc->filter,
                            .schedule.on_loss = sc->on_loss,
                            .schedule.steps = 1000,
                            .schedule.seed = sc->seed};
}

// ---- letters --------------------------------------------------------------------------------------------------------

static void *copy_of(const void *from, size_t bytes)
{
    void *to = malloc(bytes ? bytes : 1);
    assert_non_null(to);
    return bytes ? memcpy(to, from, bytes) : to;
}

static void tear(letter *l)
{
    free(l->values);
    free(l->mask);
    free(l->shards);
}

static void post(actor *a, const gp_message *m)
{
    if (a->n_inbox == 8) return; // lost
    letter *l = &a->inbox[a->n_inbox++];
    l->m = *m;
    l->m.values = l->values = copy_of(m->values, m->n_values * sizeof(double));
    l->m.mask = l->mask = copy_of(m->mask, gp_mask_words(m->n_masked) * sizeof(uint64_t));
    l->m.shards = l->shards = copy_of(m->shards, m->n_shards * sizeof(uint32_t));
}

static void send_all(stage *s)
{
    gp_message m;
    size_t peer;
    while (gp_server_next(s->run.server, 0, &peer, &m))
        if (s->actors[peer].worker) post(&s->actors[peer], &m);
}

// ---- acts -----------------------------------------------------------------------------------------------------------

static void enter(stage *s, size_t k)
{
    advgp_error err;
    const size_t room = gp_row_computer_push_size(s->run.layout, s->run.o.schedule.rule, gp_range_all(s->run.layout));
    const gp_worker_options o = {.size = s->run.layout.size,
                                 .push_size = room,
                                 .n_shards = t.shards->n_train,
                                 .wish = (uint32_t)k,
                                 .run = {s->run.o.schedule.seed, 1},
                                 .token = ++s->tokens};
    must(gp_worker_new(&o, &s->actors[k].worker, &err), &err);
}

static void leave(stage *s, size_t k)
{
    actor *a = &s->actors[k];
    for (size_t i = 0; i < a->n_inbox; i++) tear(&a->inbox[i]);
    a->n_inbox = 0;
    gp_worker_free(a->worker);
    a->worker = NULL;
}

// One thing that worker k can do: say something, hear something, or compute.
static void act(stage *s, size_t k)
{
    advgp_error err;
    gp_message m;
    actor *a = &s->actors[k];
    const gp_computer computer = gp_row_computer_of(s->computer);
    if (gp_worker_next(a->worker, 0, &m)) {
        must(gp_server_on_message(s->run.server, 0, k, &m, &err), &err);
    } else if (a->n_inbox) {
        letter l = a->inbox[0];
        memmove(a->inbox, a->inbox + 1, --a->n_inbox * sizeof l);
        must(gp_worker_on_message(a->worker, 0, &l.m, &err), &err);
        tear(&l);
    } else if (gp_worker_state_of(a->worker) == GP_WORKER_READY) {
        must(gp_worker_compute(a->worker, &computer, &err), &err);
    }
}

static void ask_again(stage *s, size_t k)
{
    advgp_error err;
    const gp_member m = gp_server_member(s->run.server, (uint32_t)k);
    if (!m.live || gp_worker_state_of(s->actors[k].worker) != GP_WORKER_PULL) return;
    const gp_message pull = {.kind = GP_PULL,
                             .run = {s->run.o.schedule.seed, 1},
                             .worker = (uint32_t)k,
                             .incarnation = m.incarnation,
                             .sequence = m.sequence};
    must(gp_server_on_message(s->run.server, 0, k, &pull, &err), &err);
}

static size_t present(const stage *s)
{
    size_t n = 0;
    for (size_t k = 0; k < WORKERS; k++) n += s->actors[k].worker != NULL;
    return n;
}

static void perform(stage *s, const script *sc, uint64_t until, bool collect)
{
    advgp_error err;
    for (size_t acts = 0; acts < 200000; acts++) {
        if (collect ? gp_server_collected(s->run.server) != NULL : gp_server_version(s->run.server) >= until) return;
        const size_t k = (size_t)(gp_rng_uniform(&s->rng) * WORKERS);
        const double chance = gp_rng_uniform(&s->rng);
        if (!s->actors[k].worker) {
            if (chance < 0.1) enter(s, k);
        } else if (chance < sc->lose && present(s) > 2) {
            must(gp_server_on_lost(s->run.server, (uint32_t)k, &err), &err);
            leave(s, k);
        } else if (chance < sc->lose + sc->repeat) {
            ask_again(s, k);
        } else if (k != 3 || chance > 0.8) { // the last one is slow
            act(s, k);
        }
        send_all(s);
    }
    fail_msg("no progress at version %llu", (unsigned long long)gp_server_version(s->run.server));
}

// ---- the log back ---------------------------------------------------------------------------------------------------

typedef struct tape {
    const json_t *log;
    size_t at, end;
} tape;

static advgp_status next_line(void *ctx, gp_pslog_line *line, bool *ended, advgp_error *err)
{
    tape *tp = ctx;
    bool ours;
    *ended = tp->at >= tp->end;
    return *ended ? ADVGP_OK : gp_pslog_read(json_array_get(tp->log, tp->at++), line, &ours, err);
}

static advgp_status replay_of(const gp_run_options *o, const gp_replay_feed *feed, gp_run **run, advgp_error *err)
{
    advgp_status st = gp_run_replay_new(o, feed, 0, run, err);
    while (st == ADVGP_OK && !gp_run_replay_is_over(*run)) st = (*run)->ops->turn(*run, 0, err);
    return st;
}

static void check_script(const script *sc, size_t n_kinds_wanted, const gp_ps_event_kind *wanted, bool rolled_back)
{
    advgp_error err = {0};
    char label[160];
    snprintf(label, sizeof label, "%s, tau %zu, filter %g, seed %llu", sc->rule->name, sc->max_delay, sc->filter,
             (unsigned long long)sc->seed);
    make_table(1500, sc->seed, "0.1");
    gp_learner *l = make_learner(10);
    stage s = {.learner = l, .rng = gp_rng_seeded(sc->seed, 77), .log = json_array()};
    gp_run_options o = options_of(l, sc);
    o.event = on_event, o.event_ctx = &s;
    const gp_row_computer_options co = {.shards = t.shards,
                                        .spec = &l->spec,
                                        .schedule.rule = sc->rule,
                                        .range = gp_range_all(l->layout),
                                        .schedule.batch = BATCH,
                                        .schedule.mixed = true};
    must(gp_run_init(&s.run, &stage_ops, &o, &err), &err);
    must(gp_row_computer_new(&co, &s.computer, &err), &err);
    for (size_t k = 0; k < WORKERS; k++) enter(&s, k);
    perform(&s, sc, sc->versions, false);
    double *theta = doubles(l->layout.size);
    memcpy(theta, gp_server_theta(s.run.server), l->layout.size * sizeof *theta);
    const uint64_t version = gp_server_version(s.run.server);
    gp_server_collect(s.run.server, theta, GP_FLAG_ALL_ROWS, 0);
    send_all(&s);
    perform(&s, sc, 0, true);
    const double *sum = gp_server_collected(s.run.server);

    // The same again.
    tape tp = {.log = s.log, .end = json_array_size(s.log)};
    const gp_replay_feed feed = {.ctx = &tp, .next = next_line, .components = 1};
    o.event = NULL;
    gp_run *run;
    const double *sum_again = NULL;
    CHECK_OK(replay_of(&o, &feed, &run, &err), label);
    assert_int_equal(gp_server_version(run->server), version);
    CHECK_BITS(l->layout.size, theta, gp_server_theta(run->server), label);
    CHECK_OK(gp_run_collect(run, theta, GP_FLAG_ALL_ROWS, 0, &sum_again, NULL, NULL, &err), label);
    CHECK_BITS(1 + (sc->rule == &gp_rule_prox ? l->layout.size : 0), sum, sum_again, label);
    gp_run_free(run);

    for (size_t i = 0; i < n_kinds_wanted; i++)
        if (!s.n_kinds[wanted[i]]) fail_msg("%s: no %s happened", label, gp_pslog_name(wanted[i]));
    if (rolled_back && !s.n_rolled_back) fail_msg("%s: nothing was rolled back", label);

    // Cut anywhere it ends earlier, or is refused, but never comes to anything else.
    for (size_t end = tp.end / 7; end < tp.end; end += tp.end / 5) {
        tp.at = 0, tp.end = end;
        const advgp_status st = replay_of(&o, &feed, &run, &err);
        assert_true(st == ADVGP_OK || st == ADVGP_EFILE);
        gp_run_free(run);
    }
    for (size_t k = 0; k < WORKERS; k++) leave(&s, k);
    gp_row_computer_free(s.computer);
    gp_run_fini(&s.run);
    json_decref(s.log);
    free(theta);
    gp_learner_free(l);
    free_table();
}

// ---- a training that is stopped and resumed -------------------------------------------------------------------------

enum { PARTS = 3 };

typedef struct diary {
    json_t *log;
    uint64_t stop, version;
    size_t n;                         // beginnings so far
    size_t first[PARTS], last[PARTS]; // lines of each part; last: at its checkpoint
    uint64_t id[PARTS];               // of that checkpoint
    gp_replay_part parts[PARTS];      // how the part before each ended
} diary;

static void on_ps(void *ctx, const gp_ps_event *e)
{
    diary *d = ctx;
    if (e->kind == GP_EVENT_ADVANCE) {
        const struct timespec nap = {.tv_nsec = 20 * 1000 * 1000}; // a stop is asked for now and then: it shall be seen
        d->version = e->version;
        if (d->version >= d->stop) nanosleep(&nap, NULL);
    }
    json_t *line = gp_pslog_fields(e);
    json_object_set_new(line, "event", json_string(gp_pslog_name(e->kind)));
    json_array_append_new(d->log, line);
}

static int on_stop(void *ctx)
{
    const diary *d = ctx;
    return d->version >= d->stop;
}

static void on_begin(void *ctx, const gp_train_plan *p)
{
    diary *d = ctx;
    const size_t k = d->n++;
    assert_true(k < PARTS);
    d->first[k] = json_array_size(d->log);
    assert_int_equal(p->checkpoint != 0, k > 0);
    if (!k) return;
    assert_true(p->checkpoint == d->id[k - 1]);
    d->parts[k - 1] = (gp_replay_part){p->version, p->checkpoint, p->evaluated, p->evaluating};
}

static void on_checkpoint(void *ctx, const char *path, size_t version, uint64_t id, const char *failed)
{
    (void)path, (void)version;
    diary *d = ctx;
    assert_null(failed);
    d->last[d->n - 1] = json_array_size(d->log), d->id[d->n - 1] = id;
}

// The lines of one part after the other.
typedef struct film {
    const diary *d;
    size_t part, at;
} film;

static advgp_status next_of_film(void *ctx, gp_pslog_line *line, bool *ended, advgp_error *err)
{
    film *f = ctx;
    const diary *d = f->d;
    bool ours;
    const bool last = f->part + 1 == d->n;
    if (f->at < d->first[f->part]) f->at = d->first[f->part];
    *ended = f->at >= (last ? json_array_size(d->log) : d->last[f->part]);
    if (*ended) f->part++;
    return *ended ? ADVGP_OK : gp_pslog_read(json_array_get(d->log, f->at++), line, &ours, err);
}

static gp_model *train_part(const gp_train_options *o, const gp_host *host, gp_notes *notes, gp_train_result *r,
                            uint64_t seed)
{
    advgp_error err;
    gp_model *model;
    make_table(4000, seed, "0.2");
    const gp_train_request request = {
        .shards = t.shards, .schema = t.schema, .options = o, .host = host, .notes = notes};
    must(gp_train(&request, &model, r, &err), &err);
    t.schema = NULL; // the model's now
    free_table();
    return model;
}

static void check_resumed(const gp_train_options *given, uint64_t seed, uint64_t every)
{
    char path[] = "/tmp/advgp-replay-XXXXXX", again[] = "/tmp/advgp-replay-XXXXXX";
    const int fds[] = {mkstemp(path), mkstemp(again)};
    assert_true(fds[0] >= 0 && fds[1] >= 0);
    close(fds[0]), close(fds[1]);
    diary d = {.log = json_array()};
    const gp_host host = {.ctx = &d, .ps = on_ps, .stop = on_stop, .begin = on_begin, .checkpoint = on_checkpoint};
    gp_train_options o = *given;
    gp_train_result r;
    o.checkpoint = path;
    for (size_t k = 0; k + 1 < PARTS; k++) {
        d.stop = every * (k + 1);
        gp_model_free(train_part(&o, &host, NULL, &r, seed));
        assert_true(r.interrupted);
        o.resume = path;
    }
    d.stop = UINT64_MAX;
    gp_model *model = train_part(&o, &host, NULL, &r, seed);
    assert_int_equal(d.n, PARTS);

    film f = {.d = &d};
    const gp_replay_feed feed = {.ctx = &f,
                                 .next = next_of_film,
                                 .n_parts = PARTS - 1,
                                 .parts = d.parts,
                                 .checkpoint = again,
                                 .components = 1,
                                 .stopped = r.stopped};
    gp_notes notes = {0};
    o = *given;
    o.replay = &feed;
    gp_model *replayed = train_part(&o, NULL, &notes, &r, seed);
    for (size_t i = 0; i < notes.n; i++) fail_msg("seed %llu: %s", (unsigned long long)seed, notes.items[i].text);
    CHECK_BITS(model->layout.size, model->theta, replayed->theta, "a resumed run");

    // By way of other parameters it says so.
    f = (film){.d = &d};
    d.parts[0].checkpoint++;
    gp_model_free(replayed);
    replayed = train_part(&o, NULL, &notes, &r, seed);
    assert_int_equal(notes.n, 1);
    assert_non_null(strstr(notes.items[0].text, "not in the state"));
    gp_notes_fini(&notes);
    gp_model_free(replayed);
    gp_model_free(model);
    json_decref(d.log);
    unlink(path), unlink(again);
}

static void a_resumed_run_is_replayed_to_the_bit(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        const gp_train_options o = {.m = 12,
                                    .components = 1,
                                    .kernel = &gp_kernel_ard_rbf,
                                    .map = &gp_map_cholesky,
                                    .trend = GP_TREND_LINEAR,
                                    .schedule.batch = 200,
                                    .epochs = 6,
                                    .schedule.rule = seed == 3 ? &gp_rule_prox : NULL,
                                    .schedule.workers = 3,
                                    .schedule.max_delay = seed == 1 ? 0 : 8,
                                    .schedule.filter = seed % 2 ? 0 : 1e-2,
                                    .schedule.quorum = -1,
                                    .noise = seed == 1 ? GP_NOISE_AUTO : GP_NOISE_CONSTANT, // once is enough
                                    .schedule.seed = seed};
        check_resumed(&o, seed, 7 + 6 * seed);
    }
}

// ---- tests ----------------------------------------------------------------------------------------------------------

static void delayed_runs_are_replayed_to_the_bit(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++)
        for (const gp_rule_ops *const *rule = gp_rules; *rule; rule++) {
            const gp_ps_event_kind wanted[] = {GP_EVENT_PULL, GP_EVENT_ADVANCE, GP_EVENT_COLLECTED};
            const script sc = {.rule = *rule,
                               .max_delay = seed == 4 ? GP_DELAY_ANY : 8,
                               .filter = seed % 2 ? 0 : 1e-3,
                               .adam_rate = 0.1,
                               .versions = 60,
                               .seed = seed};
            check_script(&sc, 3, wanted, false);
        }
}

static void workers_that_are_lost_and_join_are_replayed_to_the_bit(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++)
        for (const gp_rule_ops *const *rule = gp_rules; *rule; rule++) {
            const gp_ps_event_kind wanted[] = {GP_EVENT_JOINED, GP_EVENT_LOST, GP_EVENT_MOVED, GP_EVENT_AGAIN};
            const script sc = {.rule = *rule,
                               .max_delay = 8,
                               .filter = seed % 2 ? 0 : 1e-3,
                               .adam_rate = 0.1,
                               .lose = 0.01,
                               .repeat = 0.05,
                               .versions = 80,
                               .seed = seed};
            check_script(&sc, 4, wanted, false);
        }
}

static void steps_that_are_taken_back_are_replayed_to_the_bit(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        const script sc = {.rule = &gp_rule_natural,
                           .max_delay = seed == 1 ? 0 : 8,
                           .filter = seed == 3 ? 1e-3 : 0,
                           .adam_rate = 1000, // absurd: no step can start where it leads
                           .lose = seed == 3 ? 0.005 : 0,
                           .versions = 40,
                           .seed = seed};
        check_script(&sc, 0, NULL, true);
    }
}

static void what_cannot_have_been_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *lines[4], *says;
    } cases[] = {
        {{"{\"event\": \"pull\", \"worker\": 0, \"incarnation\": 1}"}, "had not joined"},
        {{"{\"event\": \"push\", \"worker\": 0, \"incarnation\": 1, \"sequence\": 0, \"version\": 0, \"shards\": "
          "\"0\"}"},
         "no parameters"},
        {{"{\"event\": \"peer_joined\", \"worker\": 4, \"incarnation\": 1}"}, "a worker that cannot be"},
        {{"{\"event\": \"peer_joined\", \"worker\": 0, \"incarnation\": 7}"}, "incarnation"},
        {{"{\"event\": \"advance\", \"version\": 1}"}, "version"},
        {{"{\"event\": \"collect\", \"version\": 9, \"flags\": 4, \"rows\": 0}"}, "another version"},
        {{"{\"event\": \"peer_lost\", \"worker\": 9, \"incarnation\": 1}"}, "a worker that cannot be"},
    };
    make_table(600, 5, "0.1");
    gp_learner *l = make_learner(6);
    const script sc = {.rule = &gp_rule_natural, .adam_rate = 0.1, .seed = 5};
    const gp_run_options o = options_of(l, &sc);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *log = json_array();
        for (size_t j = 0; j < 4 && cases[i].lines[j]; j++)
            json_array_append_new(log, json_loads(cases[i].lines[j], 0, NULL));
        tape tp = {.log = log, .end = json_array_size(log)};
        const gp_replay_feed feed = {.ctx = &tp, .next = next_line, .components = 1};
        gp_run *run;
        advgp_error err = {0};
        assert_int_equal(replay_of(&o, &feed, &run, &err), ADVGP_EFILE);
        if (!strstr(err.text, cases[i].says)) fail_msg("%s: %s", cases[i].lines[0], err.text);
        gp_run_free(run);
        json_decref(log);
    }
    gp_learner_free(l);
    free_table();
}

// The end of a part is no failure; only who would go on beyond it is told that the run was stopped there.
static void a_part_that_ends_is_not_yet_a_stop(void **state)
{
    (void)state;
    make_table(600, 5, "0.1");
    gp_learner *l = make_learner(6);
    const script sc = {.rule = &gp_rule_natural, .adam_rate = 0.1, .seed = 5};
    const gp_run_options o = options_of(l, &sc);
    const gp_replay_part part = {.version = 0};
    tape tp = {.end = 0};
    const gp_replay_feed feed = {.ctx = &tp, .next = next_line, .n_parts = 1, .parts = &part, .components = 1};
    gp_run *run;
    advgp_error err = {0};
    must(gp_run_replay_new(&o, &feed, 0, &run, &err), &err);
    assert_false(gp_run_replay_part_ended(run));
    must(gp_run_replay_to_end(run, &err), &err);
    assert_true(gp_run_replay_part_ended(run));
    assert_false(gp_run_replay_is_over(run));
    assert_int_equal(run->ops->turn(run, 0, &err), ADVGP_ESTOPPED);
    gp_run_free(run);
    gp_learner_free(l);
    free_table();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delayed_runs_are_replayed_to_the_bit),
        cmocka_unit_test(workers_that_are_lost_and_join_are_replayed_to_the_bit),
        cmocka_unit_test(steps_that_are_taken_back_are_replayed_to_the_bit),
        cmocka_unit_test(a_resumed_run_is_replayed_to_the_bit),
        cmocka_unit_test(a_part_that_ends_is_not_yet_a_stop),
        cmocka_unit_test(what_cannot_have_been_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
