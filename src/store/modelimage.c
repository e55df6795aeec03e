// modelimage.c: names, shapes and places of a model's tensors; the golden rows.
#include "store/modelimage.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "store/form.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

enum { COMMON = 16 }; // tensors that every form has

// ---- the list -------------------------------------------------------------------------------------------------------

static gp_model_tensor *add(gp_model_image *image, const char *name, double *data)
{
    gp_model_tensor *t = &image->list[image->n++];
    snprintf(t->name, sizeof t->name, "%s%s", image->prefix, name);
    t->data = data;
    return t;
}

void gp_image_scalar(gp_model_image *image, const char *name, double *data)
{
    (void)add(image, name, data);
}

void gp_image_vector(gp_model_image *image, const char *name, size_t n, double *data)
{
    gp_model_tensor *t = add(image, name, data);
    t->rank = 1;
    t->shape[0] = n;
}

void gp_image_matrix(gp_model_image *image, const char *name, size_t rows, size_t cols, double *data)
{
    gp_model_tensor *t = add(image, name, data);
    t->rank = 2;
    t->shape[0] = rows;
    t->shape[1] = cols;
}

static void list_common(gp_model_image *image, gp_model *model)
{
    const size_t d = model->spec.d;
    gp_image_scalar(image, "ln_sigma", model->theta);
    gp_image_vector(image, "x_mean", d, image->x_mean);
    gp_image_vector(image, "x_scale", d, image->x_scale);
    gp_image_scalar(image, "y_mean", &image->y_mean);
    gp_image_scalar(image, "y_scale", &image->y_scale);
    gp_calibration_part parts[GP_CALIBRATION_PARTS_MAX];
    const size_t n = gp_calibration_parts(&model->calibration, parts);
    for (const gp_calibration_part *p = parts; p < parts + n; p++)
        if (p->cols)
            gp_image_matrix(image, p->name, p->rows, p->cols, p->data);
        else
            gp_image_vector(image, p->name, p->rows, p->data);
    gp_image_scalar(image, "stat_yy", &model->stats.yy);
    gp_image_scalar(image, "stat_n", &model->stats.n);
    gp_image_scalar(image, "stat_residual", &model->stats.residual);
    gp_image_matrix(image, "golden_x", GP_GOLDEN_ROWS, d, image->golden_x);
    gp_image_matrix(image, "golden_y", GP_GOLDEN_ROWS, 3, image->golden_y);
}

// What a scale model has beyond its form: it shares inputs, calibration and golden rows with the model that it is of.
static void list_noise(gp_model_image *image, gp_model *model)
{
    gp_image_scalar(image, "ln_sigma", model->noise->theta);
    gp_image_scalar(image, "y_mean", &image->y_mean);
    gp_image_scalar(image, "y_scale", &image->y_scale);
    gp_image_vector(image, "range", 2, model->noise_range);
    gp_image_scalar(image, "stat_yy", &model->noise->stats.yy);
    gp_image_scalar(image, "stat_n", &model->noise->stats.n);
    gp_image_scalar(image, "stat_residual", &model->noise->stats.residual);
}

static void plan(gp_model_image *image, const gp_model *model, gp_arena *arena)
{
    const size_t d = model->spec.d;
    image->list = gp_arena_bytes(arena, COMMON + model->form->n_tensors(model), sizeof *image->list);
    image->x_mean = gp_arena_doubles(arena, d);
    image->x_scale = gp_arena_doubles(arena, d);
    image->golden_x = gp_arena_doubles(arena, GP_GOLDEN_ROWS * d);
    image->golden_y = gp_arena_doubles(arena, GP_GOLDEN_VALUES);
    model->form->plan(image, model, arena);
}

static advgp_status init(gp_model_image *image, const gp_model *model, const char *prefix, advgp_error *err)
{
    *image = (gp_model_image){.prefix = prefix};
    gp_arena arena = {0};
    plan(image, model, &arena);
    if (!gp_arena_take(&arena)) return gp_no_memory(err);
    image->block = arena.base;
    plan(image, model, &arena);
    model->form->list(image, model);
    return ADVGP_OK;
}

