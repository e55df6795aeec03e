// readings.c: before the first pass: which columns of text are dates, times or numbers as people write them, and how.
// The first rows say what a column may be; where something may, all rows are read once for these columns alone, since
// it is often the 2,000th row that shows whether day or month comes first.
#include "data/fit.h"

#include "base/alloc.h"
#include "data/strings.h"

#include <ctype.h>
#include <string.h>

enum { EXAMPLE_BYTES = 40, PAIR_BYTES = 4 };

typedef struct reading {
    size_t column;
    gp_candidate *candidate; // NULL: the target
    const char *format;      // for GP_WRITING_FORMAT
    bool named;              // a format was asked for this column: all its values must be dates of it
    unsigned possible;       // bit w: gp_writing w
    bool dressed;            // a number that a program would not write
    bool digits, zeros;      // nothing but digits; with a 0 before others
    bool first_varies, second_varies;
    char first[PAIR_BYTES], second[PAIR_BYTES]; // the first two numbers of its first date
    size_t n_read, n_bad, bad_row;
    char example[EXAMPLE_BYTES + 4], bad[EXAMPLE_BYTES + 4];
} reading;

static const unsigned numbers = 1u << GP_WRITING_POINT | 1u << GP_WRITING_COMMA;
static const unsigned dates = 1u << GP_WRITING_YMD | 1u << GP_WRITING_DMY | 1u << GP_WRITING_MDY;
static const unsigned either_first = 1u << GP_WRITING_DMY | 1u << GP_WRITING_MDY;

// ---- one value ------------------------------------------------------------------------------------------------------
static size_t copy_digits(gp_text text, size_t from, char out[PAIR_BYTES])
{
    size_t n = 0;
    while (from < text.n && !isdigit((unsigned char)text.p[from])) from++;
    for (; from < text.n && isdigit((unsigned char)text.p[from]) && n + 1 < PAIR_BYTES; from++) out[n++] = text.p[from];
    out[n] = 0;
    return from;
}

// Of dates on the first of every month, that which is always 1 is the day.
static void watch_order(reading *r, gp_text text)
{
    char first[PAIR_BYTES], second[PAIR_BYTES];
    (void)copy_digits(text, copy_digits(text, 0, first), second);
    if (r->n_read == 0) memcpy(r->first, first, sizeof first), memcpy(r->second, second, sizeof second);
    r->first_varies |= strcmp(first, r->first) != 0;
    r->second_varies |= strcmp(second, r->second) != 0;
}

static bool is_blank(gp_text text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!isspace((unsigned char)text.p[i])) return false;
    return true;
}

static bool is_digits(gp_text text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!isdigit((unsigned char)text.p[i])) return false;
    return true;
}

static void look_at(reading *r, gp_text text, size_t row)
{
    unsigned fits = 0;
    double value;
    if (!text.p || is_blank(text)) return;
    for (int w = GP_WRITING_POINT; w < GP_WRITING_KINDS; w++)
        if (r->possible >> w & 1 && gp_writing_read(text, (gp_writing)w, r->format, &value)) fits |= 1u << w;
    if (!fits) {
        if (r->n_bad++ == 0) {
            r->bad_row = row;
            gp_show_text(r->bad, sizeof r->bad, text.p, text.n);
        }
        return;
    }
    if (r->n_read == 0) gp_show_text(r->example, sizeof r->example, text.p, text.n);
    if ((fits & either_first) == either_first) watch_order(r, text);
    r->digits = (r->digits || r->n_read == 0) && is_digits(text);
    r->zeros |= text.n > 1 && *text.p == '0';
    if (fits & numbers && !r->dressed && !gp_parse_plain(text, &value)) {
        r->dressed = true;
        gp_show_text(r->example, sizeof r->example, text.p, text.n);
    }
    r->possible = fits;
    r->n_read++;
}

// ---- all values -----------------------------------------------------------------------------------------------------
// All rows of the chunk but those before row `first` of the table.
static advgp_status look_at_chunk(const gp_fit *f, const gp_chunk *chunk, size_t first, reading *list, size_t n,
                                  advgp_error *err)
{
    for (size_t i = 0; i < n; i++) {
        reading *r = &list[i];
        const gp_text *texts;
        if (!r->possible) continue;
        gp_coerced buffer = {0};
        const advgp_status st = gp_coerce_texts(f->source, r->column, chunk, &buffer, &texts, err);
        for (size_t k = 0; st == ADVGP_OK && k < chunk->n_rows; k++)
            if (chunk->first_row + k >= first) look_at(r, texts[k], chunk->first_row + k);
        gp_coerced_fini(&buffer);
        if (st != ADVGP_OK) return st;
    }
    return ADVGP_OK;
}

static size_t want_possible(const gp_fit *f, const reading *list, size_t n)
{
    size_t left = 0;
    memset(f->source->wanted, 0, f->source->n_columns * sizeof *f->source->wanted);
    for (size_t i = 0; i < n; i++)
        if (list[i].possible) f->source->wanted[list[i].column] = true, left++;
    return left;
}

