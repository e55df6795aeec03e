// sums_task.c: sums of cells on their way to another process and back. The values of a task are the parameters of the
// global part, scale and centres of all cells, and the parameters of its own; for rows beyond their borders also noise
// and mean of the global part, the posterior of the cells, and the sums to go on from.
#include "cells/sums_task.h"
#include "base/alloc.h"
#include "base/text.h"
#include "linalg/dense.h"
#include "model/theta.h"
#include "store/form.h"
#include "store/spec_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS_MAX = 1 << 20, INDUCING_MAX = 1 << 16 };

// ---- sums as numbers ------------------------------------------------------------------------------------------------

static size_t triangle(size_t M)
{
    return M * (M + 1) / 2;
}

size_t gp_sums_values(const gp_cells *cells, size_t c)
{
    const size_t M = gp_cells_M(cells, c);
    return 2 + M + triangle(M) + M * cells->shape.M_g;
}

static double *write_sums(const gp_cells *cells, size_t c, const gp_arrow_sums *sums, double *at)
{
    const size_t M = gp_cells_M(cells, c), M_g = cells->shape.M_g;
    *at++ = cells->rows[c];
    *at++ = sums->residual;
    memcpy(at, sums->b, M * sizeof *at), at += M;
    gp_upper_pack(gp_ro(sums->A), at), at += triangle(M);
    for (size_t i = 0; i < M; i++, at += M_g) memcpy(at, sums->G.p + i * sums->G.ld, M_g * sizeof *at);
    return at;
}

static const double *read_sums(gp_cells *cells, size_t c, gp_arrow_sums *sums, const double *at)
{
    const size_t M = gp_cells_M(cells, c), M_g = cells->shape.M_g;
    cells->rows[c] = *at++;
    sums->residual = *at++;
    memcpy(sums->b, at, M * sizeof *at), at += M;
    gp_upper_unpack(M, at, sums->A), at += triangle(M);
    for (size_t i = 0; i < M; i++, at += M_g) memcpy(sums->G.p + i * sums->G.ld, at, M_g * sizeof *at);
    return at;
}

static size_t all_sums(const gp_cells *cells, size_t first, size_t n)
{
    size_t values = 0;
    for (size_t c = first; c < first + n; c++) values += gp_sums_values(cells, c);
    return values;
}

bool gp_sums_task_take(const gp_sums_task *t, const double *values, size_t n)
{
    gp_cells *cells = t->sums.cells;
    if (n != all_sums(cells, t->first, t->n) || !gp_all_finite(n, values)) return false;
    for (size_t c = t->first; c < t->first + t->n; c++)
        values = read_sums(cells, c, gp_arrow_cell(t->sums.arrow, c), values);
    return true;
}

// ---- there ----------------------------------------------------------------------------------------------------------

static bool is_beyond(const gp_cells_sums *s)
{
    return s->nearness == GP_SECOND_NEAREST;
}

// cells: all of them, of which first .. first + n - 1 are the task's; or these alone, of n_all.
static size_t n_values(const gp_features *global, const gp_cells *cells, size_t n_all, size_t first, size_t n,
                       bool beyond)
{
    const size_t d = cells->shape.d;
    size_t values = global->n_params + d + n_all * d + cells->theta_at[first + n] - cells->theta_at[first];
    if (beyond)
        values += 1 + global->M + cells->mu_at[first + n] - cells->mu_at[first] + cells->U_at[first + n] -
                  cells->U_at[first] + all_sums(cells, first, n);
    return values;
}

static double *put(double *at, const double *from, size_t n)
{
    memcpy(at, from, n * sizeof *at);
    return at + n;
}

static void write_values(const gp_sums_task *t, double *at)
{
    const gp_cells_sums *s = &t->sums;
    const gp_cells *c = s->cells;
    const size_t d = c->shape.d, first = t->first, end = first + t->n;
    at = put(at, t->theta, s->global->n_params);
    at = put(at, c->scale, d);
    at = put(at, c->centres, c->shape.n * d);
    at = put(at, c->theta + c->theta_at[first], c->theta_at[end] - c->theta_at[first]);
    if (!is_beyond(s)) return;
    at = put(at, &s->ln_sigma, 1);
    at = put(at, s->mu, s->global->M);
    at = put(at, c->mu + c->mu_at[first], c->mu_at[end] - c->mu_at[first]);
    at = put(at, c->U + c->U_at[first], c->U_at[end] - c->U_at[first]);
    for (size_t i = first; i < end; i++) at = write_sums(c, i, gp_arrow_cell(s->arrow, i), at);
}

