// replay.c: lines of the log, one a turn. Versions are made when the log says so: gp_server_allow holds the server back
// until then, for what else the real one had to wait for (a score of the evaluator) is not in the log.
#include "run/replay.h"
#include "base/alloc.h"

#include <string.h>

typedef struct answer {
    gp_message message;
    double *values;
    uint64_t *mask;
    uint32_t *shards;
} answer;

// A worker as far as the log knows it. Answers of the server wait here until the log shows which one it used.
typedef struct replayed_worker {
    gp_worker *worker;
    answer *answers; // [room], n_made of them made, n_answers in use, oldest first
    size_t n_answers, n_made, room;
} replayed_worker;

typedef struct replay {
    gp_run base;
    const gp_replay_feed *feed;
    size_t part;
    bool part_ended; // at a checkpoint
    gp_row_computer *computer;
    replayed_worker *workers; // [workers]
    bool over;                // a collection has begun, or the log is at its end
    uint64_t rows;            // of each worker, in the collection
    unsigned long n_lines;
} replay;

static advgp_status disagree(const replay *r, advgp_error *err, const char *what)
{
    return gp_fail(err, ADVGP_EFILE, "the log cannot be replayed: %s (event %lu of the server)", what, r->n_lines);
}

// ---- messages -------------------------------------------------------------------------------------------------------

static void free_answer(answer *a)
{
    gp_free(a->values);
    gp_free(a->mask);
    gp_free(a->shards);
}

static bool make_answer(const gp_run *run, answer *a)
{
    a->values = gp_alloc(run->layout.size, sizeof *a->values);
    a->mask = gp_alloc(gp_mask_words(run->layout.size), sizeof *a->mask);
    a->shards = gp_alloc(run->o.shards->n_train, sizeof *a->shards);
    return a->values && a->mask && a->shards;
}

// Mostly there is one: more only where a worker asked again and again.
static bool make_room(const gp_run *run, replayed_worker *g)
{
    if (g->n_answers < g->n_made) return true;
    if (!gp_grow(&g->answers, &g->room, g->n_made, g->n_made + 1, sizeof *g->answers)) return false;
    return make_answer(run, &g->answers[g->n_made++]); // one that was half made is freed with the others
}

static advgp_status keep_answer(replay *r, replayed_worker *g, const gp_message *m, advgp_error *err)
{
    if (!make_room(&r->base, g)) return gp_no_memory(err);
    answer *a = &g->answers[g->n_answers++];
    a->message = *m;
    a->message.values = memcpy(a->values, m->values, m->n_values * sizeof(double));
    a->message.shards = memcpy(a->shards, m->shards, m->n_shards * sizeof(uint32_t));
    if (m->n_masked) a->message.mask = memcpy(a->mask, m->mask, gp_mask_words(m->n_masked) * sizeof(uint64_t));
    return ADVGP_OK;
}

// What the server has to say: welcomes are heard at once, parameters wait.
static advgp_status hear(replay *r, advgp_error *err)
{
    gp_message m;
    size_t peer;
    advgp_status st = ADVGP_OK;
    while (st == ADVGP_OK && gp_server_next(r->base.server, 0, &peer, &m)) {
        replayed_worker *g = &r->workers[peer];
        if (m.kind == GP_PARAMETERS)
            st = keep_answer(r, g, &m, err);
        else if (g->worker)
            st = gp_worker_on_message(g->worker, 0, &m, err);
    }
    return st;
}

static advgp_status deliver(replay *r, uint32_t k, advgp_error *err)
{
    gp_message m;
    advgp_status st = ADVGP_OK;
    while (st == ADVGP_OK && gp_worker_next(r->workers[k].worker, 0, &m))
        st = gp_server_on_message(r->base.server, 0, k, &m, err);
    return st;
}

// ---- lines ----------------------------------------------------------------------------------------------------------

