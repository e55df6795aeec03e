// decide.c: from the sums of the first pass to a schema: which columns are used and how, with a note for each that is
// not, and the scales that make every encoded column mean 0 and variance 1 over the (weighted) training rows.
#include "data/fit.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "data/encoding.h"
#include "data/strings.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

enum { BOUNDS_ROWS_MIN = 1000, IDENTIFIERS_MIN = 50 }; // rows: of fewer, a number of its own in every row is no wonder

const gp_column *gp_fit_column(const gp_fit *f, const gp_candidate *c)
{
    return &f->source->columns[c->column];
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

const char gp_spread_is_unusable[] = "double precision cannot compute with the square of such a spread";

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
                       f->y.least, f->y.most, gp_spread_is_unusable,
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
    const char *name = gp_fit_column(f, c)->name;
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
        const char *name = gp_fit_column(f, &f->candidates[used[i]])->name;
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

static advgp_status decide_column(const gp_fit *f, gp_candidate *c, bool *use, advgp_error *err)
{
    *use = false;
    const char *name = gp_fit_column(f, c)->name;
    if (c->n_missing == rows_of(f))
        return gp_notes_add_column(f->notes, err, 1, name, "are left out: all their values are missing",
                                   "column '%s' is left out: all its values are missing", name);
    *use = true;
    advgp_status st = c->encoding->decide ? c->encoding->decide(f, c, use, err) : ADVGP_OK;
    if (st == ADVGP_OK && *use && c->encoding->is_constant(c)) {
        *use = false;
        st = gp_notes_add_column(f->notes, err, 1, name, "are left out: they are the same in all rows",
                                 "column '%s' is left out: it is the same in all rows", name);
    }
    if (st == ADVGP_OK && *use && c->n_missing)
        st = gp_notes_add_column(f->notes, err, c->n_missing, name,
                                 "have missing values, which are replaced and marked",
                                 "column '%s' is missing in %zu rows: replaced by %s, and marked", name, c->n_missing,
                                 c->encoding->texts ? "no category" : "its mean");
    return st == ADVGP_OK && *use && c->encoding->settle ? c->encoding->settle(f, c, err) : st;
}

static advgp_status fill_input(const gp_fit *f, gp_candidate *c, gp_input *input, advgp_error *err)
{
    const gp_column *column = gp_fit_column(f, c);
    *input = (gp_input){.type = column->type,
                        .encoding = c->encoding,
                        .indicator = c->n_missing > 0,
                        .range = gp_no_limits(),
                        .clip = gp_no_limits(),
                        .written = c->buffer.written,
                        .name = gp_copy_text(column->name)};
    const bool formatted = c->buffer.written == GP_WRITING_FORMAT;
    if (formatted) input->date_format = gp_copy_text(c->buffer.format);
    memcpy(input->unit, c->unit, sizeof input->unit);
    if (!input->name || (formatted && !input->date_format)) return gp_no_memory(err);
    return c->encoding->fill ? c->encoding->fill(f, c, input, err) : ADVGP_OK;
}

// ---- scales ---------------------------------------------------------------------------------------------------------
// A share may be 0 or 1 but for rounding, and all categories may have one mean: such a column has no scale and needs
// none.
void gp_fit_scale(gp_schema *s, size_t j, double mean, double variance)
{
    s->x_mean[j] = mean;
    s->x_scale[j] = gp_scale_is_usable(sqrt(variance)) ? sqrt(variance) : 1;
}

void gp_fit_share(gp_schema *s, size_t j, double weight)
{
    double p = weight / s->n_weight;
    gp_fit_scale(s, j, p, p * (1 - p));
}

static advgp_status scale_input(gp_schema *s, const gp_input *input, const gp_candidate *c, advgp_error *err)
{
    if (input->indicator) gp_fit_share(s, input->first + input->n_encoded - 1, c->missing_weight);
    return input->encoding->scale(c, input, s, err);
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
