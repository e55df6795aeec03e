// follower_serve.c: a range of the parameters, kept for the lead from one evaluation to the next (lead_split.c): from
// its state (range_state.h) the process makes versions with the workers that come to it, up to the one it was told, and
// gives the state back.
#include "base/alloc.h"
#include "cluster/follower_state.h"

#include <string.h>

enum { MISSED_BEATS = 5, EARLY_MAX = 4096 }; // signs of life: the next one may be on its way
static const double dismiss_after = 1;       // seconds

static void on_report(void *ctx, const char *text)
{
    const gp_follower *f = ctx;
    if (f->o.report) f->o.report(f->o.ctx, text);
}

static void on_lost(void *ctx, size_t line)
{
    const gp_follower *f = ctx;
    if (f->o.lost) f->o.lost(f->o.ctx, line);
}

static void fail_if(gp_follower *f, advgp_status st, const advgp_error *err)
{
    if (st != ADVGP_OK) gp_follower_end(f, st, err->text);
}

// ---- an interval ----------------------------------------------------------------------------------------------------

static uint64_t rows_taken(const gp_follower *f)
{
    uint64_t rows = 0;
    for (uint32_t k = 0; k < f->job.service.workers_max; k++) rows += gp_server_member(f->tools.server, k).rows;
    return rows;
}

// Who has died is live until it is lost, but is not to be waited for in the next interval.
static uint64_t workers_there(const gp_follower *f)
{
    uint64_t n = 0;
    for (uint32_t k = 0; k < f->job.service.workers_max; k++) {
        const gp_member m = gp_server_member(f->tools.server, k);
        n += m.live && m.heard >= f->now - MISSED_BEATS * f->heartbeat;
    }
    return n;
}

static void end_if_done(gp_follower *f)
{
    advgp_error err = {0};
    if (f->state != GP_FOLLOWER_SERVES || gp_server_version(f->tools.server) < f->job.service.until) return;
    const advgp_status st = gp_server_copy_take(f->tools.server, f->tools.rule, f->begin.copy.range, &f->result.copy,
                                                &err);
    if (st != ADVGP_OK) {
        gp_follower_end(f, st, err.text);
        return;
    }
    f->result.rows = rows_taken(f), f->result.live = workers_there(f);
    f->result_run[0] = f->run[0], f->result_run[1] = f->run[1];
    gp_follower_serve_end(f);
    gp_follower_ask(f, 0);
}

void gp_follower_serve_end(gp_follower *f)
{
    gp_lead_end(f->own_lead, f->now); // tells the workers
    f->done.runs++;
}

void gp_follower_release(gp_follower *f)
{
    if (f->tools_in_use && f->state != GP_FOLLOWER_SERVES) {
        gp_lead_forget(f->own_lead);
        f->tools_in_use = false;
    }
}

void gp_follower_on_event(gp_follower *f, const gp_ps_event *event)
{
    if (f->tools_in_use) gp_lead_on_event(f->own_lead, event);
}

static advgp_status make_own_lead(gp_follower *f, advgp_error *err)
{
    const gp_job_service *s = &f->job.service;
    const gp_lead_options o = {.workers = f->job.schedule.workers,
                               .workers_min = s->workers_min,
                               .workers_max = s->workers_max,
                               .wait = s->wait,
                               .heartbeat = f->heartbeat,
                               .lost_after = s->lost_after,
                               .stuck_after = s->stuck_after,
                               .random = f->o.random,
                               .report = on_report,
                               .lost = on_lost,
                               .ctx = f};
    return f->own_lead ? ADVGP_OK : gp_lead_new(&o, &f->own_lead, err);
}

static void greet_the_early(gp_follower *f)
{
    _Alignas(8) char bytes[256];
    advgp_error err = {0};
    for (size_t i = 0; f->state == GP_FOLLOWER_SERVES && i < f->n_early; i++) {
        const gp_message *m = &f->early[i].message;
        if (m->run[0] != f->run[0] || m->run[1] != f->run[1]) continue;
        gp_message_encode(m, bytes);
        fail_if(f, gp_lead_on_bytes(f->own_lead, f->now, f->early[i].line, bytes, gp_message_size(m), &err), &err);
    }
    f->n_early = 0;
}

