// training.c: what the acts of a training share: what options mean, a learner, a run of the server, the posterior.
#include "recipe/training.h"
#include "linalg/factor.h"

#include <math.h>
#include <string.h>

double gp_train_start_length(size_t d)
{
    return 0.7 * sqrt(fmax(1, (double)d / 9)); // by measurement, of tables with nine columns and more
}

// Fewer held-out rows than this decide nothing: the bound ranks pilots, the schedule ends the run.
enum { HELD_OUT_DECIDES = 100 };

bool gp_training_held_out_decides(const gp_training *t)
{
    return gp_shards_rows(t->shards, GP_STOP) >= HELD_OUT_DECIDES;
}

// By itself from this number of rows on: fewer leave nothing for local processes, and the steps take little time.
enum { CELLS_ROWS_MIN = 5000 };

bool gp_training_wants_cells(const gp_training *t)
{
    const size_t asked = t->options->cells;
    if (asked != GP_CELLS_AUTO) return asked > 0;
    return t->n_train >= CELLS_ROWS_MIN && gp_training_held_out_decides(t);
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
    return exp(2 * ln_sigma) > 0.5;
}

// Rows that a version sees: of all workers, or with a delay of as many as must have pushed.
double gp_training_rows_a_version(const gp_training *t)
{
    const gp_schedule s = gp_schedule_settled(t->options->schedule);
    const double workers = (double)t->workers, pushes = s.max_delay ? fmax(1, ceil(s.quorum * workers)) : workers;
    return fmin(pushes * (double)t->batch, (double)t->n_train);
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

// Pushes of fewer rows gain no time by single precision, and seoul_bikes (512 rows) lost by it: 150.6, 144.8, 144.1 ->
// 154.9, 148.1, 148.0.
enum { MIXED_ROWS_MIN = 4096 };

gp_run_options gp_training_run_options(const gp_training *t, const gp_learner *l)
{
    const gp_train_options *o = t->options;
    gp_schedule schedule = gp_schedule_settled(o->schedule);
    schedule.workers = t->workers, schedule.batch = t->batch, schedule.steps = t->steps;
    schedule.mixed &= t->batch >= MIXED_ROWS_MIN;
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
