// modelfile.c: a model in memory: its shape, what it owns, and the factors of its intervals.
#include "store/modelfile.h"

#include "base/alloc.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- shape ----------------------------------------------------------------------------------------------------------

static size_t *copy_sizes(gp_carve *carve, const size_t *from, size_t n)
{
    size_t *to = gp_carve_bytes(carve, from ? n : 0, sizeof *to);
    if (to && from) memcpy(to, from, n * sizeof *to);
    return from ? to : NULL;
}

// The components with their groups, in one block. The same code measures and cuts (alloc.h).
static gp_component_spec *plan_components(const gp_feature_spec *spec, gp_carve *carve)
{
    gp_component_spec *list = gp_carve_bytes(carve, spec->n_components, sizeof *list);
    for (size_t b = 0; b < spec->n_components; b++) {
        gp_component_spec c = spec->components[b];
        c.shape.group_m = copy_sizes(carve, c.shape.group_m, c.shape.n_groups);
        c.shape.group_rank = copy_sizes(carve, c.shape.group_rank, c.shape.n_groups);
        if (list) list[b] = c;
    }
    return list;
}

static advgp_status copy_spec(gp_model *m, const gp_feature_spec *spec, advgp_error *err)
{
    gp_features *f = NULL; // the room of features knows what a good specification is, and its sizes
    advgp_status st = gp_features_new(spec, &f, err);
    if (st != ADVGP_OK) return st;
    m->layout = gp_theta_layout_of(f);
    gp_features_free(f);
    gp_carve carve = {0};
    (void)plan_components(spec, &carve);
    if (!gp_carve_take(&carve)) return gp_fail(err, ADVGP_ENOMEM, "no memory for %zu components", spec->n_components);
    m->components = plan_components(spec, &carve);
    m->spec = *spec;
    m->spec.components = m->components;
    m->rungs = gp_alloc(spec->n_components, sizeof *m->rungs);
    if (!m->rungs) return gp_fail(err, ADVGP_ENOMEM, "no memory for %zu components", spec->n_components);
    for (size_t b = 0; spec->rungs && b < spec->n_components; b++) m->rungs[b] = spec->rungs[b];
    m->spec.rungs = m->rungs;
    return ADVGP_OK;
}

static advgp_status fill(gp_model *m, const gp_feature_spec *spec, const char *sql, advgp_error *err)
{
    advgp_status st = copy_spec(m, spec, err);
    if (st != ADVGP_OK) return st;
    const size_t M = m->layout.M;
    m->theta = gp_alloc(m->layout.size, sizeof *m->theta);
    m->stats.A = gp_mat_of(gp_alloc(M, M * sizeof(double)), M, M);
    m->stats.b = gp_alloc(M, sizeof *m->stats.b);
    m->sql = sql ? gp_text_copy(sql, strlen(sql)) : NULL;
    m->record = json_object();
    m->options = json_object();
    m->baseline_mean = m->baseline_linear = NAN;
    memcpy(m->method, "advgp", sizeof "advgp");
    snprintf(m->writer, sizeof m->writer, "%s", advgp_version());
    bool ok = m->theta && m->stats.A.p && m->stats.b && (m->sql || !sql) && m->record && m->options;
    return ok ? ADVGP_OK : gp_fail(err, ADVGP_ENOMEM, "no memory for a model of %zu features", M);
}

advgp_status gp_model_new(const gp_feature_spec *spec, gp_schema *schema_take, const char *sql, gp_model **out,
                          advgp_error *err)
{
    *out = NULL;
    if (!spec || !schema_take) return gp_fail(err, ADVGP_EINVAL, "model: no specification or no schema given");
    if (spec->d != schema_take->d)
        return gp_fail(err, ADVGP_EINVAL, "model: %zu inputs, and a schema of %zu", spec->d, schema_take->d);
    gp_model *m = gp_alloc(1, sizeof *m);
    if (!m) return gp_fail(err, ADVGP_ENOMEM, "no memory for a model");
    advgp_status st = fill(m, spec, sql, err);
    if (st != ADVGP_OK) {
        gp_model_free(m);
        return st;
    }
    m->schema = schema_take;
    *out = m;
    return ADVGP_OK;
}

void gp_model_free(gp_model *m)
{
    if (!m) return;
    gp_free(m->components);
    gp_free(m->rungs);
    gp_free(m->theta);
    gp_free(m->stats.A.p);
    gp_free(m->stats.b);
    gp_free(m->calibration);
    gp_free(m->sql);
    gp_schema_free(m->schema);
    json_decref(m->record);
    json_decref(m->options);
    gp_free(m);
}

advgp_status gp_model_predictor(const gp_model *model, gp_predictor **out, advgp_error *err)
{
    return gp_predictor_new(&model->spec, model->theta, out, err);
}

// ---- intervals ------------------------------------------------------------------------------------------------------

// Newton's steps on erf(s / sqrt 2) = p from s = 0: the function is concave, so they approach from below and never
// overshoot. erfc keeps the digits near p = 1.
double gp_gaussian_interval(double p)
{
    if (!(p > 0)) return 0;
    if (p >= 1) return INFINITY;
    double s = 0;
    for (int i = 0; i < 200; i++) {
        const double slope = sqrt(2 / acos(-1)) * exp(-s * s / 2);
        const double step = (erfc(s * sqrt(0.5)) - (1 - p)) / slope;
        s += step;
        if (!(step > 1e-15 * s)) break;
    }
    return s;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

advgp_status gp_model_calibrate(gp_model *model, double *scores, size_t n, advgp_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!(isfinite(scores[i]) && scores[i] >= 0))
            return gp_fail(err, ADVGP_ENUMERIC, "calibration: score %zu of %zu is %g", i + 1, n, scores[i]);
    double *table = gp_alloc(GP_CALIBRATION_LEVELS, sizeof *table);
    if (!table) return gp_fail(err, ADVGP_ENOMEM, "no memory for the calibration");
    qsort(scores, n, sizeof *scores, by_value);
    const size_t last = GP_CALIBRATION_LEVELS - 1;
    for (size_t i = 1; i < last; i++) {
        const size_t rank = ((n + 1) * i + last - 1) / last; // ceil((n + 1) i / 1000), without rounding
        table[i] = rank <= n ? scores[rank - 1] : fmax(table[i - 1], gp_gaussian_interval((double)i / (double)last));
    }
    table[last] = table[last - 1];
    gp_free(model->calibration);
    model->calibration = table;
    model->n_calibration = n;
    return ADVGP_OK;
}

double gp_model_interval(const gp_model *model, double p)
{
    if (!model->calibration || !(p > 0 && p < 1)) return gp_gaussian_interval(p);
    const double at = p * (GP_CALIBRATION_LEVELS - 1);
    // 0.9 * 1000 must mean entry 900 and not a hair of the next
    const double low = fabs(at - round(at)) < 1e-9 ? round(at) : floor(at);
    const size_t i = (size_t)low;
    const double share = fmax(0, at - low);
    const double here = model->calibration[i];
    return share > 1e-9 ? here + share * (model->calibration[i + 1] - here) : here;
}
