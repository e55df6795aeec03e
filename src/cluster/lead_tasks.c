// lead_tasks.c: tasks between two runs, done by whoever is there: workers, who ask for one after the other, and threads
// of the lead. Nothing depends on who does which: a lost worker's go to the others, and what a slow one does not bring
// a thread of the lead does as well; what comes first counts.
#include "base/alloc.h"
#include "cluster/lead_state.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NOBODY_AT_IT = -1 };
// Seconds. A task that was given a moment ago is under way: questions that came in heaps are answered once. A worker is
// slow when its task takes twice as long as any has, and this long at least.
static const double again = 0.5, slow_least = 1, slow_ratio = 2;

void gp_parcel_fini(gp_parcel *p)
{
    gp_free(p->text);
    gp_free(p->values);
    *p = (gp_parcel){0};
}

static bool is_of_act(const gp_lead *l, const uint64_t run[2])
{
    return run[0] == l->act_id[0] && run[1] == l->act_id[1];
}

// ---- who does what --------------------------------------------------------------------------------------------------

// The first that nobody does. False: there is none.
static bool find_open(const gp_lead *l, size_t *task)
{
    for (size_t i = 0; i < l->tasks.n; i++) {
        const task_place *t = &l->task[i];
        if (t->done || t->here || t->peer != NOBODY_AT_IT) continue;
        *task = i;
        return true;
    }
    return false;
}

// The worker does its task no more, as far as the lead knows.
static void release(gp_lead *l, size_t at)
{
    peer *p = &l->peers[at];
    if (!p->has_task) return;
    p->has_task = p->task_due = false;
    if (l->task[p->task].peer == (long)at) l->task[p->task].peer = NOBODY_AT_IT;
}

static void give(gp_lead *l, size_t at, size_t task)
{
    peer *p = &l->peers[at];
    p->asks = false;
    p->has_task = p->task_due = true;
    p->task = task, p->task_token = p->token, p->task_given = l->now;
    p->heard = l->now; // it had nothing to say while it waited
    memcpy(p->told, l->act_id, sizeof p->told);
    l->task[task].peer = (long)at, l->task[task].since = l->now;
}

static void answer_all(gp_lead *l)
{
    for (size_t at = 0; at < l->n_peers; at++) {
        const peer *p = &l->peers[at];
        size_t task;
        if (!p->asks || p->serves || p->gone || p->unfit) continue;
        if (!find_open(l, &task)) return;
        give(l, at, task);
    }
}

// Its task was done by another, or the act is over: it need not go on.
static void dismiss(gp_lead *l, size_t at)
{
    const peer *p = &l->peers[at];
    const gp_message bye = {
        .kind = GP_BYE, .run = {l->act_id[0], l->act_id[1]}, .worker = GP_ANY_WORKER, .token = p->task_token};
    release(l, at);
    gp_lead_send(l, at, &bye);
}

// False: these values are no result of it.
static bool settle(gp_lead *l, size_t task, const double *values, size_t n)
{
    task_place *t = &l->task[task];
    if (t->done) return true;
    if (!l->tasks.take(l->tasks.ctx, task, values, n)) return false;
    t->done = true;
    l->tasks_done++;
    l->longest_task = fmax(l->longest_task, l->now - t->since);
    l->advanced = l->now, l->told = 0;
    return true;
}

// ---- the act --------------------------------------------------------------------------------------------------------

advgp_status gp_lead_tasks_begin(gp_lead *l, double now, const gp_lead_tasks *tasks, advgp_error *err)
{
    l->tasks = *tasks;
    l->task = gp_alloc(tasks->n, sizeof *l->task);
    if (!l->task) return gp_no_memory(err);
    l->tasking = true;
    l->now = now;
    l->tasks_done = 0, l->longest_task = 0;
    gp_lead_next_id(l, l->act_id);
    gp_lead_start_waiting(l, now);
    for (size_t i = 0; i < tasks->n; i++) l->task[i].peer = NOBODY_AT_IT;
    for (size_t at = 0; at < l->n_peers; at++) {
        peer *p = &l->peers[at];
        p->worker = GP_ANY_WORKER; // the run is over
        p->has_work = p->has_task = p->unfit = false;
    }
    answer_all(l); // who has asked before
    return ADVGP_OK;
}

