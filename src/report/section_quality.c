// section_quality.c: is the model good? Its errors beside those of the mean and of a straight line, and a verdict.
#include "report/html.h"
#include "report/report.h"
#include "score/doubt.h"
#include "store/runlog.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- the verdict ----------------------------------------------------------------------------------------------------

typedef enum grade { POOR, FAIR, GOOD } grade;

// Might the two be equally good? By how far the mean of the differences of squared errors is from 0, in its own
// standard errors.
static bool may_be_chance(const gp_beside *b, size_t n)
{
    const double rows = (double)n, mean = b->gain / rows;
    const double variance = (b->gain_square / rows - mean * mean) / fmax(rows - 1, 1);
    return fabs(mean) <= 2 * sqrt(fmax(variance, 0));
}

// "12 % less than", "about as much as", "3 % more than".
static void compare(gp_buffer *out, double ours, double theirs, const char *who)
{
    const double change = ours / theirs - 1;
    if (fabs(change) < 0.005)
        gp_buffer_add(out, "as much as %s (%s)", who, gp_number_of(theirs).p);
    else
        gp_buffer_add(out, "%.0f\u00a0%% %s than %s (%s)", 100 * fabs(change), change < 0 ? "less" : "more", who,
                      gp_number_of(theirs).p);
}

// What share of the target's variance deserves which word.
static const struct {
    double least;
    grade g;
    const char *said;
} by_share[] = {
    {0.8, GOOD, "<strong>Yes.</strong> "},
    {0.5, GOOD, "<strong>Fairly.</strong> "},
    {0.2, FAIR, "<strong>A little.</strong> Most of what moves the target it has not found in these columns. "},
    {-INFINITY, FAIR, "<strong>Hardly.</strong> It has found little about the target in these columns. "},
};

static grade judge_share(const gp_assessment *a, gp_buffer *out)
{
    const double of_mean = a->rmse / a->baseline_mean, share = isfinite(a->r2) ? a->r2 : 1 - of_mean * of_mean;
    size_t i = 0;
    while (share < by_share[i].least) i++;
    gp_buffer_add(out, "%s", by_share[i].said);
    return by_share[i].g;
}

static grade judge(const gp_report *r, const gp_assessment *a, gp_buffer *out)
{
    const double of_mean = a->rmse / a->baseline_mean, of_line = a->rmse / a->baseline_linear;
    const bool chance = r->findings && r->findings->has_linear &&
                        may_be_chance(&r->findings->linear, r->findings->all.n_scored);
    if (isfinite(of_mean) && of_mean > 0.98) {
        gp_buffer_add(out, "<strong>No.</strong> The columns say next to nothing about the target that this model "
                           "could find: always answering the mean is as good. ");
        return POOR;
    }
    if (of_line > 1.02 && !chance) {
        gp_buffer_add(out, "<strong>Not as it is.</strong> Linear regression does better. ");
        return POOR;
    }
    const grade g = judge_share(a, out);
    if (of_line >= 0.98 && of_line <= 1.02)
        gp_buffer_add(out, "Linear regression is as good: beyond a straight line it has found nothing. ");
    else if (isfinite(of_line) && chance)
        gp_buffer_add(out,
                      "Whether it is %s than linear regression these rows cannot tell: the difference may be "
                      "chance. ",
                      of_line < 1 ? "better" : "worse");
    return g;
}

static void write_verdict(const gp_report *r, const gp_assessment *a, gp_buffer *out)
{
    static const char *const styles[] = {[POOR] = "poor", [FAIR] = "fair", [GOOD] = "good"};
    gp_buffer said = {0};
    const grade g = judge(r, a, &said);
    gp_buffer_add(out, "<p class=\"verdict %s\">", styles[g]);
    if (said.p) gp_buffer_bytes(out, said.p, said.n);
    out->failed |= said.failed;
    gp_buffer_fini(&said);
    gp_buffer_add(out, a->n_scored ? "On %s " : "On its ", gp_count_of(a->n_scored).p);
    gp_html_text(out, r->rows);
    gp_buffer_add(out, " its typical error (RMSE) is %s", gp_number_of(a->rmse).p);
    if (isfinite(a->baseline_linear)) {
        gp_buffer_add(out, ", ");
        compare(out, a->rmse, a->baseline_linear, "linear regression");
    }
    if (isfinite(a->baseline_mean)) {
        gp_buffer_add(out, isfinite(a->baseline_linear) ? " and " : ", ");
        compare(out, a->rmse, a->baseline_mean, "always answering the mean");
    }
    gp_buffer_add(out, ".");
    if (isfinite(a->r2) && a->r2 > 0)
        gp_buffer_add(out, " It accounts for %s of the target\u2019s variance.", gp_percent_of(a->r2).p);
    if (isfinite(a->coverage[GP_JUDGED]))
        gp_buffer_add(out, " Of its 90\u00a0%% intervals %s held the observed value.",
                      gp_percent_of(a->coverage[GP_JUDGED]).p);
    if (a->n_scored && a->n_scored < 100) gp_buffer_add(out, " These are few rows: all figures are rough.");
    gp_buffer_add(out, "</p>\n");
}

// ---- figures --------------------------------------------------------------------------------------------------------

