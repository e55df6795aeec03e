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
    gp_free(c->digits);
    *c = (gp_coerced){0};
}

static advgp_status make_room(gp_coerced *c, size_t n, bool text, advgp_error *err)
{
    if (c->capacity < n) {
        gp_coerced kept = *c;
        kept.capacity = n, kept.numbers = NULL, kept.texts = NULL, kept.digits = NULL;
        gp_coerced_fini(c);
        *c = kept;
    }
    if (text && !c->texts) {
        c->texts = gp_alloc(c->capacity, sizeof *c->texts);
        c->digits = gp_alloc(c->capacity, sizeof *c->digits);
    } else if (!text && !c->numbers) {
        c->numbers = gp_alloc(c->capacity, sizeof *c->numbers);
    }
    bool ok = text ? c->texts && c->digits : c->numbers != NULL;
    return ok ? ADVGP_OK : gp_no_memory(err);
}

bool gp_parse_plain(gp_text text, double *number)
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

bool gp_parse_number(gp_text text, double *number)
{
    return gp_parse_plain(text, number) || gp_writing_read(text, GP_WRITING_PLAIN, NULL, number);
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

static bool is_number(gp_writing as)
{
    return as == GP_WRITING_PLAIN || as == GP_WRITING_POINT || as == GP_WRITING_COMMA;
}

static bool parse(const gp_coerced *c, gp_text text, double *number)
{
    if (c->written != GP_WRITING_PLAIN) {
        while (text.n && isspace((unsigned char)*text.p)) text.p++, text.n--;
        if (text.n == 0) return true; // a blank is missing
        if (c->unit && *c->unit) return gp_writing_read_rough(text, c->written, c->unit, number) == GP_ROUGH_NUMBER;
        return gp_writing_read(text, c->written, c->format, number);
    }
    return gp_parse_number(text, number) || parse_boolean(text, c->booleans, number);
}

// A slip in a column that may have some.
static bool forgive(gp_coerced *c, gp_text text, double *number)
{
    if (!c->dirty) return false;
    if (is_number(c->written) && gp_writing_read_rough(text, c->written, c->unit, number)) return true;
    if (c->n_dirty++ == 0) gp_show_text(c->slip, sizeof c->slip, text.p, text.n);
    *number = NAN;
    return true;
}

advgp_status gp_coerce_numbers(const gp_source *source, size_t column, const gp_chunk *chunk, gp_coerced *buffer,
                               const double **out, advgp_error *err)
{
    const gp_values *v = &chunk->columns[column];
    const bool by_format = buffer->written == GP_WRITING_FORMAT && source->columns[column].type == GP_NUMBER;
    const gp_text *texts = v->text;
    *out = v->number;
    if (v->number && !by_format) return ADVGP_OK;
    advgp_status st = make_room(buffer, chunk->n_rows, false, err);
    if (st == ADVGP_OK && by_format) st = gp_coerce_texts(source, column, chunk, buffer, &texts, err); // 20201231
    for (size_t i = 0; st == ADVGP_OK && i < chunk->n_rows; i++) {
        gp_text t = texts[i];
        buffer->numbers[i] = NAN;
        if (!t.p || parse(buffer, t, &buffer->numbers[i]) || forgive(buffer, t, &buffer->numbers[i])) continue;
        char shown[64];
        st = gp_fail(
            err, ADVGP_EDATA,
            "%s, row %zu: column '%s' holds '%s' where a %s is needed; correct it, or leave it empty if missing",
            source->label, chunk->first_row + i + 1, source->columns[column].name,
            gp_show_text(shown, sizeof shown, t.p, t.n), gp_writing_is_date(buffer->written) ? "date" : "number");
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
            snprintf(buffer->digits[i], sizeof buffer->digits[i], "%s", v->number[i] != 0 ? "true" : "false");
        else
            (void)gp_decimal_write(v->number[i], buffer->digits[i]);
        buffer->texts[i] = (gp_text){.p = buffer->digits[i], .n = strlen(buffer->digits[i])};
    }
    *out = buffer->texts;
    return ADVGP_OK;
}
