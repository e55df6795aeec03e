// decide.c: from the sums of the first pass to a schema: which columns are used and how, with a note for each that is
// not, and the scales that make every encoded column mean 0 and variance 1 over the (weighted) training rows.
#include "data/fit.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "data/strings.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { BOUNDS_ROWS_MIN = 1000, IDENTIFIERS_MIN = 50 }; // rows: of fewer, a number of its own in every row is no wonder

// A category seen n times moves n / (n + 20) of the way from the global mean to its own.
static const double smoothing_rows = 20;

static const char *column_name(const gp_fit *f, const gp_candidate *c)
{
    return f->source->columns[c->column].name;
}

static size_t rows_of(const gp_fit *f)
{
    return f->y.n;
}

// As the table has it: an option may have blanks around it that do not count.
static const char *target_name(const gp_fit *f)
{
    return f->source->columns[f->roles.target].name;
}

static const char spread_is_unusable[] = "double precision cannot compute with the square of such a spread";

// ---- whole table ----------------------------------------------------------------------------------------------------
static advgp_status check_rows(const gp_fit *f, advgp_error *err)
{
    const gp_usable *u = &f->usable;
    const char *label = f->source->label, *target = target_name(f);
    size_t n = rows_of(f);
    if (u->n_read == 0) return gp_fail(err, ADVGP_EDATA, "%s has no rows", label);
    if (n < GP_ROWS_MIN)
        return gp_fail(err, ADVGP_EDATA,
                       "%s has %zu usable rows of %zu, and at least %d are needed (%zu without target, %zu of weight "
                       "0, %zu with gaps)",
                       label, n, u->n_read, GP_ROWS_MIN, u->n_no_target, u->n_no_weight, u->n_gaps);
    if (f->y.least == f->y.most)
        return gp_fail(err, ADVGP_EDATA, "the target '%s' is %g in all %zu rows: there is nothing to learn", target,
                       f->options->log_target ? exp(f->y.least) - f->roles.log_offset : f->y.least, n);
    if (!gp_scale_is_usable(f->y.weight / (double)n))
        return gp_fail(err, ADVGP_EDATA,
                       "the weights in column '%s' add up to %g over %zu rows, which double precision cannot compute "
                       "with: multiply them by a power of ten ({sql})",
                       f->options->weights, f->y.weight, n);
    if (!isfinite(f->y.mean) || !gp_scale_is_usable(sqrt(f->y.m2 / f->y.weight)))
        return gp_fail(err, ADVGP_EDATA,
                       "the target '%s' goes from %g to %g: %s; multiply it by a power of ten ({sql})%s", target,
                       f->y.least, f->y.most, spread_is_unusable,
                       f->y.least > 0 && !f->options->log_target ? ", or fit its logarithm with {log-target}" : "");
    return ADVGP_OK;
}

// Weights far from 1 may be of the other kind.
static advgp_status note_weights(const gp_fit *f, advgp_error *err)
{
    const gp_schema_options *o = f->options;
    const double mean = f->y.weight / (double)f->y.n;
    if (!o->weights) return ADVGP_OK;
    if (o->weights_are == GP_WEIGHTS_IMPORTANCE && (mean < 0.5 || mean > 2))
        return gp_notes_add(f->notes, err, 1,
                            "the weights in '%s' have a mean of %.4g and are scaled to 1: they say how much a row "
                            "matters. Where they count rows, say {weights-are} counts",
                            o->weights, mean);
    if (o->weights_are == GP_WEIGHTS_COUNTS && mean < 0.5)
        return gp_notes_add(f->notes, err, 1,
                            "the weights in '%s' add up to %.4g for %zu rows, so these count as %.4g rows and little "
                            "is learned from them. Where they say how much a row matters, leave out {weights-are}",
                            o->weights, f->y.weight, f->y.n, f->y.weight);
    return ADVGP_OK;
}

