// form_weights.c: q(w) over features: components with their inducing inputs, the trend, mu and U (theta.h), and the
// additive statistics; beside them, where there are any, the local parts of cells (model/cells.h). What advgp and the
// methods like it fit.
#include "base/alloc.h"
#include "linalg/dense.h"
#include "store/form.h"
#include "store/spec_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PER_COMPONENT = 5, OTHERS = 6, OF_CELLS = 8, NAME_BYTES = 24 };

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
    return PER_COMPONENT * model->spec.n_components + OTHERS + (model->cells ? OF_CELLS : 0);
}

static void plan(gp_model_image *image, const gp_model *model, gp_arena *arena)
{
    const size_t M = model->layout.M;
    image->jitter = gp_arena_doubles(arena, model->spec.n_components);
    image->maps = gp_arena_doubles(arena, maps_size(model));
    image->stat_a = gp_arena_doubles(arena, M * (M + 1) / 2);
}

static void list_cells(gp_model_image *image, const gp_cells *c)
{
    const gp_cells_shape *s = &c->shape;
    gp_image_vector(image, "cell_scale", s->d, c->scale);
    gp_image_matrix(image, "cell_centres", s->n, s->d, c->centres);
    gp_image_vector(image, "cell_rows", s->n, c->rows);
    gp_image_vector(image, "cell_jitter", s->n, c->jitter);
    gp_image_vector(image, "cell_theta", c->n_theta, c->theta);
    gp_image_vector(image, "cell_mu", c->n_mu, c->mu);
    gp_image_vector(image, "cell_u", c->n_U, c->U);
    gp_image_matrix(image, "cell_w", c->n_mu, s->M_g, c->W);
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
    if (model->cells) list_cells(image, model->cells);
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

static advgp_status check_cells(const gp_cells *c, advgp_error *err)
{
    for (size_t k = 0; k < c->shape.d; k++)
        if (!(c->scale[k] >= 0)) return gp_fail(err, ADVGP_EFILE, "the scale of its cells is %g", c->scale[k]);
    for (size_t i = 0; i < c->shape.n; i++) {
        if (!(c->jitter[i] >= 0 && c->jitter[i] <= 1e-2))
            return gp_fail(err, ADVGP_EFILE, "the jitter of cell %zu is %g", i, c->jitter[i]);
        if (!(c->rows[i] >= 0)) return gp_fail(err, ADVGP_EFILE, "cell %zu has %g rows", i, c->rows[i]);
    }
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
    const advgp_status st = model->cells ? check_cells(model->cells, err) : ADVGP_OK;
    if (st != ADVGP_OK || !n) return st;
    model->maps = gp_alloc(n, sizeof *model->maps);
    if (!model->maps) return gp_no_memory(err);
    memcpy(model->maps, image->maps, n * sizeof *model->maps);
    model->spec.maps = model->maps;
    return ADVGP_OK;
}

// ---- metadata -------------------------------------------------------------------------------------------------------

static bool describe(const gp_model *model, json_t *metadata)
{
    return gp_spec_describe(&model->spec, metadata) && gp_cells_describe(model->cells, metadata);
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

// Room for the cells that the metadata tell of, where the file has their tensors. *out is NULL where there are none.
static advgp_status claim_cells(const gp_tensorfile *file, const json_t *metadata, size_t d, size_t M, gp_cells **out,
                                advgp_error *err)
{
    gp_cells_shape shape = {.d = d, .M_g = M};
    size_t *m = NULL;
    const gp_tensor *t;
    advgp_status st = gp_cells_claim(metadata, &shape, &m, err);
    if (st == ADVGP_OK && shape.n) {
        const gp_cells sizes = gp_cells_sizes(&shape);
        st = gp_tensorfile_need(file, "cell_centres", GP_F64, 2, (size_t[]){shape.n, d}, &t, err);
        if (st == ADVGP_OK) st = gp_tensorfile_need(file, "cell_theta", GP_F64, 1, &sizes.n_theta, &t, err);
        if (st == ADVGP_OK) st = gp_tensorfile_need(file, "cell_u", GP_F64, 1, &sizes.n_U, &t, err);
        if (st == ADVGP_OK) st = gp_tensorfile_need(file, "cell_w", GP_F64, 2, (size_t[]){sizes.n_mu, M}, &t, err);
        if (st == ADVGP_OK) st = gp_cells_new(&shape, out, err);
    }
    gp_free(m);
    return st;
}

static advgp_status claim(const gp_tensorfile *file, const json_t *metadata, gp_schema *schema_take, const char *sql,
                          gp_model **out, advgp_error *err)
{
    gp_spec_claims c = {0};
    advgp_status st = gp_spec_claim(metadata, &c, err);
    if (st == ADVGP_OK) st = check_claims(file, &c, err);
    gp_cells *cells = NULL;
    if (st == ADVGP_OK) st = claim_cells(file, metadata, c.spec.d, c.M, &cells, err);
    if (st == ADVGP_OK) st = gp_model_new(&c.spec, schema_take, sql, out, err);
    if (st == ADVGP_OK)
        (*out)->cells = cells;
    else
        gp_cells_free(cells);
    gp_spec_claims_fini(&c);
    return st;
}

// ---- use ------------------------------------------------------------------------------------------------------------

// gp_features_new and gp_features_set: K_mm, its factor and T, or T given and compared with K_mm.
static void add_component(const gp_component_spec *c, size_t d, gp_load_cost *sum)
{
    const double m = (double)c->shape.m, M = (double)n_features(c);
    sum->bytes += 8 * ((c->map->take ? 2 : 1) * m * M + 2 * m * (double)d + (double)c->map->scratch(&c->shape));
    sum->flops += m * m * (1.5 * (double)d + 20) + (c->map->take ? 2 * m * M * (m + M) : 2 * m * m * m / 3);
}

// One process after the other, with its factor: gp_cells_predictor_new.
static void add_cells(const gp_cells_shape *s, gp_load_cost *sum)
{
    for (size_t c = 0; c < s->n; c++) {
        const double m = (double)s->m[c];
        sum->bytes += 8 * 4 * m * m;
        sum->flops += m * m * (1.5 * (double)s->d + 20) + m * m * m;
    }
}

static gp_load_cost cost(const gp_model *model)
{
    gp_load_cost sum = {0};
    const double M = (double)model->layout.M;
    double n = M; // columns: of the trend as many as features
    for (size_t b = 0; b < model->spec.n_components; b++) {
        const gp_component_spec *c = &model->components[b];
        n += (double)c->shape.m - (double)n_features(c);
        add_component(c, model->spec.d, &sum);
    }
    if (model->cells) add_cells(&model->cells->shape, &sum);
    sum.bytes += 8 * (n * n + 2 * M * M + 2 * n * M); // scratch of the features, U and F, R twice
    sum.flops += 4 * M * M * M / 3 + n * M * M;       // Sigma and its factor, R
    return sum;
}

static advgp_status predictor(const gp_model *model, gp_predictor **out, advgp_error *err)
{
    return model->cells ? gp_cells_predictor_new(&model->spec, model->theta, model->cells, out, err)
                        : gp_predictor_new(&model->spec, model->theta, out, err);
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
    return gp_theta_slope(model->layout, &model->spec, model->theta, k);
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
    .cost = cost,
    .predictor = predictor,
    .n_kernels = n_kernels,
    .kernel = kernel,
    .slope = slope,
};
