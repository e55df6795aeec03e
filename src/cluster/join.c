// join.c: endpoints, clock, rows and computing around the machine of a follower.
#include "cluster/join.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "linalg/interrupt.h"
#include "run/computer.h"
#include "run/run.h"
#include "run/send.h"
#include "shards/packed.h"
#include "shards/synthetic.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HEARD_AT_ONCE = 64 }; // messages between two looks at the clock, where they come without a pause

typedef struct server_line { // a server of a range, as a worker reaches it
    gp_endpoint *endpoint;   // several may share one, also the lead's
    size_t peer;
} server_line;

typedef struct joining {
    gp_join_options o;
    gp_follower *follower;
    char *dir; // of the shards that are open
    gp_shards *shards;
    uint64_t fingerprint; // of these
    gp_sender sender;
    uint64_t sign_revision; // of the follower, as they are given
    size_t heard;           // messages since the follower was told the time
    double asked;           // to stop: when that was heard while it computed,
    bool is_asked;          // if it was
    // A worker's:
    gp_row_computer *computer;
    server_line *lines;     // [n_lines]
    gp_job_server *reached; // [n_lines]: for whom these are
    size_t n_lines;
    // A server's:
    gp_run run;
    bool has_run;
} joining;

static gp_endpoint *service_of(const joining *j) // apart from the lead's, or NULL
{
    return j->o.service && j->o.service->endpoint != j->o.endpoint ? j->o.service->endpoint : NULL;
}

// ---- sending --------------------------------------------------------------------------------------------------------

static advgp_status send_by(joining *j, size_t line, const gp_message *m, advgp_error *err)
{
    gp_endpoint *e = j->o.endpoint;
    size_t peer = 0;
    if (line && j->o.service)
        e = j->o.service->endpoint, peer = line;
    else if (line && line <= j->n_lines)
        e = j->lines[line - 1].endpoint, peer = j->lines[line - 1].peer;
    return gp_sender_send(&j->sender, e, peer, m, err);
}

static advgp_status send_all(joining *j, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    gp_message m;
    size_t line;
    while (st == ADVGP_OK && gp_follower_next(j->follower, gp_clock_wall(), &line, &m)) st = send_by(j, line, &m, err);
    return st;
}

static advgp_status give_sign(joining *j, gp_endpoint *e, long line, advgp_error *err)
{
    _Alignas(8) char bytes[256];
    gp_message sign;
    const bool any = gp_follower_sign(j->follower, line, &sign);
    if (!e->transport->beat) return ADVGP_OK;
    if (any) gp_message_encode(&sign, bytes);
    return e->transport->beat(e, any ? gp_follower_heartbeat(j->follower) : 0, any ? bytes : NULL,
                              any ? gp_message_size(&sign) : 0, err);
}

// By an endpoint that a worker shares with the lead and servers, they hear what is meant for a server: it tells more.
static advgp_status give_signs(joining *j, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    if (j->sign_revision == gp_follower_sign_revision(j->follower)) return ADVGP_OK;
    j->sign_revision = gp_follower_sign_revision(j->follower);
    bool shared = false;
    for (size_t i = 0; st == ADVGP_OK && i < j->n_lines; i++) {
        const bool same = j->lines[i].endpoint == j->o.endpoint;
        gp_message sign;
        shared |= same;
        if (same && !gp_follower_sign(j->follower, 1 + (long)i, &sign)) continue; // another server's goes on
        st = give_sign(j, j->lines[i].endpoint, 1 + (long)i, err);
    }
    gp_message sign;
    if (st == ADVGP_OK && (!shared || !gp_follower_sign(j->follower, 1, &sign)))
        st = give_sign(j, j->o.endpoint, 0, err);
    if (st == ADVGP_OK && service_of(j)) st = give_sign(j, service_of(j), GP_FOLLOWER_EVERYBODY, err);
    return st;
}

// ---- hearing --------------------------------------------------------------------------------------------------------

// Whose message it is; false: of somebody who has nothing to say to this process.
static bool line_of(const joining *j, const gp_endpoint *e, size_t peer, size_t *line)
{
    if (j->o.service) {
        *line = e == j->o.service->endpoint ? peer : 0;
        return true;
    }
    for (size_t i = 0; i < j->n_lines; i++) {
        *line = 1 + i;
        if (j->lines[i].endpoint == e && j->lines[i].peer == peer) return true;
    }
    *line = 0;
    return e == j->o.endpoint && peer == 0;
}