static char *text_of(const gp_sums_task *t)
{
    const gp_cells_sums *s = &t->sums;
    const gp_cells_shape *shape = &s->cells->shape;
    char fingerprint[20];
    snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, t->fingerprint);
    json_t *m = json_array();
    for (size_t c = t->first; c < t->first + t->n; c++)
        json_array_append_new(m, json_integer((json_int_t)s->cells->m[c]));
    json_t *o = json_pack("{s:s, s:I, s:s, s:b, s:s, s:s, s:s, s:I, s:I, s:o, s:b, s:b}", "kind", "sums", "d",
                          (json_int_t)t->spec->d, "trend", gp_trend_name(t->spec->trend), "follows",
                          t->spec->n_components && t->spec->components[0].shape.follows, "fingerprint", fingerprint,
                          "cell_kernel", shape->kernel->name, "cell_trend", gp_trend_name(shape->trend), "cells",
                          (json_int_t)shape->n, "first", (json_int_t)t->first, "inducing", m, "beyond", is_beyond(s),
                          "finite", s->finite);
    char *dumped = o && gp_spec_describe(t->spec, o) ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    char *text = dumped ? gp_text_copy(dumped, strlen(dumped)) : NULL;
    json_decref(o);
    free(dumped);
    return text;
}

advgp_status gp_sums_task_pack(const gp_sums_task *t, gp_parcel *out, advgp_error *err)
{
    const gp_cells *cells = t->sums.cells;
    *out = (gp_parcel){
        .text = text_of(t),
        .n_values = n_values(t->sums.global, cells, cells->shape.n, t->first, t->n, is_beyond(&t->sums))};
    out->values = gp_alloc(out->n_values, sizeof(double));
    if (!out->text || !out->values) {
        gp_parcel_fini(out);
        return gp_no_memory(err);
    }
    out->n_text = strlen(out->text);
    write_values(t, out->values);
    return ADVGP_OK;
}

// ---- reading --------------------------------------------------------------------------------------------------------

typedef struct received { // a task where it is done
    gp_spec_claims claims;
    gp_features *global;
    gp_cells_shape shape; // of its own cells
    size_t *m;
    gp_cells *cells;
    gp_cell_finder *finder;
    gp_arrow *arrow;
    size_t n_all;
    gp_cells_sums sums;
} received;

static void received_fini(received *r)
{
    gp_arrow_free(r->arrow);
    gp_cell_finder_free(r->finder);
    gp_cells_free(r->cells);
    gp_features_free(r->global);
    gp_spec_claims_fini(&r->claims);
    gp_free(r->m);
}

static advgp_status bad(advgp_error *err, const char *what)
{
    return gp_fail(err, ADVGP_EFILE, "a task of the lead is damaged: %s", what);
}

static advgp_status read_shape(const json_t *o, received *r, advgp_error *err)
{
    const char *kernel = json_string_value(json_object_get(o, "cell_kernel")),
               *trend = json_string_value(json_object_get(o, "cell_trend"));
    const json_t *m = json_object_get(o, "inducing"), *beyond = json_object_get(o, "beyond"),
                 *finite = json_object_get(o, "finite");
    const size_t n = json_array_size(m);
    size_t k = 0;
    while (k <= GP_TREND_LINEAR && (!trend || strcmp(trend, gp_trend_name((gp_trend)k)) != 0)) k++;
    r->shape = (gp_cells_shape){
        .n = n, .d = r->claims.spec.d, .kernel = kernel ? gp_kernel_named(kernel) : NULL, .trend = (gp_trend)k};
    if (!r->shape.kernel || k > GP_TREND_LINEAR) return bad(err, "the kernel of its cells");
    if (!json_is_boolean(beyond) || !json_is_boolean(finite)) return bad(err, "which rows are meant");
    if (!gp_metadata_size(json_object_get(o, "cells"), CELLS_MAX, &r->n_all) || !n || n > r->n_all ||
        !gp_metadata_size(json_object_get(o, "first"), r->n_all - n, &r->sums.first))
        return bad(err, "its cells");
    r->shape.m = r->m = gp_alloc(n, sizeof *r->m);
    if (!r->m) return gp_no_memory(err);
    for (size_t i = 0; i < n; i++)
        if (!gp_metadata_size(json_array_get(m, i), INDUCING_MAX, &r->m[i]) || !r->m[i]) return bad(err, "its cells");
    r->sums.nearness = json_is_true(beyond) ? GP_SECOND_NEAREST : GP_NEAREST;
    r->sums.finite = json_is_true(finite);
    return ADVGP_OK;
}

