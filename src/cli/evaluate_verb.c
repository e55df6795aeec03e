// evaluate_verb.c: advgp evaluate: how good a model is on rows whose target is known, beside the mean and linear
// regression.
#include "api/answer.h"
#include "api/load.h"
#include "base/alloc.h"
#include "cli/cli.h"
#include "files/files.h"
#include "linalg/blas.h"
#include "linalg/dense.h"
#include "linalg/factor.h"
#include "score/score.h"
#include "store/runlog.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double levels[] = {0.5, 0.8, 0.9, 0.95, 0.99};
enum { N_LEVELS = sizeof levels / sizeof *levels };

typedef struct coverage {
    double factor, inside, width; // sums of weights
} coverage;

typedef struct figures {
    const gp_model *model;
    size_t n_rows;
    gp_score score, by_mean, by_line; // the model, the mean of the training rows, linear regression on them
    double y, yy, y_first;            // sums for the variance of the target, about its first value
    coverage calibrated[N_LEVELS], gaussian[N_LEVELS];
    // Linear regression on the training rows, from the model's statistics: NULL where it has none of a linear trend.
    double *linear; // [1 + d], of standardised inputs and target
    double linear_variance;
} figures;

// ---- linear regression ----------------------------------------------------------------------------------------------

// Among the features of a linear trend are 1 and x, so the statistics hold the normal equations of least squares. A and
// R are scratch (n x n); false where the equations have no solution.
static bool solve_linear(figures *f, size_t n, double *A, double *R)
{
    const gp_model *m = f->model;
    const size_t first = m->layout.M - n;
    const double *b = m->stats.b + first, *ln_scales = m->theta + m->layout.n_rest - 2; // ln s_c, ln s_l
    double scale = 0;
    gp_rung rung = {.jitter = 1e-12}; // one-hot columns add up to one: the least bit of ridge
    gp_mat_copy(gp_cmat_part(gp_ro(m->stats.A), first, first, n, n), gp_mat_of(A, n, n));
    for (size_t i = 0; i < n; i++) scale += A[i * n + i] / (double)n;
    memcpy(f->linear, b, n * sizeof *b);
    if (!gp_cholesky_ladder(gp_cmat_of(A, n, n), scale, &rung, gp_mat_of(R, n, n))) return false;
    gp_trsm_left(GP_UPPER, GP_AS_IS, gp_cmat_of(R, n, n), gp_mat_of(f->linear, n, 1));
    gp_trsm_left(GP_UPPER, GP_TRANSPOSED, gp_cmat_of(R, n, n), gp_mat_of(f->linear, n, 1));
    f->linear_variance = fmax(0, (m->stats.yy - gp_dot(n, b, f->linear)) / m->stats.n);
    for (size_t i = 0; i < n; i++) f->linear[i] *= exp(ln_scales[i > 0]);
    return true;
}

static advgp_status fit_linear(figures *f, advgp_error *err)
{
    const size_t n = f->model->spec.d + 1;
    if (f->model->spec.trend != GP_TREND_LINEAR || f->model->layout.M < n || !(f->model->stats.n > 0)) return ADVGP_OK;
    double *A = gp_alloc(n, n * sizeof *A), *R = gp_alloc(n, n * sizeof *R);
    f->linear = gp_alloc(n, sizeof *f->linear);
    const bool memory = A && R && f->linear;
    if (memory && !solve_linear(f, n, A, R)) {
        gp_free(f->linear);
        f->linear = NULL;
    }
    gp_free(A);
    gp_free(R);
    return memory ? ADVGP_OK : gp_fail(err, ADVGP_ENOMEM, "no memory for linear regression");
}

// ---- sums -----------------------------------------------------------------------------------------------------------

static void cover(coverage *c, const gp_schema *s, double mean, double var_y, double y, double w)
{
    const gp_answer a = gp_answer_of(s, mean, 0, var_y, c->factor);
    c->inside += y >= a.lo && y <= a.hi ? w : 0;
    c->width += w * (a.hi - a.lo);
}

static void add_row(figures *f, const gp_answer_block *b, size_t i)
{
    const gp_schema *s = f->model->schema;
    const double z = b->rows.y[i], w = b->rows.w[i], var_y = b->var_y[i];
    const double y = gp_schema_target(s, z);
    if (!f->n_rows++) f->y_first = y;
    gp_score_add(&f->score, s, w, z, b->mean[i], var_y);
    gp_score_add(&f->by_mean, s, w, z, 0, 1); // of a logarithm, with its variance: the lognormal mean
    f->y += w * (y - f->y_first);
    f->yy += w * (y - f->y_first) * (y - f->y_first);
    if (f->linear) {
        const double line = f->linear[0] + gp_dot(b->rows.d, b->rows.X + i * b->rows.d, f->linear + 1);
        gp_score_add(&f->by_line, s, w, z, line, f->linear_variance);
    }
    for (size_t l = 0; l < N_LEVELS; l++) {
        cover(&f->calibrated[l], s, b->mean[i], var_y, y, w);
        cover(&f->gaussian[l], s, b->mean[i], var_y, y, w);
    }
}

static advgp_status add_all(figures *f, gp_answers *in, const gp_options *options, advgp_error *err)
{
    const gp_host *host = gp_cli_host(options);
    gp_answer_block block;
    advgp_status st;
    while ((st = gp_answers_next(in, &block, err)) == ADVGP_OK && block.chunk) {
        for (size_t i = 0; i < block.rows.n; i++) add_row(f, &block, i);
        if (gp_cli_stopped()) return gp_fail(err, ADVGP_ESTOPPED, "stopped after %zu rows", f->n_rows);
        host->rows(host->ctx, f->n_rows);
    }
    if (st == ADVGP_OK && !f->n_rows)
        st = gp_fail(err, ADVGP_EDATA, "%s has no row with a value of '%s' to compare with",
                     gp_answers_source(in)->label, f->model->schema->target);
    return st;
}

