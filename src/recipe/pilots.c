// pilots.c: one component or a sum of four: two short runs, and the better one's shape is taken. And what they say of
// the noise: whether more inducing inputs than usual pay.
#include "cluster/cluster.h"
#include "learn/map_choice.h"
#include "recipe/training.h"

#include <math.h>
#include <string.h>

// Long and large enough to rank one component against four on every set tried: they are thrown away. A sum gains more
// from the rest of the run than one component does, so it may be a little behind.
enum { PILOT_STEPS_WHOLE = 150, PILOT_STEPS = 200, PILOT_BATCH_MAX = 1024, PILOT_SCORE_ROWS = 20000 };
enum { PILOT_M_MIN = 40, PILOT_M_MAX = 100, PILOT_SUM = 4 };
static const double pilot_handicap = 1.01;

// Held-out RMSE after a short run with its finish; where too few rows are held out the bound, which needs none. Pilots
// are synchronous and by the natural rule: they are to rank shapes, quickly.
static advgp_status pilot(gp_training *t, const char *what, size_t components, double *score, double *ln_sigma,
                          advgp_error *err)
{
    gp_learner *l = NULL;
    gp_run *run = NULL;
    gp_score held_out;
    advgp_status st = gp_training_new_learner(t, t->m < PILOT_M_MAX ? t->m : PILOT_M_MAX, components, &l, err);
    *score = INFINITY, *ln_sigma = 0;
    if (st != ADVGP_OK) return st;
    gp_run_options o = gp_training_run_options(t, l);
    gp_schedule *s = &o.schedule;
    const size_t batch_max = (PILOT_BATCH_MAX + t->workers - 1) / t->workers;
    *s = gp_schedule_synchronous(*s);
    s->mixed = false;
    if (s->batch > batch_max) s->batch = batch_max;
    s->steps = gp_training_sees_all(t) ? PILOT_STEPS_WHOLE : PILOT_STEPS;
    st = gp_cluster_run_new(&o, &run, err);
    if (st == ADVGP_OK)
        gp_training_phase(t, what,
                          (gp_act){.server = run->server,
                                   .last = s->steps,
                                   .rows_a_version = fmin((double)(s->batch * s->workers), (double)t->n_train)});
    if (st == ADVGP_OK) st = gp_server_allow(run->server, s->steps, err);
    if (st == ADVGP_OK) st = gp_run_start(run, err);
    while (st == ADVGP_OK && gp_server_version(run->server) < s->steps && !gp_training_stop_asked(t))
        st = run->ops->turn(run, 0.2, err);
    if (st == ADVGP_OK && !gp_training_stop_asked(t)) {
        memcpy(l->theta, gp_server_theta(run->server), l->layout.size * sizeof(double));
        st = gp_training_posterior(t, run, l, 40 * s->batch * s->workers, gp_training_stop, score, err);
        if (st == ADVGP_ESTOPPED) st = ADVGP_OK; // there will be no comparison
    }
    if (st == ADVGP_OK && !gp_training_stop_asked(t) && gp_training_held_out_decides(t)) {
        st = gp_score_part(&l->spec, l->theta, &t->reader, GP_STOP, PILOT_SCORE_ROWS, t->schema, &held_out, err);
        *score = gp_score_rmse(&held_out);
    }
    *ln_sigma = l->theta[0];
    t->act = (gp_act){0};
    gp_run_free(run);
    gp_learner_free(l);
    return st;
}

advgp_status gp_training_choose_shape(gp_training *t, gp_run_shape *out, advgp_error *err)
{
    const size_t usual = t->m < t->options->m ? t->m : t->options->m;
    *out = (gp_run_shape){.components = 1, .inducing = usual};
    if (t->m < PILOT_M_MIN || gp_map_choice_check(gp_training_map(t->options), t->m, PILOT_SUM, NULL) != ADVGP_OK)
        return ADVGP_OK;
    double one, sum, ln_sigma, of_sum;
    advgp_status st = pilot(t, "pilot: one component", 1, &one, &ln_sigma, err);
    if (st == ADVGP_OK && !gp_training_stop_asked(t)) {
        st = pilot(t, "pilot: a sum of four components", PILOT_SUM, &sum, &of_sum, err);
        if (st == ADVGP_OK && sum < (gp_training_held_out_decides(t) ? pilot_handicap * one : one))
            out->components = PILOT_SUM, ln_sigma = of_sum;
    }
    // Then the comparison is void; what there is becomes a model, and resuming begins again.
    t->undecided = gp_training_stop_asked(t);
    if (!gp_training_mostly_noise(ln_sigma) && !t->undecided) out->inducing = t->m;
    return st;
}