// A target that is never negative and comes near 0 (within half its deviation) in a thousand rows or more cannot be
// negative: counts, prices, amounts. Under a logarithm only an offset lets answers fall below 0.
static advgp_status decide_bounds(const gp_fit *f, gp_schema *s, advgp_error *err)
{
    const gp_schema_options *o = f->options;
    const bool never = o->log_target ? s->log_offset > 0 : f->y.least >= 0 && f->y.least < 0.5 * s->y_scale;
    s->bounds = o->bounds;
    s->bounded = o->bounds_are == GP_BOUNDS_GIVEN;
    if (s->bounded) {
        const double least = s->y_range.lo, most = s->y_range.hi, slack = 1e-9 * (most - least);
        if (least >= s->bounds.lo - slack && most <= s->bounds.hi + slack) return ADVGP_OK;
        return gp_fail(err, ADVGP_EDATA, "the target '%s' goes from %g to %g, beyond what {bounds} allows", s->target,
                       least, most);
    }
    if (o->bounds_are == GP_BOUNDS_NONE || !never || rows_of(f) < BOUNDS_ROWS_MIN) return ADVGP_OK;
    s->bounded = true;
    s->bounds = (gp_limits){.lo = 0, .hi = INFINITY};
    return gp_notes_add(
        f->notes, err, 1,
        "the target '%s' is never negative in %zu rows and comes near 0: means and intervals are cut at "
        "0 ({bounds} none leaves them)",
        s->target, rows_of(f));
}

// The upper tail of a skewed target reaches further from the median than the lower one: half as far again, which no
// symmetric one does. Of a target that is 0 in most rows a logarithm makes two heaps.
static bool log_may_pay(const gp_fit *f)
{
    const size_t n = f->sample.n;
    double *y = f->sampled_y;
    if (f->options->log_target || f->y.least < 0) return false;
    gp_sort(y, n);
    const double low = gp_sorted_quantile(y, n, 0.05), middle = gp_sorted_quantile(y, n, 0.5);
    return middle > 0 && gp_sorted_quantile(y, n, 0.95) - middle > 1.5 * (middle - low);
}

static advgp_status note_rows(const gp_fit *f, advgp_error *err)
{
    const gp_usable *u = &f->usable;
    advgp_status st = ADVGP_OK;
    if (u->n_no_target)
        st = gp_notes_add(f->notes, err, u->n_no_target, "%zu rows without a value of '%s' are left out",
                          u->n_no_target, target_name(f));
    if (st == ADVGP_OK && u->n_no_weight)
        st = gp_notes_add(f->notes, err, u->n_no_weight, "%zu rows of weight 0 are left out", u->n_no_weight);
    if (st == ADVGP_OK && u->n_gaps)
        st = gp_notes_add(f->notes, err, u->n_gaps, "%zu rows with a missing input are left out ({missing} drop)",
                          u->n_gaps);
    return st;
}

static advgp_status settle_split(const gp_fit *f, advgp_error *err)
{
    if (f->split->kind != GP_SPLIT_GROUP) {
        gp_split_settle(f->split, rows_of(f));
        return ADVGP_OK;
    }
    size_t n = f->groups.n;
    double *hashes = gp_alloc(n, sizeof *hashes);
    size_t *rows = gp_alloc(n, sizeof *rows);
    advgp_status st = hashes && rows ? ADVGP_OK : gp_no_memory(err);
    for (size_t i = 0; st == ADVGP_OK && i < n; i++) {
        const gp_category *g = &f->groups.items[i];
        hashes[i] = gp_split_group_hash(f->split, (gp_text){.p = g->text, .n = g->n});
        rows[i] = g->rows;
    }
    if (st == ADVGP_OK) st = gp_split_settle_groups(f->split, rows_of(f), hashes, rows, n, !f->groups.overflowed, err);
    gp_free(hashes);
    gp_free(rows);
    return st;
}

// ---- one column -----------------------------------------------------------------------------------------------------
// A column of text that is numbers but for a few values is a number column with slips in it: better said than encoded.
static advgp_status refuse_slips(const gp_fit *f, const gp_candidate *c, advgp_error *err)
{
    size_t numbers = 0, others = 0;
    const gp_category *slip = NULL;
    for (size_t i = 0; i < c->categories.n; i++) {
        const gp_category *item = &c->categories.items[i];
        double ignored;
        if (gp_parse_number((gp_text){.p = item->text, .n = item->n}, &ignored)) {
            numbers += item->rows;
        } else {
            others += item->rows;
            if (!slip || item->first_row < slip->first_row) slip = item;
        }
    }
    if (!f->options->refuse_dirty || !slip || numbers < 9 * others) return ADVGP_OK;
    char shown[64];
    return gp_fail(
        err, ADVGP_EDATA,
        "%s, row %zu: column '%s' holds '%s' among numbers (%zu such rows); correct it, leave it empty or "
        "name it with {na} if it is missing, decide with {encode} '%s=target' or {exclude} '%s', or leave out "
        "{dirty} error",
        f->source->label, slip->first_row + 1, column_name(f, c),
        gp_show_text(shown, sizeof shown, slip->text, slip->n), others, column_name(f, c), column_name(f, c));
}

