// evaluate.c: a table's rows through a model into an assessment.
#include "api/evaluate.h"
#include "api/answer.h"
#include "store/runlog.h"

#include <stdio.h>

static advgp_status add_all(gp_tally *tally, gp_answers *in, const gp_host *host, advgp_error *err)
{
    gp_answer_block b;
    advgp_status st;
    while ((st = gp_answers_next(in, &b, err)) == ADVGP_OK && b.chunk) {
        for (size_t i = 0; i < b.rows.n; i++)
            gp_tally_add(tally, b.rows.w[i], b.rows.X + i * b.rows.d, b.rows.y[i], b.mean[i], b.var_y[i]);
        if (gp_host_stops(host)) return gp_fail(err, ADVGP_ESTOPPED, "stopped after %zu rows", tally->n);
        if (host && host->rows) host->rows(host->ctx, tally->n);
    }
    if (st == ADVGP_OK && !tally->n)
        st = gp_fail(err, ADVGP_EDATA, "%s has no row with a value of '%s' to compare with",
                     gp_answers_source(in)->label, tally->schema->target);
    return st;
}

advgp_status gp_evaluate(const gp_model *model, const gp_options *o, const gp_host *host, gp_assessment *out,
                         advgp_error *err)
{
    gp_answers *in = NULL;
    gp_linear line = {0};
    gp_tally tally;
    gp_model_data data;
    bool has_line = false;
    advgp_status st = gp_model_data_init(o, host, &data, err);
    if (st == ADVGP_OK) st = gp_answers_open(model, &data.files, GP_ENCODE_EVALUATE, false, &in, err);
    gp_model_data_fini(&data);
    if (st == ADVGP_OK) st = gp_linear_of_model(model, &line, &has_line, err);
    gp_tally_init(&tally, model, has_line ? &line : NULL);
    if (st == ADVGP_OK) st = add_all(&tally, in, host, err);
    if (st == ADVGP_OK) st = gp_answers_notes(in, err);
    if (st == ADVGP_OK) gp_host_notes(host, gp_answers_all_notes(in));
    if (st == ADVGP_OK && !model->calibration)
        gp_host_report(host, "note: the model is not calibrated; its intervals are Gaussian");
    gp_tally_end(&tally, out);
    out->scored = GP_SCORED_TEST;
    gp_linear_fini(&line);
    gp_answers_close(in);
    return st;
}

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

json_t *gp_evaluate_json(const gp_model *model, const gp_assessment *a)
{
    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:{s:o, s:o}, s:{s:o, s:o}}", "rows",
                     (json_int_t)a->n_scored, "rmse", gp_json_real(a->rmse), "mae", gp_json_real(a->mae), "mnlp",
                     gp_json_real(a->mnlp), "r2", gp_json_real(a->r2), "coverage", levels_json(a->coverage),
                     "coverage_gaussian", levels_json(a->coverage_gaussian), "width", levels_json(a->width), "baseline",
                     "mean", gp_json_real(a->baseline_mean), "linear", gp_json_real(a->baseline_linear),
                     "baseline_in_training", "mean", gp_json_real(model->baseline_mean), "linear",
                     gp_json_real(model->baseline_linear));
}
