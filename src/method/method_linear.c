// method_linear.c: linear regression, and with the intercept alone the mean: closed form, one pass over the rows.
#include "base/memory.h"
#include "method/method.h"
#include "recipe/conclude.h"
#include "recipe/plan.h"
#include "score/linear_fit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { READ_ROWS = 4096 };

static void fill(gp_model *model, const gp_linear *fit)
{
    const gp_theta_layout l = model->layout;
    model->theta[0] = 0.5 * log(fit->variance);
    memcpy(model->theta + l.n_rest, fit->coef, fit->p * sizeof *fit->coef);
    gp_upper_pack((gp_cmat){fit->U.p, fit->p, fit->p, fit->p}, model->theta + l.U);
    memcpy(model->stats.A.p, fit->A.p, fit->p * fit->p * sizeof *fit->A.p);
    memcpy(model->stats.b, fit->b, fit->p * sizeof *fit->b);
    model->stats.yy = fit->yy, model->stats.n = fit->n;
}

static void tell(const gp_host *host, const gp_train_result *r)
{
    const gp_assessment *a = &r->assessment;
    const gp_train_eval e = {.wall = r->wall,
                             .cpu = r->cpu,
                             .rows = r->rows,
                             .epoch = 1,
                             .epochs = 1,
                             .version = r->versions,
                             .neg_elbo_per_row = NAN, // no bound: nothing was approximated
                             .rmse = !gp_scored_of_training(a->scored) ? a->rmse : NAN,
                             .mnlp = !gp_scored_of_training(a->scored) ? a->mnlp : NAN,
                             .rows_per_second = r->rows / fmax(r->wall, 1e-9)};
    GP_TELL(host, eval, &e);
}

static advgp_status fit_lines(const char *name, bool slopes, const gp_train_request *request, gp_model **model,
                              gp_train_result *result, advgp_error *err)
{
    const gp_shards *shards = request->shards;
    const gp_host *asked = gp_host_stopper(request->host);
    const gp_stopwatch began = gp_stopwatch_start();
    gp_train_result unused, *r = result ? result : &unused;
    gp_reader reader = {0};
    gp_linear fit = {0};
    *model = NULL;
    if (!shards || !request->schema) return gp_fail(err, ADVGP_EINVAL, "%s: no rows or no schema given", name);
    if (!gp_shards_rows(shards, GP_TRAIN)) return gp_fail(err, ADVGP_EDATA, "there are no training rows");
    // Normal equations, covariance and its factor, in fit, model and file: 17 matrices, by measurement
    const double p = slopes ? (double)shards->d + 1 : 1;
    char what[80];
    snprintf(what, sizeof what, "linear regression on %zu encoded columns", shards->d);
    advgp_status st = gp_memory_check(17 * sizeof(double) * p * p, what, "use fewer columns ({features}, {exclude})",
                                      err);
    if (st == ADVGP_OK) st = gp_reader_new(shards, READ_ROWS, &reader, err);
    if (st == ADVGP_OK) st = gp_linear_fit(&reader, slopes, asked->stop, asked->ctx, &fit, err);
    if (st == ADVGP_OK && fit.rank < fit.p)
        st = gp_notes_add(request->notes, err, fit.p - fit.rank,
                          "%zu of %zu coefficients follow from the others, since their columns do: of all solutions "
                          "the smallest is taken",
                          fit.p - fit.rank, fit.p);
    if (st == ADVGP_OK)
        st = gp_model_new_linear(shards->d, slopes ? GP_TREND_LINEAR : GP_TREND_CONSTANT, request->schema, request->sql,
                                 model, err);
    if (st == ADVGP_OK) {
        snprintf((*model)->method, sizeof(*model)->method, "%s", name);
        fill(*model, &fit);
        *r = (gp_train_result){.stopped = GP_STOPPED_CLOSED_FORM,
                               .versions = 1,
                               .rows = (double)gp_shards_rows(shards, GP_TRAIN),
                               .neg_elbo = NAN};
        if (request->options) {
            gp_facts facts = gp_facts_measure(shards, request->options);
            facts.method = name;
            r->plan = gp_plan_make(&facts, request->options);
            gp_plan_take_encodings(&r->plan, request->encodings);
        }
        st = gp_train_conclude(*model, &reader, request->options, began, r, request->notes, err);
        if (st == ADVGP_OK) {
            tell(request->host, r);
        } else {
            (*model)->schema = NULL; // still the caller's
            gp_model_free(*model);
            *model = NULL;
        }
    }
    gp_linear_fini(&fit);
    gp_reader_fini(&reader);
    return st;
}

static advgp_status train_linear(const gp_train_request *request, gp_model **model, gp_train_result *result,
                                 advgp_error *err)
{
    return fit_lines("linear", true, request, model, result, err);
}

static advgp_status train_mean(const gp_train_request *request, gp_model **model, gp_train_result *result,
                               advgp_error *err)
{
    return fit_lines("mean", false, request, model, result, err);
}

static const char *const no_options[] = {NULL};

const gp_method gp_method_linear = {
    .name = "linear",
    .summary = "linear regression in closed form, one pass over the rows",
    .options = no_options,
    .train = train_linear,
};

const gp_method gp_method_mean = {
    .name = "mean",
    .summary = "the mean and variance of the target",
    .options = no_options,
    .train = train_mean,
};
