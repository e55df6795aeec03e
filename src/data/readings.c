// readings.c: before the first pass: which columns of text are dates, times or numbers as people write them, and how.
// The first rows say what a column may be; where something may, all rows are read once for these columns alone, since
// it is often the 2,000th row that shows whether day or month comes first.
#include "data/fit.h"

#include "base/alloc.h"
#include "data/encoding.h"
#include "data/strings.h"

#include <ctype.h>
#include <string.h>

enum { EXAMPLE_BYTES = 40, PAIR_BYTES = 4, DIRTY_PARTS = 20 }; // one value in 20 may be a slip

typedef struct slip { // the first value that a way of writing does not read
    size_t row;
    char text[EXAMPLE_BYTES + 4];
} slip;

typedef struct reading {
    size_t column;
    gp_candidate *candidate; // NULL: the target
    const char *format;      // for GP_WRITING_FORMAT
    bool named;              // a format was asked for this column: all its values must be dates of it
    bool dirty;              // a few values may be something else
    unsigned possible;       // bit w: gp_writing w is tried
    size_t n;                // values that are no blanks
    size_t fits[GP_WRITING_KINDS], ranges[GP_WRITING_KINDS]; // how many of them; ranges are some of these
    slip first_slip[GP_WRITING_KINDS];
    char unit[GP_UNIT_BYTES]; // behind most numbers
    bool dressed;             // a number that a program would not write
    bool not_digits, zeros;   // something else than digits; with a 0 before others
    bool short_years;
    bool first_varies, second_varies;
    char first[PAIR_BYTES], second[PAIR_BYTES]; // the first two numbers of its first date
    char example[EXAMPLE_BYTES + 4], range[EXAMPLE_BYTES + 4];
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
    if (!*r->first) memcpy(r->first, first, sizeof first), memcpy(r->second, second, sizeof second);
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

static gp_rough read_as(const reading *r, gp_text text, gp_writing as)
{
    double ignored;
    if (!(numbers >> as & 1)) return gp_writing_read(text, as, r->format, &ignored) ? GP_ROUGH_NUMBER : GP_ROUGH_NONE;
    const gp_rough how = gp_writing_read_rough(text, as, r->unit, &ignored);
    return how == GP_ROUGH_RANGE && !r->dirty ? GP_ROUGH_NONE : how;
}

// Which ways of writing read the value.
static unsigned count_fits(reading *r, gp_text text, size_t row)
{
    unsigned fits = 0;
    for (int w = GP_WRITING_POINT; w < GP_WRITING_KINDS; w++) {
        if (!(r->possible >> w & 1)) continue;
        const gp_rough how = read_as(r, text, (gp_writing)w);
        if (how != GP_ROUGH_NONE) {
            fits |= 1u << w;
            if (how == GP_ROUGH_RANGE && !*r->range) gp_show_text(r->range, sizeof r->range, text.p, text.n);
            r->ranges[w] += how == GP_ROUGH_RANGE;
        } else if (r->fits[w] == r->n) {
            r->first_slip[w].row = row;
            gp_show_text(r->first_slip[w].text, sizeof r->first_slip[w].text, text.p, text.n);
        }
        r->fits[w] += how != GP_ROUGH_NONE;
    }
    return fits;
}

static void look_at(reading *r, gp_text text, size_t row)
{
    double ignored;
    if (!text.p || is_blank(text)) return;
    const size_t ranges = r->ranges[GP_WRITING_POINT] + r->ranges[GP_WRITING_COMMA];
    const unsigned fits = count_fits(r, text, row);
    r->n++;
    if (!fits || ranges < r->ranges[GP_WRITING_POINT] + r->ranges[GP_WRITING_COMMA]) return;
    if (!*r->example) gp_show_text(r->example, sizeof r->example, text.p, text.n);
    if ((fits & either_first) == either_first) watch_order(r, text);
    if (fits & dates && !r->short_years) r->short_years = gp_writing_has_short_year(text, GP_WRITING_DMY, NULL);
    r->not_digits = r->not_digits || !is_digits(text);
    r->zeros |= text.n > 1 && *text.p == '0' && is_digits(text);
    if (fits & numbers && !r->dressed && !gp_parse_plain(text, &ignored)) {
        r->dressed = true;
        gp_show_text(r->example, sizeof r->example, text.p, text.n);
    }
}

// What more than half of the numbers have behind them, if anything has: each unit takes one away from the others.
static void find_unit(reading *r, const gp_text *texts, size_t n)
{
    size_t lead = 0;
    double ignored;
    for (size_t i = 0; i < n; i++) {
        gp_text unit = texts[i].p ? gp_writing_unit(texts[i]) : (gp_text){0};
        if (!unit.p) continue;
        if (unit.n && gp_writing_read(texts[i], GP_WRITING_PLAIN, NULL, &ignored)) unit.n = 0; // 12 EUR
        if (unit.n == strlen(r->unit) && memcmp(unit.p, r->unit, unit.n) == 0) {
            lead++;
        } else if (lead == 0) {
            memcpy(r->unit, unit.p, unit.n);
            r->unit[unit.n] = 0;
            lead = 1;
        } else {
            lead--;
        }
    }
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
        if (st == ADVGP_OK && !first && r->candidate && r->possible & numbers) find_unit(r, texts, chunk->n_rows);
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

// After the first rows: what most of them are not is not tried any more, nor, where no slips may be, what one is not.
static void rule_out(reading *r)
{
    for (int w = GP_WRITING_POINT; w < GP_WRITING_KINDS; w++)
        if (r->dirty ? 2 * r->fits[w] < r->n : r->fits[w] < r->n) r->possible &= ~(1u << w);
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
    for (size_t i = 0; i < n; i++) rule_out(&list[i]);
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
static bool are_codes(const gp_fit *f, const reading *r, size_t slips)
{
    return !r->not_digits && (r->zeros || (!f->source->headed && !slips));
}

// Few enough slips; and ranges are exceptions among numbers, not what the column is made of.
static bool is_good(const reading *r, int w, size_t most_slips)
{
    return r->possible >> w & 1 && r->n - r->fits[w] <= most_slips && 2 * r->ranges[w] <= r->n;
}

// The ways of writing that read all values, or else those that read most of them and leave few.
static unsigned good_ones(const reading *r)
{
    unsigned whole = 0, most = 0;
    size_t best = 0;
    for (int w = GP_WRITING_POINT; w < GP_WRITING_KINDS; w++) {
        if (is_good(r, w, 0)) whole |= 1u << w;
        if (!r->dirty || !is_good(r, w, r->n / DIRTY_PARTS) || r->fits[w] < best) continue;
        most = (r->fits[w] > best ? 0 : most) | 1u << w;
        best = r->fits[w];
    }
    return whole ? whole : most;
}

static gp_writing settle(const gp_fit *f, const reading *r, bool *unsure)
{
    const unsigned good = r->n ? good_ones(r) : 0;
    *unsure = false;
    if (!good) return GP_WRITING_PLAIN;
    if (good >> GP_WRITING_FORMAT & 1) return GP_WRITING_FORMAT;
    if (good >> GP_WRITING_YMD & 1) return GP_WRITING_YMD;
    if ((good & either_first) == either_first) {
        if (r->first_varies != r->second_varies) return r->first_varies ? GP_WRITING_MDY : GP_WRITING_DMY;
        *unsure = true;
        return strchr(r->example, '/') ? GP_WRITING_MDY : GP_WRITING_DMY;
    }
    if (good & dates) return good >> GP_WRITING_DMY & 1 ? GP_WRITING_DMY : GP_WRITING_MDY;
    if (good >> GP_WRITING_CLOCK & 1) return GP_WRITING_CLOCK;
    const gp_writing as = good >> GP_WRITING_POINT & 1 ? GP_WRITING_POINT : GP_WRITING_COMMA;
    return are_codes(f, r, r->n - r->fits[as]) ? GP_WRITING_PLAIN : as;
}

// Text among dates is a slip, as text among numbers is: where slips are refused, better said than encoded.
static advgp_status refuse_slips(const gp_fit *f, const reading *r, advgp_error *err)
{
    const char *name = f->source->columns[r->column].name;
    int best = GP_WRITING_YMD;
    for (int w = GP_WRITING_YMD; w <= GP_WRITING_FORMAT; w++)
        if (r->possible >> w & 1 && r->fits[w] > r->fits[best]) best = w;
    const size_t n = r->n - r->fits[best];
    if (r->dirty || !n || !(r->possible >> best & 1) || r->fits[best] < 9 * n) return ADVGP_OK;
    return gp_fail(
        err, ADVGP_EDATA,
        "%s, row %zu: column '%s' holds '%s' among dates (%zu such rows); correct it, leave it empty or name "
        "it with {na} if it is missing, leave the column out ({exclude} '%s'), or leave out {dirty} error",
        f->source->label, r->first_slip[best].row + 1, name, r->first_slip[best].text, n, name);
}

static advgp_status refuse_format(const gp_fit *f, const reading *r, advgp_error *err)
{
    const char *name = f->source->columns[r->column].name;
    const size_t n = r->n - r->fits[GP_WRITING_FORMAT];
    if (!r->named || n <= (r->dirty ? r->n / DIRTY_PARTS : 0)) return ADVGP_OK;
    const slip *first = &r->first_slip[GP_WRITING_FORMAT];
    return gp_fail(err, ADVGP_EDATA,
                   "{date-format} %s=%s: %s, row %zu: column '%s' holds '%s', which is no date of this format", name,
                   r->format, f->source->label, first->row + 1, name, first->text);
}

static advgp_status tell_slips(const gp_fit *f, const reading *r, gp_writing as, advgp_error *err)
{
    const char *name = f->source->columns[r->column].name;
    const size_t n = r->n - r->fits[as], ranges = r->ranges[as];
    advgp_status st = ADVGP_OK;
    if (ranges)
        st = gp_notes_add(f->notes, err, ranges,
                          "column '%s' holds %zu ranges among numbers, as in '%s': taken as their middle", name, ranges,
                          r->range);
    if (st == ADVGP_OK && n)
        st = gp_notes_add(f->notes, err, n,
                          "column '%s' holds %zu values that are no %ss, as in '%s' (row %zu): taken as missing "
                          "({dirty} error refuses them)",
                          name, n, gp_writing_is_date(as) ? "date" : "number", r->first_slip[as].text,
                          r->first_slip[as].row + 1);
    if (st == ADVGP_OK && gp_writing_is_date(as) && (r->short_years || as == GP_WRITING_FORMAT) &&
        (as != GP_WRITING_FORMAT || gp_writing_has_short_year((gp_text){0}, as, r->format)))
        st = gp_notes_add(f->notes, err, 1,
                          "column '%s' has years of two digits: 69 to 99 are taken as 1969 to 1999, others as 2000 to "
                          "2068",
                          name);
    return st;
}

// As programs write them, nothing is to be told.
static bool is_iso(const char *text)
{
    static const char digits[] = "0000-00-00";
    for (size_t i = 0; i < sizeof digits - 1; i++)
        if (digits[i] == '0' ? !isdigit((unsigned char)text[i]) : text[i] != digits[i]) return false;
    return true;
}

static advgp_status tell(const gp_fit *f, const reading *r, gp_writing as, bool unsure, advgp_error *err)
{
    const char *name = f->source->columns[r->column].name;
    if (as == GP_WRITING_CLOCK)
        return gp_notes_add_column(f->notes, err, 1, name, "are texts that are read as times of day",
                                   "column '%s' is read as times of day, as in '%s'", name, r->example);
    if (!gp_writing_is_date(as) && !r->dressed && r->fits[as] - r->ranges[as] < r->n)
        return ADVGP_OK; // tell_slips does
    if (!gp_writing_is_date(as))
        return gp_notes_add_column(f->notes, err, 1, name, "are texts that are read as numbers",
                                   "column '%s' is read as numbers, as in '%s'", name, r->example);
    if (as == GP_WRITING_YMD && is_iso(r->example)) return ADVGP_OK;
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
        r->candidate->encoding = date ? &gp_encoding_time : &gp_encoding_number;
        r->candidate->buffer.written = as;
        r->candidate->buffer.format = r->format;
        r->candidate->buffer.dirty = r->dirty;
        if (numbers >> as & 1) memcpy(r->candidate->unit, r->unit, sizeof r->unit);
        r->candidate->buffer.unit = r->candidate->unit;
    } else {
        f->usable.target.written = as;
    }
    st = tell(f, r, as, unsure, err);
    return st == ADVGP_OK ? tell_slips(f, r, as, err) : st;
}

// ---- formats that were asked for ------------------------------------------------------------------------------------
// Is it the name before '=', but for blanks around it?
static bool is_before(const char *spec, const char *equals, const char *name)
{
    while (isspace((unsigned char)*spec)) spec++;
    while (equals > spec && isspace((unsigned char)equals[-1])) equals--;
    while (isspace((unsigned char)*name)) name++;
    const size_t n = (size_t)(equals - spec);
    return strncmp(spec, name, n) == 0 && gp_same_name(name + n, "");
}

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
        } else if (is_before(spec, equals, name)) {
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
                                     : gp_no_memory(err);
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
    r.dirty = candidate && !f->options->refuse_dirty; // other targets would be another question
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
    advgp_status st = list && wanted ? check_formats(f, err) : gp_no_memory(err);
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
