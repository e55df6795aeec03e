// join.c: ask, open, compute, and again.
#include "train/join.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"
#include "data/packed.h"
#include "train/computer.h"
#include "train/job.h"
#include "train/work.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const double ask_again = 1, ask_most = 5, look_up = 0.25, resend = 2; // seconds
static const double told_after = 4, told_again = 10, full_pause = 5;

typedef struct visit {
    gp_join_options o;
    gp_join_result result;
    gp_job job;
    uint64_t run[2];
    char *dir; // of the shards that are open
    gp_shards *shards;
    uint64_t fingerprint; // of these
    uint64_t token;
    uint32_t place; // which worker it was last
    double heard, told;
    double asked_to_stop; // when; 0: not yet
    bool over;            // the lead has nothing more to do
} visit;

static void tell(const visit *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void tell(const visit *v, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (v->o.say) v->o.say(v->o.ctx, text);
}

// ---- waiting --------------------------------------------------------------------------------------------------------

static void on_wait(void *ctx, double silent, double idle)
{
    visit *v = ctx;
    const double now = gp_clock_wall();
    if (fmax(silent, idle) < told_after || now - v->told < told_again) return;
    v->told = now;
    if (silent >= told_after)
        tell(v, "waiting for the lead: no word for %.0f s, gives up after %.0f s", silent, v->o.give_up);
    else
        tell(v, "waiting for the lead, which lives but has had nothing to do for %.0f s", idle);
}

static int on_stop(void *ctx)
{
    visit *v = ctx;
    if (!v->o.stop || !v->o.stop(v->o.ctx)) return 0;
    const double now = gp_clock_wall();
    if (!(v->asked_to_stop > 0)) {
        v->asked_to_stop = now;
        if (v->o.grace > 0)
            tell(v, "asked to stop: goes on for at most %.0f s, until the lead has what it needs", v->o.grace);
    }
    return now - v->asked_to_stop >= v->o.grace;
}

static void on_welcome(void *ctx, uint32_t worker, uint32_t incarnation)
{
    visit *v = ctx;
    if (worker == v->place && incarnation == 1) return; // the same as in the run before
    v->place = worker;
    if (incarnation > 1)
        tell(v, "is worker %" PRIu32 " from now on, its incarnation %" PRIu32, worker, incarnation);
    else
        tell(v, "is worker %" PRIu32 " from now on", worker);
}

// ---- asking ---------------------------------------------------------------------------------------------------------

static advgp_status say(visit *v, const gp_message *m, advgp_error *err)
{
    _Alignas(8) char bytes[1024];
    gp_endpoint *e = v->o.endpoint;
    gp_message_encode(m, bytes);
    return e->transport->send(e, 0, bytes, gp_message_size(m), err);
}

static advgp_status farewell(visit *v, const gp_message *bye, advgp_error *err)
{
    const gp_message answer = {.kind = GP_BYE, .flags = GP_FLAG_LAST, .worker = GP_ANY_WORKER};
    v->over = true;
    (void)say(v, &answer, NULL);
    if (!bye->n_text) return ADVGP_OK;
    char why[400];
    const size_t n = bye->n_text < sizeof why - 1 ? bye->n_text : sizeof why - 1;
    for (size_t i = 0; i < n; i++) why[i] = (unsigned char)bye->text[i] < ' ' ? ' ' : bye->text[i];
    why[n] = 0;
    return gp_fail(err, ADVGP_ECLUSTER, "the lead has ended: %s", why);
}

// *got: there is a job.
static advgp_status listen(visit *v, bool *got, advgp_error *err)
{
    static const gp_message_limits limits = {.text = GP_JOB_TEXT_MAX};
    gp_endpoint *e = v->o.endpoint;
    size_t peer, n;
    const void *bytes;
    gp_message m;
    advgp_status st = e->transport->receive(e, look_up, &peer, &bytes, &n, err);
    if (st != ADVGP_OK || !bytes) return st;
    v->heard = gp_clock_wall();
    if (gp_message_decode(bytes, n, &limits, &m, NULL) != ADVGP_OK) return ADVGP_OK;
    if (m.kind == GP_BYE && (m.flags & GP_FLAG_LAST)) return farewell(v, &m, err);
    if (m.kind != GP_JOB || m.token != v->token) return ADVGP_OK;
    gp_job_fini(&v->job);
    st = gp_job_from_text(m.text, m.n_text, &v->job, err);
    if (st != ADVGP_OK) return st;
    v->run[0] = m.run[0], v->run[1] = m.run[1];
    *got = true;
    return ADVGP_OK;
}

static advgp_status ask(visit *v, bool *got, advgp_error *err)
{
    double pause = ask_again, next = 0;
    const double began = gp_clock_wall();
    advgp_status st = ADVGP_OK;
    *got = false;
    v->heard = began;
    v->token = gp_hash_u64(v->o.random, v->result.runs + v->token);
    while (st == ADVGP_OK && !*got && !v->over) {
        const double now = gp_clock_wall();
        if (now >= next) {
            const gp_message m = {.kind = GP_ASK,
                                  .worker = GP_ANY_WORKER,
                                  .token = v->token,
                                  .n_text = strlen(v->o.name),
                                  .text = v->o.name};
            st = say(v, &m, err);
            next = now + pause;
            pause = fmin(1.5 * pause, ask_most);
        }
        if (st == ADVGP_OK) st = listen(v, got, err);
        if (st != ADVGP_OK || *got || v->over) break;
        if (on_stop(v)) return gp_fail(err, ADVGP_ESTOPPED, "the worker was asked to stop");
        on_wait(v, gp_clock_wall() - v->heard, gp_clock_wall() - began);
        if (gp_clock_wall() - v->heard > v->o.give_up)
            return gp_fail(err, ADVGP_ECLUSTER,
                           "no word from a lead for %.0f s: is it started, and is the address or the rendezvous file "
                           "the right one?",
                           v->o.give_up);
    }
    return st;
}

// ---- a run ----------------------------------------------------------------------------------------------------------

static advgp_status open_shards(visit *v, advgp_error *err)
{
    const char *dir = v->o.data ? v->o.data : v->job.data;
    if (v->shards && !strcmp(dir, v->dir) && v->fingerprint == v->job.fingerprint) return ADVGP_OK;
    gp_shards_free(v->shards);
    gp_free(v->dir);
    v->shards = NULL;
    v->dir = gp_alloc(strlen(dir) + 1, 1);
    if (!v->dir) return gp_fail(err, ADVGP_ENOMEM, "no memory for the name of a folder");
    memcpy(v->dir, dir, strlen(dir));
    const advgp_status st = gp_packed_open(dir, &v->shards, NULL, NULL, err);
    if (st != ADVGP_OK)
        return gp_wrap(err, st, "the shards of the run (a folder that all can open is needed, or --data DIR)");
    v->fingerprint = gp_packed_fingerprint(v->shards);
    if (v->fingerprint != v->job.fingerprint || v->shards->d != v->job.claims.spec.d)
        return gp_fail(err, ADVGP_ECLUSTER, "%s holds other rows than the lead's: use the same packed folder", dir);
    return ADVGP_OK;
}

// Computes until the server says BYE. A lead that was started again has another run: that is asked for.
static advgp_status work(visit *v, advgp_error *err)
{
    const gp_job *job = &v->job;
    gp_row_computer *computer = NULL;
    gp_features *f = NULL;
    gp_worker_end end = {0};
    advgp_status st = gp_features_new(&job->claims.spec, &f, err);
    if (st != ADVGP_OK) return st;
    const gp_theta_layout layout = gp_theta_layout_of(f);
    const gp_range range = gp_range_all(layout);
    gp_features_free(f);
    const gp_row_computer_options co = {
        .shards = v->shards, .spec = &job->claims.spec, .rule = job->rule, .range = range, .batch = job->batch};
    st = gp_row_computer_new(&co, &computer, err);
    if (st == ADVGP_OK) {
        const gp_worker_watch watch = {.ctx = v, .stop = on_stop, .waits = on_wait, .welcome = on_welcome};
        const gp_worker_life life = {.endpoint = v->o.endpoint,
                                     .computer = gp_row_computer_of(computer),
                                     .delays = job->delays,
                                     .n_delays = job->n_delays,
                                     .heartbeat = job->heartbeat,
                                     .give_up = v->o.give_up,
                                     .watch = &watch,
                                     .worker = {.size = layout.size,
                                                .push_size = gp_row_computer_push_size(layout, job->rule, range),
                                                .n_shards = v->shards->n_train,
                                                .wish = v->o.wish,
                                                .run = {v->run[0], v->run[1]},
                                                .fingerprint = v->fingerprint,
                                                .token = v->token,
                                                .resend = resend}};
        st = gp_worker_live(&life, &end, err);
    }
    gp_row_computer_free(computer);
    v->result.runs++;
    v->result.pushes += end.pushes, v->result.resends += end.resends;
    if (st != ADVGP_ECLUSTER) return st;
    if (end.refused == GP_REFUSED_OTHER_RUN) {
        tell(v, "the lead has been started again: asks what the work is now");
        return ADVGP_OK;
    }
    if (end.refused == GP_REFUSED_FULL) {
        tell(v, "the run has all the workers it can take: asks again in %.0f s", full_pause);
        const double until = gp_clock_wall() + full_pause;
        bool ignored = false;
        st = ADVGP_OK;
        while (st == ADVGP_OK && !v->over && !on_stop(v) && gp_clock_wall() < until) st = listen(v, &ignored, err);
    }
    return st;
}

advgp_status gp_join(const gp_join_options *o, gp_join_result *result, advgp_error *err)
{
    visit v = {.o = *o, .place = GP_ANY_WORKER};
    bool got;
    advgp_status st = ADVGP_OK;
    while (st == ADVGP_OK && !v.over) {
        st = ask(&v, &got, err);
        if (st == ADVGP_OK && got) st = open_shards(&v, err);
        if (st == ADVGP_OK && got) st = work(&v, err);
    }
    if (result) *result = v.result;
    gp_job_fini(&v.job);
    gp_shards_free(v.shards);
    gp_free(v.dir);
    return st;
}
