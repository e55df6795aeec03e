// form_linear.c: coefficients and their covariance: linear regression, or with the intercept alone the mean. In memory
// a model of this form is one of weights without components: its trend has scale 1, mu are the coefficients, U^T U is
// their covariance.
#include "store/form.h"

#include "base/alloc.h"
#include "linalg/dense.h"

enum { N_TENSORS = 4 };

static size_t n_tensors(const gp_model *model)
{
    (void)model;
    return N_TENSORS;
}

static void plan(gp_model_image *image, const gp_model *model, gp_arena *arena)
{
    const size_t M = model->layout.M;
    image->stat_a = gp_arena_doubles(arena, M * (M + 1) / 2);
    image->coef_cov = gp_arena_doubles(arena, M * M);
}

static void list(gp_model_image *image, const gp_model *model)
{
    const size_t M = model->layout.M;
    gp_image_vector(image, "coef", M, model->theta + model->layout.n_rest);
    gp_image_matrix(image, "coef_cov", M, M, image->coef_cov);
    gp_image_vector(image, "stat_a", M * (M + 1) / 2, image->stat_a);
    gp_image_vector(image, "stat_b", M, model->stats.b);
}

static advgp_status pack(gp_model_image *image, const gp_model *model, const gp_predictor *predictor, advgp_error *err)
{
    (void)predictor;
    const size_t M = model->layout.M;
    const gp_mat cov = gp_mat_of(image->coef_cov, M, M);
    gp_mat U = gp_mat_of(gp_alloc(M, M * sizeof(double)), M, M);
    if (!U.p) return gp_no_memory(err);
    gp_upper_unpack(M, model->theta + model->layout.U, U);
    gp_syrk_upper(gp_ro(U), 0, cov);
    gp_mat_mirror_upper(cov);
    gp_free(U.p);
    gp_upper_pack(gp_ro(model->stats.A), image->stat_a);
    return ADVGP_OK;
}

static advgp_status unpack(const gp_model_image *image, gp_model *model, advgp_error *err)
{
    const size_t M = model->layout.M;
    gp_mat U = gp_mat_of(gp_alloc(M * M + gp_semidefinite_scratch(M), sizeof(double)), M, M);
    if (!U.p) return gp_no_memory(err);
    const bool good = gp_semidefinite_factor(gp_cmat_of(image->coef_cov, M, M), U, U.p + M * M);
    if (good) gp_upper_pack(gp_ro(U), model->theta + model->layout.U);
    gp_free(U.p);
    gp_upper_unpack(M, image->stat_a, model->stats.A);
    gp_mat_mirror_upper(model->stats.A);
    return good ? ADVGP_OK : gp_fail(err, ADVGP_EFILE, "its coef_cov is no covariance");
}

static bool describe(const gp_model *model, json_t *metadata)
{
    (void)model, (void)metadata;
    return true;
}

static advgp_status claim(const gp_tensorfile *file, const json_t *metadata, gp_schema *schema_take, const char *sql,
                          gp_model **out, advgp_error *err)
{
    size_t d;
    gp_trend trend;
    const gp_tensor *t;
    advgp_status st = gp_metadata_d_and_trend(metadata, &d, &trend, err);
    if (st == ADVGP_OK && trend == GP_TREND_NONE) st = gp_metadata_bad(err, "coefficients of nothing");
    const size_t M = trend == GP_TREND_LINEAR ? 1 + d : 1;
    if (st == ADVGP_OK) st = gp_tensorfile_need(file, "coef_cov", GP_F64, 2, (size_t[]){M, M}, &t, err);
    return st == ADVGP_OK ? gp_model_new_linear(d, trend, schema_take, sql, out, err) : st;
}

static gp_load_cost cost(const gp_model *model)
{
    return gp_form_weights.cost(model);
}

static advgp_status predictor(const gp_model *model, gp_predictor **out, advgp_error *err)
{
    return gp_form_weights.predictor(model, out, err);
}

static size_t n_kernels(const gp_model *model)
{
    (void)model;
    return 0;
}

static double slope(const gp_model *model, size_t k)
{
    return gp_form_weights.slope(model, k);
}

const gp_model_form gp_form_linear = {
    .name = "linear",
    .describe = describe,
    .claim = claim,
    .n_tensors = n_tensors,
    .plan = plan,
    .list = list,
    .pack = pack,
    .unpack = unpack,
    .cost = cost,
    .predictor = predictor,
    .n_kernels = n_kernels,
    .slope = slope, // and no kernel: there are none
};