static const char many_texts[] = "are left out: too many different texts";

static advgp_status leave_out_text(const gp_fit *f, const gp_candidate *c, advgp_error *err)
{
    const char *name = column_name(f, c);
    size_t n = c->categories.n;
    advgp_status st = refuse_slips(f, c, err);
    if (st != ADVGP_OK) return st;
    if (c->categories.overflowed)
        return gp_notes_add_column(f->notes, err, n, name, many_texts,
                                   "column '%s' is left out: more than %zu different texts in %zu rows", name, n,
                                   rows_of(f));
    return gp_notes_add_column(
        f->notes, err, n, name, many_texts,
        "column '%s' is left out: %zu different texts in %zu rows, too few of each to learn from", name, n, rows_of(f));
}

// Sets *use to whether the text column becomes an input, and its encoding.
static advgp_status decide_text(const gp_fit *f, gp_candidate *c, bool *use, advgp_error *err)
{
    size_t n = c->categories.n, limit = rows_of(f) / GP_ROWS_PER_CATEGORY;
    *use = true;
    if (c->forced) {
        if (c->encoding == GP_ENCODING_ONEHOT && n > GP_ONEHOT_FORCED_MAX)
            return gp_fail(err, ADVGP_EDATA,
                           "column '%s' has %zu values, and one-hot takes %d at most; use {encode} '%s=target'",
                           column_name(f, c), n, GP_ONEHOT_FORCED_MAX, column_name(f, c));
        if (c->categories.overflowed)
            return gp_fail(err, ADVGP_EDATA,
                           "column '%s' has more than %zu values: too many to encode; use {exclude} '%s'",
                           column_name(f, c), n, column_name(f, c));
        return ADVGP_OK;
    }
    if (!c->categories.overflowed && n <= GP_ONEHOT_MAX) {
        c->encoding = GP_ENCODING_ONEHOT;
    } else if (!c->categories.overflowed && n <= limit) {
        c->encoding = GP_ENCODING_TARGET;
        return refuse_slips(f, c, err);
    } else {
        *use = false;
        return leave_out_text(f, c, err);
    }
    return ADVGP_OK;
}

static bool is_constant(const gp_candidate *c)
{
    if (c->encoding == GP_ENCODING_ONEHOT || c->encoding == GP_ENCODING_TARGET)
        return c->categories.n == 1 && c->n_missing == 0;
    bool constant = true;
    int parts = c->encoding == GP_ENCODING_TIME ? GP_TIME_PARTS : 1;
    for (int p = 0; p < parts; p++) constant = constant && c->moments[p].least == c->moments[p].most;
    return constant;
}

// Scales are then those of the column as it will be.
static advgp_status clip_outliers(const gp_fit *f, gp_candidate *c, advgp_error *err)
{
    if (f->options->keep_outliers || !c->sampled) return ADVGP_OK;
    return gp_limits_find(c->sampled, f->sample.w, f->sample.n, &c->moments[0], &c->clip, err);
}

// Ranks know no outliers: a column that has them is not clipped.
static advgp_status look_at_tails(const gp_fit *f, gp_candidate *c, advgp_error *err)
{
    if (!c->sampled) return ADVGP_OK;
    size_t n = 0;
    double *sorted = gp_alloc(f->sample.n, sizeof *sorted);
    if (!sorted) return gp_no_memory(err);
    for (size_t i = 0; i < f->sample.n; i++)
        if (isfinite(c->sampled[i])) sorted[n++] = c->sampled[i];
    gp_sort(sorted, n);
    c->long_tailed = gp_has_long_tails(sorted, n);
    advgp_status st = ADVGP_OK;
    if (c->long_tailed && f->options->ranks) {
        st = gp_warp_fit(&c->warp, sorted, n, err);
        if (st == ADVGP_OK) gp_warp_moments(&c->warp, c->sampled, f->sample.w, f->sample.n, &c->moments[0]);
    }
    gp_free(sorted);
    return st == ADVGP_OK && !c->warp.n ? clip_outliers(f, c, err) : st;
}