bool gp_lead_tasks_over(const gp_lead *l)
{
    return l->tasks_done == l->tasks.n;
}

void gp_lead_tasks_end(gp_lead *l, double now)
{
    l->now = now;
    for (size_t at = 0; at < l->n_peers; at++)
        if (l->peers[at].has_task) dismiss(l, at);
}

void gp_lead_tasks_forget(gp_lead *l)
{
    l->tasking = false;
    l->n_outgoing = l->first_outgoing = 0;
    gp_parcel_fini(&l->parcel);
    gp_free(l->task);
    l->task = NULL;
    l->tasks = (gp_lead_tasks){0};
}

// ---- the lead's own threads -----------------------------------------------------------------------------------------

// The one that is out for longest, and for too long.
static bool find_slow(const gp_lead *l, size_t *task)
{
    double longest = fmax(slow_least, slow_ratio * l->longest_task);
    bool found = false;
    for (size_t i = 0; l->tasks_done && i < l->tasks.n; i++) {
        const task_place *t = &l->task[i];
        if (t->done || t->here || l->now - t->since <= longest) continue;
        longest = l->now - t->since;
        *task = i;
        found = true;
    }
    return found;
}

bool gp_lead_tasks_own(gp_lead *l, double now, size_t *task)
{
    l->now = now;
    const bool open = find_open(l, task);
    if (!open && !find_slow(l, task)) return false;
    if (open) l->task[*task].since = now;
    l->task[*task].here = true;
    return true;
}

bool gp_lead_tasks_did(gp_lead *l, double now, size_t task, const double *values, size_t n)
{
    task_place *t = &l->task[task];
    l->now = now;
    t->here = false;
    const bool good = settle(l, task, values, n);
    if (t->done && t->peer != NOBODY_AT_IT) dismiss(l, (size_t)t->peer);
    return good;
}

// ---- hearing --------------------------------------------------------------------------------------------------------

// Its result, if it brings one; then the next task, or the same to the same question.
static void on_question(gp_lead *l, size_t at, const gp_message *ask)
{
    peer *p = &l->peers[at];
    const bool mine = is_of_act(l, ask->run) && ask->sequence < l->tasks.n, failed = ask->flags & GP_FLAG_FAILED;
    if (p->has_task && ask->token == p->task_token) {
        if (l->now - p->task_given >= again) p->task_due = true, p->task_given = l->now;
        p->asks = false;
        return;
    }
    release(l, at);
    if (mine && failed) {
        gp_lead_report(l, "the worker %s could not do %s: it is given no more", p->name, l->tasks.what);
        p->unfit = true;
    } else if (mine && ask->n_values && !settle(l, ask->sequence, ask->values, ask->n_values)) {
        gp_lead_report(l, "what the worker %s brings is no result of %s: it is given no more", p->name, l->tasks.what);
        p->unfit = true;
    } else if (mine && ask->n_values) {
        const long other = l->task[ask->sequence].peer;
        if (other != NOBODY_AT_IT) dismiss(l, (size_t)other);
    }
    answer_all(l);
    const gp_message taken = {.kind = GP_TAKEN, .token = ask->token};
    if (!p->has_task && (ask->n_values || failed)) gp_lead_send(l, at, &taken);
}

void gp_lead_tasks_on_message(gp_lead *l, size_t at, const gp_message *m)
{
    const gp_message sign = {.kind = GP_HEARTBEAT, .worker = GP_ANY_WORKER};
    if (m->kind == GP_ASK && !(m->flags & GP_FLAG_SERVES)) {
        on_question(l, at, m);
    } else if (m->kind == GP_HEARTBEAT && !m->run[0] && !m->run[1]) {
        if (!(m->flags & GP_FLAG_SERVES)) gp_lead_send(l, at, &sign);
    } else if (m->kind != GP_ASK && m->kind != GP_BYE && !is_of_act(l, m->run)) {
        gp_lead_tell_over(l, at, m);
    }
}

