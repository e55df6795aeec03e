// follower_work.c: a worker of the lead, or of several servers that keep a range each: one protocol machine a server.
// With several it waits for all of them, computes once, and pushes to each what is of its range.
#include "base/alloc.h"
#include "cluster/follower_state.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double resend = 2, full_pause = 5, other_run_pause = 0.25; // seconds
static const double out_of_step = 2;

static size_t line_of(const gp_follower *f, size_t i)
{
    return f->several ? 1 + i : 0;
}

static bool ended(const server_link *h)
{
    return h->worker && gp_worker_state_of(h->worker) == GP_WORKER_ENDED;
}

static bool ready(const server_link *h)
{
    return h->worker && gp_worker_state_of(h->worker) == GP_WORKER_READY;
}

// ---- heads ----------------------------------------------------------------------------------------------------------

static advgp_status make_link(gp_follower *f, size_t i, uint32_t wish, advgp_error *err)
{
    server_link *h = &f->links[i];
    const size_t n_shards = f->tools.n_shards, size = f->several ? h->range.count : f->tools.size;
    const gp_worker_options o = {.size = size,
                                 .push_size = f->several ? 1 + size : f->tools.push_size,
                                 .n_shards = n_shards,
                                 .wish = wish,
                                 .yields = f->o.yields && i == 0, // what it is at the first server, it is at all
                                 .run = {f->run[0], f->run[1]},
                                 .fingerprint = f->tools.fingerprint,
                                 .token = f->token,
                                 .resend = resend,
                                 // Beside what the endpoints say: several servers may share one.
                                 .heartbeat = f->several ? f->heartbeat : 0};
    h->limits = (gp_message_limits){.values = size, .masked = size, .shards = n_shards, .text = GP_JOB_TEXT_MAX};
    h->id = GP_ANY_WORKER;
    return gp_worker_new(&o, &h->worker, err);
}

void gp_follower_work_begin(gp_follower *f, const gp_follower_tools *tools)
{
    advgp_error err = {0};
    advgp_status st = ADVGP_OK;
    f->tools = *tools;
    f->several = f->job.n_servers > 0;
    f->n_links = f->several ? f->job.n_servers : 1;
    f->links = gp_alloc(f->n_links, sizeof *f->links);
    size_t count = 0;
    for (size_t i = 0; f->several && f->links && i < f->n_links; i++) {
        f->links[i].range = f->job.servers[i].range;
        count += f->links[i].range.count;
    }
    if (f->several) {
        f->theta = gp_alloc(tools->size, sizeof(double));
        f->push = gp_alloc(tools->push_size, sizeof(double));
        if (count != tools->size || tools->push_size != 1 + tools->size)
            st = gp_fail(&err, ADVGP_EFILE, "the lead's servers keep %zu of %zu parameters", count, tools->size);
    }
    if (!f->links || (f->several && (!f->theta || !f->push))) st = gp_no_memory(&err);
    if (st == ADVGP_OK) st = make_link(f, 0, f->o.wish, &err);
    f->state = GP_FOLLOWER_WORKS;
    f->server_heard = f->idle_since = f->now;
    f->hold = 0;
    f->sign_revision++;
    if (st != ADVGP_OK) gp_follower_end(f, st, err.text);
}

void gp_follower_work_end(gp_follower *f, bool leaves, unsigned flags, const char *text)
{
    for (size_t i = 0; f->links && i < f->n_links; i++) {
        gp_worker *w = f->links[i].worker;
        gp_message bye;
        if (!w) continue;
        f->done.resends += gp_worker_resends(w);
        const bool there = gp_worker_state_of(w) != GP_WORKER_ENDED;
        if (leaves && there && gp_worker_leave(w, &bye)) {
            bye.flags |= flags;
            if (text) bye.text = text, bye.n_text = strlen(text);
            gp_follower_send(f, line_of(f, i), &bye);
        }
        gp_worker_free(w);
    }
    if (f->links) f->done.runs++;
    gp_free(f->links);
    gp_free(f->theta);
    gp_free(f->push);
    f->links = NULL, f->theta = f->push = NULL, f->n_links = 0;
}

static void tell_place(gp_follower *f, uint32_t worker, uint32_t incarnation)
{
    if (worker == f->place && (incarnation == 1 || f->several)) return; // the same as in the run before
    f->place = worker;
    if (incarnation > 1)
        gp_follower_report(f, "is worker %" PRIu32 " from now on, its incarnation %" PRIu32, worker, incarnation);
    else
        gp_follower_report(f, "is worker %" PRIu32 " from now on", worker);
}

