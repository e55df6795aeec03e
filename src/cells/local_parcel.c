// local_parcel.c: a task as it travels to another process, and how it is done there. The text says what it is; the
// values are start, scale, X, y, and weights where rows have any.
#include "base/alloc.h"
#include "base/text.h"
#include "cells/local_task.h"
#include "linalg/dense.h"
#include "store/form.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 1 << 20, INPUTS_MAX = 1 << 16, ITERATIONS_MAX = 1 << 20 };
static const char *const ways[] = {[GP_LOCAL_BOUND] = "bound", [GP_LOCAL_EVIDENCE] = "evidence"};

static size_t n_values(size_t rows, size_t d, bool weighted)
{
    return 2 + 2 * d + rows * (d + 1 + weighted);
}

static char *text_of(const gp_local_task *t)
{
    char seed[20];
    snprintf(seed, sizeof seed, "%016" PRIx64, t->seed);
    json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:s}", "kind", "fit", "way", ways[t->way],
                          "kernel", t->kernel->name, "trend", gp_trend_name(t->trend), "d", (json_int_t)t->rows.X.cols,
                          "rows", (json_int_t)t->rows.X.rows, "inducing", (json_int_t)t->m, "iterations",
                          (json_int_t)t->iterations, "look_at", (json_int_t)t->look_at, "weighted", t->rows.w != NULL,
                          "seed", seed);
    char *dumped = o ? json_dumps(o, JSON_COMPACT) : NULL, *text = dumped ? gp_text_copy(dumped, strlen(dumped)) : NULL;
    json_decref(o);
    free(dumped);
    return text;
}

advgp_status gp_local_task_pack(const gp_local_task *t, gp_parcel *out, advgp_error *err)
{
    const size_t rows = t->rows.X.rows, d = t->rows.X.cols;
    *out = (gp_parcel){.text = text_of(t), .n_values = n_values(rows, d, t->rows.w != NULL)};
    out->values = gp_alloc(out->n_values, sizeof(double));
    if (!out->text || !out->values) {
        gp_parcel_fini(out);
        return gp_no_memory(err);
    }
    out->n_text = strlen(out->text);
    double *at = out->values;
    memcpy(at, t->start, (2 + d) * sizeof *at), at += 2 + d;
    memcpy(at, t->scale, d * sizeof *at), at += d;
    for (size_t i = 0; i < rows; i++, at += d) memcpy(at, t->rows.X.p + i * t->rows.X.ld, d * sizeof *at);
    memcpy(at, t->rows.y, rows * sizeof *at), at += rows;
    if (t->rows.w) memcpy(at, t->rows.w, rows * sizeof *at);
    return ADVGP_OK;
}

// ---- reading --------------------------------------------------------------------------------------------------------

static advgp_status bad(advgp_error *err, const char *what)
{
    return gp_fail(err, ADVGP_EFILE, "a task of the lead is damaged: %s", what);
}

static advgp_status read_words(const json_t *o, gp_local_task *t, advgp_error *err)
{
    const char *way = json_string_value(json_object_get(o, "way")),
               *kernel = json_string_value(json_object_get(o, "kernel")),
               *trend = json_string_value(json_object_get(o, "trend")),
               *seed = json_string_value(json_object_get(o, "seed"));
    char *end = NULL;
    size_t i = 0, k = 0;
    while (i < sizeof ways / sizeof *ways && (!way || strcmp(way, ways[i]) != 0)) i++;
    while (k <= GP_TREND_LINEAR && (!trend || strcmp(trend, gp_trend_name((gp_trend)k)) != 0)) k++;
    t->kernel = kernel ? gp_kernel_named(kernel) : NULL;
    t->way = (gp_local_way)i, t->trend = (gp_trend)k;
    if (i == sizeof ways / sizeof *ways) return bad(err, "its way");
    if (k > GP_TREND_LINEAR) return bad(err, "its trend");
    if (!t->kernel) return bad(err, "its kernel");
    if (!seed || strlen(seed) != 16) return bad(err, "its seed");
    t->seed = strtoull(seed, &end, 16);
    return *end ? bad(err, "its seed") : ADVGP_OK;
}

// Where the parts of the values lie, whose number is that of the rows.
static advgp_status read_values(const gp_parcel *p, size_t rows, size_t d, bool weighted, gp_local_task *t,
                                advgp_error *err)
{
    if (p->n_values != n_values(rows, d, weighted)) return bad(err, "the number of its values");
    if (!gp_all_finite(p->n_values, p->values)) return bad(err, "a value is not finite");
    const double *X = p->values + 2 + 2 * d;
    t->start = p->values, t->scale = p->values + 2 + d;
    t->rows = (gp_batch){gp_cmat_of(X, rows, d), X + rows * d, weighted ? X + rows * (d + 1) : NULL};
    for (size_t k = 0; k < d; k++)
        if (!(t->scale[k] > 0)) return bad(err, "its scale");
    for (size_t i = 0; weighted && i < rows; i++)
        if (!(t->rows.w[i] >= 0)) return bad(err, "its weights");
    return ADVGP_OK;
}

advgp_status gp_local_task_unpack(const gp_parcel *p, gp_local_task *t, advgp_error *err)
{
    size_t rows, d;
    *t = (gp_local_task){0};
    json_t *o = json_loadb(p->text, p->n_text, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(o)) {
        json_decref(o);
        return bad(err, "it is no JSON object");
    }
    advgp_status st = read_words(o, t, err);
    if (st == ADVGP_OK && (!gp_metadata_size(json_object_get(o, "rows"), ROWS_MAX, &rows) || !rows ||
                           !gp_metadata_size(json_object_get(o, "d"), INPUTS_MAX, &d) || !d))
        st = bad(err, "its rows");
    if (st == ADVGP_OK && (!gp_metadata_size(json_object_get(o, "inducing"), rows, &t->m) || !t->m))
        st = bad(err, "its inducing inputs");
    if (st == ADVGP_OK && (!gp_metadata_size(json_object_get(o, "iterations"), ITERATIONS_MAX, &t->iterations) ||
                           !gp_metadata_size(json_object_get(o, "look_at"), ROWS_MAX, &t->look_at)))
        st = bad(err, "its iterations");
    if (st == ADVGP_OK && t->way == GP_LOCAL_EVIDENCE && !t->look_at) st = bad(err, "the rows to look at");
    const json_t *weighted = json_object_get(o, "weighted");
    if (st == ADVGP_OK && !json_is_boolean(weighted)) st = bad(err, "its weights");
    if (st == ADVGP_OK) st = read_values(p, rows, d, json_is_true(weighted), t, err);
    json_decref(o);
    return st;
}

advgp_status gp_local_task_do(const gp_parcel *parcel, double **theta, size_t *n, advgp_error *err)
{
    gp_local_task task;
    *theta = NULL, *n = 0;
    advgp_status st = gp_local_task_unpack(parcel, &task, err);
    if (st != ADVGP_OK) return st;
    *n = gp_local_task_parameters(&task);
    *theta = gp_alloc(*n, sizeof **theta);
    if (!*theta) return gp_no_memory(err);
    return gp_local_task_fit(&task, *theta, err);
}