static advgp_status hear(joining *j, gp_endpoint *e, double seconds, bool *heard, advgp_error *err)
{
    size_t peer, n, line;
    const void *bytes;
    const advgp_status st = e->transport->receive(e, seconds, &peer, &bytes, &n, err);
    if (st != ADVGP_OK || !bytes) return st;
    *heard = true;
    if (line_of(j, e, peer, &line)) gp_follower_on_bytes(j->follower, gp_clock_wall(), line, bytes, n);
    return ADVGP_OK;
}

// Whatever has come is heard. If nothing has, it waits where an answer is due.
static advgp_status listen(joining *j, bool *heard, advgp_error *err)
{
    gp_endpoint *lead = j->o.endpoint, *at = lead;
    const size_t line = gp_follower_awaits(j->follower);
    advgp_status st = ADVGP_OK;
    size_t others = 0;
    if (gp_follower_state_of(j->follower) == GP_FOLLOWER_SERVES) at = j->o.service->endpoint;
    if (line && line <= j->n_lines) at = j->lines[line - 1].endpoint;
    for (size_t i = 0; st == ADVGP_OK && i < j->n_lines; i++) {
        if (j->lines[i].endpoint == lead) continue;
        st = hear(j, j->lines[i].endpoint, 0, heard, err), others++;
    }
    if (st == ADVGP_OK && service_of(j)) st = hear(j, service_of(j), 0, heard, err), others++;
    if (st == ADVGP_OK && others) st = hear(j, lead, 0, heard, err);
    const double due = gp_follower_due(j->follower, gp_clock_wall());
    return st == ADVGP_OK && !*heard ? hear(j, at, due, heard, err) : st;
}

// ---- what a job needs -----------------------------------------------------------------------------------------------

static advgp_status open_shards(joining *j, const gp_job *job, advgp_error *err)
{
    const char *dir = j->o.data ? j->o.data : job->data;
    if (j->shards && !strcmp(dir, j->dir) && j->fingerprint == job->fingerprint) return ADVGP_OK;
    gp_shards_free(j->shards);
    gp_free(j->dir);
    j->shards = NULL;
    j->dir = gp_alloc(strlen(dir) + 1, 1);
    if (!j->dir) return gp_no_memory(err);
    memcpy(j->dir, dir, strlen(dir));
    const bool synthetic = gp_synthetic_is(dir);
    const advgp_status st = synthetic ? gp_synthetic_open(dir, &j->shards, NULL, err)
                                      : gp_packed_open(dir, &j->shards, NULL, NULL, err);
    if (st != ADVGP_OK)
        return gp_wrap(err, st, "the shards of the run (a folder that all can open is needed, or {data} DIR)");
    j->fingerprint = synthetic ? gp_synthetic_fingerprint(j->shards) : gp_packed_fingerprint(j->shards);
    if (j->fingerprint != job->fingerprint || j->shards->d != job->claims.spec.d)
        return gp_fail(err, ADVGP_ECLUSTER, "%s holds other rows than the lead's: use the same packed folder", dir);
    return ADVGP_OK;
}

static void forget_servers(joining *j)
{
    for (size_t i = 0; i < j->n_lines; i++) {
        gp_endpoint *e = j->lines[i].endpoint;
        if (e && e != j->o.endpoint) e->transport->close(e);
    }
    gp_free(j->lines);
    gp_free(j->reached);
    j->lines = NULL, j->reached = NULL, j->n_lines = 0;
}

// Connections are kept from one interval to the next.
static advgp_status reach_servers(joining *j, const gp_job *job, advgp_error *err)
{
    const size_t n = job->n_servers;
    if (!n || (j->n_lines == n && !memcmp(j->reached, job->servers, n * sizeof *j->reached))) return ADVGP_OK;
    forget_servers(j);
    if (!j->o.reach) return gp_fail(err, ADVGP_EINVAL, "this worker cannot reach several servers");
    j->lines = gp_alloc(n, sizeof *j->lines);
    j->reached = gp_alloc(n, sizeof *j->reached);
    if (!j->lines || !j->reached) return gp_no_memory(err);
    memcpy(j->reached, job->servers, n * sizeof *j->reached);
    advgp_status st = ADVGP_OK;
    for (size_t i = 0; st == ADVGP_OK && i < n; i++) {
        st = j->o.reach(j->o.ctx, job->servers[i].address, job->servers[i].key, &j->lines[i].endpoint,
                        &j->lines[i].peer, err);
        j->n_lines += st == ADVGP_OK;
    }
    return st;
}

