// sim_training_process.c: a follower of a simulated training, worker or server: its life, what it opens and computes.
#include "base/rng.h"
#include "sim/sim_training_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool route(const process *p, size_t line, size_t *at, size_t *from, size_t *to);

static void beat_on(simulation *t, const process *p)
{
    for (size_t line = 0; line <= (p->serves ? 0 : p->n_lines) && t->n_late_beats < LATE_BEATS; line++) {
        late_beat *g = &t->late_beats[t->n_late_beats];
        if (!gp_follower_sign(p->machine, (long)line, &g->sign) || !route(p, line, &g->at, &g->from, &g->to)) continue;
        gp_sim_plan(t, t->now, LATE_BEAT, t->n_late_beats++, 0);
    }
}

void gp_sim_process_dies(simulation *t, process *p)
{
    if (!p->machine) return;
    if (t->o->tampering && t->o->tampering->beats_outlive) beat_on(t, p);
    gp_sim_drop(&p->keeps);
    gp_follower_free(p->machine);
    p->machine = NULL;
    p->life++;
    p->computing = p->opening = false;
    t->slots[p->slot].dead = true, t->slots[p->slot].died = t->now;
    for (size_t i = 0; i < t->n_hubs; i++) gp_net_clear(t->hubs[i].net, p->slot);
}

void gp_sim_process_starts(simulation *t, process *p)
{
    if (p->machine || p->ended || t->act == GONE) return;
    if (t->n_slots == SLOTS) {
        gp_sim_fail_with(t, gp_fail(t->err, ADVGP_EINVAL, "too many lives for a simulation"));
        return;
    }
    p->slot = ++t->n_slots;
    t->slots[p->slot] = (slot){.who = p->who};
    p->job = 0, p->awake = 0, p->stops = false;
    snprintf(p->name, sizeof p->name, "%s%zu.%" PRIu64, p->serves ? "server" : "worker", p->who, p->life);
    if (p->serves) {
        p->hub = gp_sim_open_hub(t, p->who);
        snprintf(p->address, sizeof p->address, "%zu", p->hub);
    }
    const gp_follower_options fo = {.name = p->name,
                                    .address = p->serves ? p->address : NULL,
                                    .key = p->serves ? "" : NULL,
                                    .wish = p->serves ? GP_ANY_WORKER : (uint32_t)(p->who - 1),
                                    .yields = true,
                                    .random = gp_hash_u64(t->o->seed, 1000 + t->n_slots),
                                    .give_up = t->o->give_up,
                                    .report = gp_sim_process_reports,
                                    .ctx = p};
    gp_sim_fail_with(t, gp_follower_new(&fo, t->now, &p->machine, t->err));
    if (!p->machine) return;
    if (p->cut) gp_sim_cut_slot(t, p->slot, true);
    gp_sim_plan(t, t->now + gp_sim_tick * gp_rng_uniform(&p->rng), TICK, p->who, p->life);
    gp_sim_plan(t, t->now, SIGN, p->who, p->life);
    gp_sim_process_goes_on(t, p);
}

// Where a line of it leads: at which hub, as whom, to whom.
static bool route(const process *p, size_t line, size_t *at, size_t *from, size_t *to)
{
    *at = 0, *from = p->slot, *to = 0;
    if (line && p->serves)
        *at = p->hub, *from = 0, *to = line;
    else if (line && line > p->n_lines)
        return false;
    else if (line)
        *at = p->lines[line - 1];
    return *at != 0 || line == 0;
}

static void process_sends(simulation *t, process *p)
{
    gp_message m;
    size_t line, at, from, to;
    while (p->machine && gp_follower_next(p->machine, t->now, &line, &m)) {
        if (gp_sim_is_sent(t, p->who, &m) && route(p, line, &at, &from, &to)) gp_sim_transmit(t, at, from, to, &m);
    }
}

// It has ended by itself: it says why, or was told to.
static void process_ends(simulation *t, process *p)
{
    advgp_error why = {0};
    const advgp_status st = gp_follower_outcome(p->machine, NULL, &why);
    const bool alone = t->act == DEAD || t->act == PARTS || t->act == GONE || t->cut || p->cut;
    if (t->o->shown) fprintf(stderr, "%9.3f %s: ends: %s %s\n", t->now, p->name, advgp_status_name(st), why.text);
    if (st != ADVGP_OK && !why.text[0]) gp_sim_break_law(t, GP_LAW_ENDS);
    // It gave up waiting though the lead, with whom it could have talked, was there all the time.
    if (st == ADVGP_ECLUSTER && !alone && strstr(why.text, "no word") && t->now - t->met > t->o->give_up)
        gp_sim_break_law(t, GP_LAW_WAITS);
    p->ended = !p->stops && st == ADVGP_OK;
    gp_sim_process_dies(t, p);
    // Whoever looks after it starts it again.
    if (st != ADVGP_OK && !p->stops && t->act != GONE && t->act != PARTS)
        gp_sim_plan(t, t->now + 5, START, p->who, p->life);
}

