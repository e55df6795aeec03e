// directions.c: the encoded columns that are sums of others: their names, and their values in a row.
#include "base/alloc.h"
#include "base/text.h"
#include "data/encoding.h"
#include "data/strings.h"

#include <math.h>
#include <string.h>

size_t gp_schema_plain(const gp_schema *s)
{
    return s->d - s->n_directions;
}

static size_t heaviest(const double *weights, size_t n, const size_t *taken, size_t n_taken)
{
    size_t best = n;
    for (size_t j = 0; j < n; j++) {
        bool is_taken = false;
        for (size_t i = 0; i < n_taken; i++) is_taken |= taken[i] == j;
        if (!is_taken && (best == n || fabs(weights[j]) > fabs(weights[best]))) best = j;
    }
    return best;
}

// "direction 1 (arr_minute - dep_minute - airtime)": the columns that weigh most, with their signs.
static char *name_of(const gp_schema *s, size_t i)
{
    enum { NAMED = 3 };
    static const double least = 0.1; // of the heaviest: what weighs less is not named
    const size_t plain = gp_schema_plain(s);
    const double *weights = s->directions + i * plain;
    size_t taken[NAMED], n = 0, told = 0;
    gp_buffer name = {0};
    gp_buffer_add(&name, "direction %zu (", i + 1);
    for (size_t k = 0; k < NAMED && k < plain; k++) {
        const size_t j = heaviest(weights, plain, taken, n);
        if (k && fabs(weights[j]) < least * fabs(weights[taken[0]])) break;
        taken[n++] = j;
    }
    for (int minus = 0; minus < 2; minus++) // what is taken away comes last
        for (size_t k = 0; k < n; k++) {
            if ((weights[taken[k]] < 0) != minus) continue;
            gp_buffer_add(&name, "%s%s", minus ? told ? " - " : "-" : told ? " + " : "", s->x_names[taken[k]]);
            told++;
        }
    gp_buffer_add(&name, ")");
    return name.failed ? gp_buffer_fini(&name), NULL : name.p;
}

advgp_status gp_schema_name_directions(gp_schema *s, advgp_error *err)
{
    for (size_t i = 0; i < s->n_directions; i++) {
        char **name = &s->x_names[gp_schema_plain(s) + i];
        *name = name_of(s, i);
        if (!*name) return gp_no_memory(err);
    }
    return ADVGP_OK;
}

advgp_status gp_schema_add_directions(gp_schema *s, size_t n, const double *weights, advgp_error *err)
{
    const size_t plain = s->d;
    char **names = gp_alloc(plain + n, sizeof *names);
    double *copy = gp_alloc(n * plain, sizeof *copy), *mean = gp_alloc(plain + n, sizeof *mean);
    double *scale = gp_alloc(plain + n, sizeof *scale);
    if (!names || !copy || !mean || !scale) {
        gp_free(names), gp_free(copy), gp_free(mean), gp_free(scale);
        return gp_no_memory(err);
    }
    memcpy(names, s->x_names, plain * sizeof *names);
    memcpy(copy, weights, n * plain * sizeof *copy);
    memcpy(mean, s->x_mean, plain * sizeof *mean);
    memcpy(scale, s->x_scale, plain * sizeof *scale);
    for (size_t i = 0; i < n; i++) mean[plain + i] = 0, scale[plain + i] = 1;
    gp_free(s->x_names), gp_free(s->x_mean), gp_free(s->x_scale);
    s->x_names = names, s->x_mean = mean, s->x_scale = scale;
    s->directions = copy, s->n_directions = n, s->d = plain + n;
    return gp_schema_name_directions(s, err);
}

// The plain column of this name; d where there is none.
static size_t column_named(const gp_schema *s, const char *name)
{
    size_t j = 0;
    while (j < gp_schema_plain(s) && strcmp(s->x_names[j], name) != 0) j++;
    return j < gp_schema_plain(s) ? j : s->d;
}

advgp_status gp_schema_take_directions(gp_schema *s, const gp_schema *from, advgp_error *err)
{
    const size_t n = from->n_directions, plain = gp_schema_plain(from), d = s->d;
    if (!n) return ADVGP_OK;
    double *weights = gp_alloc(n * d, sizeof *weights);
    bool fit = true;
    if (!weights) return gp_no_memory(err);
    for (size_t k = 0; fit && k < plain; k++) {
        const size_t j = column_named(s, from->x_names[k]);
        fit = j < d;
        for (size_t i = 0; fit && i < n; i++)
            weights[i * d + j] = from->directions[i * plain + k] * s->x_scale[j] / from->x_scale[k];
    }
    const advgp_status st = fit ? gp_schema_add_directions(s, n, weights, err) : ADVGP_OK;
    gp_free(weights);
    return st;
}

void gp_schema_follow_directions(const gp_schema *s, double *x)
{
    const size_t plain = gp_schema_plain(s);
    for (size_t i = 0; i < s->n_directions; i++) {
        const double *weights = s->directions + i * plain;
        double sum = 0;
        for (size_t j = 0; j < plain; j++) sum += weights[j] * x[j];
        x[plain + i] = sum;
    }
}
