// small_fit.c: the acts of a training up to the finish, with everything settled beforehand.
#include "recipe/small_fit.h"
#include "recipe/training.h"

#include <stdint.h>

advgp_status gp_small_fit_run(const gp_small_fit *fit, gp_learner **out, double *neg_elbo, advgp_error *err)
{
    const gp_train_options o = {.m = fit->m,
                                .components = fit->components,
                                .kernel = fit->kernel,
                                .map = &gp_map_cholesky,
                                .trend = fit->trend,
                                .inducing = fit->inducing,
                                .schedule.steps = fit->steps,
                                .unpolished = true,
                                .schedule.batch = fit->batch,
                                .schedule.seed = fit->seed,
                                .schedule.workers = fit->workers ? fit->workers : 1,
                                .schedule.quorum = -1,
                                .noise = GP_NOISE_CONSTANT};
    const gp_host host = {.ctx = fit->stop_ctx, .stop = fit->stop};
    // The schema is looked at and not kept: no model is made.
    const gp_train_request request = {
        .shards = fit->shards, .schema = (gp_schema *)(uintptr_t)fit->schema, .options = &o, .host = &host};
    gp_train_result result = {0};
    gp_training t;
    size_t rows = 0;
    *out = NULL;
    advgp_status st = gp_training_fit(&t, &request, gp_training_versions, &result, &rows, err);
    const bool stopped = st == ADVGP_ESTOPPED || (st == ADVGP_OK && result.interrupted);
    if (st == ADVGP_OK && !stopped) *out = t.learner, t.learner = NULL;
    if (neg_elbo) *neg_elbo = result.neg_elbo;
    gp_training_fini(&t);
    return stopped ? ADVGP_OK : st;
}