// A newcomer: a fresh worker says hello.
static advgp_status joined(replay *r, const gp_pslog_line *line, advgp_error *err)
{
    const gp_run *run = &r->base;
    replayed_worker *g = &r->workers[line->worker];
    const gp_worker_options o = {
        .size = run->layout.size,
        .push_size = gp_row_computer_push_size(run->layout, run->o.schedule.rule, gp_range_all(run->layout)),
        .n_shards = run->o.shards->n_train,
        .wish = line->worker,
        .run = {run->o.schedule.seed, 1},
        .token = (uint64_t)line->incarnation << 32 | (line->worker + 1)};
    gp_worker_free(g->worker);
    g->n_answers = 0;
    advgp_status st = gp_worker_new(&o, &g->worker, err);
    if (st == ADVGP_OK) st = deliver(r, line->worker, err); // hello
    if (st == ADVGP_OK) st = hear(r, err);                  // welcome; the pull comes when the log says so
    if (st != ADVGP_OK) return st;
    if (gp_server_member(run->server, line->worker).incarnation != line->incarnation)
        return disagree(r, err, "a worker has another incarnation");
    return ADVGP_OK;
}

static advgp_status pushed(replay *r, const gp_pslog_line *line, advgp_error *err)
{
    replayed_worker *g = &r->workers[line->worker];
    const gp_computer computer = gp_row_computer_of(r->computer);
    size_t i = g->n_answers;
    while (i-- > 0) {
        const gp_message *m = &g->answers[i].message;
        if (m->version == line->version && !(m->flags & GP_FLAG_FULL) == line->filtered &&
            gp_pslog_shards(m->n_shards, m->shards) == line->shards)
            break;
    }
    if (!g->worker || i == SIZE_MAX) return disagree(r, err, "a worker pushed what it had no parameters for");
    advgp_status st = gp_worker_on_message(g->worker, 0, &g->answers[i].message, err);
    if (st != ADVGP_OK) return st;
    if (gp_worker_state_of(g->worker) != GP_WORKER_READY)
        return disagree(r, err, "a worker could not take the parameters it used");
    g->n_answers = 0;
    st = gp_worker_compute(g->worker, &computer, err);
    return st == ADVGP_OK ? deliver(r, line->worker, err) : st;
}

static advgp_status pulled(replay *r, const gp_pslog_line *line, advgp_error *err)
{
    if (!r->workers[line->worker].worker) return disagree(r, err, "a worker pulled that had not joined");
    return deliver(r, line->worker, err);
}

static advgp_status asked_again(replay *r, const gp_pslog_line *line, advgp_error *err)
{
    const gp_server_image image = gp_server_look(r->base.server);
    const gp_message pull = {.kind = GP_PULL,
                             .run = {r->base.o.schedule.seed, 1},
                             .generation = image.generation,
                             .worker = line->worker,
                             .incarnation = line->incarnation,
                             .sequence = gp_server_member(r->base.server, line->worker).sequence};
    return gp_server_on_message(r->base.server, 0, line->worker, &pull, err);
}

static advgp_status advanced(replay *r, const gp_pslog_line *line, advgp_error *err)
{
    const advgp_status st = gp_server_allow(r->base.server, line->version, err);
    if (st != ADVGP_OK) return st;
    if (gp_server_version(r->base.server) != line->version)
        return disagree(r, err, "the server does not come to the version of the log");
    return ADVGP_OK;
}

static advgp_status collected(replay *r, const gp_pslog_line *line, advgp_error *err)
{
    const uint64_t version = gp_server_version(r->base.server);
    r->rows = line->rows;
    if (r->over && line->version == version) return ADVGP_OK; // the one that is under way
    if (line->version != version + 1) return disagree(r, err, "a collection is of another version");
    if (r->over) return gp_fail(err, ADVGP_ESTOPPED, "stopped while rows were summed"); // as the real one was
    r->over = true; // training begins its collection when it sees that the steps are over
    return ADVGP_OK;
}

