// encoding_number.c: a number as it is, within its limits, or by its ranks.
#include "base/alloc.h"
#include "base/decimal.h"
#include "base/sort.h"
#include "data/encoding_kit.h"

#include <math.h>
#include <string.h>

// ---- the first pass -------------------------------------------------------------------------------------------------
// Row numbers from 0 or 1 on.
static void watch_counter(const gp_fit *f, gp_candidate *c, const gp_chunk *chunk, const double *values)
{
    for (size_t k = 0; k < f->usable.n && !c->no_counter; k++) {
        const size_t row = f->usable.rows[k];
        const double off = values[row] - (double)(chunk->first_row + row);
        c->no_counter = off != 0 && off != 1;
    }
}

static advgp_status observe(gp_fit *f, gp_candidate *c, const gp_chunk *chunk, advgp_error *err)
{
    const double *values;
    size_t n;
    const advgp_status st = gp_fit_numbers(f, c, chunk, &values, &n, err);
    if (st != ADVGP_OK) return st;
    for (size_t i = 0; i < f->sample.n_picks; i++)
        c->sampled[f->sample.picks[i].slot] = values[f->usable.rows[f->sample.picks[i].k]];
    watch_counter(f, c, chunk, values);
    gp_moments_add(&c->moments[0], n, f->x, f->w);
    return ADVGP_OK;
}

bool gp_number_is_constant(const gp_candidate *c)
{
    return c->moments[0].least == c->moments[0].most;
}

// 20201231 is a number to a reader of files, and a date to people: no other number keeps to months and days.
static advgp_status note_compact_dates(const gp_fit *f, const gp_candidate *c, advgp_error *err)
{
    if (!(c->moments[0].least >= 19000101 && c->moments[0].most <= 21001231)) return ADVGP_OK;
    for (size_t i = 0; i < f->sample.n; i++) {
        char digits[GP_DECIMAL_BYTES];
        double ignored;
        if (!isfinite(c->sampled[i])) continue;
        (void)gp_decimal_write(c->sampled[i], digits);
        const gp_text text = {.p = digits, .n = strlen(digits)};
        if (!gp_writing_read(text, GP_WRITING_FORMAT, "%Y%m%d", &ignored)) return ADVGP_OK;
    }
    const char *name = gp_fit_column(f, c)->name;
    return gp_notes_add(
        f->notes, err, 1,
        "column '%s' holds numbers that look like dates, from %.0f to %.0f: {date-format} '%s=%s' reads "
        "them as such",
        name, c->moments[0].least, c->moments[0].most, name, "%Y%m%d");
}

// Ranks know no outliers: a column that has them is not clipped. Scales are then those of the column as it will be.
static advgp_status look_at_tails(const gp_fit *f, gp_candidate *c, advgp_error *err)
{
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
    if (st != ADVGP_OK || c->warp.n || f->options->keep_outliers) return st;
    return gp_limits_find(c->sampled, f->sample.w, f->sample.n, &c->moments[0], &c->clip, err);
}

static advgp_status settle(const gp_fit *f, gp_candidate *c, advgp_error *err)
{
    const advgp_status st = note_compact_dates(f, c, err);
    return st == ADVGP_OK ? look_at_tails(f, c, err) : st;
}

static advgp_status fill(const gp_fit *f, gp_candidate *c, gp_input *input, advgp_error *err)
{
    (void)f, (void)err;
    input->range = (gp_limits){.lo = c->moments[0].least, .hi = c->moments[0].most};
    input->clip = c->clip;
    input->long_tailed = c->long_tailed;
    input->warp = c->warp; // moved
    c->warp = (gp_warp){0};
    return ADVGP_OK;
}

advgp_status gp_number_scale(const gp_candidate *c, const gp_input *input, gp_schema *s, advgp_error *err)
{
    const gp_moments *m = &c->moments[0];
    if (!isfinite(m->mean) || !gp_scale_is_usable(sqrt(m->m2 / s->n_weight)))
        return gp_fail(err, ADVGP_EDATA,
                       "column '%s' goes from %g to %g: %s; multiply it by a power of ten ({sql}), or leave it out "
                       "with {exclude} '%s'",
                       input->name, m->least, m->most, gp_spread_is_unusable, input->name);
    gp_fit_scale(s, input->first, m->mean, m->m2 / s->n_weight);
    return ADVGP_OK;
}