// A place that was given a moment ago. With the number of the first server it goes to the others.
static void note_places(gp_follower *f)
{
    advgp_error err = {0};
    advgp_status st = ADVGP_OK;
    gp_message sign;
    if (!gp_worker_sign(f->links[0].worker, &sign)) return;
    for (size_t i = 1; st == ADVGP_OK && i < f->n_links; i++)
        if (!f->links[i].worker) st = make_link(f, i, sign.worker, &err);
    for (size_t i = 0; st == ADVGP_OK && i < f->n_links; i++) {
        server_link *h = &f->links[i];
        if (!gp_worker_sign(h->worker, &sign) || (h->id == sign.worker && h->incarnation == sign.incarnation)) continue;
        h->id = sign.worker, h->incarnation = sign.incarnation;
        f->sign_revision++;
        if (i == 0) tell_place(f, sign.worker, sign.incarnation);
    }
    if (st != ADVGP_OK) gp_follower_end(f, st, err.text);
}

// ---- hearing --------------------------------------------------------------------------------------------------------

static void on_refused(gp_follower *f, gp_refusal reason, const char *text)
{
    if (reason == GP_REFUSED_OTHER_RUN) {
        if (!f->several) gp_follower_report(f, "the lead has been started again: asks what the work is now");
        gp_follower_work_end(f, true, 0, NULL);
        gp_follower_ask(f, f->several ? other_run_pause : 0);
    } else if (reason == GP_REFUSED_FULL || reason == GP_REFUSED_TAKEN) {
        gp_follower_report(f, "%s: asks again in %.0f s", gp_refusal_text(reason), full_pause);
        gp_follower_work_end(f, true, 0, NULL);
        gp_follower_ask(f, full_pause);
    } else {
        gp_follower_end(f, ADVGP_ECLUSTER, text);
    }
}

void gp_follower_work_on_bytes(gp_follower *f, size_t line, const void *bytes, size_t n)
{
    const size_t i = f->several ? line - 1 : line; // of the lead, where there are several: beyond all of them
    server_link *h = i < f->n_links ? &f->links[i] : NULL;
    advgp_error err = {0};
    gp_message m;
    if (!h || !h->worker) return;
    f->server_heard = f->now;
    if (gp_message_decode(bytes, n, &h->limits, &m, NULL) != ADVGP_OK) return;
    if (gp_worker_on_message(h->worker, f->now, &m, &err) != ADVGP_OK) {
        on_refused(f, gp_worker_refused(h->worker), err.text);
        return;
    }
    note_places(f);
    if (f->state != GP_FOLLOWER_WORKS) return;
    size_t over = 0, in_vain = 0;
    for (size_t k = 0; k < f->n_links; k++) {
        if (!ended(&f->links[k])) continue;
        over++;
        in_vain += !gp_worker_work(f->links[k].worker).n_shards;
    }
    // It came too late for a server that has ended the interval, without whose parameters nothing can be computed.
    if (over < f->n_links && !in_vain) return;
    if (f->several) memcpy(f->finished, f->run, sizeof f->run);
    gp_follower_work_end(f, over < f->n_links, GP_FLAG_YIELDS, NULL);
    gp_follower_ask(f, 0);
}

void gp_follower_work_on_tick(gp_follower *f)
{
    for (size_t i = 0; i < f->n_links; i++)
        if (f->links[i].worker) gp_worker_on_tick(f->links[i].worker, f->now);
}

bool gp_follower_work_next(gp_follower *f, size_t *line, gp_message *m)
{
    for (size_t i = 0; f->now >= f->hold && i < f->n_links; i++) {
        *line = line_of(f, i);
        if (f->links[i].worker && gp_worker_next(f->links[i].worker, f->now, m)) return true;
    }
    return false;
}

// ---- computing ------------------------------------------------------------------------------------------------------

// One more than the version for which a server waits for this worker, or will. UINT64_MAX: it is over; 0: it has not
// given any parameters yet.
static uint64_t turn_of(const server_link *h)
{
    if (!h->worker) return 0;
    const gp_work work = gp_worker_work(h->worker);
    if (ended(h)) return UINT64_MAX;
    if (ready(h)) return work.version + 1;
    return work.n_shards ? work.version + 2 : 0;
}

// Which servers does it compute for? All, once all have answered. They may not: a worker that one has lost, or let in,
// before the others brings them out of step, and then one waits for a push by this worker, which waits for the
// other, which waits for a worker that waits for the first. So, after a while, those who are farthest behind are served
// with the parameters that the others gave last.
static uint64_t turn(const gp_follower *f)
{
    uint64_t least = UINT64_MAX;
    size_t over = 0, can = 0, first = 0;
    for (size_t i = 0; i < f->n_links; i++) {
        over += ended(&f->links[i]), can += ready(&f->links[i]);
        const uint64_t mine = turn_of(&f->links[i]);
        if (mine < least) least = mine;
    }
    if (can && can + over == f->n_links) return UINT64_MAX - 1; // all
    if (!can || f->now - f->idle_since < out_of_step) return 0;
    for (size_t i = 0; i < f->n_links; i++)
        if (turn_of(&f->links[i]) == least) first += !ready(&f->links[i]);
    return first ? 0 : least;
}