static advgp_status look_at_all(const gp_fit *f, reading *list, size_t n, gp_progress progress, void *ctx,
                                advgp_error *err)
{
    const gp_chunk *chunk = NULL;
    if (!want_possible(f, list, n)) return ADVGP_OK;
    advgp_status st = gp_source_rewind(f->source, err);
    if (st == ADVGP_OK) st = gp_source_next(f->source, &chunk, err);
    if (st != ADVGP_OK || !chunk) return st;
    const size_t first = chunk->n_rows; // one chunk rules out what is no date or number at all
    st = look_at_chunk(f, chunk, 0, list, n, err);
    for (size_t i = 0; i < n; i++)
        if (list[i].n_bad) list[i].possible = 0;
    if (st != ADVGP_OK || !want_possible(f, list, n)) return st;
    st = gp_source_rewind(f->source, err); // what is left is read on, and nothing else
    while (st == ADVGP_OK) {
        st = gp_source_next(f->source, &chunk, err);
        if (st != ADVGP_OK || !chunk) break;
        st = look_at_chunk(f, chunk, first, list, n, err);
        if (st == ADVGP_OK && progress && progress(ctx, chunk->first_row) != 0)
            st = gp_fail(err, ADVGP_ESTOPPED, "stopped while reading %s", f->source->label);
    }
    return st;
}

// ---- what it is -----------------------------------------------------------------------------------------------------
// Digits that a file keeps as text may be codes. CSV has nothing but text: there a 0 before others tells; without one
// it was the first rows that told nothing, such as missing values.
static bool are_codes(const gp_fit *f, const reading *r)
{
    return r->digits && (r->zeros || !f->source->headed);
}

static gp_writing settle(const gp_fit *f, const reading *r, bool *unsure)
{
    *unsure = false;
    if (r->n_read == 0 || r->n_bad) return GP_WRITING_PLAIN;
    if (r->possible >> GP_WRITING_FORMAT & 1) return GP_WRITING_FORMAT;
    if (r->possible >> GP_WRITING_YMD & 1) return GP_WRITING_YMD;
    if ((r->possible & either_first) == either_first) {
        if (r->first_varies != r->second_varies) return r->first_varies ? GP_WRITING_MDY : GP_WRITING_DMY;
        *unsure = true;
        return strchr(r->example, '/') ? GP_WRITING_MDY : GP_WRITING_DMY;
    }
    if (r->possible & dates) return r->possible >> GP_WRITING_DMY & 1 ? GP_WRITING_DMY : GP_WRITING_MDY;
    if (r->possible >> GP_WRITING_CLOCK & 1) return GP_WRITING_CLOCK;
    if (are_codes(f, r)) return GP_WRITING_PLAIN;
    return r->possible >> GP_WRITING_POINT & 1 ? GP_WRITING_POINT : GP_WRITING_COMMA;
}

// Text among dates is a slip, as text among numbers is: better said than encoded.
static advgp_status refuse_slips(const gp_fit *f, const reading *r, advgp_error *err)
{
    const char *name = f->source->columns[r->column].name;
    if (!r->n_bad || !(r->possible & (dates | 1u << GP_WRITING_FORMAT)) || r->n_read < 9 * r->n_bad) return ADVGP_OK;
    return gp_fail(
        err, ADVGP_EDATA,
        "%s, row %zu: column '%s' holds '%s' among dates (%zu such rows); correct it, leave it empty or name "
        "it with {na} if it is missing, or leave the column out ({exclude} %s)",
        f->source->label, r->bad_row + 1, name, r->bad, r->n_bad, name);
}

static advgp_status refuse_format(const gp_fit *f, const reading *r, advgp_error *err)
{
    const char *name = f->source->columns[r->column].name;
    if (!r->named || !r->n_bad) return ADVGP_OK;
    return gp_fail(err, ADVGP_EDATA,
                   "{date-format} %s=%s: %s, row %zu: column '%s' holds '%s', which is no date of this format", name,
                   r->format, f->source->label, r->bad_row + 1, name, r->bad);
}

static advgp_status tell(const gp_fit *f, const reading *r, gp_writing as, bool unsure, advgp_error *err)
{
    const char *name = f->source->columns[r->column].name;
    if (as == GP_WRITING_CLOCK)
        return gp_notes_add_column(f->notes, err, 1, name, "are texts that are read as times of day",
                                   "column '%s' is read as times of day, as in '%s'", name, r->example);
    if (!gp_writing_is_date(as))
        return gp_notes_add_column(f->notes, err, 1, name, "are texts that are read as numbers",
                                   "column '%s' is read as numbers, as in '%s'", name, r->example);
    const char *order = as == GP_WRITING_DMY ? ", day first" : as == GP_WRITING_MDY ? ", month first" : "";
    if (unsure)
        return gp_notes_add(
            f->notes, err, 1,
            "column '%s' is read as dates%s, as in '%s', but could be the other way round: {date-format} "
            "'%s=%s' or '%s=%s' decides",
            name, order, r->example, name, "%d/%m/%Y", name, "%m/%d/%Y");
    return gp_notes_add_column(f->notes, err, 1, name, "are texts that are read as dates",
                               "column '%s' is read as dates%s, as in '%s'", name, order, r->example);
}