// The lists serve readers too, who fill what they point to.
advgp_status gp_model_image_init(gp_model_image *image, const gp_model *model, advgp_error *err)
{
    const advgp_status st = init(image, model, "", err);
    if (st == ADVGP_OK) list_common(image, (gp_model *)(uintptr_t)model);
    assert(st != ADVGP_OK || image->n <= COMMON + model->form->n_tensors(model));
    return st;
}

advgp_status gp_model_image_noise(gp_model_image *image, const gp_model *model, advgp_error *err)
{
    const advgp_status st = init(image, model->noise, "noise.", err);
    if (st == ADVGP_OK) list_noise(image, (gp_model *)(uintptr_t)model);
    assert(st != ADVGP_OK || image->n <= COMMON + model->noise->form->n_tensors(model->noise));
    return st;
}

void gp_model_image_fini(gp_model_image *image)
{
    gp_free(image->block);
    *image = (gp_model_image){0};
}

// ---- golden rows ----------------------------------------------------------------------------------------------------

// Half way between two inducing inputs, where the kernels speak, and a little beside; anywhere near the mean for a
// model that has none. The first row is the mean itself.
void gp_model_image_golden_x(gp_model_image *image, const gp_model *model)
{
    const size_t d = model->spec.d, J = model->spec.n_components;
    gp_rng rng = gp_rng_seeded(GP_MODEL_FORMAT, d);
    for (size_t i = 0; i < GP_GOLDEN_ROWS; i++) {
        const double *z = NULL;
        size_t m = 0;
        const double *theta = model->theta + 1;
        for (size_t b = 0; J && b <= i % J; b++) {
            m = model->components[b].shape.m;
            z = theta + 1 + d;
            theta = z + m * d + (model->components[b].map->has_rho ? m : 0);
        }
        const double *one = z ? z + gp_rng_below(&rng, m) * d : NULL;
        const double *other = z ? z + gp_rng_below(&rng, m) * d : NULL;
        for (size_t k = 0; k < d; k++) {
            double x = (z ? 0.1 : 1) * gp_rng_normal(&rng);
            if (z) x += 0.5 * (one[k] + other[k]);
            if (i == 0) x = 0;
            image->golden_x[i * d + k] = gp_schema_input(model->schema, k, x);
        }
    }
}

advgp_status gp_model_image_golden_y(const gp_model_image *image, const gp_model *model, const gp_predictor *predictor,
                                     double *out, advgp_error *err)
{
    const size_t d = model->spec.d;
    const gp_schema *s = model->schema;
    double mean[GP_GOLDEN_ROWS], var_f[GP_GOLDEN_ROWS], var_y[GP_GOLDEN_ROWS];
    double *X = gp_alloc(GP_GOLDEN_ROWS, d * sizeof *X);
    gp_predict_work *work = NULL;
    if (!X) return gp_no_memory(err);
    advgp_status st = gp_predict_work_new(predictor, GP_GOLDEN_ROWS, &work, err);
    for (size_t i = 0; i < GP_GOLDEN_ROWS * d; i++) X[i] = (image->golden_x[i] - s->x_mean[i % d]) / s->x_scale[i % d];
    if (st == ADVGP_OK) st = gp_predict(predictor, work, gp_cmat_of(X, GP_GOLDEN_ROWS, d), mean, var_f, var_y, err);
    for (size_t i = 0; st == ADVGP_OK && i < GP_GOLDEN_ROWS; i++) {
        out[3 * i] = s->y_mean + s->y_scale * mean[i];
        out[3 * i + 1] = s->y_scale * sqrt(var_f[i]);
        out[3 * i + 2] = s->y_scale * sqrt(var_y[i]);
    }
    gp_predict_work_free(work);
    gp_free(X);
    return st;
}

// ---- the checksum of the metadata -----------------------------------------------------------------------------------

void gp_model_text_tail(const char *text, size_t n, char tail[GP_TEXT_TAIL_BYTES + 1])
{
    snprintf(tail, GP_TEXT_TAIL_BYTES + 1, ",\"text_xxh3\":\"%016llx\"}", (unsigned long long)XXH3_64bits(text, n));
}
