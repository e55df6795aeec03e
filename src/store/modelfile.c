// modelfile.c: a model in memory: its shape and what it owns.
#include "store/modelfile.h"

#include "base/alloc.h"
#include "store/form.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- shape ----------------------------------------------------------------------------------------------------------

static size_t *copy_sizes(gp_arena *arena, const size_t *from, size_t n)
{
    size_t *to = gp_arena_bytes(arena, from ? n : 0, sizeof *to);
    if (to && from) memcpy(to, from, n * sizeof *to);
    return from ? to : NULL;
}

// The components with their groups, in one block. The same code measures and cuts (alloc.h).
static gp_component_spec *plan_components(const gp_feature_spec *spec, gp_arena *arena)
{
    gp_component_spec *list = gp_arena_bytes(arena, spec->n_components, sizeof *list);
    for (size_t b = 0; b < spec->n_components; b++) {
        gp_component_spec c = spec->components[b];
        c.shape.group_m = copy_sizes(arena, c.shape.group_m, c.shape.n_groups);
        c.shape.group_rank = copy_sizes(arena, c.shape.group_rank, c.shape.n_groups);
        if (list) list[b] = c;
    }
    return list;
}

static advgp_status copy_spec(gp_model *m, const gp_feature_spec *spec, advgp_error *err)
{
    gp_arena arena = {0};
    (void)plan_components(spec, &arena);
    if (!gp_arena_take(&arena)) return gp_no_memory(err);
    m->components = plan_components(spec, &arena);
    m->spec = *spec;
    m->spec.components = m->components;
    m->rungs = gp_alloc(spec->n_components, sizeof *m->rungs);
    if (!m->rungs) return gp_no_memory(err);
    for (size_t b = 0; spec->rungs && b < spec->n_components; b++) m->rungs[b] = spec->rungs[b];
    m->spec.rungs = m->rungs;
    m->spec.maps = NULL; // a model makes its own, or is loaded with them
    return ADVGP_OK;
}

static advgp_status check(const gp_schema *schema, size_t d, advgp_error *err)
{
    if (!schema) return gp_fail(err, ADVGP_EINVAL, "model: no specification or no schema given");
    if (d != schema->d) return gp_fail(err, ADVGP_EINVAL, "model: %zu inputs, and a schema of %zu", d, schema->d);
    return ADVGP_OK;
}

static advgp_status new_weights(const gp_model_form *form, const gp_feature_spec *spec, const char *sql, gp_model **out,
                                advgp_error *err)
{
    gp_features sizes; // the room of features knows what a good specification is
    advgp_status st = gp_features_measure(spec, &sizes, err);
    if (st != ADVGP_OK) return st;
    const gp_theta_layout layout = gp_theta_layout_of(&sizes);
    st = gp_model_alloc(form, layout.size, sql, out, err);
    if (st != ADVGP_OK) return st;
    gp_model *m = *out;
    const size_t M = layout.M;
    m->layout = layout;
    m->stats.A = gp_mat_of(gp_alloc(M, M * sizeof(double)), M, M);
    m->stats.b = gp_alloc(M, sizeof *m->stats.b);
    if (!m->stats.A.p || !m->stats.b) return gp_no_memory(err);
    return copy_spec(m, spec, err);
}

// The end of every constructor: on success the schema is the model's.
static advgp_status settle(advgp_status st, gp_schema *schema_take, gp_model **model)
{
    if (st == ADVGP_OK) {
        (*model)->schema = schema_take;
    } else {
        gp_model_free(*model);
        *model = NULL;
    }
    return st;
}

advgp_status gp_model_new(const gp_feature_spec *spec, gp_schema *schema_take, const char *sql, gp_model **out,
                          advgp_error *err)
{
    *out = NULL;
    if (!spec) return gp_fail(err, ADVGP_EINVAL, "model: no specification or no schema given");
    advgp_status st = check(schema_take, spec->d, err);
    if (st == ADVGP_OK) st = new_weights(&gp_form_weights, spec, sql, out, err);
    return settle(st, schema_take, out);
}

