// answer_columns.c: options into columns, a row's distribution into values.
#include "answer/answer_columns.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "base/text.h"
#include "base/whole.h"
#include "score/score.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- which ----------------------------------------------------------------------------------------------------------

static void add(gp_answer_columns *c, gp_answer_kind kind, double at, const char *name, const char *suffix)
{
    gp_answer_column *column = &c->list[c->n++];
    column->kind = kind, column->at = at;
    snprintf(column->name, sizeof column->name, "%s%s%s", name, *suffix ? "_" : "", suffix);
}

// One value alone needs no number in its name.
static void add_intervals(gp_answer_columns *c, char *const *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double level = 0;
        (void)gp_text_real(items[i], &level);
        add(c, GP_ANSWER_LO, level, "lo", n > 1 ? items[i] : "");
        add(c, GP_ANSWER_HI, level, "hi", n > 1 ? items[i] : "");
    }
}

static void add_each(gp_answer_columns *c, gp_answer_kind kind, const char *name, bool numbered, char *const *items,
                     size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double at = 0;
        (void)gp_text_real(items[i], &at);
        add(c, kind, at, name, numbered ? items[i] : "");
    }
}

static advgp_status check_names(const gp_answer_columns *c, advgp_error *err)
{
    for (size_t i = 0; i < c->n; i++)
        if (gp_answer_columns_find(c, c->list[i].name) != &c->list[i])
            return gp_fail(err, ADVGP_EINVAL, "the output would have two columns '%s': ask for each once",
                           c->list[i].name);
    return ADVGP_OK;
}

advgp_status gp_answer_columns_init(gp_answer_columns *c, const gp_options *o, const gp_model *model, advgp_error *err)
{
    char *const *levels, *const *quantiles, *const *thresholds;
    const size_t n_levels = gp_options_list(o, "interval", &levels);
    const size_t n_quantiles = gp_options_list(o, "quantiles", &quantiles);
    const size_t n_thresholds = gp_options_list(o, "exceeds", &thresholds);
    const size_t n_draws = (size_t)gp_options_int(o, "draws");
    *c = (gp_answer_columns){.mean_only = gp_options_flag(o, "mean-only"),
                             .seed = (uint64_t)gp_options_int(o, "seed"),
                             .schema = model->schema};
    if (c->mean_only && (gp_options_given(o, "interval") || n_quantiles || n_thresholds || n_draws))
        return gp_fail(err, ADVGP_EINVAL,
                       "{mean-only} gives no column but the mean: leave it out, or {interval}, {quantiles}, {exceeds} "
                       "and {draws}");
    c->scores = &model->calibration;
    c->list = gp_alloc(3 + 2 * n_levels + n_quantiles + n_thresholds + n_draws, sizeof *c->list);
    if (!c->list) return gp_no_memory(err);
    add(c, GP_ANSWER_MEAN, 0, "mean", "");
    if (c->mean_only) return ADVGP_OK;
    add(c, GP_ANSWER_SD_F, 0, "sd_f", "");
    add(c, GP_ANSWER_SD_Y, 0, "sd_y", "");
    add_intervals(c, levels, n_levels);
    add_each(c, GP_ANSWER_QUANTILE, "q", true, quantiles, n_quantiles);
    add_each(c, GP_ANSWER_EXCEEDS, "p_exceeds", n_thresholds > 1, thresholds, n_thresholds);
    for (size_t k = 1; k <= n_draws; k++) {
        char number[24];
        snprintf(number, sizeof number, "%zu", k);
        add(c, GP_ANSWER_DRAW, (double)k, "draw", number);
    }
    return check_names(c, err);
}

void gp_answer_columns_fini(gp_answer_columns *c)
{
    gp_free(c->list);
    c->list = NULL;
}

const gp_answer_column *gp_answer_columns_find(const gp_answer_columns *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->list[i].name, name) == 0) return &c->list[i];
    return NULL;
}

const gp_answer_column *gp_answer_columns_beyond(const gp_answer_columns *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const gp_answer_column *k = &c->list[i];
        const bool interval = k->kind == GP_ANSWER_LO;
        if ((interval && !gp_scores_reach(c->scores, 0.5 * (1 - k->at))) ||
            (k->kind == GP_ANSWER_QUANTILE && !gp_scores_reach(c->scores, k->at)))
            return k;
    }
    return NULL;
}

// ---- values ---------------------------------------------------------------------------------------------------------

// A uniform number of the seed, the row and the draw alone, inside of (0, 1).
static double uniform_of(const gp_answer_columns *c, size_t row, double draw)
{
    const uint64_t stream = gp_hash_u64(c->seed, (uint64_t)row);
    return fmax(gp_hash_uniform(stream, (uint64_t)gp_index(draw, SIZE_MAX)), 1e-12);
}

static void fill_row(const gp_answer_columns *c, size_t row, double mean, double var_f, double var_y, double *values)
{
    const gp_distribution d = {.scores = c->scores, .schema = c->schema, .mean = mean, .sd = sqrt(var_y)};
    double ends[2] = {0};
    for (size_t i = 0; i < c->n; i++) {
        const gp_answer_column *k = &c->list[i];
        switch (k->kind) {
        case GP_ANSWER_MEAN:
            values[i] = gp_predicted_mean(c->schema, mean, var_y);
            break;
        case GP_ANSWER_SD_F:
            values[i] = gp_predicted_sd(c->schema, mean, var_f);
            break;
        case GP_ANSWER_SD_Y:
            values[i] = gp_predicted_sd(c->schema, mean, var_y);
            break;
        case GP_ANSWER_LO:
            gp_distribution_interval(&d, k->at, ends);
            values[i] = ends[0];
            break;
        case GP_ANSWER_HI: // of the column before
            values[i] = ends[1];
            break;
        case GP_ANSWER_QUANTILE:
            values[i] = gp_distribution_quantile(&d, k->at);
            break;
        case GP_ANSWER_EXCEEDS:
            values[i] = gp_distribution_exceeds(&d, k->at);
            break;
        case GP_ANSWER_DRAW:
            values[i] = gp_distribution_quantile(&d, uniform_of(c, row, k->at));
            break;
        }
    }
}

bool gp_answer_row(const gp_answer_columns *c, size_t row, double mean, double var_f, double var_y, double *values)
{
    bool whole = true;
    fill_row(c, row, mean, var_f, var_y, values);
    for (size_t i = 0; i < c->n; i++) { // a NaN that is cut at a bound would pass for an answer
        const bool good = isfinite(mean) && isfinite(values[i]);
        if (!good) values[i] = NAN;
        whole = whole && good;
    }
    return whole;
}