static advgp_status open_work(joining *j, const gp_job *job, gp_follower_tools *tools, advgp_error *err)
{
    gp_features *f = NULL;
    advgp_status st = gp_features_new(&job->claims.spec, &f, err);
    if (st != ADVGP_OK) return st;
    const gp_theta_layout layout = gp_theta_layout_of(f);
    const gp_range range = gp_range_all(layout);
    gp_features_free(f);
    const gp_row_computer_options co = {
        .shards = j->shards, .spec = &job->claims.spec, .schedule = job->schedule, .range = range};
    gp_row_computer_free(j->computer);
    j->computer = NULL;
    st = gp_row_computer_new(&co, &j->computer, err);
    if (st == ADVGP_OK) st = reach_servers(j, job, err);
    *tools = (gp_follower_tools){.n_shards = j->shards->n_train,
                                 .size = layout.size,
                                 .push_size = gp_row_computer_push_size(layout, job->schedule.rule, range),
                                 .fingerprint = j->fingerprint};
    return st;
}

static void on_event(void *ctx, const gp_ps_event *event)
{
    gp_follower_on_event(((joining *)ctx)->follower, event);
}

static advgp_status open_service(joining *j, const gp_job *job, gp_follower_tools *tools, advgp_error *err)
{
    const gp_job_service *s = &job->service;
    const gp_server_copy *begin = &gp_follower_range_state(j->follower)->copy;
    const uint64_t *id = gp_follower_run(j->follower);
    const size_t n_shards = j->shards->n_train;
    gp_run_options o = {.spec = &job->claims.spec,
                        .theta = begin->image.theta,
                        .range = begin->range,
                        .shards = j->shards,
                        .schedule = job->schedule,
                        .workers_max = s->workers_max,
                        .id = {id[0], id[1]},
                        .fingerprint = j->fingerprint,
                        .lost_after = s->lost_after,
                        .event = on_event,
                        .event_ctx = j};
    if (o.schedule.workers > n_shards) o.schedule.workers = n_shards;
    const advgp_status st = gp_run_init(&j->run, NULL, &o, err);
    j->has_run = true;
    const size_t size = begin->range.count;
    *tools = (gp_follower_tools){
        .n_shards = n_shards,
        .server = j->run.server,
        .rule = j->run.rule,
        .shard_rows = j->shards->rows,
        .limits = {.values = 1 + size, .masked = size, .shards = n_shards, .text = GP_LEAD_TEXT}};
    return st;
}

static void open_job(joining *j)
{
    const gp_job *job = gp_follower_job(j->follower);
    gp_follower_tools tools = {0};
    advgp_error err = {0};
    advgp_status st = open_shards(j, job, &err);
    if (st == ADVGP_OK) st = j->o.service ? open_service(j, job, &tools, &err) : open_work(j, job, &tools, &err);
    if (st == ADVGP_OK)
        gp_follower_opened(j->follower, gp_clock_wall(), &tools);
    else
        gp_follower_fail(j->follower, gp_clock_wall(), st, &err);
}

static void close_service(joining *j)
{
    if (!j->has_run) return;
    gp_follower_release(j->follower);
    gp_run_fini(&j->run);
    j->has_run = false;
}

// ---- life -----------------------------------------------------------------------------------------------------------

// Asked to stop, and its grace is over: what is computed comes too late for anybody.
static int is_late(void *ctx)
{
    joining *j = ctx;
    if (!j->o.stop || !j->o.stop(j->o.ctx)) return 0;
    const double now = gp_clock_wall();
    if (!j->is_asked) j->asked = now;
    j->is_asked = true;
    return now - j->asked >= j->o.grace;
}

static void compute(joining *j)
{
    const gp_computer computer = gp_row_computer_of(j->computer);
    advgp_error err = {0};
    gp_interrupt scope;
    gp_interrupt_open(&scope, is_late, j);
    advgp_status st = gp_follower_compute(j->follower, &computer, &err);
    if (gp_interrupt_close(&scope)) st = gp_fail(&err, ADVGP_ESTOPPED, "the worker was asked to stop");
    if (st == ADVGP_OK)
        gp_follower_computed(j->follower, gp_clock_wall());
    else
        gp_follower_fail(j->follower, gp_clock_wall(), st, &err);
}

// While it does a task it listens: whether somebody else has done it, or the training is over.
static int is_in_vain(void *ctx)
{
    joining *j = ctx;
    bool heard = true;
    while (heard) {
        heard = false;
        if (hear(j, j->o.endpoint, 0, &heard, NULL) != ADVGP_OK) break; // as the next time will say
    }
    return is_late(j) || !gp_follower_task_wanted(j->follower);
}

