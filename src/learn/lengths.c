// lengths.c: columns of one text column together; then groups by how much they say about the target, linearly.
#include "learn/lengths.h"
#include "base/alloc.h"
#include "data/encoding.h"

#include <math.h>
#include <stdlib.h>

typedef struct said {
    double much; // the largest |sum of w x y| of its columns
    size_t group;
} said;

static int by_much(const void *a, const void *b)
{
    const said *x = a, *y = b;
    if (x->much != y->much) return x->much > y->much ? -1 : 1;
    return (x->group > y->group) - (x->group < y->group);
}

static size_t by_columns_of_the_table(const gp_schema *schema, size_t *of)
{
    size_t n = 0;
    for (size_t i = 0; i < schema->n_inputs; i++) {
        const gp_input *input = &schema->inputs[i];
        const bool together = input->encoding->indicators;
        for (size_t k = 0; k < input->n_encoded; k++) of[input->first + k] = together || k == 0 ? n : n + k;
        n += together ? input->n_encoded > 0 : input->n_encoded;
    }
    for (size_t k = gp_schema_plain(schema); k < schema->d; k++) of[k] = n++;
    return n;
}

static void measure(gp_batch rows, const size_t *of, size_t n, said *groups)
{
    for (size_t g = 0; g < n; g++) groups[g] = (said){.group = g};
    for (size_t k = 0; k < rows.X.cols; k++) {
        double sum = 0;
        for (size_t i = 0; i < rows.X.rows; i++)
            sum += (rows.w ? rows.w[i] : 1) * rows.X.p[i * rows.X.ld + k] * rows.y[i];
        groups[of[k]].much = fmax(groups[of[k]].much, fabs(sum));
    }
}

advgp_status gp_lengths_new(const gp_schema *schema, gp_batch rows, gp_lengths *out, advgp_error *err)
{
    const size_t d = rows.X.cols, by_rows = rows.X.rows / GP_ROWS_PER_LENGTH;
    const size_t most = by_rows > GP_LENGTHS_MIN ? by_rows : GP_LENGTHS_MIN;
    *out = (gp_lengths){.of = gp_alloc(d, sizeof *out->of)};
    said *groups = gp_alloc(d, sizeof *groups);
    size_t *rank = gp_alloc(d, sizeof *rank);
    if (!out->of || !groups || !rank) {
        gp_free(groups), gp_free(rank);
        gp_lengths_fini(out);
        return gp_no_memory(err);
    }
    out->n = by_columns_of_the_table(schema, out->of);
    if (out->n > most) {
        measure(rows, out->of, out->n, groups);
        qsort(groups, out->n, sizeof *groups, by_much);
        for (size_t i = 0; i < out->n; i++) rank[groups[i].group] = i < most - 1 ? i : most - 1;
        for (size_t k = 0; k < d; k++) out->of[k] = rank[out->of[k]];
        out->n = most;
    }
    gp_free(groups), gp_free(rank);
    return ADVGP_OK;
}

void gp_lengths_fini(gp_lengths *lengths)
{
    gp_free(lengths->of);
    *lengths = (gp_lengths){0};
}
