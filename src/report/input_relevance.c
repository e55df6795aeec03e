// input_relevance.c: see input_relevance.h.
#include "report/input_relevance.h"
#include "base/alloc.h"
#include "data/encoding.h"
#include "report/decode.h"
#include "report/findings.h"
#include "score/relevance.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

// By insertion, so that equals stay in their order.
static void sort(size_t n, const double *value, size_t *order)
{
    for (size_t k = 0; k < n; k++) {
        size_t at = k;
        for (; at && value[order[at - 1]] < value[k]; at--) order[at] = order[at - 1];
        order[at] = k;
    }
}

// What a plain column moves in the directions that it is a part of.
static double along_directions(const gp_schema *s, const double *relevance, size_t k)
{
    const size_t plain = gp_schema_plain(s);
    double sum = 0;
    for (size_t i = 0; i < s->n_directions; i++) {
        const double moved = relevance[plain + i] * s->directions[i * plain + k];
        sum += moved * moved;
    }
    return sum;
}

advgp_status gp_input_relevance_init(gp_input_relevance *r, const gp_model *model, advgp_error *err)
{
    const gp_schema *s = model->schema;
    *r = (gp_input_relevance){.n_inputs = s->n_inputs};
    r->column = gp_alloc(s->d, sizeof *r->column);
    r->input = gp_alloc(s->n_inputs, sizeof *r->input);
    r->input_order = gp_alloc(s->n_inputs, sizeof *r->input_order);
    if (!r->column || !r->input || !r->input_order) return gp_no_memory(err);
    gp_relevance(model, r->column, NULL);
    for (size_t i = 0; i < s->n_inputs; i++) {
        double sum = 0;
        for (size_t k = s->inputs[i].first; k < s->inputs[i].first + s->inputs[i].n_encoded; k++)
            sum += r->column[k] * r->column[k] + along_directions(s, r->column, k);
        r->input[i] = sqrt(sum);
    }
    sort(s->n_inputs, r->input, r->input_order);
    return ADVGP_OK;
}

void gp_input_relevance_fini(gp_input_relevance *r)
{
    gp_free(r->column);
    gp_free(r->input);
    gp_free(r->input_order);
    *r = (gp_input_relevance){0};
}

// "latitude", "pickup_lat", "Lat (deg)": the word by itself, or in full within another.
static bool is_latitude(const gp_input *in)
{
    if (in->encoding->kind != ADVGP_KIND_NUMBER) return false;
    for (const char *p = in->name; *p; p++) {
        const bool begins = p == in->name || !isalpha((unsigned char)p[-1]);
        if (strncasecmp(p, "latitude", 8) == 0) return true;
        if (begins && strncasecmp(p, "lat", 3) == 0 && !isalpha((unsigned char)p[3])) return true;
    }
    return false;
}

void gp_input_relevance_two(const gp_input_relevance *r, const gp_schema *s, size_t two[2])
{
    for (size_t i = 0; i < 2; i++) {
        const bool there = i < r->n_inputs && r->input[r->input_order[i]] > 0;
        two[i] = there ? r->input_order[i] : GP_NO_ROW;
    }
    if (two[1] == GP_NO_ROW || !is_latitude(&s->inputs[two[0]])) return;
    const size_t first = two[0];
    two[0] = two[1], two[1] = first;
}