// ---- rows -----------------------------------------------------------------------------------------------------------
// 0, which is the mean, where the value is missing.
void gp_number_encode(const gp_input *input, gp_input_scale scale, gp_picked v, double *x, size_t stride,
                      gp_oddities *odd)
{
    const gp_limits range = input->range, clip = input->clip; // copies: writing x cannot change them
    const gp_warp warp = input->warp;
    const bool indicator = input->indicator;
    const double mean = scale.mean[0], inverse = scale.inverse[0];
    for (size_t k = 0; k < v.n; k++, x += stride) {
        const double value = v.numbers[v.rows[k]], clipped = gp_limits_clip(clip, value);
        const bool there = isfinite(value);
        const double encoded = there && warp.n ? gp_warp_at(&warp, clipped) : clipped;
        x[0] = there ? (encoded - mean) * inverse : 0;
        if (indicator) x[1] = ((there ? 0 : 1) - scale.mean[1]) * scale.inverse[1];
        odd->n_outside += there && (value < range.lo || value > range.hi);
        odd->n_clipped += there && (value < clip.lo || value > clip.hi);
    }
}

// ---- and back -------------------------------------------------------------------------------------------------------
static double decode(const gp_schema *s, const gp_input *input, const double *x)
{
    return gp_schema_shown(s, input->first, x[input->first]);
}

static void show(const gp_input *input, double value, gp_buffer *out)
{
    (void)input;
    gp_buffer_add(out, "%.6g", value);
}

// The encoded row tells as much as the table does, but for values beyond the ends at which a column is cut.
bool gp_number_remark(const gp_schema *s, const gp_input *input, const double *x, gp_remark *out)
{
    const double value = gp_schema_shown(s, input->first, x[input->first]);
    const double rounding = 1e-6 * s->x_scale[input->first]; // packed rows have single precision
    const bool outside = value < input->range.lo - rounding || value > input->range.hi + rounding;
    *out = (gp_remark){outside ? "outside" : "cut", value, outside ? input->range : input->clip};
    return outside || fabs(value - input->clip.lo) <= rounding || fabs(value - input->clip.hi) <= rounding;
}

// ---- files ----------------------------------------------------------------------------------------------------------
static bool write(const gp_input *input, json_t *o)
{
    const gp_warp *w = &input->warp;
    if (!w->n) return true;
    return json_object_set_new(o, "ranks",
                               json_pack("[o, o]", gp_numbers_json(w->x, w->n), gp_numbers_json(w->u, w->n))) == 0;
}

static bool ascends(const double *values, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (!(values[i] > values[i - 1])) return false;
    return true;
}

// Absent: no map.
static advgp_status read(const json_t *o, gp_input *input, advgp_error *err)
{
    static const char what[] = "the ranks of an input";
    const json_t *ranks = json_object_get(o, "ranks"), *x = json_array_get(ranks, 0), *u = json_array_get(ranks, 1);
    const size_t n = json_array_size(x);
    gp_warp *w = &input->warp;
    if (!ranks) return ADVGP_OK;
    if (json_array_size(ranks) != 2 || n < 2 || n > GP_WARP_KNOTS) return gp_schema_damaged(what, err);
    *w = (gp_warp){.x = gp_alloc(n, 2 * sizeof *w->x)};
    if (!w->x) return gp_no_memory(err);
    w->n = n, w->u = w->x + n;
    const bool ok = gp_json_numbers(x, n, w->x) && gp_json_numbers(u, n, w->u) && ascends(w->x, n) &&
                    ascends(w->u, n) && w->u[0] >= 0 && w->u[n - 1] <= 1;
    return ok ? ADVGP_OK : gp_schema_damaged(what, err);
}

const gp_encoding gp_encoding_number = {.name = "number",
                                        .described = "number",
                                        .kind = ADVGP_KIND_NUMBER,
                                        .asked = true,
                                        .types = 1u << GP_NUMBER | 1u << GP_TIME | 1u << GP_TEXT,
                                        .suggested = 1u << GP_NUMBER,
                                        .unit = 1,
                                        .observe = observe,
                                        .is_constant = gp_number_is_constant,
                                        .settle = settle,
                                        .fill = fill,
                                        .scale = gp_number_scale,
                                        .width = gp_one_column,
                                        .encode = gp_number_encode,
                                        .decode = decode,
                                        .show = show,
                                        .remark = gp_number_remark,
                                        .write = write,
                                        .read = read};