void gp_follower_serve_begin(gp_follower *f, const gp_follower_tools *tools)
{
    const gp_job_service *s = &f->job.service;
    advgp_error err = {0};
    const gp_lead_run run = {.server = tools->server,
                             .rule = tools->rule,
                             .id = {f->run[0], f->run[1]},
                             .limits = tools->limits,
                             .shard_rows = tools->shard_rows,
                             .n_shards = tools->n_shards,
                             .on_loss = f->job.schedule.on_loss};
    f->tools = *tools;
    advgp_status st = make_own_lead(f, &err);
    if (st == ADVGP_OK) gp_lead_expect(f->own_lead, f->job.schedule.workers, s->workers_min, s->known);
    if (st == ADVGP_OK) st = gp_server_copies_restore(&f->begin.copy, 1, tools->server, tools->rule, &err);
    if (st == ADVGP_OK) st = gp_server_allow(tools->server, s->until, &err);
    if (st == ADVGP_OK) st = gp_lead_begin(f->own_lead, f->now, &run, &err);
    if (st != ADVGP_OK) {
        gp_follower_end(f, st, err.text);
        return;
    }
    f->tools_in_use = true;
    f->state = GP_FOLLOWER_SERVES;
    f->sign_revision++;
    greet_the_early(f);
    end_if_done(f);
}

// ---- workers --------------------------------------------------------------------------------------------------------

// Its job has not come yet, or its last one is over. A greeting may be of the next interval, and is kept. Workers that
// did not hear that an interval is over are told, but not at once: they may be among those who greet.
static void hear_idly(gp_follower *f, size_t line, const gp_message *m)
{
    const gp_message bye = {.kind = GP_BYE,
                            .run = {m->run[0], m->run[1]},
                            .worker = m->worker,
                            .incarnation = m->incarnation,
                            .token = m->token};
    if (m->kind == GP_PULL || m->kind == GP_PUSH) {
        if (f->state == GP_FOLLOWER_ASKS && f->now - f->since > dismiss_after) gp_follower_send(f, line, &bye);
        return;
    }
    if (m->kind != GP_HELLO) return;
    if (m->run[0] == f->run[0] && m->run[1] == f->run[1] && f->state == GP_FOLLOWER_ASKS) { // too late
        gp_follower_send(f, line, &bye);
        return;
    }
    size_t i = 0;
    while (i < f->n_early && f->early[i].line != line) i++;
    if (i >= EARLY_MAX || !gp_grow(&f->early, &f->early_room, f->n_early, i + 1, sizeof *f->early))
        return; // it will greet again
    f->early[i] = (outgoing){line, *m};
    f->early[i].message.n_values = f->early[i].message.n_masked = 0;
    f->early[i].message.n_shards = f->early[i].message.n_text = 0;
    if (i == f->n_early) f->n_early++;
}

void gp_follower_serve_on_bytes(gp_follower *f, size_t line, const void *bytes, size_t n)
{
    const gp_message_limits any = {SIZE_MAX / 64, SIZE_MAX / 64, SIZE_MAX / 64, GP_JOB_TEXT_MAX};
    advgp_error err = {0};
    gp_message m;
    if (f->state == GP_FOLLOWER_SERVES) {
        fail_if(f, gp_lead_on_bytes(f->own_lead, f->now, line, bytes, n, &err), &err);
        end_if_done(f);
    } else if (gp_message_decode(bytes, n, &any, &m, NULL) == ADVGP_OK) {
        hear_idly(f, line, &m);
    }
}

void gp_follower_serve_on_tick(gp_follower *f)
{
    advgp_error err = {0};
    fail_if(f, gp_lead_on_tick(f->own_lead, f->now, &err), &err);
    end_if_done(f);
}