void gp_lead_tasks_on_hung_up(gp_lead *l, double now, size_t at)
{
    l->now = now;
    if (!l->tasking || at >= l->n_peers || !l->peers[at].has_task) return;
    gp_lead_report(l, "the worker %s is gone: its task, %s, goes to the others", gp_lead_name(l, at), l->tasks.what);
    release(l, at);
    gp_lead_declare_lost(l, at);
    answer_all(l);
}

void gp_lead_tasks_on_left(gp_lead *l, size_t at)
{
    release(l, at);
    answer_all(l);
}

bool gp_lead_tasks_next(gp_lead *l, size_t *at, gp_message *m)
{
    for (size_t i = 0; i < l->n_peers; i++) {
        peer *p = &l->peers[i];
        if (!p->task_due) continue;
        p->task_due = false;
        gp_parcel_fini(&l->parcel);
        if (l->tasks.pack(l->tasks.ctx, p->task, &l->parcel) != ADVGP_OK) continue; // it will ask again
        *at = i;
        *m = (gp_message){.kind = GP_TASK,
                          .run = {l->act_id[0], l->act_id[1]},
                          .worker = GP_ANY_WORKER,
                          .sequence = p->task,
                          .token = p->task_token,
                          .heartbeat = l->o.heartbeat,
                          .n_values = l->parcel.n_values,
                          .values = l->parcel.values,
                          .n_text = l->parcel.n_text,
                          .text = l->parcel.text};
        return true;
    }
    return false;
}

// ---- time -----------------------------------------------------------------------------------------------------------

static void find_lost(gp_lead *l)
{
    for (size_t at = 0; at < l->n_peers; at++) {
        const peer *p = &l->peers[at];
        const double silent = l->now - p->heard, took = l->now - p->task_given;
        if (!p->has_task) continue;
        if (silent > l->o.lost_after && gp_lead_silence_counts(l)) {
            gp_lead_report(l, "the worker %s is lost after %.1f s without a word: its task, %s, goes to the others",
                           p->name, silent, l->tasks.what);
            release(l, at);
            gp_lead_declare_lost(l, at);
        } else if (took > l->o.stuck_after) {
            gp_lead_report(l,
                           "the worker %s lives, but has not answered for %.0f s ({stuck-after}): its task, %s, goes "
                           "to the others",
                           p->name, took, l->tasks.what);
            release(l, at);
        }
    }
}

static void report_for_whom(gp_lead *l)
{
    char text[GP_LEAD_TEXT];
    size_t used = 0, n = 0;
    for (size_t at = 0; at < l->n_peers; at++) {
        const peer *p = &l->peers[at];
        if (!p->has_task) continue;
        if (n++ < 4 && used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s the worker %s, heard of %.0f s ago",
                                     n > 1 ? "," : "", p->name, fmax(0, l->now - p->heard));
    }
    if (n > 4 && used < sizeof text) snprintf(text + used, sizeof text - used, " and %zu more", n - 4);
    if (n)
        gp_lead_report(l, "%zu of %zu tasks are left, of %s each: waiting for%s", l->tasks.n - l->tasks_done,
                       l->tasks.n, l->tasks.what, text);
}

advgp_status gp_lead_tasks_on_tick(gp_lead *l, advgp_error *err)
{
    size_t open;
    bool under_way = false;
    find_lost(l);
    answer_all(l);
    for (size_t i = 0; i < l->tasks.n; i++) under_way |= l->task[i].here || l->task[i].peer != NOBODY_AT_IT;
    if (under_way || !find_open(l, &open)) {
        if (l->now - l->advanced >= gp_lead_told_after && l->now - l->told >= gp_lead_told_again)
            report_for_whom(l), l->told = l->now;
        return ADVGP_OK;
    }
    if (l->now - l->advanced > l->o.wait)
        return gp_fail(err, ADVGP_ECLUSTER, "nobody has come in %.0f s to whom %s could be given: %zu of %zu are left",
                       l->o.wait, l->tasks.what, l->tasks.n - l->tasks_done, l->tasks.n);
    if (l->now - l->told >= gp_lead_told_again) {
        gp_lead_report(l, "waiting for workers: %zu of %zu tasks are left, of %s each, %.0f s left",
                       l->tasks.n - l->tasks_done, l->tasks.n, l->tasks.what, l->advanced + l->o.wait - l->now);
        l->told = l->now;
    }
    return ADVGP_OK;
}
