// assess_json.c: see assess_json.h.
#include "score/assess_json.h"
#include "base/whole.h"
#include "store/runlog.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const scored_names[] = {[GP_SCORED_HELD_OUT] = "held-out",
                                           [GP_SCORED_LEFT_OUT] = "leave-one-out",
                                           [GP_SCORED_REFITTED] = "cross-validation",
                                           [GP_SCORED_TEST] = "test"};
enum { SCORED_NAMES = sizeof scored_names / sizeof *scored_names };

const char *gp_scored_name(gp_scored scored)
{
    return scored_names[scored];
}

// ---- writing --------------------------------------------------------------------------------------------------------

static json_t *levels_json(const double *values)
{
    json_t *o = json_object();
    for (size_t l = 0; l < GP_LEVELS; l++) {
        char level[16];
        snprintf(level, sizeof level, "%g", gp_levels[l]);
        json_object_set_new(o, level, gp_json_real(values[l]));
    }
    return o;
}

static json_t *tenths_json(const gp_tenth *tenths, size_t n)
{
    json_t *list = json_array();
    for (size_t k = 0; k < n; k++)
        json_array_append_new(list,
                              json_pack("{s:o, s:o, s:I, s:o, s:o}", "from", gp_json_real(tenths[k].from), "to",
                                        gp_json_real(tenths[k].to), "rows", (json_int_t)tenths[k].rows, "coverage",
                                        gp_json_real(tenths[k].coverage), "width", gp_json_real(tenths[k].width)));
    return list;
}

json_t *gp_assessment_json(const gp_assessment *a)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "coverage",
                     levels_json(a->coverage), "coverage_se", levels_json(a->coverage_se), "rmse_se",
                     gp_json_real(a->rmse_se), "r2", gp_json_real(a->r2), "r2_se", gp_json_real(a->r2_se),
                     "coverage_gaussian", levels_json(a->coverage_gaussian), "width", levels_json(a->width), "crps",
                     gp_json_real(a->crps), "winkler", gp_json_real(a->winkler), "mnlp_calibrated",
                     gp_json_real(a->mnlp_calibrated), "coverage_by_prediction",
                     tenths_json(a->by_prediction, a->n_tenths), "coverage_by_sd", tenths_json(a->by_sd, a->n_tenths));
}

json_t *gp_assessment_whole_json(const gp_assessment *a)
{
    json_t *o = json_pack("{s:s, s:I, s:o, s:o, s:o, s:{s:o, s:o}}", "scored_on", gp_scored_name(a->scored),
                          "scored_rows", (json_int_t)a->n_scored, "rmse", gp_json_real(a->rmse), "mae",
                          gp_json_real(a->mae), "mnlp", gp_json_real(a->mnlp), "baseline", "mean",
                          gp_json_real(a->baseline_mean), "linear", gp_json_real(a->baseline_linear));
    json_t *figures = gp_assessment_json(a);
    json_object_update(o, figures);
    json_decref(figures);
    return o;
}

// ---- reading --------------------------------------------------------------------------------------------------------

static void read_levels(const json_t *o, double *out)
{
    for (size_t l = 0; l < GP_LEVELS; l++) {
        char level[16];
        snprintf(level, sizeof level, "%g", gp_levels[l]);
        out[l] = gp_json_real_of(o, level);
    }
}

static size_t read_tenths(const json_t *list, gp_tenth *out)
{
    if (json_array_size(list) != GP_TENTHS) return 0;
    for (size_t k = 0; k < GP_TENTHS; k++) {
        const json_t *t = json_array_get(list, k);
        const double rows = gp_json_real_of(t, "rows");
        out[k] = (gp_tenth){.from = gp_json_real_of(t, "from"),
                            .to = gp_json_real_of(t, "to"),
                            .rows = rows < 1e15 ? gp_index(rows, SIZE_MAX) : 0,
                            .coverage = gp_json_real_of(t, "coverage"),
                            .width = gp_json_real_of(t, "width")};
    }
    return GP_TENTHS;
}

bool gp_assessment_read(const json_t *o, gp_assessment *out)
{
    const double rows = gp_json_real_of(o, "scored_rows");
    const json_t *baseline = json_object_get(o, "baseline");
    const char *scored = json_string_value(json_object_get(o, "scored_on"));
    *out = (gp_assessment){.rmse = gp_json_real_of(o, "rmse"),
                           .mae = gp_json_real_of(o, "mae"),
                           .mnlp = gp_json_real_of(o, "mnlp"),
                           .r2 = gp_json_real_of(o, "r2"),
                           .rmse_se = gp_json_real_of(o, "rmse_se"),
                           .r2_se = gp_json_real_of(o, "r2_se"),
                           .baseline_mean = gp_json_real_of(baseline, "mean"),
                           .baseline_linear = gp_json_real_of(baseline, "linear"),
                           .crps = gp_json_real_of(o, "crps"),
                           .winkler = gp_json_real_of(o, "winkler"),
                           .mnlp_calibrated = gp_json_real_of(o, "mnlp_calibrated")};
    for (size_t i = 0; scored && i < SCORED_NAMES; i++)
        if (!strcmp(scored, scored_names[i])) out->scored = (gp_scored)i;
    read_levels(json_object_get(o, "coverage"), out->coverage);
    read_levels(json_object_get(o, "coverage_se"), out->coverage_se);
    read_levels(json_object_get(o, "coverage_gaussian"), out->coverage_gaussian);
    read_levels(json_object_get(o, "width"), out->width);
    const size_t n = read_tenths(json_object_get(o, "coverage_by_prediction"), out->by_prediction);
    out->n_tenths = n == read_tenths(json_object_get(o, "coverage_by_sd"), out->by_sd) ? n : 0;
    if (!(rows >= 1 && rows < 1e15)) return false;
    out->n_scored = gp_index(rows, SIZE_MAX);
    return true;
}