// Is this the name of something that tells rows apart: Id, PID, customer_id, orderId, Row, Unnamed: 0?
static bool is_name_of_rows(const char *name)
{
    static const char *const names[] = {"",      "id",         "pid",       "uid",        "uuid",   "guid",
                                        "index", "idx",        "row",       "rowid",      "nr",     "no",
                                        "no.",   "row_number", "rownumber", "row number", "row_id", "key"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i]) == 0) return true;
    if (strncasecmp(name, "unnamed:", 8) == 0) return true;
    const size_t n = strlen(name);
    if (n < 3 || strcasecmp(name + n - 2, "id") != 0) return false;
    const char before = name[n - 3], *end = name + n - 2;
    return strchr("_ -.", before) || (islower((unsigned char)before) && end[0] == 'I');
}

static bool is_name_of_time(const char *name)
{
    static const char *const names[] = {"t",    "time",  "day",  "date",   "hour", "minute",  "second",
                                        "week", "month", "year", "period", "step", "quarter", "age"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncasecmp(name, names[i], strlen(names[i])) == 0 && !isalpha((unsigned char)name[strlen(names[i])]))
            return true;
    return false;
}

// All whole, and no two alike among the rows of the sample.
static bool are_different(const gp_fit *f, gp_candidate *c)
{
    double *v = c->sampled;
    gp_sort(v, f->sample.n); // its last use: clipping needs the order of the rows, and comes before
    bool different = true;
    for (size_t i = 0; different && i < f->sample.n; i++)
        different = v[i] == floor(v[i]) && (i == 0 || v[i] != v[i - 1]);
    return different;
}

// A number that tells rows apart, and was not asked for.
static bool is_identifier(const gp_fit *f, gp_candidate *c)
{
    const char *name = column_name(f, c);
    if (!c->sampled || c->forced || f->options->n_features || c->n_missing || rows_of(f) < IDENTIFIERS_MIN)
        return false;
    if (!c->no_counter && !is_name_of_time(name)) return true;
    return is_name_of_rows(name) && are_different(f, c);
}

static advgp_status leave_out_identifiers(const gp_fit *f, size_t *used, size_t *n_used, advgp_error *err)
{
    size_t kept = 0, n = *n_used;
    bool *leave = gp_alloc(n, sizeof *leave);
    if (!leave) return gp_no_memory(err);
    for (size_t i = 0; i < n; i++) kept += !(leave[i] = is_identifier(f, &f->candidates[used[i]]));
    advgp_status st = ADVGP_OK;
    size_t m = 0;
    for (size_t i = 0; st == ADVGP_OK && i < n; i++) {
        const char *name = column_name(f, &f->candidates[used[i]]);
        if (kept && leave[i])
            st = gp_notes_add(f->notes, err, 1,
                              "column '%s' is left out: a number of its own in every row tells rows apart, and nothing "
                              "else ({encode} '%s=number' keeps it)",
                              name, name);
        else
            used[m++] = used[i];
    }
    *n_used = m;
    gp_free(leave);
    return st;
}

// 20201231 is a number to a reader of files, and a date to people: no other number keeps to months and days.
static advgp_status note_compact_dates(const gp_fit *f, const gp_candidate *c, advgp_error *err)
{
    if (!c->sampled || !(c->moments[0].least >= 19000101 && c->moments[0].most <= 21001231)) return ADVGP_OK;
    for (size_t i = 0; i < f->sample.n; i++) {
        char digits[GP_DECIMAL_BYTES];
        double ignored;
        if (!isfinite(c->sampled[i])) continue;
        (void)gp_decimal_write(c->sampled[i], digits);
        const gp_text text = {.p = digits, .n = strlen(digits)};
        if (!gp_writing_read(text, GP_WRITING_FORMAT, "%Y%m%d", &ignored)) return ADVGP_OK;
    }
    const char *name = column_name(f, c);
    return gp_notes_add(
        f->notes, err, 1,
        "column '%s' holds numbers that look like dates, from %.0f to %.0f: {date-format} '%s=%s' reads "
        "them as such",
        name, c->moments[0].least, c->moments[0].most, name, "%Y%m%d");
}