static advgp_status read_text(const gp_parcel *p, const gp_sums_rows *rows, received *r, advgp_error *err)
{
    json_t *o = json_loadb(p->text, p->n_text, JSON_REJECT_DUPLICATES, NULL);
    advgp_status st = json_is_object(o) ? gp_spec_claim(o, &r->claims, err) : bad(err, "it is no JSON object");
    if (st == ADVGP_OK) st = read_shape(o, r, err);
    if (st == ADVGP_OK && json_is_true(json_object_get(o, "follows")))
        for (size_t b = 0; b < r->claims.spec.n_components; b++) r->claims.components[b].shape.follows = true;
    const char *fingerprint = json_string_value(json_object_get(o, "fingerprint"));
    char mine[20];
    snprintf(mine, sizeof mine, "%016" PRIx64, rows->fingerprint);
    if (st == ADVGP_OK &&
        (!rows->shards || !fingerprint || strcmp(fingerprint, mine) != 0 || rows->shards->d != r->claims.spec.d))
        st = gp_fail(err, ADVGP_ECLUSTER, "sums over rows that this worker has not opened");
    json_decref(o);
    return st;
}

static const double *get(const double *at, double *to, size_t n)
{
    memcpy(to, at, n * sizeof *to);
    return at + n;
}

static advgp_status read_values(const gp_parcel *p, received *r, advgp_error *err)
{
    gp_cells *c = r->cells;
    const size_t d = c->shape.d, n = c->shape.n;
    const bool beyond = is_beyond(&r->sums);
    if (p->n_values != n_values(r->global, c, r->n_all, 0, n, beyond)) return bad(err, "the number of its values");
    if (!gp_all_finite(p->n_values, p->values)) return bad(err, "a value is not finite");
    const double *at = p->values;
    advgp_status st = gp_features_set(r->global, at, err);
    at += r->global->n_params;
    if (st == ADVGP_OK) st = gp_cell_finder_new(r->n_all, d, at, at + d, &r->finder, err);
    if (st == ADVGP_OK) at = get(at + d + r->n_all * d, c->theta, c->n_theta);
    if (st == ADVGP_OK) st = gp_cells_keep(c, err);
    if (st == ADVGP_OK) st = gp_arrow_new(c, &r->arrow, err);
    if (st != ADVGP_OK || !beyond) return st;
    r->sums.ln_sigma = *at++;
    r->sums.mu = at, at += r->global->M;
    at = get(at, c->mu, c->n_mu);
    at = get(at, c->U, c->n_U);
    for (size_t i = 0; i < n; i++) at = read_sums(c, i, gp_arrow_cell(r->arrow, i), at);
    return ADVGP_OK;
}

static advgp_status receive(const gp_parcel *p, const gp_sums_rows *rows, received *r, advgp_error *err)
{
    advgp_status st = read_text(p, rows, r, err);
    size_t inducing = 0;
    for (size_t i = 0; st == ADVGP_OK && i < r->shape.n; i++) inducing += r->m[i];
    for (size_t b = 0; st == ADVGP_OK && b < r->claims.spec.n_components; b++)
        inducing += r->claims.components[b].shape.m;
    // Before anything of the size that is claimed is made: there are numbers for all of it.
    if (st == ADVGP_OK && (inducing + r->n_all) * r->shape.d > p->n_values) st = bad(err, "the number of its values");
    if (st == ADVGP_OK) st = gp_features_new(&r->claims.spec, &r->global, err);
    if (st != ADVGP_OK) return st;
    r->shape.M_g = r->global->M;
    st = gp_cells_new(&r->shape, &r->cells, err);
    if (st == ADVGP_OK) st = read_values(p, r, err);
    r->sums.shards = rows->shards, r->sums.threads = rows->threads, r->sums.stop = rows->stop;
    r->sums.global = r->global, r->sums.finder = r->finder, r->sums.cells = r->cells, r->sums.arrow = r->arrow;
    return st;
}

advgp_status gp_sums_task_do(const gp_sums_rows *rows, const gp_parcel *parcel, double **values, size_t *n,
                             advgp_error *err)
{
    received r = {0};
    *values = NULL, *n = 0;
    advgp_status st = receive(parcel, rows, &r, err);
    if (st == ADVGP_OK) st = gp_cells_sums_run(&r.sums, err);
    if (st == ADVGP_OK) {
        *n = all_sums(r.cells, 0, r.shape.n);
        *values = gp_alloc(*n, sizeof **values);
        if (!*values) st = gp_no_memory(err);
    }
    double *at = *values;
    for (size_t i = 0; st == ADVGP_OK && i < r.shape.n; i++) at = write_sums(r.cells, i, gp_arrow_cell(r.arrow, i), at);
    received_fini(&r);
    return st;
}
