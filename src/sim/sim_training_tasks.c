// sim_training_tasks.c: tasks between the runs of a simulated training. What a task gives is known beforehand, and
// other than in any other wave or stage: what is taken must be that, once a task.
#include "base/alloc.h"
#include "base/rng.h"
#include "sim/sim_training_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RESULT = 3 };

// What the task of these values gives: stage, wave and number.
static void result_of(const double *values, double *result)
{
    for (size_t i = 0; i < RESULT; i++) result[i] = 1000 * values[0] + 100 * values[1] + values[2] + 0.1 * (double)i;
}

static advgp_status pack(void *ctx, size_t task, gp_parcel *out)
{
    const simulation *t = ctx;
    out->values = gp_alloc(3, sizeof(double));
    if (!out->values) return ADVGP_ENOMEM;
    out->n_values = 3;
    out->values[0] = (double)t->stage, out->values[1] = (double)t->wave, out->values[2] = (double)task;
    return ADVGP_OK;
}

static bool take(void *ctx, size_t task, const double *values, size_t n)
{
    simulation *t = ctx;
    const double mine[] = {(double)t->stage, (double)t->wave, (double)task};
    double result[RESULT];
    result_of(mine, result);
    if (t->taken[task] || n != RESULT) gp_sim_break_law(t, GP_LAW_ALL);
    for (size_t i = 0; i < n && i < RESULT; i++)
        if (values[i] != result[i]) gp_sim_break_law(t, GP_LAW_ALL);
    t->taken[task] = true;
    t->out->tasks++;
    t->quiet = t->now;
    return true;
}

void gp_sim_prepare_tasks(simulation *t, size_t wave)
{
    t->wave = wave;
    t->act = PREPARES;
    t->quiet = t->now;
    gp_sim_plan(t, t->now + t->o->evaluation * pow(gp_rng_uniform(&t->rng), 3), BACK, 0, t->life);
}

void gp_sim_begin_tasks(simulation *t)
{
    const gp_lead_tasks tasks = {
        .n = t->o->stages[t->stage].tasks, .what = "a task", .pack = pack, .take = take, .ctx = t};
    memset(t->taken, 0, sizeof t->taken);
    t->has_own_task = false;
    t->act = TASKS;
    t->quiet = t->met = t->now;
    gp_sim_fail_with(t, gp_lead_tasks_begin(t->lead, t->now, &tasks, t->err));
    gp_sim_tasks_go_on(t);
    gp_sim_lead_hears(t);
}

void gp_sim_end_tasks(simulation *t)
{
    gp_lead_tasks_end(t->lead, t->now);
    gp_sim_lead_sends(t);
    gp_lead_tasks_forget(t->lead);
}

void gp_sim_tasks_go_on(simulation *t)
{
    if (gp_lead_tasks_over(t->lead)) {
        for (size_t i = 0; i < t->o->stages[t->stage].tasks; i++)
            if (!t->taken[i]) gp_sim_break_law(t, GP_LAW_ALL);
        gp_sim_end_tasks(t);
        if (t->wave == 0)
            gp_sim_prepare_tasks(t, 1);
        else
            gp_sim_next_stage(t);
        return;
    }
    if (t->o->lead_works && !t->has_own_task && gp_lead_tasks_own(t->lead, t->now, &t->own_task)) {
        t->has_own_task = true;
        gp_sim_plan(t, t->now + t->o->compute * (0.5 + gp_rng_uniform(&t->rng)), OWN_TASK, 0, t->life);
    }
    gp_sim_lead_sends(t);
}

void gp_sim_own_task_done(simulation *t)
{
    const double values[] = {(double)t->stage, (double)t->wave, (double)t->own_task};
    double result[RESULT];
    if (t->act != TASKS || !t->has_own_task) return; // of a wave that is over: another was faster
    const size_t before = t->out->tasks;
    t->has_own_task = false;
    result_of(values, result);
    if (!gp_lead_tasks_did(t->lead, t->now, t->own_task, result, RESULT)) gp_sim_break_law(t, GP_LAW_ALL);
    t->out->own_tasks += t->out->tasks - before;
    gp_sim_tasks_go_on(t);
}

void gp_sim_do_task(simulation *t, process *p)
{
    const gp_parcel *task = gp_follower_task(p->machine);
    const bool fails = gp_rng_uniform(&p->rng) < t->o->task_failures;
    double result[RESULT];
    if (task->n_values == 3) result_of(task->values, result);
    gp_follower_task_done(p->machine, t->now, fails || task->n_values != 3 ? NULL : result, RESULT);
}