// Years that hardly any table has: a date that was read in another way than it was written.
static advgp_status note_odd_years(const gp_fit *f, const gp_candidate *c, advgp_error *err)
{
    static const double year = 365.2425;
    const char *name = column_name(f, c);
    const double first = 2000 + floor(c->moments[GP_TIME_DAYS].least / year);
    const double last = 2000 + floor(c->moments[GP_TIME_DAYS].most / year);
    if (c->encoding != GP_ENCODING_TIME || (first >= 1800 && last <= 2200)) return ADVGP_OK;
    return gp_notes_add(f->notes, err, 1,
                        "column '%s' has dates from the year %.0f to the year %.0f: where these are wrong, "
                        "{date-format} '%s=%s' says how they are written",
                        name, first, last, name, "%d.%m.%Y");
}

static advgp_status decide_column(const gp_fit *f, gp_candidate *c, bool *use, advgp_error *err)
{
    *use = false;
    const char *name = column_name(f, c);
    if (c->n_missing == rows_of(f))
        return gp_notes_add_column(f->notes, err, 1, name, "are left out: all their values are missing",
                                   "column '%s' is left out: all its values are missing", name);
    bool text = c->encoding == GP_ENCODING_ONEHOT || c->encoding == GP_ENCODING_TARGET;
    advgp_status st = ADVGP_OK;
    *use = true;
    if (text) st = decide_text(f, c, use, err);
    if (st == ADVGP_OK && *use && is_constant(c)) {
        *use = false;
        st = gp_notes_add_column(f->notes, err, 1, name, "are left out: they are the same in all rows",
                                 "column '%s' is left out: it is the same in all rows", name);
    }
    if (st == ADVGP_OK && *use && c->n_missing)
        st = gp_notes_add_column(f->notes, err, c->n_missing, name,
                                 "have missing values, which are replaced and marked",
                                 "column '%s' is missing in %zu rows: replaced by %s, and marked", name, c->n_missing,
                                 text ? "no category" : "its mean");
    if (st == ADVGP_OK && *use) st = note_compact_dates(f, c, err);
    if (st == ADVGP_OK && *use) st = note_odd_years(f, c, err);
    return st == ADVGP_OK && *use ? look_at_tails(f, c, err) : st;
}

static double encode_category(const gp_fit *f, const gp_category *item)
{
    double pseudo = smoothing_rows * f->y.weight / (double)f->y.n; // in units of weight
    double mean = f->fit_y.n ? f->fit_y.mean : f->y.mean;
    return (item->fit_sum + pseudo * mean) / (item->fit_weight + pseudo);
}

// What varies; angles only of what comes again, seen at least two times (most of a year is enough), in more than two
// values.
static unsigned parts_of(const gp_candidate *c)
{
    static const struct {
        double days;
        gp_time_part of, sine;
    } turns[] = {{300, GP_TIME_YEARDAY, GP_TIME_YEAR_SINE},
                 {14, GP_TIME_WEEKDAY, GP_TIME_WEEK_SINE},
                 {2, GP_TIME_MINUTE, GP_TIME_DAY_SINE}};
    const double days = c->moments[GP_TIME_DAYS].most - c->moments[GP_TIME_DAYS].least;
    unsigned parts = 0;
    for (int p = 0; p <= GP_TIME_MINUTE; p++)
        if (c->moments[p].least < c->moments[p].most) parts |= 1u << p;
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++)
        for (int p = turns[i].sine; p <= (int)turns[i].sine + 1; p++)
            if (days >= turns[i].days && parts >> turns[i].of & 1 &&
                gp_scale_is_usable(sqrt(c->moments[p].m2 / c->moments[p].weight)) &&
                c->moments[p].most - c->moments[p].least > 1e-9)
                parts |= 1u << p;
    return parts;
}

