// golden.c: JSON in, comparison out. Test code: a malformed case ends the program with a message.
#include "golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must_alloc(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);
    if (!p) {
        fprintf(stderr, "golden_check: no memory\n");
        exit(1);
    }
    return p;
}

// ---- JSON -------------------------------------------------------------------------------------------------

static size_t count_numbers(const json_t *value)
{
    if (!json_is_array(value)) return 1;
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(value); i++) n += count_numbers(json_array_get(value, i));
    return n;
}

static double *flatten(const json_t *value, double *to)
{
    if (!json_is_array(value)) {
        *to = json_is_number(value) ? json_number_value(value) : NAN;
        return to + 1;
    }
    for (size_t i = 0; i < json_array_size(value); i++) to = flatten(json_array_get(value, i), to);
    return to;
}

golden_array golden_numbers(const json_t *value)
{
    golden_array a = {.n = count_numbers(value)};
    a.p = must_alloc(a.n, sizeof *a.p);
    flatten(value, a.p);
    return a;
}

static const json_t *need(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!value) {
        fprintf(stderr, "golden_check: the case has no field \"%s\"\n", key);
        exit(1);
    }
    return value;
}

golden_array golden_field(const json_t *object, const char *key)
{
    return golden_numbers(need(object, key));
}

double golden_number(const json_t *object, const char *key)
{
    return json_number_value(need(object, key));
}

size_t golden_size(const json_t *object, const char *key)
{
    return (size_t)golden_number(object, key);
}

// ---- the table of quantities ------------------------------------------------------------------------------

void golden_put(golden_table *table, const char *name, const double *value, size_t n)
{
    golden_quantity *q = must_alloc(1, sizeof *q);
    snprintf(q->name, sizeof q->name, "%s", name);
    q->value.n = n;
    q->value.p = must_alloc(n, sizeof(double));
    if (n) memcpy(q->value.p, value, n * sizeof(double));
    q->next = table->first;
    table->first = q;
}

void golden_put_number(golden_table *table, const char *name, double value)
{
    golden_put(table, name, &value, 1);
}

void golden_put_mat(golden_table *table, const char *name, gp_cmat value)
{
    double *dense = must_alloc(value.rows * value.cols, sizeof *dense);
    for (size_t i = 0; i < value.rows; i++)
        memcpy(dense + i * value.cols, value.p + i * value.ld, value.cols * sizeof *dense);
    golden_put(table, name, dense, value.rows * value.cols);
    free(dense);
}

void golden_table_free(golden_table *table)
{
    while (table->first) {
        golden_quantity *q = table->first;
        table->first = q->next;
        free(q->value.p);
        free(q);
    }
}

static const golden_quantity *find(const golden_table *table, const char *name)
{
    for (const golden_quantity *q = table->first; q; q = q->next)
        if (!strcmp(q->name, name)) return q;
    return NULL;
}

// ---- comparison -------------------------------------------------------------------------------------------

static void fail(golden_tally *tally, const char *file, const char *name, const char *format, double a, double b,
                 double c)
{
    tally->failed++;
    printf("%s: %s: ", file, name);
    printf(format, a, b, c);
    printf("\n");
}

void golden_compare(const char *file, const json_t *expected, const golden_table *got, golden_tally *tally)
{
    const char *name;
    json_t *entry;
    json_object_foreach((json_t *)(size_t)expected, name, entry)
    {
        const golden_quantity *q = find(got, name);
        if (!q) {
            fail(tally, file, name, "this quantity is not known", 0, 0, 0);
            continue;
        }
        golden_array want = golden_field(entry, "value");
        const double tol = golden_number(entry, "tol");
        if (want.n != q->value.n) {
            fail(tally, file, name, "%.0f numbers, expected %.0f", (double)q->value.n, (double)want.n, 0);
        } else {
            double worst = 0;
            size_t at = 0;
            for (size_t i = 0; i < want.n; i++) {
                const double off = fabs(q->value.p[i] - want.p[i]);
                if (!(off <= worst)) worst = off, at = i; // NaN is the worst of all, and stays
                if (isnan(off)) break;
            }
            if (worst <= tol)
                tally->passed++;
            else
                fail(tally, file, name, "off by %.3g, tolerance %.3g (element %.0f)", worst, tol, (double)at);
            if (getenv("GOLDEN_VERBOSE")) printf("%s: %s: %.3g of the tolerance\n", file, name, worst / tol);
        }
        free(want.p);
    }
}