// ---- the result -----------------------------------------------------------------------------------------------------

static double r_squared(const figures *f)
{
    return 1 - f->score.squares / (f->yy - f->y * f->y / f->score.n); // not finite where the target is constant
}

static json_t *coverage_json(const figures *f, const coverage *list, bool width)
{
    json_t *o = json_object();
    for (size_t l = 0; l < N_LEVELS; l++) {
        char level[16];
        snprintf(level, sizeof level, "%g", levels[l]);
        json_object_set_new(o, level, gp_json_real((width ? list[l].width : list[l].inside) / f->score.n));
    }
    return o;
}

static json_t *result_json(const figures *f)
{
    return json_pack(
        "{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:{s:o, s:o}, s:{s:o, s:o}}", "rows", (json_int_t)f->n_rows, "rmse",
        gp_json_real(gp_score_rmse(&f->score)), "mae", gp_json_real(gp_score_mae(&f->score)), "mnlp",
        gp_json_real(gp_score_mnlp(&f->score)), "r2", gp_json_real(r_squared(f)), "coverage",
        coverage_json(f, f->calibrated, false), "coverage_gaussian", coverage_json(f, f->gaussian, false), "width",
        coverage_json(f, f->calibrated, true), "baseline", "mean", gp_json_real(gp_score_rmse(&f->by_mean)), "linear",
        gp_json_real(gp_score_rmse(&f->by_line)), "baseline_in_training", "mean", gp_json_real(f->model->baseline_mean),
        "linear", gp_json_real(f->model->baseline_linear));
}

static void add_number(gp_buffer *out, int width, double value)
{
    if (isfinite(value))
        gp_buffer_add(out, "%*.5g", width, value);
    else
        gp_buffer_add(out, "%*s", width, "-");
}

static void result_text(const figures *f, gp_buffer *out)
{
    gp_buffer_add(out, "%zu rows of '%s'\n\n", f->n_rows, f->model->schema->target);
    gp_buffer_add(out, "            this model        mean      linear\n");
    const double errors[] = {gp_score_rmse(&f->score), gp_score_rmse(&f->by_mean), gp_score_rmse(&f->by_line)};
    gp_buffer_add(out, "RMSE      ");
    for (size_t i = 0; i < 3; i++) add_number(out, 12, errors[i]);
    gp_buffer_add(out, "\nin training          ");
    gp_buffer_add(out, " ");
    add_number(out, 12, f->model->baseline_mean);
    add_number(out, 12, f->model->baseline_linear);
    const double others[] = {gp_score_mae(&f->score), gp_score_mnlp(&f->score), r_squared(f)};
    static const char *const names[] = {"MAE", "MNLP", "R2"};
    for (size_t i = 0; i < 3; i++) {
        gp_buffer_add(out, "\n%-10s", names[i]);
        add_number(out, 12, others[i]);
    }
    gp_buffer_add(out, "\n\ninterval    calibrated    Gaussian  mean width\n");
    for (size_t l = 0; l < N_LEVELS; l++) {
        gp_buffer_add(out, "%6g %%    %9.2f %% %9.2f %%", 100 * levels[l], 100 * f->calibrated[l].inside / f->score.n,
                      100 * f->gaussian[l].inside / f->score.n);
        add_number(out, 12, f->calibrated[l].width / f->score.n);
        gp_buffer_add(out, "\n");
    }
}

static advgp_status evaluate(figures *f, const gp_options *options, advgp_error *err)
{
    gp_answers *in = NULL;
    for (size_t l = 0; l < N_LEVELS; l++) {
        f->calibrated[l].factor = gp_model_interval(f->model, levels[l]);
        f->gaussian[l].factor = gp_gaussian_interval(levels[l]);
    }
    gp_model_data data;
    advgp_status st = gp_model_data_init(options, gp_cli_host(options), &data, err);
    if (st == ADVGP_OK) st = gp_answers_open(f->model, &data.files, GP_ENCODE_EVALUATE, false, &in, err);
    gp_model_data_fini(&data);
    if (st == ADVGP_OK) st = fit_linear(f, err);
    if (st == ADVGP_OK) st = add_all(f, in, options, err);
    if (st == ADVGP_OK) st = gp_answers_notes(in, err);
    if (st == ADVGP_OK) gp_cli_notes(options, gp_answers_all_notes(in));
    gp_answers_close(in);
    if (st != ADVGP_OK) return st;
    if (!f->model->calibration) gp_cli_say(options, "note: the model is not calibrated; its intervals are Gaussian");
    if (gp_options_flag(options, "json")) return gp_cli_print_json_take(result_json(f), err);
    gp_buffer text = {0};
    result_text(f, &text);
    return gp_cli_print_take(&text, err);
}

advgp_status gp_cli_evaluate(const gp_options *options, advgp_error *err)
{
    gp_model *model = NULL;
    advgp_status st = gp_blas_reserve(1, err);
    if (st == ADVGP_OK) st = gp_model_load(options->operands[0], &model, err);
    if (st != ADVGP_OK) return st;
    figures f = {.model = model};
    st = evaluate(&f, options, err);
    gp_free(f.linear);
    gp_model_free(model);
    return st;
}
