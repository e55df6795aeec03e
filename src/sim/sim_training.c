// sim_training.c: a training in virtual time: its events one after the other, the faults, and how it ends.
#include "base/alloc.h"
#include "base/rng.h"
#include "sim/sim_training_state.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

// ---- faults ---------------------------------------------------------------------------------------------------------

static void break_something(simulation *t, size_t i)
{
    const gp_sim_training_fault *f = &t->o->faults[i];
    process *p = f->who ? gp_sim_process_of(t, f->who) : NULL;
    if (t->act == GONE || t->act == PARTS) return;
    t->quiet = t->now;
    switch (f->kind) {
    case GP_SIM_CRASH:
        if (p)
            gp_sim_process_dies(t, p);
        else
            gp_sim_lead_dies(t);
        break;
    case GP_SIM_LEAVE:
        if (p && p->machine) {
            p->stops = true;
            gp_follower_on_stop(p->machine, t->now);
            gp_sim_process_goes_on(t, p);
        }
        break;
    case GP_SIM_PAUSE:
        if (p)
            p->awake = fmax(p->awake, t->now + f->seconds);
        else
            t->awake = fmax(t->awake, t->now + f->seconds);
        break;
    case GP_SIM_CUT:
        if (p && p->machine) gp_sim_cut_slot(t, p->slot, true);
        *(p ? &p->cut : &t->cut) = true;
        if (!p) gp_net_cut(t->hubs[0].net, 0, true);
        break;
    }
    if (isfinite(f->seconds)) gp_sim_plan(t, t->now + f->seconds, REPAIR, i, 0);
}

static void repair_something(simulation *t, size_t i)
{
    const gp_sim_training_fault *f = &t->o->faults[i];
    process *p = f->who ? gp_sim_process_of(t, f->who) : NULL;
    t->quiet = t->now;
    switch (f->kind) {
    case GP_SIM_CRASH:
    case GP_SIM_LEAVE:
        if (p) {
            gp_sim_process_starts(t, p);
        } else if (t->act == DEAD) {
            t->out->restarts++;
            gp_sim_lead_starts(t, true);
        }
        break;
    case GP_SIM_PAUSE:
        if (t->now < (p ? p->awake : t->awake)) break; // another one is longer
        if (!p && t->lead) {
            t->keeps.since = t->met = t->now;
            gp_sim_lead_hears(t);
        }
        if (!p) break;
        p->keeps.since = t->now;
        for (size_t at = 0; at < t->n_hubs; at++) {
            gp_sim_process_hears(t, p, at, p->slot);
            if (p->serves && at == p->hub) gp_sim_process_hears(t, p, at, 0);
        }
        break;
    case GP_SIM_CUT:
        if (p) gp_sim_cut_slot(t, p->slot, false);
        *(p ? &p->cut : &t->cut) = false;
        if (!p) gp_net_cut(t->hubs[0].net, 0, false), t->met = t->now;
        t->keeps.since = t->now;
        for (size_t k = 0; k < t->n; k++) t->processes[k].keeps.since = t->now;
        break;
    }
}

// ---- the loop -------------------------------------------------------------------------------------------------------

static void happen_to_lead(simulation *t, const gp_event *e)
{
    if (e->life != t->life || !t->lead) return;
    if (t->now < t->awake) { // it stands still
        gp_sim_plan(t, t->awake, (event_kind)e->what, 0, e->life);
        return;
    }
    if (e->what == TICK) gp_sim_lead_ticks(t);
    if (e->what == SIGN) gp_sim_lead_signs(t);
    if (e->what == BACK && t->act == EVALUATES)
        gp_sim_lead_comes_back(t);
    else if (e->what == BACK && t->act == PREPARES)
        gp_sim_begin_tasks(t);
    if (e->what == OWN_TASK) gp_sim_own_task_done(t);
}

static void happen_to_process(simulation *t, const gp_event *e)
{
    process *p = gp_sim_process_of(t, e->who);
    if (e->what == START) {
        if (e->life == p->life) gp_sim_process_starts(t, p);
        return;
    }
    if (e->life != p->life || !p->machine) return;
    if (t->now < p->awake) {
        gp_sim_plan(t, p->awake, (event_kind)e->what, e->who, e->life);
        return;
    }
    switch ((event_kind)e->what) {
    case TICK:
        gp_sim_plan(t, t->now + gp_sim_tick, TICK, p->who, p->life);
        gp_follower_on_tick(p->machine, t->now);
        gp_sim_process_goes_on(t, p);
        break;
    case SIGN:
        gp_sim_plan(t, t->now + t->o->lead.heartbeat, SIGN, p->who, p->life);
        gp_sim_process_signs(t, p);
        break;
    case OPENED:
        gp_sim_process_opened(t, p);
        break;
    case COMPUTED:
        gp_sim_process_computed(t, p);
        break;
    default:
        break;
    }
}

static void appear(simulation *t, size_t i)
{
    const late_beat *g = &t->late_beats[i];
    gp_sim_transmit(t, g->at, g->from, g->to, &g->sign);
    gp_sim_plan(t, t->now + t->o->lead.heartbeat, LATE_BEAT, i, 0);
}

static bool all_ended(const simulation *t)
{
    for (size_t k = 0; k < t->n; k++)
        if (t->processes[k].machine) return false;
    return t->act == GONE;
}