static advgp_status replay_turn(gp_run *run, double seconds, advgp_error *err)
{
    (void)seconds;
    replay *r = (replay *)run;
    gp_pslog_line line = {0};
    bool ended = false;
    if (r->part_ended) return gp_fail(err, ADVGP_ESTOPPED, "the run was stopped here, and resumed");
    advgp_status st = r->feed->next(r->feed->ctx, &line, &ended, err);
    // Answers go out before anything new happens; what is the effect of the line before comes first, so that after a
    // push that made a version they are of the new one.
    const bool effect = (line.kind == GP_EVENT_ADVANCE && !line.held) || line.kind == GP_EVENT_MOVED ||
                        line.kind == GP_EVENT_BEGUN || line.kind == GP_EVENT_COLLECTED;
    if (st == ADVGP_OK && (ended || !effect)) st = hear(r, err);
    if (st != ADVGP_OK) return st;
    if (ended && r->part < r->feed->n_parts) {
        r->part_ended = true;
        return ADVGP_OK;
    }
    if (ended) {
        if (r->over) return disagree(r, err, "it ends before the last act is done");
        r->over = true;
        return ADVGP_OK;
    }
    r->n_lines++;
    const bool peer = line.kind == GP_EVENT_JOINED || line.kind == GP_EVENT_LOST || line.kind == GP_EVENT_PUSH ||
                      line.kind == GP_EVENT_PULL || line.kind == GP_EVENT_AGAIN;
    if (peer && line.worker >= gp_run_members(run)) return disagree(r, err, "it names a worker that cannot be");
    switch (line.kind) {
    case GP_EVENT_JOINED:
        return joined(r, &line, err);
    case GP_EVENT_LOST:
        return gp_server_on_lost(run->server, line.worker, err);
    case GP_EVENT_PUSH:
        return pushed(r, &line, err);
    case GP_EVENT_PULL:
        return pulled(r, &line, err);
    case GP_EVENT_AGAIN:
        return asked_again(r, &line, err);
    case GP_EVENT_ADVANCE:
        return advanced(r, &line, err);
    case GP_EVENT_COLLECT:
        return collected(r, &line, err);
    case GP_EVENT_BEGUN: // follows from who has come, unless the lead did not wait for all
        return gp_server_begun(run->server) ? ADVGP_OK : gp_server_begin(run->server, err);
    case GP_EVENT_MOVED:
    case GP_EVENT_COLLECTED:
        break; // follow from the others
    }
    return ADVGP_OK;
}

// ---- construction ---------------------------------------------------------------------------------------------------

static void replay_stop(gp_run *run)
{
    replay *r = (replay *)run;
    for (size_t k = 0; r->workers && k < gp_run_members(run); k++) {
        gp_worker_free(r->workers[k].worker);
        for (size_t i = 0; i < r->workers[k].n_made; i++) free_answer(&r->workers[k].answers[i]);
        gp_free(r->workers[k].answers);
    }
    gp_free(r->workers);
    gp_row_computer_free(r->computer);
}

static const gp_run_ops replay_ops = {.turn = replay_turn, .stop = replay_stop};

advgp_status gp_run_replay_new(const gp_run_options *o, const gp_replay_feed *feed, size_t part, gp_run **out,
                               advgp_error *err)
{
    *out = NULL;
    replay *r = gp_alloc(1, sizeof *r);
    if (!r) return gp_no_memory(err);
    gp_run_options by_log = *o;
    by_log.schedule.quorum = 0,
    by_log.schedule.follow_pace = false; // the log says when, and a quorum of then was there
    advgp_status st = gp_run_init(&r->base, &replay_ops, &by_log, err);
    r->feed = feed, r->part = part;
    if (st == ADVGP_OK) {
        const gp_row_computer_options c = {
            .shards = o->shards, .spec = o->spec, .schedule = o->schedule, .range = gp_range_all(r->base.layout)};
        st = gp_row_computer_new(&c, &r->computer, err);
    }
    if (st == ADVGP_OK) {
        r->workers = gp_alloc(gp_run_members(&r->base), sizeof *r->workers);
        if (!r->workers) st = gp_no_memory(err);
    }
    if (st == ADVGP_OK) st = gp_server_allow(r->base.server, 0, err);
    if (st != ADVGP_OK) {
        gp_run_free(&r->base);
        return st;
    }
    *out = &r->base;
    return ADVGP_OK;
}

bool gp_run_replay_is_over(const gp_run *run)
{
    return ((const replay *)run)->over;
}

bool gp_run_replay_part_ended(const gp_run *run)
{
    return ((const replay *)run)->part_ended;
}

advgp_status gp_run_replay_to_end(gp_run *run, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    while (st == ADVGP_OK && !gp_run_replay_is_over(run) && !gp_run_replay_part_ended(run))
        st = run->ops->turn(run, 0, err);
    return st;
}

uint64_t gp_run_replay_rows(const gp_run *run)
{
    size_t n = 0;
    for (size_t k = 0; k < gp_run_members(run); k++) {
        const gp_member m = gp_server_member(run->server, (uint32_t)k);
        n += m.live && m.has_shards;
    }
    if (!n) n = run->o.schedule.workers; // as the server counts who is still to come
    return ((const replay *)run)->rows * n;
}