static advgp_status apply(gp_fit *f, const reading *r, advgp_error *err)
{
    bool unsure;
    advgp_status st = refuse_format(f, r, err);
    if (st == ADVGP_OK) st = refuse_slips(f, r, err);
    const gp_writing as = settle(f, r, &unsure);
    if (st != ADVGP_OK || as == GP_WRITING_PLAIN) return st;
    const bool date = gp_writing_is_date(as);
    if (!r->candidate && date)
        return gp_fail(err, ADVGP_EDATA, "the target '%s' holds dates; a number is needed (compute one with {sql})",
                       f->options->target);
    if (r->candidate) {
        r->candidate->encoding = date ? GP_ENCODING_TIME : GP_ENCODING_NUMBER;
        r->candidate->buffer.written = as;
        r->candidate->buffer.format = r->format;
    } else {
        f->usable.target.written = as;
    }
    return tell(f, r, as, unsure, err);
}

// ---- formats that were asked for ------------------------------------------------------------------------------------
// "COLUMN=FORMAT" or "FORMAT", which is then of every column that it fits. A format begins with what a column's name
// seldom holds before '=': a percent sign.
static const char *format_of(const gp_schema_options *o, const char *name, bool *named)
{
    const char *any = NULL;
    *named = false;
    for (size_t i = 0; i < o->n_date_formats; i++) {
        const char *spec = o->date_formats[i], *equals = strchr(spec, '='), *percent = strchr(spec, '%');
        if (!equals || (percent && percent < equals)) {
            any = spec;
        } else if (strlen(name) == (size_t)(equals - spec) && strncmp(spec, name, strlen(name)) == 0) {
            *named = true;
            return equals + 1;
        }
    }
    return any;
}

static advgp_status check_formats(const gp_fit *f, advgp_error *err)
{
    const gp_schema_options *o = f->options;
    for (size_t i = 0; i < o->n_date_formats; i++) {
        const char *spec = o->date_formats[i], *equals = strchr(spec, '='), *percent = strchr(spec, '%');
        if (!percent)
            return gp_fail(err, ADVGP_EINVAL, "{date-format} %s is no format: it needs parts such as %%d, %%m and %%Y",
                           spec);
        if (!equals || percent < equals) continue;
        char *name = gp_text_copy(spec, (size_t)(equals - spec));
        size_t index;
        const advgp_status st = name ? gp_source_require(f->source, name, "{date-format}", &index, err)
                                     : gp_fail(err, ADVGP_ENOMEM, "no memory for a name");
        gp_free(name);
        if (st != ADVGP_OK) return st;
    }
    return ADVGP_OK;
}

static reading start(const gp_fit *f, size_t column, gp_candidate *candidate)
{
    const gp_column *c = &f->source->columns[column];
    bool named = false;
    const char *format = candidate ? format_of(f->options, c->name, &named) : NULL;
    reading r = {.column = column, .candidate = candidate, .format = format, .named = named};
    if (candidate && candidate->forced) return r;
    if (c->type == GP_TEXT) r.possible = numbers | dates | 1u << GP_WRITING_CLOCK;
    if (format && (c->type == GP_TEXT || named)) r.possible |= 1u << GP_WRITING_FORMAT;
    if (named) r.possible = 1u << GP_WRITING_FORMAT;
    return r;
}

advgp_status gp_fit_readings(gp_fit *f, gp_progress progress, void *ctx, advgp_error *err)
{
    reading *list = gp_alloc(f->n_candidates + 1, sizeof *list);
    bool *wanted = gp_alloc(f->source->n_columns, sizeof *wanted);
    advgp_status st = list && wanted ? check_formats(f, err) : gp_fail(err, ADVGP_ENOMEM, "no memory for the columns");
    size_t n = 0;
    for (size_t i = 0; st == ADVGP_OK && i < f->n_candidates; i++)
        list[n++] = start(f, f->candidates[i].column, &f->candidates[i]);
    if (st == ADVGP_OK) {
        list[n++] = start(f, (size_t)f->roles.target, NULL);
        memcpy(wanted, f->source->wanted, f->source->n_columns * sizeof *wanted);
        st = look_at_all(f, list, n, progress, ctx, err);
        memcpy(f->source->wanted, wanted, f->source->n_columns * sizeof *wanted);
    }
    for (size_t i = 0; st == ADVGP_OK && i < n; i++) st = apply(f, &list[i], err);
    gp_free(list);
    gp_free(wanted);
    return st;
}