static advgp_status fill_input(const gp_fit *f, gp_candidate *c, gp_input *input, advgp_error *err)
{
    const gp_column *column = &f->source->columns[c->column];
    *input = (gp_input){.type = column->type,
                        .encoding = c->encoding,
                        .indicator = c->n_missing > 0,
                        .range = gp_no_limits(),
                        .clip = c->clip,
                        .warp = c->warp, // moved
                        .long_tailed = c->long_tailed,
                        .written = c->buffer.written,
                        .name = gp_copy_text(column->name)};
    c->warp = (gp_warp){0};
    const bool formatted = c->buffer.written == GP_WRITING_FORMAT;
    if (formatted) input->date_format = gp_copy_text(c->buffer.format);
    memcpy(input->unit, c->unit, sizeof input->unit);
    if (!input->name || (formatted && !input->date_format)) return gp_no_memory(err);
    const bool ordered = c->encoding == GP_ENCODING_NUMBER || c->encoding == GP_ENCODING_TIME;
    if (ordered && column->type != GP_BOOLEAN)
        input->range = (gp_limits){.lo = c->moments[0].least, .hi = c->moments[0].most};
    if (c->encoding == GP_ENCODING_TIME) input->time_parts = parts_of(c);
    if (c->encoding != GP_ENCODING_ONEHOT && c->encoding != GP_ENCODING_TARGET) return ADVGP_OK;
    input->categories = c->categories; // moved
    c->categories = (gp_categories){0};
    gp_categories_sort(&input->categories);
    if (c->encoding == GP_ENCODING_ONEHOT) return ADVGP_OK;
    input->prior = f->fit_y.n ? f->fit_y.mean : f->y.mean;
    input->category_values = gp_alloc(input->categories.n, sizeof *input->category_values);
    if (!input->category_values) return gp_no_memory(err);
    for (size_t k = 0; k < input->categories.n; k++)
        input->category_values[k] = encode_category(f, &input->categories.items[k]);
    return ADVGP_OK;
}

// ---- scales ---------------------------------------------------------------------------------------------------------
// A share may be 0 or 1 but for rounding, and all categories may have one mean: such a column has no scale and needs
// none.
static void set_scale(gp_schema *s, size_t j, double mean, double variance)
{
    s->x_mean[j] = mean;
    s->x_scale[j] = gp_scale_is_usable(sqrt(variance)) ? sqrt(variance) : 1;
}

static void set_share(gp_schema *s, size_t j, double weight)
{
    double p = weight / s->n_weight;
    set_scale(s, j, p, p * (1 - p));
}

static void scale_target_mean(gp_schema *s, const gp_input *input, double missing_weight)
{
    double mean = missing_weight * input->prior, variance = 0;
    for (size_t k = 0; k < input->categories.n; k++)
        mean += input->categories.items[k].weight * input->category_values[k];
    mean /= s->n_weight;
    for (size_t k = 0; k < input->categories.n; k++) {
        double off = input->category_values[k] - mean;
        variance += input->categories.items[k].weight * off * off;
    }
    variance += missing_weight * (input->prior - mean) * (input->prior - mean);
    set_scale(s, input->first, mean, variance / s->n_weight);
}

// Variances are those after imputation: a missing value sits at the mean and adds nothing.
static advgp_status scale_input(gp_schema *s, const gp_input *input, const gp_candidate *c, advgp_error *err)
{
    size_t j = input->first;
    switch (input->encoding) {
    case GP_ENCODING_NUMBER:
        if (!isfinite(c->moments[0].mean) || !gp_scale_is_usable(sqrt(c->moments[0].m2 / s->n_weight)))
            return gp_fail(err, ADVGP_EDATA,
                           "column '%s' goes from %g to %g: %s; multiply it by a power of ten ({sql}), or leave it out "
                           "with {exclude} '%s'",
                           input->name, c->moments[0].least, c->moments[0].most, spread_is_unusable, input->name);
        set_scale(s, j++, c->moments[0].mean, c->moments[0].m2 / s->n_weight);
        break;
    case GP_ENCODING_ONEHOT:
        for (size_t k = 0; k < input->categories.n; k++) set_share(s, j++, input->categories.items[k].weight);
        break;
    case GP_ENCODING_TARGET:
        scale_target_mean(s, input, c->missing_weight), j++;
        break;
    case GP_ENCODING_TIME:
        for (int p = 0; p < GP_TIME_PARTS; p++)
            if (input->time_parts >> p & 1) set_scale(s, j++, c->moments[p].mean, c->moments[p].m2 / s->n_weight);
        break;
    }
    if (input->indicator) set_share(s, j++, c->missing_weight);
    assert(j == input->first + input->n_encoded);
    return ADVGP_OK;
}

