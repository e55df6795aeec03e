// coerce.c: numbers and text into each other.
#include "data/coerce.h"

#include "base/alloc.h"
#include "data/strings.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void gp_coerced_fini(gp_coerced *c)
{
    gp_free(c->numbers);
    gp_free(c->texts);
    gp_free(c->written);
    *c = (gp_coerced){0};
}

static advgp_status make_room(gp_coerced *c, size_t n, bool text, advgp_error *err)
{
    if (c->capacity < n) {
        const bool booleans = c->booleans;
        gp_coerced_fini(c);
        c->capacity = n;
        c->booleans = booleans;
    }
    if (text && !c->texts) {
        c->texts = gp_alloc(c->capacity, sizeof *c->texts);
        c->written = gp_alloc(c->capacity, sizeof *c->written);
    } else if (!text && !c->numbers) {
        c->numbers = gp_alloc(c->capacity, sizeof *c->numbers);
    }
    bool ok = text ? c->texts && c->written : c->numbers != NULL;
    return ok ? ADVGP_OK : gp_fail(err, ADVGP_ENOMEM, "no memory for a chunk of %zu rows", n);
}

bool gp_parse_number(gp_text text, double *number)
{
    char copy[64];
    while (text.n && isspace((unsigned char)*text.p)) text.p++, text.n--;
    while (text.n && isspace((unsigned char)text.p[text.n - 1])) text.n--;
    if (text.n == 0 || text.n >= sizeof copy || !strchr("+-.0123456789", *text.p))
        return false; // "nan" and "inf" are no numbers here
    memcpy(copy, text.p, text.n);
    copy[text.n] = 0;
    char *end;
    *number = strtod(copy, &end);
    return end == copy + text.n && !strpbrk(copy, "xX");
}

// `any`: all words that the CSV reader takes for a column of booleans, where it is one.
static bool parse_boolean(gp_text text, bool any, double *number)
{
    static const char *const words[][2] = {{"false", "true"}, {"f", "t"}, {"no", "yes"}, {"n", "y"}};
    for (size_t i = 0; i < (any ? sizeof words / sizeof *words : 1); i++)
        for (int truth = 0; truth < 2; truth++)
            if (text.n == strlen(words[i][truth]) && strncasecmp(text.p, words[i][truth], text.n) == 0)
                return *number = truth, true;
    return false;
}

advgp_status gp_coerce_numbers(const gp_source *source, size_t column, const gp_chunk *chunk, gp_coerced *buffer,
                               const double **out, advgp_error *err)
{
    const gp_values *v = &chunk->columns[column];
    *out = v->number;
    if (v->number) return ADVGP_OK;
    advgp_status st = make_room(buffer, chunk->n_rows, false, err);
    for (size_t i = 0; st == ADVGP_OK && i < chunk->n_rows; i++) {
        gp_text t = v->text[i];
        buffer->numbers[i] = NAN;
        if (!t.p || gp_parse_number(t, &buffer->numbers[i]) || parse_boolean(t, buffer->booleans, &buffer->numbers[i]))
            continue;
        char shown[64];
        st = gp_fail(
            err, ADVGP_EDATA,
            "%s, row %zu: column '%s' holds '%s' where a number is needed; correct it, or leave it empty if missing",
            source->label, chunk->first_row + i + 1, source->columns[column].name,
            gp_show_text(shown, sizeof shown, t.p, t.n));
    }
    *out = buffer->numbers;
    return st;
}

advgp_status gp_coerce_texts(const gp_source *source, size_t column, const gp_chunk *chunk, gp_coerced *buffer,
                             const gp_text **out, advgp_error *err)
{
    const gp_values *v = &chunk->columns[column];
    *out = v->text;
    if (v->text) return ADVGP_OK;
    advgp_status st = make_room(buffer, chunk->n_rows, true, err);
    if (st != ADVGP_OK) return st;
    bool boolean = source->columns[column].type == GP_BOOLEAN;
    for (size_t i = 0; i < chunk->n_rows; i++) {
        buffer->texts[i] = (gp_text){0};
        if (!isfinite(v->number[i])) continue;
        if (boolean)
            snprintf(buffer->written[i], sizeof buffer->written[i], "%s", v->number[i] != 0 ? "true" : "false");
        else
            (void)gp_decimal_write(v->number[i], buffer->written[i]);
        buffer->texts[i] = (gp_text){.p = buffer->written[i], .n = strlen(buffer->written[i])};
    }
    *out = buffer->texts;
    return ADVGP_OK;
}