// Somebody is there who could do something: the lead, a worker, and all servers.
static bool could_go_on(const simulation *t)
{
    size_t workers = 0, servers = 0;
    for (size_t k = 0; k < t->n; k++) {
        const process *p = &t->processes[k];
        if (p->machine && !p->cut && t->now >= p->awake) *(p->serves ? &servers : &workers) += 1;
    }
    return t->lead && !t->cut && t->now >= t->awake && workers && servers == t->o->lead.servers;
}

static void check_time(simulation *t)
{
    if (!could_go_on(t) || t->act == PARTS) t->quiet = t->now;
    if (t->now - t->quiet > t->o->stall) gp_sim_break_law(t, GP_LAW_PROGRESS);
    if (t->now > t->o->seconds) gp_sim_break_law(t, GP_LAW_ENDS);
    if (t->law == GP_LAW_NONE || t->status != ADVGP_OK) return;
    t->out->broken = t->law;
    gp_sim_fail_with(t, gp_fail(t->err, ADVGP_ECLUSTER, "%s: %s (seed %" PRIu64 ", %.3f s, version %" PRIu64 ")",
                                gp_law_name(t->law), gp_law_text(t->law), t->o->seed, t->now, t->out->version));
}

static void run(simulation *t)
{
    while (t->status == ADVGP_OK && !all_ended(t)) {
        size_t first = 0;
        for (size_t i = 1; i < t->n_hubs; i++)
            if (gp_net_next(t->hubs[i].net) < gp_net_next(t->hubs[first].net)) first = i;
        const double by_net = gp_net_next(t->hubs[first].net), by_plan = gp_events_time(&t->events);
        if (isinf(by_net) && isinf(by_plan)) {
            gp_sim_break_law(t, GP_LAW_ENDS); // nothing will ever happen again
        } else if (by_net <= by_plan) {
            const hub *h = &t->hubs[first];
            const size_t end = gp_net_step(h->net);
            t->now = fmax(t->now, gp_net_now(h->net));
            gp_sim_note(t, first << 8 | end, gp_sim_bits_of(t->now));
            if (!end && !first)
                gp_sim_lead_hears(t);
            else
                gp_sim_process_hears(t, gp_sim_process_of(t, end ? t->slots[end].who : h->owner), first, end);
        } else {
            const gp_event e = gp_events_next(&t->events);
            t->now = fmax(t->now, e.time);
            gp_sim_note(t, (uint64_t)(unsigned)e.what << 32 | e.who, gp_sim_bits_of(t->now));
            if (e.what == FAULT)
                break_something(t, e.who);
            else if (e.what == REPAIR)
                repair_something(t, e.who);
            else if (e.what == LATE_BEAT)
                appear(t, e.who);
            else if (e.who)
                happen_to_process(t, &e);
            else
                happen_to_lead(t, &e);
        }
        t->out->events++;
        check_time(t);
    }
}

// ---- making and ending ----------------------------------------------------------------------------------------------

static advgp_status open_simulation(simulation *t, advgp_error *err)
{
    const gp_sim_training_options *o = t->o;
    const size_t size = t->out->size;
    t->n = o->n_workers + o->lead.servers;
    t->processes = gp_alloc(t->n, sizeof *t->processes);
    if (!t->processes) return gp_no_memory(err);
    t->rng = gp_rng_seeded(o->seed, 2);
    t->keeps.t = t;
    memcpy(t->out->theta, o->server.theta, size * sizeof(double));
    (void)gp_sim_open_hub(t, 0);
    for (size_t k = 0; k < t->n && t->status == ADVGP_OK; k++) {
        process *p = &t->processes[k];
        p->who = k + 1;
        p->serves = k >= o->n_workers;
        p->rng = gp_rng_seeded(o->seed, 10 + k);
        p->keeps.t = t, p->keeps.p = p;
        gp_sim_plan(t, 0.5 * gp_rng_uniform(&p->rng), START, p->who, 0);
    }
    for (size_t i = 0; i < o->n_faults; i++) gp_sim_plan(t, o->faults[i].at, FAULT, i, 0);
    if (t->status == ADVGP_OK) gp_sim_lead_starts(t, false);
    return t->status;
}

static void close_simulation(simulation *t)
{
    for (size_t k = 0; t->processes && k < t->n; k++) gp_sim_process_dies(t, &t->processes[k]);
    gp_sim_lead_dies(t);
    for (size_t i = 0; i < t->n_hubs; i++)
        for (size_t s = 0; s <= SLOTS; s++) gp_transport_sim.close(t->hubs[i].ends[s]);
    gp_events_fini(&t->events);
    gp_free(t->processes);
    gp_server_copy_fini(&t->kept.server);
    gp_free(t->bytes);
}

void gp_sim_training_outcome_fini(gp_sim_training_outcome *out)
{
    gp_free(out->theta);
    *out = (gp_sim_training_outcome){0};
}

advgp_status gp_sim_training_run(const gp_sim_training_options *o, gp_sim_training_outcome *out, advgp_error *err)
{
    const size_t size = o->rule_options.range.count;
    *out = (gp_sim_training_outcome){.size = size, .theta = gp_alloc(size, sizeof(double))};
    simulation *t = gp_alloc(1, sizeof *t);
    if (!out->theta || !t) {
        gp_free(t);
        return gp_no_memory(err);
    }
    *t = (simulation){.o = o, .out = out, .err = err};
    gp_sim_fail_with(t, open_simulation(t, err));
    run(t);
    const advgp_status st = t->status;
    out->seconds = t->now;
    for (size_t i = 0; i < size; i++) gp_sim_note(t, i, gp_sim_bits_of(out->theta[i]));
    close_simulation(t);
    gp_free(t);
    return st;
}