// The later pass over the training rows must drop the same rows, also for gaps in columns that were then left out.
static advgp_status keep_gaps(const gp_fit *f, gp_schema *s, advgp_error *err)
{
    if (f->roles.n_gaps == 0) return ADVGP_OK;
    s->gaps = gp_alloc(f->roles.n_gaps, sizeof *s->gaps);
    bool ok = s->gaps != NULL;
    for (size_t i = 0; ok && i < f->roles.n_gaps; i++) {
        s->gaps[i] = gp_copy_text(f->source->columns[f->roles.gaps[i]].name);
        s->n_gaps = i + 1;
        ok = s->gaps[i] != NULL;
    }
    return ok ? ADVGP_OK : gp_no_memory(err);
}

static advgp_status fill_schema(const gp_fit *f, gp_schema *s, advgp_error *err)
{
    const gp_schema_options *o = f->options;
    const gp_column *columns = f->source->columns;
    s->target = gp_copy_text(columns[f->roles.target].name);
    s->weights = o->weights ? gp_copy_text(columns[f->roles.weights].name) : NULL;
    s->inputs = gp_alloc(f->n_candidates, sizeof *s->inputs);
    if (!s->target || (o->weights && !s->weights) || !s->inputs) return gp_no_memory(err);
    s->log_target = o->log_target;
    s->target_written = f->usable.target.written;
    s->weights_are = o->weights_are;
    s->missing = o->missing;
    s->dirty = !o->refuse_dirty;
    advgp_status st = keep_gaps(f, s, err);
    if (st != ADVGP_OK) return st;
    s->n_rows = rows_of(f);
    s->n_weight = f->y.weight;
    s->y_mean = f->y.mean;
    s->y_scale = sqrt(f->y.m2 / f->y.weight);
    s->log_offset = f->roles.log_offset;
    s->log_may_pay = log_may_pay(f);
    s->y_range.lo = gp_schema_target(s, (f->y.least - s->y_mean) / s->y_scale);
    s->y_range.hi = gp_schema_target(s, (f->y.most - s->y_mean) / s->y_scale);
    st = decide_bounds(f, s, err);
    if (st != ADVGP_OK) return st;
    size_t *used = gp_alloc(f->n_candidates, sizeof *used);
    if (!used) st = gp_no_memory(err);
    size_t n_used = 0;
    for (size_t i = 0; st == ADVGP_OK && i < f->n_candidates; i++) {
        bool use = false;
        st = decide_column(f, &f->candidates[i], &use, err);
        if (use) used[n_used++] = i;
    }
    if (st == ADVGP_OK) st = leave_out_identifiers(f, used, &n_used, err);
    for (size_t i = 0; st == ADVGP_OK && i < n_used; i++)
        st = fill_input(f, &f->candidates[used[i]], &s->inputs[s->n_inputs++], err);
    if (st == ADVGP_OK && s->n_inputs == 0)
        st = gp_fail(err, ADVGP_EDATA,
                     "no column is left to predict from: all are constant, missing or free text ({encode} "
                     "COLUMN=target keeps one)");
    if (st == ADVGP_OK) st = gp_schema_layout(s, err);
    for (size_t i = 0; st == ADVGP_OK && i < s->n_inputs; i++)
        st = scale_input(s, &s->inputs[i], &f->candidates[used[i]], err);
    gp_free(used);
    return st;
}

advgp_status gp_fit_decide(gp_fit *f, gp_schema **out, advgp_error *err)
{
    advgp_status st = check_rows(f, err);
    if (st == ADVGP_OK) st = note_rows(f, err);
    if (st == ADVGP_OK) st = note_weights(f, err);
    if (st == ADVGP_OK) st = settle_split(f, err);
    if (st != ADVGP_OK) return st;
    *out = gp_alloc(1, sizeof **out);
    return *out ? fill_schema(f, *out, err) : gp_no_memory(err);
}
