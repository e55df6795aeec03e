// form_exact.c: the exact process: hyper-parameters, the training rows and their weights alpha = K^-1 y. A load factors
// the covariance again, at the jitter that held; the mean needs alpha alone.
#include "store/form.h"

#include "linalg/dense.h"

#include <math.h>

enum { N_TENSORS = 7 };

static size_t n_tensors(const gp_model *model)
{
    (void)model;
    return N_TENSORS;
}

static void plan(gp_model_image *image, const gp_model *model, gp_arena *arena)
{
    (void)model;
    image->jitter = gp_arena_doubles(arena, 1);
}

static void list(gp_model_image *image, const gp_model *model)
{
    const size_t d = model->spec.d, n = model->exact.X.rows;
    const size_t n_trend = model->layout.size - 2 - d; // after ln sigma, ln a0 and ln eta
    gp_image_scalar(image, "ln_a0", model->theta + 1);
    gp_image_vector(image, "ln_eta", d, model->theta + 2);
    if (n_trend) gp_image_vector(image, "ln_trend", n_trend, model->theta + 2 + d);
    gp_image_vector(image, "jitter", 1, image->jitter);
    gp_image_matrix(image, "x_train", n, d, model->x_train);
    if (model->w_train) gp_image_vector(image, "w_train", n, model->w_train);
    gp_image_vector(image, "alpha", n, model->alpha);
}

static advgp_status pack(gp_model_image *image, const gp_model *model, const gp_predictor *predictor, advgp_error *err)
{
    (void)predictor, (void)err;
    *image->jitter = model->exact.jitter;
    return ADVGP_OK;
}

static advgp_status unpack(const gp_model_image *image, gp_model *model, advgp_error *err)
{
    if (!(*image->jitter >= 0 && *image->jitter <= 1e-2))
        return gp_fail(err, ADVGP_EFILE, "its jitter is %g", *image->jitter);
    model->exact.jitter = *image->jitter;
    return ADVGP_OK;
}

static bool describe(const gp_model *model, json_t *metadata)
{
    json_t *own = json_pack("{s:s, s:I, s:b}", "kernel", model->exact.kernel->name, "train_rows",
                            (json_int_t)model->exact.X.rows, "weighted", model->w_train != NULL);
    const bool good = own && json_object_update(metadata, own) == 0;
    json_decref(own);
    return good;
}

static advgp_status claim(const gp_tensorfile *file, const json_t *metadata, gp_schema *schema_take, const char *sql,
                          gp_model **out, advgp_error *err)
{
    size_t d, n;
    gp_trend trend;
    const gp_tensor *t;
    const char *name = json_string_value(json_object_get(metadata, "kernel"));
    const json_t *weighted = json_object_get(metadata, "weighted");
    const gp_kernel *kernel = gp_kernel_named(name);
    advgp_status st = gp_metadata_d_and_trend(metadata, &d, &trend, err);
    if (st != ADVGP_OK) return st;
    if (!kernel)
        return gp_fail(err, ADVGP_EFILE, "kernel '%.40s' is not known to this advgp (%s)", name ? name : "",
                       advgp_version());
    if (!gp_metadata_size(json_object_get(metadata, "train_rows"), GP_MODEL_EXACT_ROWS_MAX, &n) || !n)
        return gp_metadata_bad(err, "its number of training rows");
    if (!json_is_boolean(weighted)) return gp_metadata_bad(err, "whether its rows are weighted");
    if (d != schema_take->d) return gp_metadata_bad(err, "its number of inputs");
    st = gp_tensorfile_need(file, "x_train", GP_F64, 2, (size_t[]){n, d}, &t, err);
    return st == ADVGP_OK ? gp_model_new_exact(kernel, trend, n, json_is_true(weighted), schema_take, sql, out, err)
                          : st;
}

static gp_load_cost cost(const gp_model *model)
{
    const double n = (double)model->exact.X.rows, d = (double)model->spec.d;
    return (gp_load_cost){.bytes = 8 * 3 * n * n, .flops = n * n * n / 3 + n * n * (1.5 * d + 20)};
}

static advgp_status predictor(const gp_model *model, gp_predictor **out, advgp_error *err)
{
    return gp_exact_predictor_new(&model->exact, out, err);
}

static size_t n_kernels(const gp_model *model)
{
    (void)model;
    return 1;
}

// Every row is an inducing input, and nothing is mapped.
static gp_kernel_view kernel(const gp_model *model, size_t b)
{
    (void)b;
    const size_t n = model->exact.X.rows;
    return (gp_kernel_view){.kernel = model->exact.kernel->name,
                            .map = "exact",
                            .m = n,
                            .M = n,
                            .a0sq = exp(2 * model->theta[1]),
                            .jitter = model->exact.jitter,
                            .ln_eta = model->theta + 2};
}

// The posterior mean of the trend is s_l^2 x^T (X^T alpha).
static double slope(const gp_model *model, size_t k)
{
    const size_t d = model->spec.d, n = model->exact.X.rows;
    if (model->spec.trend != GP_TREND_LINEAR) return 0;
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += model->x_train[i * d + k] * model->alpha[i];
    return exp(2 * model->theta[model->layout.size - 1]) * sum;
}

const gp_model_form gp_form_exact = {
    .name = "exact",
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
    .kernel = kernel,
    .slope = slope,
};
