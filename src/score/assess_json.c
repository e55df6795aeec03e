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

typedef struct key {
    char p[64];
} key;

static key level_of(size_t level)
{
    key k;
    snprintf(k.p, sizeof k.p, "%g", gp_levels[level]);
    return k;
}

static key error_of(const gp_metric *m)
{
    key k;
    snprintf(k.p, sizeof k.p, "%s_se", m->name);
    return k;
}

// The figures of a metric: a number, or an object by level.
static json_t *figures_json(const gp_metric *m, const double *figures)
{
    if (m->n == 1) return gp_json_real(figures[m->at]);
    json_t *o = json_object();
    for (size_t l = 0; l < m->n; l++) json_object_set_new(o, level_of(l).p, gp_json_real(figures[m->at + l]));
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

void gp_assessment_add(const gp_assessment *a, json_t *o)
{
    for (const gp_metric *m = gp_metrics; m < gp_metrics + GP_N_METRICS; m++) {
        json_object_set_new(o, m->name, figures_json(m, a->values));
        if (m->error) json_object_set_new(o, error_of(m).p, figures_json(m, a->errors));
    }
    json_object_set_new(
        o, "baseline",
        json_pack("{s:o, s:o}", "mean", gp_json_real(a->baseline_mean), "linear", gp_json_real(a->baseline_linear)));
    json_object_set_new(o, "coverage_by_prediction", tenths_json(a->by_prediction, a->n_tenths));
    json_object_set_new(o, "coverage_by_sd", tenths_json(a->by_sd, a->n_tenths));
}

json_t *gp_assessment_whole_json(const gp_assessment *a)
{
    json_t *o = json_pack("{s:s, s:I}", "scored_on", gp_scored_name(a->scored), "scored_rows", (json_int_t)a->n_scored);
    gp_assessment_add(a, o);
    return o;
}

// ---- reading --------------------------------------------------------------------------------------------------------

static void read_figures(const json_t *o, const gp_metric *m, const char *name, double *out)
{
    const json_t *levels = json_object_get(o, name);
    for (size_t l = 0; l < m->n; l++)
        out[m->at + l] = m->n == 1 ? gp_json_real_of(o, name) : gp_json_real_of(levels, level_of(l).p);
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
    *out = (gp_assessment){.baseline_mean = gp_json_real_of(baseline, "mean"),
                           .baseline_linear = gp_json_real_of(baseline, "linear")};
    for (const gp_metric *m = gp_metrics; m < gp_metrics + GP_N_METRICS; m++) {
        read_figures(o, m, m->name, out->values);
        read_figures(o, m, error_of(m).p, out->errors);
    }
    for (size_t i = 0; scored && i < SCORED_NAMES; i++)
        if (!strcmp(scored, scored_names[i])) out->scored = (gp_scored)i;
    const size_t n = read_tenths(json_object_get(o, "coverage_by_prediction"), out->by_prediction);
    out->n_tenths = n == read_tenths(json_object_get(o, "coverage_by_sd"), out->by_sd) ? n : 0;
    if (!(rows >= 1 && rows < 1e15)) return false;
    out->n_scored = gp_index(rows, SIZE_MAX);
    return true;
}