void golden_compare_relative(const char *file, const char *what, double got, double expected, double rtol,
                             golden_tally *tally)
{
    if (fabs(got - expected) <= rtol * fabs(expected))
        tally->passed++;
    else
        fail(tally, file, what, "got %.17g, expected %.17g, relative tolerance %g", got, expected, rtol);
}

// ---- the model of a case ----------------------------------------------------------------------------------

static const char *need_string(const json_t *c, const char *key)
{
    const char *text = json_string_value(need(c, key));
    return text ? text : "";
}

static gp_trend trend_of(const json_t *c)
{
    const char *name = json_string_value(json_object_get(c, "trend"));
    if (!name || !strcmp(name, "none")) return GP_TREND_NONE;
    return !strcmp(name, "constant") ? GP_TREND_CONSTANT : GP_TREND_LINEAR;
}

static size_t *sizes_of(const json_t *list, size_t *n)
{
    *n = json_array_size(list);
    size_t *sizes = must_alloc(*n, sizeof *sizes);
    for (size_t i = 0; i < *n; i++) sizes[i] = (size_t)json_integer_value(json_array_get(list, i));
    return sizes;
}

golden_problem golden_problem_of(const json_t *c)
{
    golden_problem p = {0};
    const gp_kernel *kernel = gp_kernel_named(need_string(c, "kernel"));
    const gp_map *map = gp_map_named(need_string(c, "map"));
    if (!kernel || !map) {
        fprintf(stderr, "golden_check: kernel or map of the case is not known\n");
        exit(1);
    }
    golden_array m = golden_field(c, "m"); // one number, or one for each component
    p.components = must_alloc(m.n, sizeof *p.components);
    for (size_t b = 0; b < m.n; b++)
        p.components[b] = (gp_component_spec){.kernel = kernel, .map = map, .shape = {.m = (size_t)m.p[b]}};
    gp_map_shape *shape = &p.components[0].shape;
    if (json_object_get(c, "rank")) shape->rank = golden_size(c, "rank");
    const json_t *groups = json_object_get(c, "group_sizes");
    if (groups) {
        size_t n_ranks;
        size_t *ranks = sizes_of(json_object_get(c, "group_ranks"), &n_ranks);
        size_t *group_m = sizes_of(groups, &shape->n_groups);
        p.sizes = must_alloc(shape->n_groups * 2, sizeof *p.sizes);
        memcpy(p.sizes, group_m, shape->n_groups * sizeof *group_m);
        memcpy(p.sizes + shape->n_groups, ranks, shape->n_groups * sizeof *ranks);
        shape->group_m = p.sizes;
        shape->group_rank = p.sizes + shape->n_groups;
        free(group_m);
        free(ranks);
    }
    p.spec = (gp_feature_spec){.d = golden_size(c, "d"),
                               .n_components = m.n,
                               .components = p.components,
                               .trend = trend_of(c),
                               .jitter = golden_number(c, "jitter")};
    free(m.p);
    if (json_object_get(c, "X")) {
        p.X = golden_field(c, "X");
        p.y = golden_field(c, "y");
        if (json_object_get(c, "weights")) p.w = golden_field(c, "weights");
        p.rows = (gp_rows){.X = gp_cmat_of(p.X.p, p.y.n, p.spec.d), .y = p.y.p, .w = p.w.p};
    }
    return p;
}

void golden_problem_free(golden_problem *p)
{
    free(p->components);
    free(p->sizes);
    free(p->X.p);
    free(p->y.p);
    free(p->w.p);
}

void golden_must(advgp_status status, const advgp_error *err, const char *what)
{
    if (status == ADVGP_OK) return;
    printf("%s failed: %s: %s\n0 passed, 1 failed\n", what, advgp_status_name(status), err->text);
    exit(1);
}