bool gp_follower_has_work(const gp_follower *f)
{
    if (f->state != GP_FOLLOWER_WORKS || f->now < f->hold) return false;
    return f->several ? turn(f) > 0 : f->n_links && ready(&f->links[0]);
}

// What a server gets of the push that was computed for all: its value, and the elements of its range.
static advgp_status fill(void *ctx, const gp_work *work, double *push, gp_work_done *done, advgp_error *err)
{
    const gp_follower *f = ctx;
    const gp_range range = f->links[f->filled].range;
    (void)work, (void)err;
    push[0] = f->push[0];
    memcpy(push + 1, f->push + 1 + range.first, range.count * sizeof(double));
    *done = f->work_done;
    done->n_values = 1 + range.count;
    return ADVGP_OK;
}

static advgp_status fail_all(void *ctx, const gp_work *work, double *push, gp_work_done *done, advgp_error *err)
{
    (void)ctx, (void)work, (void)push, (void)done;
    return gp_fail(err, ADVGP_ENUMERIC, "no gradient at these parameters");
}

static bool same_rows(const gp_work *a, const gp_work *b)
{
    return a->worker == b->worker && a->flags == b->flags && a->max_rows == b->max_rows && a->n_shards == b->n_shards &&
           !memcmp(a->shards, b->shards, a->n_shards * sizeof *a->shards);
}

// Once for all servers that mean the same rows. They may not: one has lost a worker, or let one in, before the other;
// what it is given is then of the rows it asked for, so that none counts twice there.
static advgp_status compute_for_several(gp_follower *f, const gp_computer *computer, advgp_error *err)
{
    for (size_t i = 0; i < f->n_links; i++)
        memcpy(f->theta + f->links[i].range.first, gp_worker_work(f->links[i].worker).theta,
               f->links[i].range.count * sizeof(double));
    const uint64_t until = turn(f);
    for (size_t i = 0; i < f->n_links; i++) {
        if (!ready(&f->links[i])) continue; // it is over, or was served with one before it
        if (turn_of(&f->links[i]) > until) continue;
        gp_work work = gp_worker_work(f->links[i].worker);
        work.theta = f->theta;
        f->work_done = (gp_work_done){0};
        advgp_status st = computer->compute(computer->ctx, &work, f->push, &f->work_done, err);
        if (st != ADVGP_OK && st != ADVGP_ENUMERIC) return st;
        const gp_computer each = {.ctx = f, .compute = st == ADVGP_OK ? fill : fail_all};
        for (f->filled = i; f->filled < f->n_links; f->filled++) {
            gp_worker *w = f->links[f->filled].worker;
            if (!ready(&f->links[f->filled])) continue;
            const gp_work other = gp_worker_work(w);
            if (turn_of(&f->links[f->filled]) > until || !same_rows(&work, &other)) continue;
            st = gp_worker_compute(w, &each, err);
            if (st != ADVGP_OK) return st;
        }
    }
    return ADVGP_OK;
}

advgp_status gp_follower_compute(gp_follower *f, const gp_computer *computer, advgp_error *err)
{
    return f->several ? compute_for_several(f, computer, err) : gp_worker_compute(f->links[0].worker, computer, err);
}

void gp_follower_computed(gp_follower *f, double now)
{
    const gp_worker *w = f->links[0].worker;
    const uint32_t k = gp_worker_id(w);
    const double delay = k < f->job.n_delays && !gp_worker_sums_all(w) ? f->job.delays[k] : 0;
    f->done.pushes++;
    f->now = now;
    f->heard = f->server_heard = fmax(f->heard, now); // nobody was listening
    f->hold = delay > 0 ? now + delay : 0;
    f->idle_since = now;
}

bool gp_follower_upcoming(const gp_follower *f, gp_work *work)
{
    return f->state == GP_FOLLOWER_WORKS && !f->several && gp_worker_upcoming(f->links[0].worker, work);
}

size_t gp_follower_awaits(const gp_follower *f)
{
    for (size_t i = 0; f->state == GP_FOLLOWER_WORKS && i < f->n_links; i++)
        if (f->links[i].worker && !ended(&f->links[i]) && !ready(&f->links[i])) return line_of(f, i);
    return 0;
}