static void tile(gp_buffer *out, const char *what, gp_number_text value, const char *more)
{
    gp_buffer_add(out, "<div><dt>%s</dt><dd>%s</dd>", what, value.p);
    if (more) gp_buffer_add(out, "<dd>%s</dd>", more);
    gp_buffer_add(out, "</div>\n");
}

// "12.35 ± 0.42"; of a percentage, "89.7 % ± 1.2".
static gp_number_text doubted(gp_number_text value, double error)
{
    const size_t n = strlen(value.p);
    snprintf(value.p + n, sizeof value.p - n, "%s", gp_doubt_said(error).p);
    return value;
}

static void write_tiles(const gp_assessment *a, gp_buffer *out)
{
    char width[96];
    snprintf(width, sizeof width, "of 90\u00a0%% intervals hold; mean width %s", gp_number_of(a->width[GP_JUDGED]).p);
    gp_buffer_add(out, "<dl class=\"tiles\">\n");
    for (const gp_metric *m = gp_metrics; m < gp_metrics + GP_N_METRICS; m++)
        if (m->means && isfinite(a->values[m->at]))
            tile(out, m->title ? m->title : m->label, doubted(gp_number_of(a->values[m->at]), a->errors[m->at]),
                 m->means);
    if (isfinite(a->coverage[GP_JUDGED]))
        tile(out, "Coverage", doubted(gp_percent_of(a->coverage[GP_JUDGED]), 100 * a->se.coverage[GP_JUDGED]), width);
    gp_buffer_add(out, "</dl>\n");
}

static void beside(gp_buffer *out, const char *who, double rmse, double crps, double inside, const char *style)
{
    gp_html_row(out, style);
    gp_html_head(out, who);
    gp_html_cell_number(out, rmse);
    gp_html_cell_number(out, crps);
    gp_html_cell_percent(out, inside);
    gp_html_row_end(out);
}

static json_t *title_of(const char *target)
{
    gp_buffer text = {0};
    gp_buffer_add(&text, "RMSE of %s", target);
    json_t *title = gp_chart_text(text.p ? text.p : "");
    gp_buffer_fini(&text);
    return title;
}

static void write_baselines(const gp_report *r, const gp_assessment *a, gp_buffer *out)
{
    const gp_findings *f = r->findings;
    const bool line = isfinite(a->baseline_linear);
    json_t *who = json_pack("[s, s]", "this model", "mean"),
           *rmse = json_pack("[o, o]", gp_json_real(a->rmse), gp_json_real(a->baseline_mean));
    json_t *ours = json_pack("[i, i]", 1, 0);
    if (line) {
        json_array_insert_new(who, 1, json_string("linear regression"));
        json_array_insert_new(rmse, 1, gp_json_real(a->baseline_linear));
        json_array_insert_new(ours, 1, json_integer(0));
    }
    char label[256];
    snprintf(label, sizeof label, "Bars of the typical error: this model %s%s%s, the mean %s.", gp_number_of(a->rmse).p,
             line ? ", linear regression " : "", line ? gp_number_of(a->baseline_linear).p : "",
             gp_number_of(a->baseline_mean).p);
    gp_html_figure_take(
        out, (gp_figure){.id = "fig-baselines",
                         .chart = "baselines",
                         .title = "Typical error beside simple predictors",
                         .words = "Root of the mean squared error, in the units of the target. Shorter is better.",
                         .label = label,
                         .data = json_pack("{s:{s:o, s:o, s:o}}", "main", "who", who, "rmse", rmse, "ours", ours),
                         .parameters = json_pack("{s:o}", "title", title_of(r->model->schema->target))});
    gp_html_table(out, "Figures beside simple predictors", "predictor|#RMSE|#CRPS|#inside 90 %");
    beside(out, "this model", a->rmse, a->crps, a->coverage[GP_JUDGED], "ours");
    if (line)
        beside(out, "linear regression", a->baseline_linear, f && f->has_linear ? f->linear.crps : NAN,
               f && f->has_linear ? f->linear.inside : NAN, NULL);
    beside(out, "mean", a->baseline_mean, f ? f->mean.crps : NAN, f ? f->mean.inside : NAN, NULL);
    gp_html_table_end(out);
    gp_html_figure_end(out);
}

advgp_status gp_section_quality(const gp_report *r, gp_buffer *out, advgp_error *err)
{
    (void)err;
    const gp_assessment *a = r->assessment;
    if (!a) {
        gp_section_needs_rows(out, "A verdict");
        gp_section_left_out(r, out);
        return ADVGP_OK;
    }
    write_verdict(r, a, out);
    gp_section_left_out(r, out);
    write_tiles(a, out);
    write_baselines(r, a, out);
    gp_buffer_add(out, "<p class=\"note\">CRPS is in the units of the target and compares the whole predicted "
                       "distribution with what was observed; of a point it would be the mean absolute error.");
    if (isfinite(a->mnlp))
        gp_buffer_add(out, " The mean negative log probability (MNLP) is %s", gp_number_of(a->mnlp).p);
    if (isfinite(a->mnlp_calibrated))
        gp_buffer_add(out, ", of the calibrated distribution %s", gp_number_of(a->mnlp_calibrated).p);
    gp_buffer_add(out, "%s</p>\n", isfinite(a->mnlp) ? "." : "");
    return ADVGP_OK;
}
