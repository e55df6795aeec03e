// form_weights.c: q(w) over features: components with their inducing inputs, the trend, mu and U (theta.h), and the
// additive statistics. What advgp and the methods like it fit.
#include "base/alloc.h"
#include "linalg/dense.h"
#include "store/form.h"
#include "store/spec_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PER_COMPONENT = 5, OTHERS = 6, NAME_BYTES = 24 };

// ---- the list -------------------------------------------------------------------------------------------------------

// "z" alone, "z.0", "z.1", .. where there are several components.
static const char *numbered(char out[NAME_BYTES], const char *name, size_t n_components, size_t b)
{
    snprintf(out, NAME_BYTES, n_components > 1 ? "%s.%zu" : "%s", name, b);
    return out;
}

static size_t n_features(const gp_component_spec *c) // of a component that was checked
{
    size_t M = 0;
    (void)c->map->features(&c->shape, &M, NULL);
    return M;
}

// Numbers in all T that a file keeps.
static size_t maps_size(const gp_model *model)
{
    size_t sum = 0;
    for (size_t b = 0; b < model->spec.n_components; b++) {
        const gp_component_spec *c = &model->components[b];
        if (c->map->take) sum += c->shape.m * n_features(c);
    }
    return sum;
}

static size_t n_tensors(const gp_model *model)
{
    return PER_COMPONENT * model->spec.n_components + OTHERS;
}

static void plan(gp_model_image *image, const gp_model *model, gp_arena *arena)
{
    const size_t M = model->layout.M;
    image->jitter = gp_arena_doubles(arena, model->spec.n_components);
    image->maps = gp_arena_doubles(arena, maps_size(model));
    image->stat_a = gp_arena_doubles(arena, M * (M + 1) / 2);
}

static void list(gp_model_image *image, const gp_model *model)
{
    const gp_theta_layout *l = &model->layout;
    const size_t d = model->spec.d, J = model->spec.n_components;
    double *theta = model->theta + 1, *T = image->maps;
    for (size_t b = 0; b < J; b++) {
        const gp_component_spec *c = &model->components[b];
        const size_t m = c->shape.m;
        char name[NAME_BYTES];
        gp_image_scalar(image, numbered(name, "ln_a0", J, b), theta);
        gp_image_vector(image, numbered(name, "ln_eta", J, b), d, theta + 1);
        gp_image_matrix(image, numbered(name, "z", J, b), m, d, theta + 1 + d);
        theta += 1 + d + m * d;
        if (c->map->has_rho) {
            gp_image_vector(image, numbered(name, "rho", J, b), m, theta);
            theta += m;
        }
        if (c->map->take) {
            const size_t M = n_features(c);
            gp_image_matrix(image, numbered(name, "t", J, b), m, M, T);
            T += m * M;
        }
    }
    const size_t n_trend = (size_t)(model->theta + l->n_rest - theta); // s_c, s_l: those the trend has
    if (n_trend) gp_image_vector(image, "ln_trend", n_trend, theta);
    gp_image_vector(image, "mu", l->M, model->theta + l->n_rest);
    gp_image_vector(image, "u", l->M * (l->M + 1) / 2, model->theta + l->U);
    if (J) gp_image_vector(image, "jitter", J, image->jitter);
    gp_image_vector(image, "stat_a", l->M * (l->M + 1) / 2, image->stat_a);
    gp_image_vector(image, "stat_b", l->M, model->stats.b);
}

static advgp_status pack(gp_model_image *image, const gp_model *model, const gp_predictor *predictor, advgp_error *err)
{
    (void)err;
    const gp_features *f = gp_predictor_features(predictor);
    double *T = image->maps;
    for (size_t b = 0; b < f->n_components; b++) {
        const gp_component *c = &f->components[b];
        image->jitter[b] = c->rung.jitter;
        if (!c->map->take) continue;
        memcpy(T, c->T.p, c->m * c->M * sizeof *T);
        T += c->m * c->M;
    }
    gp_upper_pack(gp_ro(model->stats.A), image->stat_a);
    return ADVGP_OK;
}

