// training.c: what the acts of a training share: what options mean, a learner, a run of the server, the posterior.
#include "recipe/training.h"
#include "linalg/factor.h"
#include "recipe/plan.h"

#include <math.h>
#include <string.h>

double gp_train_start_length(size_t d)
{
    return 0.7 * sqrt(fmax(1, (double)d / 9)); // by measurement, of tables with nine columns and more
}

bool gp_training_held_out_decides(const gp_training *t)
{
    return t->facts.validation_rows >= GP_JUDGING_ROWS_MIN;
}

bool gp_training_wants_cells(const gp_training *t)
{
    return gp_plan_wants_cells(&t->facts, t->options);
}

void gp_training_phase(gp_training *t, const char *what, gp_act act)
{
    t->act = act;
    if (t->events->phase) t->events->phase(t->events->ctx, what);
}

static void tell_progress(const gp_training *t)
{
    const gp_act *a = &t->act;
    if (!t->events->progress) return;
    gp_train_progress now = {.share = NAN};
    if (a->server || a->count) {
        const double at = (double)(a->server ? (size_t)gp_server_version(a->server) : atomic_load(a->count));
        const double done = at - (double)a->first, all = (double)a->last - (double)a->first;
        now.share = all > 0 ? fmin(fmax(done / all, 0), 1) : NAN;
        now.rows = a->counts_rows ? done : done * a->rows_a_version;
    }
    t->events->progress(t->events->ctx, &now);
}

// Whoever may be asked to stop is told how far it has come: in every act somebody asks a few times a second.
bool gp_training_stop_asked(const gp_training *t)
{
    tell_progress(t);
    return t->events->stop && t->events->stop(t->events->ctx);
}

int gp_training_stop(void *ctx)
{
    return gp_training_stop_asked(ctx);
}

gp_map_choice gp_training_map(const gp_train_options *o)
{
    return (gp_map_choice){.map = o->map, .rank = o->rank, .groups = o->groups};
}

bool gp_training_mostly_noise(double ln_sigma)
{
    return gp_plan_is_noisy(exp(2 * ln_sigma));
}

double gp_training_rows_a_version(const gp_training *t)
{
    return gp_plan_rows_a_version(t->options, t->workers, t->batch, t->n_train);
}

bool gp_training_sees_all(const gp_training *t)
{
    return t->workers * t->batch >= t->n_train;
}

advgp_status gp_training_new_learner(const gp_training *t, size_t m, size_t components, gp_learner **out,
                                     advgp_error *err)
{
    const gp_train_options *o = t->options;
    const gp_learner_options lo = {
        .d = t->shards->d,
        .m = m,
        .components = components < m ? components : m,
        .kernel = o->kernel,
        .map = o->map,
        .rank = o->rank,
        .groups = o->groups,
        .trend = o->trend,
        .length_scale = gp_train_start_length(t->shards->d),
        .seed = o->schedule.seed,
        .inducing = gp_cmat_of(t->inducing, m, t->shards->d),
    };
    const advgp_status st = gp_learner_new(&lo, out, err);
    if (st == ADVGP_OK && o->theta) memcpy((*out)->theta, o->theta, (*out)->layout.size * sizeof(double));
    return st;
}

gp_run_options gp_training_run_options(const gp_training *t, const gp_learner *l)
{
    const gp_train_options *o = t->options;
    gp_schedule schedule = gp_schedule_settled(o->schedule);
    schedule.workers = t->workers, schedule.batch = t->batch, schedule.steps = t->steps;
    schedule.mixed &= t->batch >= GP_MIXED_ROWS_MIN;
    return (gp_run_options){.spec = &l->spec,
                            .theta = l->theta,
                            .shards = t->shards,
                            .schedule = schedule,
                            .cluster = o->cluster,
                            .rows_passed = t->rows_passed};
}

advgp_status gp_training_posterior(gp_training *t, gp_run *run, gp_learner *l, size_t max_rows,
                                   int (*stop)(void *training), double *neg_elbo, advgp_error *err)
{
    const double *sum = NULL;
    const advgp_status st = gp_run_collect(run, l->theta, GP_FLAG_ALL_ROWS | GP_FLAG_STATISTICS, max_rows, &sum, stop,
                                           t, err);
    if (st == ADVGP_OK && l->layout.M > GP_EIGEN_LONG) gp_training_phase(t, "finish: noise and weights", (gp_act){0});
    // By what the record says, not by who asks: a replay must come to the same decision.
    const bool hurry = t->result->interrupted || t->result->stopped == GP_STOPPED_INTERRUPTED;
    return st == ADVGP_OK ? gp_learner_finish(l, sum, hurry, stop, t, neg_elbo, err) : st;
}
