// warmstart.c: from the standardised units of one table to those of another. With x = m + s x~ and y = mu + c y~ in
// both (a direction is a sum of such x~, so it is the old one but for a shift): inducing inputs and length-scales
// follow the inputs; amplitudes, noise and trend follow the target; the weights of the kernel features stay, since phi
// grows with the amplitude; those of the trend are mapped linearly, w' = A w + b.
#include "learn/warmstart.h"
#include "base/alloc.h"
#include "data/encoding.h"
#include "data/strings.h"

#include <math.h>
#include <string.h>

static const char way_out[] = "start with {start} kmeans";

// ---- what must fit --------------------------------------------------------------------------------------------------

static const gp_input *find_input(const gp_schema *s, const char *name)
{
    for (size_t i = 0; i < s->n_inputs; i++)
        if (strcmp(s->inputs[i].name, name) == 0) return &s->inputs[i];
    return NULL;
}

// Every column of a must be in b, encoded alike.
static advgp_status compare(const gp_schema *a, const gp_schema *b, const char *a_has, const char *b_has_not,
                            const char *path, advgp_error *err)
{
    for (size_t i = 0; i < a->n_inputs; i++) {
        const gp_input *one = &a->inputs[i], *other = find_input(b, one->name);
        if (!other)
            return gp_fail(
                err, ADVGP_EDATA,
                "%.200s does not fit: %s a column '%.80s', %s; choose the same columns with {features}, or %s", path,
                a_has, one->name, b_has_not, way_out);
        if (strcmp(one->encoding->name, other->encoding->name) != 0)
            return gp_fail(err, ADVGP_EDATA,
                           "%.200s does not fit: %s the column '%.80s' as %s, %s; decide with {encode}, or %s", path,
                           a_has, one->name, one->encoding->name, b_has_not, way_out);
        if (one->warp.n) // ranks are those of their own rows
            return gp_fail(
                err, ADVGP_EDATA,
                "%.200s does not fit: %s the column '%.80s' by its ranks; say {warp} none in both trainings, or %s",
                path, a_has, one->name, way_out);
    }
    return ADVGP_OK;
}

static advgp_status check_columns(const gp_schema *old, const gp_schema *new, const char *path, advgp_error *err)
{
    if (strcmp(old->target, new->target) != 0)
        return gp_fail(err, ADVGP_EDATA, "%.200s does not fit: it predicts '%.80s', and the target here is '%.80s'; %s",
                       path, old->target, new->target, way_out);
    if (old->log_target != new->log_target)
        return gp_fail(err, ADVGP_EDATA, "%.200s does not fit: it was trained %s {log-target}; do the same, or %s",
                       path, old->log_target ? "with" : "without", way_out);
    advgp_status st = compare(new, old, "the data have", "and the model has not", path, err);
    return st == ADVGP_OK ? compare(old, new, "the model has", "and the data have not", path, err) : st;
}

// Directions are known by their weights, since their names go with the units: they must be the same sums of the same
// columns.
static bool directions_are_the_same(const gp_schema *old, const gp_schema *new, const size_t *from)
{
    static const double rounding = 1e-9;
    const size_t plain = gp_schema_plain(new);
    if (old->n_directions != new->n_directions) return false;
    for (size_t i = 0; i < new->n_directions; i++) {
        const double *a = old->directions + i * plain, *b = new->directions + i *plain;
        double size = 0, off = 0;
        for (size_t j = 0; j < plain; j++) {
            size += fabs(b[j]);
            off += fabs(b[j] - a[from[j]] * new->x_scale[j] / old->x_scale[from[j]]);
        }
        if (!(off <= rounding * size)) return false;
    }
    return true;
}

// from[j] is the model's encoded input of the same name as j.
static advgp_status match(const gp_schema *old, const gp_schema *new, const char *path, size_t *from, advgp_error *err)
{
    const size_t plain = gp_schema_plain(new), old_plain = gp_schema_plain(old);
    for (size_t j = 0; j < plain; j++) {
        size_t k = 0;
        while (k < old_plain && strcmp(old->x_names[k], new->x_names[j]) != 0) k++;
        if (k == old_plain)
            return gp_fail(err, ADVGP_EDATA,
                           "%.200s does not fit: the data give an input '%.80s' that the model has not; %s", path,
                           new->x_names[j], way_out);
        from[j] = k;
    }
    for (size_t k = 0; k < old_plain; k++) {
        size_t j = 0;
        while (j < plain && from[j] != k) j++;
        if (j == plain)
            return gp_fail(err, ADVGP_EDATA,
                           "%.200s does not fit: the model has an input '%.80s' that the data do not give; %s", path,
                           old->x_names[k], way_out);
    }
    if (!directions_are_the_same(old, new, from))
        return gp_fail(err, ADVGP_EDATA,
                       "%.200s does not fit: its %zu directions are not the %zu of the data; say {directions} none in "
                       "both trainings, or %s",
                       path, old->n_directions, new->n_directions, way_out);
    for (size_t j = plain; j < new->d; j++) from[j] = j;
    return ADVGP_OK;
}

// ---- units ----------------------------------------------------------------------------------------------------------

typedef struct change {
    const gp_schema *old, *new;
    const size_t *from;   // [d]
    double *origin;       // [d]: where the new 0 of an input lies, in old standardised units
    const gp_features *f; // for the places of parameters
    double ratio;         // old scale of the target by the new one
} change;

static double stretch(const change *c, size_t j) // of input j: new scale by old
{
    return c->new->x_scale[j] / c->old->x_scale[c->from[j]];
}

