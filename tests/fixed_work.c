// fixed_work.c: the same work every time, for whoever counts its instructions (instructions.sh): one natural step of
// 512 rows, or the prediction of 10,000 rows with variance, at 100 inducing inputs. Prints what the count depends on
// beside the code: compiler, BLAS and its core.
//     fixed_work key|step|predict
#include "base/rng.h"
#include "bench.h"
#include "linalg/blas.h"
#include "linalg/simd.h"
#include "model/predict.h"
#include "ps/rule.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { D = 9, M = 100, STEP_ROWS = 512, ASKED_ROWS = 10000 };

typedef struct work {
    gp_feature_spec spec;
    gp_features *f;
    gp_pass *pass;
    gp_rule *rule;
    gp_theta_layout layout;
    double *theta, *grad, *push;
    gp_predictor *predictor;
    gp_predict_work *room;
    gp_batch rows;
    double *X, *y, *mean, *var;
} work;

// Not static, and never part of their callers: these are what is counted.
void the_step(work *w);
void the_prediction(work *w);

__attribute__((noinline)) void the_step(work *w)
{
    advgp_error err;
    double sum_g;
    const gp_step_terms terms = {.n = STEP_ROWS, .shrink = 1, .damping = 1};
    const gp_batch batch = gp_batch_part(w->rows, 0, STEP_ROWS);
    must(gp_pass_run(w->pass, w->theta, w->rule->ops->pass, batch, &sum_g, w->grad, &err), &err);
    w->rule->ops->fill(w->layout, gp_range_all(w->layout), gp_pass_stats(w->pass), sum_g, w->grad, w->push);
    must(w->rule->ops->step(w->rule, w->push, &terms, w->theta, &err), &err);
}

__attribute__((noinline)) void the_prediction(work *w)
{
    advgp_error err;
    must(gp_predict(w->predictor, w->room, w->rows.X, w->mean, w->var, NULL, &err), &err);
}

static void set_up(work *w)
{
    static const gp_component_spec component = {&gp_kernel_ard_rbf, &gp_map_cholesky, {.m = M}};
    advgp_error err;
    gp_rng rng = gp_rng_seeded(1, 0);
    double *X = w->X = doubles((size_t)ASKED_ROWS * D), *y = w->y = doubles(ASKED_ROWS);
    for (size_t i = 0; i < (size_t)ASKED_ROWS * D; i++) X[i] = gp_rng_normal(&rng);
    for (size_t i = 0; i < ASKED_ROWS; i++) y[i] = sin(X[i * D]);
    w->rows = (gp_batch){gp_cmat_of(X, ASKED_ROWS, D), y, NULL};
    w->mean = doubles(ASKED_ROWS), w->var = doubles(ASKED_ROWS);
    w->spec = (gp_feature_spec){.d = D, .n_components = 1, .components = &component, .jitter = 1e-6};
    must(gp_features_new(&w->spec, &w->f, &err), &err);
    must(gp_pass_new(w->f, 0, &w->pass, &err), &err);
    w->layout = gp_theta_layout_of(w->f);
    w->theta = doubles(w->layout.size), w->grad = doubles(w->layout.size);
    w->theta[0] = -1;
    for (size_t k = 0; k < D; k++) w->theta[2 + k] = -2;
    for (size_t i = 0; i < (size_t)M * D; i++) w->theta[2 + D + i] = gp_rng_normal(&rng);
    gp_theta_start_q(w->layout, w->theta);
    const gp_rule_options o = {
        .layout = w->layout, .range = gp_range_all(w->layout), .natural_rate = 0.2, .adam_rate = 0.01};
    must(gp_rule_natural.make(&o, &w->rule, &err), &err);
    w->push = doubles(gp_rule_natural.push_size(w->layout, o.range));
}

static void tear_down(work *w)
{
    gp_predict_work_free(w->room);
    gp_predictor_free(w->predictor);
    gp_rule_free(w->rule);
    gp_pass_free(w->pass);
    gp_features_free(w->f);
    free(w->X), free(w->y);
    free(w->theta), free(w->grad), free(w->push), free(w->mean), free(w->var);
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";
    if (gp_simd_best() < GP_SIMD_AVX2 || gp_blas_reserve(1, NULL) != ADVGP_OK) {
        printf("no AVX2\n");
        return 77;
    }
    gp_simd_limit(GP_SIMD_AVX2);
    if (!strcmp(what, "key")) {
        printf("%s; %s\n", __VERSION__, gp_blas_name());
        return 0;
    }
    work w = {0};
    advgp_error err;
    set_up(&w);
    the_step(&w); // whatever is done once only
    must(gp_predictor_new(&w.spec, w.theta, &w.predictor, &err), &err);
    must(gp_predict_work_new(w.predictor, 0, &w.room, &err), &err);
    if (!strcmp(what, "predict")) the_prediction(&w);
    tear_down(&w);
    return 0;
}