void gp_sim_process_goes_on(simulation *t, process *p)
{
    if (!p->machine) return;
    if (gp_follower_state_of(p->machine) == GP_FOLLOWER_TASKED && !gp_follower_task_wanted(p->machine)) {
        gp_follower_task_done(p->machine, t->now, NULL, 0); // it ends on the way
        p->in_vain = true;
    }
    process_sends(t, p);
    const gp_follower_state state = gp_follower_state_of(p->machine);
    if (p->keeps.server && state != GP_FOLLOWER_SERVES && state != GP_FOLLOWER_OPENS) {
        if (gp_server_version(p->keeps.server) >= gp_follower_job(p->machine)->service.until)
            t->out->lost += p->keeps.lost, t->out->moved += p->keeps.moved;
        gp_follower_release(p->machine);
        gp_sim_drop(&p->keeps);
    }
    if (state == GP_FOLLOWER_ENDED) {
        process_ends(t, p);
        return;
    }
    gp_sim_check_keeper(t, &p->keeps);
    const bool has_work = gp_follower_has_work(p->machine) || state == GP_FOLLOWER_TASKED;
    if (p->computing) p->in_vain |= !has_work;
    if (state == GP_FOLLOWER_OPENS && !p->opening) {
        p->opening = true;
        p->job++;
        gp_sim_plan(t, t->now + t->o->opening * gp_rng_uniform(&p->rng), OPENED, p->who, p->life);
    }
    if (has_work && !p->computing) {
        const double u = 2 * gp_rng_uniform(&p->rng) - 1, seconds = t->o->compute * (1 + t->o->spread * u) *
                                                                    (t->o->slowness ? t->o->slowness[p->who - 1] : 1);
        p->computing = true, p->in_vain = false;
        gp_sim_plan(t, t->now + seconds, COMPUTED, p->who, p->life);
    }
}

void gp_sim_process_opened(simulation *t, process *p)
{
    const gp_job *job = gp_follower_job(p->machine);
    const gp_server_options *so = &t->o->server;
    gp_follower_tools tools = {.n_shards = so->n_shards,
                               .size = t->o->rule_options.range.count,
                               .push_size = t->o->push_size,
                               .fingerprint = job->fingerprint,
                               .shard_rows = t->o->shard_rows};
    p->opening = false;
    if (gp_follower_state_of(p->machine) != GP_FOLLOWER_OPENS) return;
    if (p->serves) {
        const gp_server_copy *begin = &gp_follower_range_state(p->machine)->copy;
        const advgp_status st = gp_sim_keep(&p->keeps, begin->range, begin->image.theta, job->schedule.workers,
                                            gp_follower_run(p->machine));
        gp_sim_fail_with(t, st);
        if (st != ADVGP_OK) return;
        gp_watch_restart(p->keeps.watch, begin->image.version);
        tools.server = p->keeps.server, tools.rule = p->keeps.rule;
        tools.limits = (gp_message_limits){.values = 1 + begin->range.count,
                                           .masked = begin->range.count,
                                           .shards = so->n_shards,
                                           .text = GP_LEAD_TEXT};
    }
    p->n_lines = job->n_servers < HUBS ? job->n_servers : HUBS;
    for (size_t i = 0; i < p->n_lines; i++) p->lines[i] = strtoul(job->servers[i].address, NULL, 10);
    gp_follower_opened(p->machine, t->now, &tools);
    gp_sim_process_goes_on(t, p);
}

void gp_sim_process_computed(simulation *t, process *p)
{
    p->computing = false;
    if (!p->in_vain && gp_follower_state_of(p->machine) == GP_FOLLOWER_TASKED) gp_sim_do_task(t, p);
    if (!p->in_vain && gp_follower_has_work(p->machine)) {
        advgp_error why = {0};
        const advgp_status st = gp_follower_compute(p->machine, &t->o->computer, &why);
        if (st == ADVGP_OK)
            gp_follower_computed(p->machine, t->now);
        else
            gp_follower_fail(p->machine, t->now, st, &why);
    }
    gp_sim_process_goes_on(t, p);
}

void gp_sim_process_hears(simulation *t, process *p, size_t at, size_t end)
{
    size_t peer, n;
    const void *bytes;
    if (!p->machine || t->slots[p->slot].dead) {
        gp_net_clear(t->hubs[at].net, end);
        return;
    }
    if (t->now < p->awake) return; // it is all there when it wakes up
    while (p->machine && gp_net_take(t->hubs[at].ends[end], &peer, &bytes, &n)) {
        size_t line = peer;
        if (end) { // a slot's: who is at that hub
            for (line = 0; at && line < p->n_lines && p->lines[line] != at; line++) {}
            if (at && line == p->n_lines) continue; // a server of before
            line = at ? line + 1 : 0;
        }
        gp_follower_on_bytes(p->machine, t->now, line, bytes, n);
        gp_sim_process_goes_on(t, p);
    }
}

void gp_sim_process_signs(simulation *t, process *p)
{
    gp_message m;
    size_t at, from, to;
    for (size_t line = 0; line <= (p->serves ? 0 : p->n_lines); line++)
        if (gp_follower_sign(p->machine, (long)line, &m) && route(p, line, &at, &from, &to))
            gp_sim_transmit(t, at, from, to, &m);
    if (!p->serves || !gp_follower_sign(p->machine, GP_FOLLOWER_EVERYBODY, &m)) return;
    for (size_t s = 1; s <= t->n_slots; s++)
        if (!t->slots[s].dead && !gp_sim_process_of(t, t->slots[s].who)->serves) gp_sim_transmit(t, p->hub, 0, s, &m);
}
