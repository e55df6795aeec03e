// by_value.c: a value is found by its hash; the sums are those of metric.h.
#include "answer/by_value.h"
#include "base/alloc.h"
#include "base/text.h"
#include "report/decode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { SLOTS = 4 * 1024 }; // at most a quarter of them is taken

advgp_status gp_groups_init(gp_groups *g, gp_source *source, const char *column, advgp_error *err)
{
    *g = (gp_groups){0};
    if (!column) return ADVGP_OK;
    const advgp_status st = gp_source_require(source, column, "the column of {by}", &g->at, err);
    if (st != ADVGP_OK) return st;
    source->wanted[g->at] = true;
    g->type = source->columns[g->at].type;
    g->column = gp_text_copy(column, strlen(column));
    g->list = gp_alloc(GP_GROUPS_MAX, sizeof *g->list);
    g->slots = gp_alloc(SLOTS, sizeof *g->slots);
    return g->column && g->list && g->slots ? ADVGP_OK : gp_no_memory(err);
}

void gp_groups_fini(gp_groups *g)
{
    for (size_t i = 0; i < g->n; i++) gp_free(g->list[i].value);
    gp_free(g->column);
    gp_free(g->list);
    gp_free(g->slots);
    *g = (gp_groups){0};
}

static bool is(const gp_group *group, gp_text value)
{
    return strlen(group->value) == value.n && memcmp(group->value, value.p, value.n) == 0;
}

static advgp_status find(gp_groups *g, gp_text value, gp_group **out, advgp_error *err)
{
    size_t slot = XXH3_64bits(value.p, value.n) % SLOTS;
    while (g->slots[slot] && !is(&g->list[g->slots[slot] - 1], value)) slot = (slot + 1) % SLOTS;
    if (g->slots[slot]) {
        *out = &g->list[g->slots[slot] - 1];
        return ADVGP_OK;
    }
    *out = &g->others;
    if (g->n == GP_GROUPS_MAX) return ADVGP_OK;
    char *copy = gp_text_copy(value.p, value.n);
    if (!copy) return gp_no_memory(err);
    *out = &g->list[g->n++];
    (*out)->value = copy;
    g->slots[slot] = (uint32_t)g->n;
    return ADVGP_OK;
}

static gp_text text_of(double number, gp_column_type type, char shown[GP_TIME_TEXT_BYTES])
{
    if (type == GP_TIME)
        (void)gp_time_text(number, shown);
    else if (type == GP_BOOLEAN)
        snprintf(shown, GP_TIME_TEXT_BYTES, "%s", number != 0 ? "true" : "false");
    else
        snprintf(shown, GP_TIME_TEXT_BYTES, "%.15g", number);
    return (gp_text){.p = shown, .n = strlen(shown)};
}

advgp_status gp_groups_add(gp_groups *g, const gp_chunk *chunk, size_t at, const gp_judged *row, advgp_error *err)
{
    if (!g->column) return ADVGP_OK;
    const gp_values *v = &chunk->columns[g->at];
    char shown[GP_TIME_TEXT_BYTES];
    gp_text value = {0};
    if (g->type == GP_TEXT)
        value = v->text[at];
    else if (isfinite(v->number[at]))
        value = text_of(v->number[at], g->type, shown);
    gp_group *group = &g->missing;
    const advgp_status st = value.p ? find(g, value, &group, err) : ADVGP_OK;
    if (st == ADVGP_OK) gp_sums_add(&group->sums, row);
    return st;
}

static int larger_first(const void *a, const void *b)
{
    const gp_group *x = a, *y = b;
    const size_t n = x->sums.rows, m = y->sums.rows;
    return n != m ? (n < m) - (n > m) : strcmp(x->value, y->value);
}

void gp_groups_end(gp_groups *g)
{
    if (g->n) qsort(g->list, g->n, sizeof *g->list, larger_first);
}
