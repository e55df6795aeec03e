// evaluation.c: how good the parameters are on held-out rows, while the steps go on: the best are kept, and after
// a while without gain it is enough.
#include "base/clock.h"
#include "recipe/training.h"

#include <math.h>
#include <string.h>

double gp_training_rows_seen(const gp_training *t)
{
    double rows = (double)t->first_step * gp_training_rows_a_version(t) + (double)t->run->rows_elsewhere;
    for (size_t k = 0; k < gp_run_members(t->run); k++)
        rows += (double)gp_server_member(t->run->server, (uint32_t)k).rows;
    return rows;
}

static void look_at_workers(gp_training *t, double seconds)
{
    const double version = (double)gp_server_version(t->run->server);
    for (size_t k = 0; k < t->n_views; k++) {
        const gp_member m = gp_server_member(t->run->server, (uint32_t)k);
        t->views[k] = (gp_worker_view){.live = m.live,
                                       .joined = m.heard > 0,
                                       .rows_per_second = (double)m.rows / seconds,
                                       .age = m.pushes ? version - (double)m.version : 0,
                                       .waited = m.waited};
    }
}

void gp_training_ask_score(gp_training *t, const double *theta, size_t version)
{
    const double now = gp_clock_wall(), run = fmax(now - t->run_start, 1e-9), n = (double)t->n_train;
    const double rows = gp_training_rows_seen(t), a_version = gp_training_rows_a_version(t);
    const double rows_here = rows - (double)t->first_step * a_version;
    // With a delay a version may see more than it must: what is to come is taken to be like what was.
    const double versions_here = (double)version - (double)t->first_step;
    const double ahead = versions_here > 0 ? rows_here / versions_here : a_version;
    const double kl = gp_theta_kl(t->learner->layout, theta, NULL) / gp_shards_weight(t->shards, GP_TRAIN);
    t->asked = (gp_train_eval){
        .wall = now - t->wall_start,
        .cpu = gp_clock_cpu() - t->cpu_start,
        .rows = rows,
        .epoch = rows / n,
        .epochs = (rows + ahead * (double)(version < t->steps ? t->steps - version : 0)) / n,
        .version = version,
        .neg_elbo_per_row = gp_server_value(t->run->server) + kl,
        .run_seconds = run,
        .rows_per_second = rows_here / run,
        .seconds_left = version < t->steps
                            ? run / fmax((double)version - (double)t->first_step, 1) * (double)(t->steps - version)
                            : 0,
    };
    t->state.evaluating = true;
    t->state.evaluated_version = version;
    gp_evaluator_ask(t->evaluator, theta);
}

gp_stop_reason gp_training_is_over(const gp_training *t)
{
    const size_t patience = t->options->patience ? t->options->patience : GP_PATIENCE;
    if (t->state.since_best >= patience) return GP_STOPPED_NO_GAIN;
    if (gp_training_is_line(t)) return GP_STOPPED_LINE;
    return !t->state.evaluating && t->state.evaluated_version >= t->steps ? GP_STOPPED_SCHEDULE : GP_NOT_STOPPED;
}

advgp_status gp_training_take_score(gp_training *t, gp_stop_reason *stopped, advgp_error *err)
{
    gp_learner *l = t->learner;
    gp_score score;
    const advgp_status st = gp_evaluator_take(t->evaluator, &score, err);
    if (st != ADVGP_OK) return st;
    gp_train_eval e = t->asked;
    e.rmse = gp_score_rmse(&score), e.mnlp = gp_score_mnlp(&score);
    e.run_seconds = fmax(gp_clock_wall() - t->run_start, 1e-9); // what the workers are seen over
    look_at_workers(t, e.run_seconds);
    e.workers = t->views, e.n_workers = t->n_views;
    t->state.evaluating = false;
    if (t->events->eval) t->events->eval(t->events->ctx, &e);
    if (!gp_training_held_out_decides(t) || e.mnlp < t->state.best) {
        t->state.best = e.mnlp, t->state.since_best = 0;
        memcpy(l->best, gp_evaluator_theta(t->evaluator), l->layout.size * sizeof(double));
    } else {
        t->state.since_best++;
    }
    *stopped = gp_training_is_over(t);
    return ADVGP_OK;
}

advgp_status gp_training_evaluate(gp_training *t, gp_stop_reason *stopped, advgp_error *err)
{
    gp_training_ask_score(t, gp_server_theta(t->run->server), (size_t)gp_server_version(t->run->server));
    return gp_training_take_score(t, stopped, err);
}

advgp_status gp_training_evaluate_theta(gp_training *t, const double *theta, size_t version, double neg_elbo_per_row,
                                        gp_stop_reason *stopped, advgp_error *err)
{
    gp_training_ask_score(t, theta, version);
    t->asked.neg_elbo_per_row = neg_elbo_per_row;
    return gp_training_take_score(t, stopped, err);
}

void gp_training_end_steps(gp_training *t, double cpu_began)
{
    gp_train_result *r = t->result;
    double waited = 0;
    for (size_t k = 0; k < gp_run_members(t->run); k++) waited += gp_server_member(t->run->server, (uint32_t)k).waited;
    r->step_seconds = gp_clock_wall() - t->run_start;
    r->step_cpu = gp_clock_cpu() - cpu_began;
    r->workers = t->workers, r->threads = t->threads;
    r->waiting_share = waited / fmax(r->step_seconds * (double)t->workers, 1e-9);
}