advgp_status gp_model_new_linear(size_t d, gp_trend trend, gp_schema *schema_take, const char *sql, gp_model **out,
                                 advgp_error *err)
{
    *out = NULL;
    const gp_feature_spec spec = {.d = d, .trend = trend};
    advgp_status st = check(schema_take, d, err);
    if (st == ADVGP_OK) st = new_weights(&gp_form_linear, &spec, sql, out, err);
    return settle(st, schema_take, out);
}

advgp_status gp_model_new_noise(const gp_feature_spec *spec, gp_model **out, advgp_error *err)
{
    *out = NULL;
    gp_schema *schema = gp_alloc(1, sizeof *schema);
    if (!schema) return gp_no_memory(err);
    schema->d = spec->d;
    const advgp_status st = gp_model_new(spec, schema, NULL, out, err);
    if (st != ADVGP_OK) gp_schema_free(schema);
    return st;
}

static advgp_status make_exact(gp_model *m, const gp_kernel *kernel, size_t n, bool weighted, advgp_error *err)
{
    const size_t d = m->spec.d;
    m->x_train = gp_alloc(n, d * sizeof *m->x_train);
    m->alpha = gp_alloc(n, sizeof *m->alpha);
    m->w_train = weighted ? gp_alloc(n, sizeof *m->w_train) : NULL;
    if (!m->x_train || !m->alpha || (weighted && !m->w_train)) return gp_no_memory(err);
    m->exact = (gp_exact_fit){.kernel = kernel,
                              .trend = m->spec.trend,
                              .X = gp_cmat_of(m->x_train, n, d),
                              .w = m->w_train,
                              .hyper = m->theta,
                              .alpha = m->alpha};
    return ADVGP_OK;
}

advgp_status gp_model_new_exact(const gp_kernel *kernel, gp_trend trend, size_t n, bool weighted,
                                gp_schema *schema_take, const char *sql, gp_model **out, advgp_error *err)
{
    *out = NULL;
    if (!kernel || !schema_take || !n)
        return gp_fail(err, ADVGP_EINVAL, "model: an exact process needs a kernel, a schema and rows");
    const size_t d = schema_take->d, n_hyper = gp_exact_fit_n_hyper(d, trend);
    advgp_status st = gp_model_alloc(&gp_form_exact, n_hyper, sql, out, err);
    if (st == ADVGP_OK) {
        (*out)->layout = (gp_theta_layout){.n_rest = n_hyper, .U = n_hyper, .size = n_hyper};
        (*out)->spec = (gp_feature_spec){.d = d, .trend = trend};
        st = make_exact(*out, kernel, n, weighted, err);
    }
    return settle(st, schema_take, out);
}

void gp_model_free(gp_model *m)
{
    if (!m) return;
    gp_cells_free(m->cells);
    gp_free(m->components);
    gp_free(m->rungs);
    gp_free(m->maps);
    gp_free(m->x_train);
    gp_free(m->unseen.mean);
    gp_free(m->w_train);
    gp_free(m->alpha);
    gp_free(m->theta);
    gp_free(m->stats.A.p);
    gp_free(m->stats.b);
    gp_calibration_fini(&m->calibration);
    gp_free(m->sql);
    gp_schema_free(m->schema);
    gp_model_free(m->noise);
    json_decref(m->record);
    json_decref(m->options);
    gp_free(m);
}

advgp_status gp_model_predictor(const gp_model *model, gp_predictor **out, advgp_error *err)
{
    gp_predictor *ln_scale = NULL;
    advgp_status st = model->form->predictor(model, out, err);
    if (st != ADVGP_OK || !model->noise) return st;
    st = model->noise->form->predictor(model->noise, &ln_scale, err);
    if (st == ADVGP_OK) {
        gp_predictor_vary(*out, ln_scale,
                          (gp_scale){.centre = model->noise->schema->y_mean,
                                     .slope = model->noise->schema->y_scale,
                                     .range = {model->noise_range[0], model->noise_range[1]}});
        return st;
    }
    gp_predictor_free(*out);
    *out = NULL;
    return st;
}