// What it cannot do the lead does itself.
static void do_task(joining *j)
{
    gp_interrupt scope;
    advgp_error err = {0}, said;
    double *result = NULL;
    size_t n = 0;
    advgp_status st = j->o.task ? ADVGP_OK : gp_fail(&err, ADVGP_EINVAL, "this worker does no tasks");
    gp_interrupt_open(&scope, is_in_vain, j);
    if (st == ADVGP_OK)
        st = j->o.task(j->o.ctx, gp_follower_task(j->follower), j->shards, j->fingerprint, &result, &n, &err);
    const bool ended = gp_interrupt_close(&scope), wanted = gp_follower_task_wanted(j->follower);
    if (ended && wanted) (void)gp_fail(&err, ADVGP_ESTOPPED, "the worker was asked to stop");
    if (ended && wanted) gp_follower_fail(j->follower, gp_clock_wall(), ADVGP_ESTOPPED, &err);
    if (st != ADVGP_OK && wanted && !ended && j->o.report) {
        (void)gp_fail(&said, st, "could not do a task: %s", err.text);
        j->o.report(j->o.ctx, said.text);
    }
    gp_follower_task_done(j->follower, gp_clock_wall(), st == ADVGP_OK && !ended ? result : NULL, n);
    gp_free(result);
}

static advgp_status wait(joining *j, bool *heard, advgp_error *err)
{
    gp_work next;
    if (j->computer && gp_follower_upcoming(j->follower, &next)) {
        const gp_computer computer = gp_row_computer_of(j->computer);
        if (computer.fetch) computer.fetch(computer.ctx, &next);
    }
    return listen(j, heard, err);
}

static advgp_status live(joining *j, advgp_error *err)
{
    advgp_status st = send_all(j, err);
    while (st == ADVGP_OK && gp_follower_state_of(j->follower) != GP_FOLLOWER_ENDED) {
        const gp_follower_state state = gp_follower_state_of(j->follower);
        bool heard = false;
        if (state == GP_FOLLOWER_OPENS)
            open_job(j);
        else if (state == GP_FOLLOWER_TASKED)
            do_task(j);
        else if (gp_follower_has_work(j->follower))
            compute(j);
        else
            st = wait(j, &heard, err);
        // Who is lost is known only when all that had come was heard.
        if (!heard || state != GP_FOLLOWER_SERVES || ++j->heard > HEARD_AT_ONCE) {
            j->heard = 0;
            gp_follower_on_tick(j->follower, gp_clock_wall());
            if (j->o.stop && j->o.stop(j->o.ctx)) gp_follower_on_stop(j->follower, gp_clock_wall());
        }
        if (st == ADVGP_OK) st = send_all(j, err);
        if (gp_follower_state_of(j->follower) != GP_FOLLOWER_SERVES &&
            gp_follower_state_of(j->follower) != GP_FOLLOWER_OPENS)
            close_service(j);
        if (st == ADVGP_OK) st = give_signs(j, err);
    }
    return st;
}

static void on_report(void *ctx, const char *text)
{
    const joining *j = ctx;
    if (j->o.report) j->o.report(j->o.ctx, text);
}

static void on_doubt(void *ctx, char *out, size_t room)
{
    const joining *j = ctx;
    out[0] = 0;
    if (j->o.doubt) j->o.doubt(j->o.ctx, out, room);
}

static void on_lost(void *ctx, size_t line)
{
    const joining *j = ctx;
    gp_endpoint *e = line && j->o.service ? j->o.service->endpoint : j->o.endpoint;
    if (e->transport->lost) e->transport->lost(e, line);
}

advgp_status gp_join(const gp_join_options *o, gp_follower_result *result, advgp_error *err)
{
    joining j = {.o = *o};
    const gp_follower_options vo = {.name = o->name,
                                    .address = o->service ? o->service->address : NULL,
                                    .key = o->service ? o->service->key : NULL,
                                    .wish = o->wish,
                                    .yields = o->yields,
                                    .random = o->random,
                                    .give_up = o->give_up,
                                    .grace = o->grace,
                                    .doubt = on_doubt,
                                    .report = on_report,
                                    .lost = on_lost,
                                    .ctx = &j};
    if (result) *result = (gp_follower_result){0};
    advgp_status st = gp_follower_new(&vo, gp_clock_wall(), &j.follower, err);
    if (st == ADVGP_OK) st = live(&j, err);
    if (st == ADVGP_OK) st = gp_follower_outcome(j.follower, result, err);
    close_service(&j);
    forget_servers(&j);
    if (service_of(&j)) service_of(&j)->transport->close(service_of(&j));
    gp_follower_free(j.follower);
    gp_row_computer_free(j.computer);
    gp_sender_fini(&j.sender);
    gp_shards_free(j.shards);
    gp_free(j.dir);
    return st;
}
