// follower.c: asking what the work is, waiting for it, and the end.
#include "base/alloc.h"
#include "base/rng.h"
#include "cluster/follower_state.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double ask_again = 1, ask_most = 5, look_up = 0.25; // seconds
static const double told_after = 4, told_again = 10;

void gp_follower_report(const gp_follower *f, const char *format, ...)
{
    char text[GP_LEAD_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (f->o.report) f->o.report(f->o.ctx, text);
}

// ---- sending --------------------------------------------------------------------------------------------------------

void gp_follower_send(gp_follower *f, size_t line, const gp_message *m)
{
    if (f->n_outgoing == OUTGOING_MAX) f->first_outgoing = (f->first_outgoing + 1) % OUTGOING_MAX, f->n_outgoing--;
    f->outgoing[(f->first_outgoing + f->n_outgoing++) % OUTGOING_MAX] = (outgoing){line, *m};
}

// A worker says its name, and brings what came of its task; a server also how it is reached, and brings what it has
// made.
static advgp_status make_question(gp_follower *f, gp_message *m, advgp_error *err)
{
    *m = (gp_message){.kind = GP_ASK, .worker = GP_ANY_WORKER, .token = f->token};
    if (!f->o.address) {
        m->run[0] = f->finished[0], m->run[1] = f->finished[1];
        m->n_text = strlen(f->o.name), m->text = f->o.name;
        if (!f->brings) return ADVGP_OK;
        m->run[0] = f->task_run[0], m->run[1] = f->task_run[1];
        m->sequence = f->task_number;
        m->flags = f->failed ? GP_FLAG_FAILED : 0;
        m->values = f->outcome, m->n_values = f->n_outcome;
        return ADVGP_OK;
    }
    const bool brings = f->result.copy.values != NULL;
    char *state = brings ? gp_range_state_text(&f->result) : NULL;
    json_t *o = json_pack("{s:s, s:s, s:s, s:s*}", "name", f->o.name, "address", f->o.address, "key", f->o.key,
                          "range_state", state);
    free(f->question);
    f->question = o && (state || !brings) ? json_dumps(o, JSON_COMPACT) : NULL;
    json_decref(o);
    free(state);
    if (!f->question) return gp_no_memory(err);
    m->flags = GP_FLAG_SERVES;
    m->text = f->question, m->n_text = strlen(f->question);
    m->run[0] = f->result_run[0], m->run[1] = f->result_run[1];
    if (brings) m->values = f->result.copy.values, m->n_values = f->result.copy.n_values;
    return ADVGP_OK;
}

bool gp_follower_next(gp_follower *f, double now, size_t *line, gp_message *m)
{
    f->now = now;
    if (f->n_outgoing) {
        *line = f->outgoing[f->first_outgoing].line, *m = f->outgoing[f->first_outgoing].message;
        f->first_outgoing = (f->first_outgoing + 1) % OUTGOING_MAX, f->n_outgoing--;
        return true;
    }
    if (f->tools_in_use && gp_lead_next(f->own_lead, now, line, m)) return true;
    if (f->state == GP_FOLLOWER_WORKS) return gp_follower_work_next(f, line, m);
    if (f->state != GP_FOLLOWER_ASKS || !f->to_ask) return false;
    f->to_ask = false;
    *line = 0;
    const advgp_status st = make_question(f, m, &f->error);
    if (st != ADVGP_OK) gp_follower_end(f, st, f->error.text);
    return st == ADVGP_OK;
}

// ---- making, ending -------------------------------------------------------------------------------------------------

advgp_status gp_follower_new(const gp_follower_options *o, double now, gp_follower **out, advgp_error *err)
{
    gp_follower *f = *out = gp_alloc(1, sizeof *f);
    if (!f) return gp_no_memory(err);
    f->o = *o;
    f->now = now;
    f->place = GP_ANY_WORKER;
    gp_follower_ask(f, 0);
    return ADVGP_OK;
}

void gp_follower_free(gp_follower *f)
{
    if (!f) return;
    gp_follower_work_end(f, false, 0, NULL);
    gp_lead_free(f->own_lead);
    gp_range_state_fini(&f->begin);
    gp_range_state_fini(&f->result);
    gp_job_fini(&f->job);
    gp_parcel_fini(&f->task);
    gp_follower_forget_outcome(f);
    gp_free(f->early);
    free(f->question);
    gp_free(f);
}

void gp_follower_ask(gp_follower *f, double pause)
{
    f->state = GP_FOLLOWER_ASKS;
    f->token = gp_hash_u64(f->o.random, f->done.runs + f->token);
    f->since = f->heard = f->now;
    f->next = f->now + pause;
    f->to_ask = !(pause > 0);
    if (f->to_ask) f->next += ask_again;
    f->pause = 1.5 * ask_again;
    f->told = f->idle_seen = 0;
    f->sign_revision++;
}

// Whoever may wait for it is told that it leaves. The text is why; a worker's is told to its servers.
void gp_follower_end(gp_follower *f, advgp_status st, const char *text)
{
    gp_message leave = {.kind = GP_BYE, .flags = GP_FLAG_LAST, .worker = GP_ANY_WORKER};
    if (f->state == GP_FOLLOWER_ENDED) return;
    const bool opened = f->state != GP_FOLLOWER_OPENS;
    const bool served = f->o.address && (f->state == GP_FOLLOWER_SERVES || f->state == GP_FOLLOWER_OPENS);
    if (text != f->error.text) snprintf(f->error.text, sizeof f->error.text, "%s", text ? text : "");
    f->status = f->error.status = st;
    const char *why = st == ADVGP_OK || st == ADVGP_ESTOPPED ? NULL : f->error.text;
    if (f->state == GP_FOLLOWER_SERVES) gp_follower_serve_end(f);
    gp_follower_work_end(f, true, 0, why);
    f->state = GP_FOLLOWER_ENDED;
    f->sign_revision++;
    // What ends a server ends the run, and it is the lead whom people look at.
    const gp_message fails = {.kind = GP_BYE,
                              .flags = GP_FLAG_SERVES,
                              .run = {f->run[0], f->run[1]},
                              .worker = GP_ANY_WORKER,
                              .token = (uint64_t)st,
                              .n_text = strlen(f->error.text),
                              .text = f->error.text};
    if (served && why) gp_follower_send(f, 0, &fails);
    if (why && !opened && !served) leave.text = why, leave.n_text = strlen(why); // nobody else has been told
    gp_follower_send(f, 0, &leave);
}

void gp_follower_fail(gp_follower *f, double now, advgp_status st, const advgp_error *err)
{
    f->now = now;
    gp_follower_end(f, st, err->text);
}

static void on_farewell(gp_follower *f, const gp_message *bye)
{
    char why[400], text[GP_LEAD_TEXT];
    gp_lead_plain_text(bye, why, sizeof why);
    snprintf(text, sizeof text, "the lead has ended: %s", why);
    gp_follower_work_end(f, f->several, 0, NULL); // servers may not have heard it yet
    if (f->state == GP_FOLLOWER_SERVES) gp_follower_serve_end(f);
    f->state = GP_FOLLOWER_ASKS; // no farewell of its own but that it has heard this one
    gp_follower_end(f, bye->n_text ? ADVGP_ECLUSTER : ADVGP_OK, bye->n_text ? text : "");
}

advgp_status gp_follower_outcome(const gp_follower *f, gp_follower_result *result, advgp_error *err)
{
    if (result) *result = f->done;
    return f->status == ADVGP_OK ? ADVGP_OK : gp_fail(err, f->status, "%s", f->error.text);
}

gp_follower_state gp_follower_state_of(const gp_follower *f)
{
    return f->state;
}

// ---- a job ----------------------------------------------------------------------------------------------------------

const gp_job *gp_follower_job(const gp_follower *f)
{
    return &f->job;
}

const uint64_t *gp_follower_run(const gp_follower *f)
{
    return f->run;
}

const gp_range_state *gp_follower_range_state(const gp_follower *f)
{
    return &f->begin;
}

static void take_job(gp_follower *f, const gp_message *m)
{
    advgp_error err = {0};
    gp_job_fini(&f->job);
    gp_follower_forget_outcome(f); // where a job begins there are no tasks
    advgp_status st = gp_job_from_text(m->text, m->n_text, &f->job, &err);
    if (st == ADVGP_OK && f->job.serves != (f->o.address != NULL))
        st = gp_fail(&err, ADVGP_ECLUSTER, "the lead takes this process for a %s", f->job.serves ? "server" : "worker");
    f->run[0] = m->run[0], f->run[1] = m->run[1];
    f->heartbeat = f->job.heartbeat;
    if (st == ADVGP_OK && f->job.serves) {
        gp_range_state_fini(&f->begin);
        gp_range_state_fini(&f->result);
        st = gp_range_state_read(m->values, m->n_values, f->job.range_state, strlen(f->job.range_state), &f->begin,
                                 &err);
    }
    f->state = GP_FOLLOWER_OPENS;
    if (st != ADVGP_OK) gp_follower_end(f, st, err.text);
}

void gp_follower_opened(gp_follower *f, double now, const gp_follower_tools *tools)
{
    f->now = f->heard = now; // nobody was listening
    if (f->o.address)
        gp_follower_serve_begin(f, tools);
    else
        gp_follower_work_begin(f, tools);
}

// ---- hearing --------------------------------------------------------------------------------------------------------

static bool is_run(const gp_follower *f, const gp_message *m)
{
    return (f->run[0] || f->run[1]) && m->run[0] == f->run[0] && m->run[1] == f->run[1];
}

static void on_unreadable(gp_follower *f, const void *bytes, size_t n)
{
    gp_message m;
    char text[200];
    const unsigned protocol = gp_message_foreign(bytes, n, &m);
    if (!protocol) return; // as if it had not come: it will be asked for again
    snprintf(text, sizeof text, "the lead speaks protocol %u, this program %d: use the same advgp on all machines",
             protocol, GP_PROTOCOL);
    gp_follower_end(f, ADVGP_ECLUSTER, text);
}

static void on_lead(gp_follower *f, const gp_message *m)
{
    const bool bye = m->kind == GP_BYE;
    if (bye && (m->flags & GP_FLAG_LAST)) { // the lead before may have said it, too
        if (m->token == f->token || is_run(f, m)) on_farewell(f, m);
        return;
    }
    if (f->state == GP_FOLLOWER_ASKS && m->token == f->token) {
        if (m->kind == GP_JOB) take_job(f, m);
        if (m->kind == GP_TASK && !f->o.address) gp_follower_take_task(f, m);
        if (m->kind == GP_TAKEN) gp_range_state_fini(&f->result), gp_follower_forget_outcome(f);
    }
    if (!bye || !is_run(f, m)) return; // the lead gives the interval up
    if (f->state == GP_FOLLOWER_SERVES) {
        gp_follower_serve_end(f);
        gp_follower_ask(f, 0);
    } else if (f->state == GP_FOLLOWER_WORKS && f->several) {
        gp_follower_work_end(f, true, 0, NULL);
        gp_follower_ask(f, 0);
    } else if (f->state == GP_FOLLOWER_TASKED && m->token == f->token) {
        f->task_unwanted = true;
    }
}

void gp_follower_on_bytes(gp_follower *f, double now, size_t line, const void *bytes, size_t n)
{
    const bool values = f->o.address || f->state == GP_FOLLOWER_ASKS; // of its range; of a task
    const gp_message_limits limits = {.values = values ? SIZE_MAX / 64 : 0, .text = GP_JOB_TEXT_MAX};
    gp_message m;
    f->now = now;
    if (f->state == GP_FOLLOWER_ENDED) return;
    if (line == 0) f->heard = now;
    if (line && f->o.address) {
        gp_follower_serve_on_bytes(f, line, bytes, n);
        return;
    }
    // What a worker hears of its lead may be for it, or for the machine that it has towards the lead's server.
    if (line == 0 && gp_message_decode(bytes, n, &limits, &m, NULL) == ADVGP_OK)
        on_lead(f, &m);
    else if (line == 0)
        on_unreadable(f, bytes, n);
    if (f->state == GP_FOLLOWER_WORKS) gp_follower_work_on_bytes(f, line, bytes, n);
}

// ---- time -----------------------------------------------------------------------------------------------------------

static void tell_waiting(gp_follower *f, double silent, double idle)
{
    if (idle < f->idle_seen) f->told = 0; // another wait, another word
    f->idle_seen = idle;
    if (fmax(silent, idle) < told_after || f->now - f->told < told_again) return;
    f->told = f->now;
    char doubt[256] = "";
    if (silent >= told_after && f->o.doubt) f->o.doubt(f->o.ctx, doubt, sizeof doubt);
    if (silent >= told_after)
        gp_follower_report(f, "waiting for the lead: no word for %.0f s, gives up after %.0f s%s%s%s", silent,
                           f->o.give_up, doubt[0] ? " (" : "", doubt, doubt[0] ? ")" : "");
    else
        gp_follower_report(f, "waiting for the lead, which lives but has had nothing to do for %.0f s", idle);
}

static void look_around(gp_follower *f)
{
    const bool asks = f->state == GP_FOLLOWER_ASKS;
    const double silent = f->now - (!asks && f->several ? fmax(f->heard, f->server_heard) : f->heard),
                 idle = f->now - (asks ? f->since : f->idle_since);
    char text[240];
    if (f->state != GP_FOLLOWER_ASKS && f->state != GP_FOLLOWER_WORKS) return;
    if (silent > f->o.give_up) {
        if (asks)
            snprintf(text, sizeof text,
                     "no word from a lead for %.0f s: is it started, and is the address or the rendezvous file the "
                     "right one?",
                     f->o.give_up);
        else
            snprintf(text, sizeof text,
                     "no word from the lead for %.0f s: it is gone, or cannot be reached; start it again with {resume} "
                     "and its workers after it",
                     silent);
        if (f->o.lost) f->o.lost(f->o.ctx, 0);
        gp_follower_end(f, ADVGP_ECLUSTER, text);
        return;
    }
    if (!gp_follower_has_work(f)) tell_waiting(f, silent, idle);
}

void gp_follower_on_tick(gp_follower *f, double now)
{
    f->now = now;
    if (f->state == GP_FOLLOWER_ASKS && now >= f->next) {
        f->to_ask = true;
        f->next = now + f->pause;
        f->pause = fmin(1.5 * f->pause, f->o.address ? ask_again : ask_most);
    }
    if (f->state == GP_FOLLOWER_WORKS) gp_follower_work_on_tick(f);
    if (f->state == GP_FOLLOWER_SERVES) gp_follower_serve_on_tick(f);
    look_around(f);
}

void gp_follower_on_stop(gp_follower *f, double now)
{
    f->now = now;
    if (!f->stopping && f->o.grace > 0)
        gp_follower_report(f, "asked to stop: goes on for at most %.0f s, until the lead has what it needs",
                           f->o.grace);
    if (!f->stopping) f->asked_to_stop = now;
    f->stopping = true;
    if (now - f->asked_to_stop >= f->o.grace) gp_follower_end(f, ADVGP_ESTOPPED, "the worker was asked to stop");
}

double gp_follower_due(const gp_follower *f, double now)
{
    double due = look_up;
    if (f->state == GP_FOLLOWER_WORKS && f->hold > now) due = fmin(due, f->hold - now);
    if (f->state == GP_FOLLOWER_ASKS) due = fmin(due, fmax(0, f->next - now));
    return due;
}

// ---- signs of life --------------------------------------------------------------------------------------------------

uint64_t gp_follower_sign_revision(const gp_follower *f)
{
    return f->sign_revision;
}

double gp_follower_heartbeat(const gp_follower *f)
{
    return f->heartbeat;
}

// To the lead: of which interval they are; one that was given up meanwhile is told so. They also keep the way back
// open, by which it is told.
bool gp_follower_sign(const gp_follower *f, long line, gp_message *m)
{
    const bool serves = f->state == GP_FOLLOWER_SERVES, works = f->state == GP_FOLLOWER_WORKS;
    *m = (gp_message){.kind = GP_HEARTBEAT, .worker = GP_ANY_WORKER};
    if (f->state == GP_FOLLOWER_ENDED || !(f->heartbeat > 0)) return false;
    if (f->o.address) {
        if (line == GP_FOLLOWER_EVERYBODY) return true;
        m->flags = GP_FLAG_SERVES;
        if (serves) m->run[0] = f->run[0], m->run[1] = f->run[1];
        return line == 0;
    }
    if (f->state != GP_FOLLOWER_TASKED && (!works || line < 0)) return false;
    if ((f->several || !works) && line == 0) {
        m->run[0] = f->run[0], m->run[1] = f->run[1];
        return true;
    }
    const size_t i = f->several ? (size_t)line - 1 : (size_t)line;
    return works && i < f->n_links && f->links[i].worker && gp_worker_sign(f->links[i].worker, m);
}
