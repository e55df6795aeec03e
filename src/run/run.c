// run.c: what all kinds of run share.
#include "run/run.h"
#include "base/alloc.h"

// A rise of the bound, in nats a row over its running mean, that is a jump where it also exceeds six deviations, and
// how many in a row are forgiven. In 20 logged runs, four of them near-repeats of four others (docs/math.md 8), single
// batches rose by up to 14, but never four in a row by as much as 0.05: so four in a row by 1 are no batch's noise.
const double gp_bound_jump = 1;
const uint64_t gp_jump_patience = 3;
const double gp_adadelta_decay = 0.9, gp_adadelta_epsilon = 1e-4; // docs/math.md 5

// Length-scales move as fast as amplitudes where a step sees so many rows that it knows where to; small batches do not:
// pol, of 512 rows, 2.86, 2.78, 3.08 -> 2.82, 3.11, 3.33 (docs/math.md 4).
const double *gp_run_unit(const gp_features *f, size_t step_rows)
{
    enum { ROWS_MIN = 4096 };
    return step_rows >= ROWS_MIN ? f->unit : NULL;
}

static advgp_status can_start(void *ctx, const double *before, double *theta, advgp_error *err)
{
    gp_run *run = ctx;
    if (!run->rotation) return gp_features_can_set(run->f, theta, err);
    advgp_status st = gp_features_set(run->f, before, err);
    if (st != ADVGP_OK) return st;
    gp_basis_rotation_keep(run->rotation, run->f);
    st = gp_features_set(run->f, theta, err);
    return st == ADVGP_OK ? gp_basis_rotation_carry(run->rotation, run->f, theta, err) : st;
}

advgp_status gp_run_init(gp_run *run, const gp_run_ops *ops, const gp_run_options *o, advgp_error *err)
{
    *run = (gp_run){.ops = ops, .o = *o};
    if (!run->o.workers_max) run->o.workers_max = o->schedule.workers;
    if (!run->o.id[0] && !run->o.id[1]) run->o.id[0] = o->schedule.seed, run->o.id[1] = 1;
    if (!o->schedule.workers || o->schedule.workers > run->o.workers_max || run->o.workers_max > GP_WORKERS_MAX)
        return gp_fail(err, ADVGP_EINVAL, "%zu workers, at most %zu: 1 to %d are possible", o->schedule.workers,
                       run->o.workers_max, GP_WORKERS_MAX);
    advgp_status st = gp_features_new(o->spec, &run->f, err);
    if (st != ADVGP_OK) return st;
    st = gp_basis_rotation_new(run->f, &run->rotation, err);
    if (st != ADVGP_OK) return st;
    run->layout = gp_theta_layout_of(run->f);
    run->range = o->range.count ? o->range : gp_range_all(run->layout);
    const gp_rule_options rule = {.layout = run->layout,
                                  .range = run->range,
                                  .age_power = gp_schedule_age_power(&o->schedule),
                                  .natural_rate = o->schedule.natural_rate,
                                  .adam_rate = o->schedule.adam_rate,
                                  .unit = gp_run_unit(run->f, o->schedule.batch * o->schedule.workers),
                                  .decay = gp_adadelta_decay,
                                  .epsilon = gp_adadelta_epsilon};
    st = o->schedule.rule->make(&rule, &run->rule, err);
    if (st != ADVGP_OK) return st;
    const gp_server_options server = {.rule = run->rule,
                                      .schedule = o->schedule,
                                      .theta = o->theta,
                                      .n_shards = o->shards->n_train,
                                      .shard_weight = o->shards->weight,
                                      .workers_max = run->o.workers_max,
                                      .run = {run->o.id[0], run->o.id[1]},
                                      .fingerprint = o->fingerprint,
                                      .lost_after = o->lost_after,
                                      .jump = gp_bound_jump,
                                      .jump_patience = gp_jump_patience,
                                      .check = o->range.count ? NULL : can_start, // a part of theta tells nothing
                                      .check_ctx = run,
                                      .event = o->event,
                                      .event_ctx = o->event_ctx};
    return gp_server_new(&server, &run->server, err);
}

void gp_run_fini(gp_run *run)
{
    gp_server_free(run->server);
    gp_rule_free(run->rule);
    gp_basis_rotation_free(run->rotation);
    gp_features_free(run->f);
}

advgp_status gp_run_start(gp_run *run, advgp_error *err)
{
    return run->ops->start ? run->ops->start(run, err) : ADVGP_OK;
}

size_t gp_run_members(const gp_run *run)
{
    return run->o.workers_max;
}

void gp_run_free(gp_run *run)
{
    if (!run) return;
    run->ops->stop(run);
    gp_run_fini(run);
    gp_free(run);
}

advgp_status gp_run_collect(gp_run *run, const double *theta, unsigned flags, uint64_t max_rows, const double **sum,
                            int (*stop)(void *ctx), void *ctx, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    gp_server_collect(run->server, theta, flags, max_rows);
    while (st == ADVGP_OK && !(*sum = gp_server_collected(run->server))) {
        // Asked before the turn, since one turn may bring all that is missing; given up after it, since a replay takes
        // it that the workers were answered.
        const bool stopping = stop && stop(ctx);
        st = run->ops->turn(run, stopping ? 0 : 0.2, err);
        if (st == ADVGP_OK && stopping && !gp_server_collected(run->server))
            return gp_fail(err, ADVGP_ESTOPPED, "stopped while rows were summed");
    }
    return st;
}