static advgp_status unpack(const gp_model_image *image, gp_model *model, advgp_error *err)
{
    const size_t n = maps_size(model);
    for (size_t b = 0; b < model->spec.n_components; b++) {
        if (!(image->jitter[b] >= 0 && image->jitter[b] <= 1e-2))
            return gp_fail(err, ADVGP_EFILE, "the jitter of component %zu is %g", b, image->jitter[b]);
        model->rungs[b] = image->jitter[b];
    }
    gp_upper_unpack(model->layout.M, image->stat_a, model->stats.A);
    gp_mat_mirror_upper(model->stats.A);
    if (!n) return ADVGP_OK;
    model->maps = gp_alloc(n, sizeof *model->maps);
    if (!model->maps) return gp_fail(err, ADVGP_ENOMEM, "no memory for the maps of %zu components", n);
    memcpy(model->maps, image->maps, n * sizeof *model->maps);
    model->spec.maps = model->maps;
    return ADVGP_OK;
}

// ---- metadata -------------------------------------------------------------------------------------------------------

static bool describe(const gp_model *model, json_t *metadata)
{
    return gp_spec_describe(&model->spec, metadata);
}

// The tensors that cost a writer as much as a reader: whoever claims a size must have sent it.
static advgp_status check_claims(const gp_tensorfile *file, const gp_spec_claims *c, advgp_error *err)
{
    const gp_tensor *t;
    const size_t J = c->spec.n_components;
    advgp_status st = gp_tensorfile_need(file, "u", GP_F64, 1, (size_t[]){c->M * (c->M + 1) / 2}, &t, err);
    for (size_t b = 0; st == ADVGP_OK && b < J; b++) {
        const gp_component_spec *s = &c->components[b];
        const size_t m = s->shape.m;
        char name[NAME_BYTES];
        st = gp_tensorfile_need(file, numbered(name, "z", J, b), GP_F64, 2, (size_t[]){m, c->spec.d}, &t, err);
        if (st == ADVGP_OK && s->map->take)
            st = gp_tensorfile_need(file, numbered(name, "t", J, b), GP_F64, 2, (size_t[]){m, n_features(s)}, &t, err);
    }
    return st;
}

static advgp_status claim(const gp_tensorfile *file, const json_t *metadata, gp_schema *schema_take, const char *sql,
                          gp_model **out, advgp_error *err)
{
    gp_spec_claims c = {0};
    advgp_status st = gp_spec_claim(metadata, &c, err);
    if (st == ADVGP_OK) st = check_claims(file, &c, err);
    if (st == ADVGP_OK) st = gp_model_new(&c.spec, schema_take, sql, out, err);
    gp_spec_claims_fini(&c);
    return st;
}

// ---- use ------------------------------------------------------------------------------------------------------------

static advgp_status predictor(const gp_model *model, gp_predictor **out, advgp_error *err)
{
    return gp_predictor_new(&model->spec, model->theta, out, err);
}

static size_t n_kernels(const gp_model *model)
{
    return model->spec.n_components;
}

static gp_kernel_view kernel(const gp_model *model, size_t b)
{
    const double *theta = model->theta + 1;
    const size_t d = model->spec.d;
    for (size_t i = 0; i < b; i++) {
        const gp_component_spec *c = &model->components[i];
        theta += 1 + d + c->shape.m * (d + c->map->has_rho);
    }
    const gp_component_spec *c = &model->components[b];
    return (gp_kernel_view){.kernel = c->kernel->name,
                            .map = c->map->name,
                            .m = c->shape.m,
                            .M = n_features(c),
                            .a0sq = exp(2 * theta[0]),
                            .jitter = model->rungs[b],
                            .ln_eta = theta + 1};
}

static double slope(const gp_model *model, size_t k)
{
    const gp_theta_layout *l = &model->layout;
    if (model->spec.trend != GP_TREND_LINEAR) return 0;
    return exp(model->theta[l->n_rest - 1]) * model->theta[l->n_rest + l->M - model->spec.d + k]; // s_l mu
}

const gp_model_form gp_form_weights = {
    .name = "weights",
    .describe = describe,
    .claim = claim,
    .n_tensors = n_tensors,
    .plan = plan,
    .list = list,
    .pack = pack,
    .unpack = unpack,
    .predictor = predictor,
    .n_kernels = n_kernels,
    .kernel = kernel,
    .slope = slope,
};