static void find_origin(const change *c)
{
    const size_t plain = gp_schema_plain(c->new);
    for (size_t j = 0; j < plain; j++)
        c->origin[j] = (c->new->x_mean[j] - c->old->x_mean[c->from[j]]) / c->old->x_scale[c->from[j]];
    for (size_t j = plain; j < c->new->d; j++) {
        const double *weights = c->old->directions + (j - plain) * plain;
        c->origin[j] = 0;
        for (size_t i = 0; i < plain; i++) c->origin[j] += weights[c->from[i]] * c->origin[i];
    }
}

static void move_component(const change *c, const gp_component *part, const double *in, double *out)
{
    const size_t d = c->new->d;
    out[0] = in[0] + log(c->ratio);
    for (size_t j = 0; j < d; j++) out[1 + j] = in[1 + c->from[j]] + 2 * log(stretch(c, j));
    for (size_t i = 0; i < part->m; i++)
        for (size_t j = 0; j < d; j++) {
            const double z = in[1 + d + i * d + c->from[j]];
            out[1 + d + i * d + j] = (z - c->origin[j]) / stretch(c, j);
        }
}

// Upper triangular again, by rotations of rows: B^T B stays.
static void triangularise(size_t n, double *B)
{
    for (size_t j = 0; j < n; j++) {
        for (size_t i = n - 1; i > j; i--) {
            double *above = B + (i - 1) * n, *row = B + i * n;
            const double length = hypot(above[j], row[j]);
            if (row[j] == 0 || length == 0) continue;
            const double cosine = above[j] / length, sine = row[j] / length;
            for (size_t k = j; k < n; k++) {
                const double a = above[k], b = row[k];
                above[k] = cosine * a + sine * b;
                row[k] = cosine * b - sine * a;
            }
            row[j] = 0;
        }
        for (size_t k = j; B[j * n + j] < 0 && k < n; k++) B[j * n + k] = -B[j * n + k];
    }
}

// The trend: s_c w_c + s_l sum_k x~_k w_k. A row of U (of any length n at its right end) is a row of weights too: U
// A^T.
static void move_weights(const change *c, const double *s, const double *in, double *out)
{
    const size_t d = c->f->trend == GP_TREND_LINEAR ? c->new->d : 0;
    out[0] = in[0];
    for (size_t j = 0; j < d; j++) {
        const size_t k = c->from[j];
        out[1 + j] = stretch(c, j) * in[1 + k];
        out[0] += s[1] / s[0] * c->origin[j] * in[1 + k];
    }
}

static advgp_status move_trend(const change *c, const gp_theta_layout *layout, const double *in, double *out,
                               advgp_error *err)
{
    const gp_features *f = c->f;
    const size_t M = layout->M, first = f->n_kernel_features, n = M - first;
    if (!n) return ADVGP_OK;
    double *B = gp_alloc(n, n * sizeof *B), *row = gp_alloc(n, sizeof *row);
    if (!B || !row) {
        gp_free(B);
        gp_free(row);
        return gp_no_memory(err);
    }
    const double s[2] = {exp(in[f->trend_param]), n > 1 ? exp(in[f->trend_param + 1]) : 0};
    out[f->trend_param] = in[f->trend_param] + log(c->ratio);
    if (n > 1) out[f->trend_param + 1] = in[f->trend_param + 1] + log(c->ratio);
    move_weights(c, s, in + layout->n_rest + first, out + layout->n_rest + first);
    out[layout->n_rest + first] += (c->old->y_mean - c->new->y_mean) / c->new->y_scale / (s[0] * c->ratio);
    for (size_t i = 0; i < first; i++) { // above the last block: any row goes
        const size_t at = layout->U + gp_packed_index(M, i, first);
        move_weights(c, s, in + at, out + at);
    }
    for (size_t i = 0; i < n; i++) {
        memset(row, 0, n * sizeof *row);
        memcpy(row + i, in + layout->U + gp_packed_index(M, first + i, first + i), (n - i) * sizeof *row);
        move_weights(c, s, row, B + i * n);
    }
    triangularise(n, B);
    for (size_t i = 0; i < n; i++)
        memcpy(out + layout->U + gp_packed_index(M, first + i, first + i), B + i * n + i, (n - i) * sizeof *B);
    gp_free(B);
    gp_free(row);
    return ADVGP_OK;
}

advgp_status gp_warmstart(const gp_model *model, const char *path, const gp_schema *schema, double **theta,
                          advgp_error *err)
{
    *theta = NULL;
    gp_features *f = NULL;
    size_t *from = gp_alloc(schema->d, sizeof *from);
    double *out = gp_alloc(model->layout.size, sizeof *out), *origin = gp_alloc(schema->d, sizeof *origin);
    advgp_status st = from && out && origin ? ADVGP_OK : gp_no_memory(err);
    if (st == ADVGP_OK) st = check_columns(model->schema, schema, path, err);
    if (st == ADVGP_OK) st = match(model->schema, schema, path, from, err);
    if (st == ADVGP_OK) st = gp_features_new(&model->spec, &f, err);
    if (st == ADVGP_OK) {
        const change c = {.old = model->schema,
                          .new = schema,
                          .from = from,
                          .origin = origin,
                          .f = f,
                          .ratio = model->schema->y_scale / schema->y_scale};
        find_origin(&c);
        memcpy(out, model->theta, model->layout.size * sizeof *out);
        out[0] += log(c.ratio);
        for (size_t b = 0; b < f->n_components; b++)
            move_component(&c, &f->components[b], model->theta + f->components[b].param, out + f->components[b].param);
        st = move_trend(&c, &model->layout, model->theta, out, err);
    }
    gp_features_free(f);
    gp_free(from);
    gp_free(origin);
    if (st == ADVGP_OK)
        *theta = out;
    else
        gp_free(out);
    return st;
}
