// scale_fit.c: logarithms of scores, a short training on them, and q(w) solved again as the factor comes to be known.
#include "recipe/scale_fit.h"
#include "base/alloc.h"
#include "base/least.h"
#include "learn/scale_search.h"
#include "linalg/dense.h"
#include "model/qw.h"
#include "recipe/small_fit.h"
#include "recipe/table.h"
#include "score/left_out.h"

#include <math.h>
#include <string.h>

// Small beside the model of the mean: a scale needs less detail.
enum { WORKERS_MAX = 4, SHARPENED = 3 };
enum { FOLDS = 5, FOLDS_MANY = 3, MANY_ROWS = 1000 }; // of many rows two thirds tell what four fifths do
enum { BATCH_MIN = 512, BATCH_NUMBERS = 1 << 18 };    // of wide tables a batch has fewer rows: its time goes with both
// Of few rows inducing inputs are not learned and may be more: one for five rows. A line takes ten a column.
enum { INDUCING_FEW = 100, ROWS_EACH = 5, ROWS_A_COLUMN = 10 };
enum { ITERATIONS = 40 };

// ---- rows -----------------------------------------------------------------------------------------------------------

advgp_status gp_scale_rows_init(gp_scale_rows *s, size_t capacity, size_t d, advgp_error *err)
{
    double **arrays[] = {&s->u, &s->z, &s->w, &s->ln_g, &s->ln_g_unseen, &s->sorted};
    enum { ARRAYS = sizeof arrays / sizeof *arrays };
    *s = (gp_scale_rows){.d = d, .X = gp_alloc(capacity, (d + ARRAYS) * sizeof *s->X)};
    if (!s->X) return gp_no_memory(err);
    for (size_t i = 0; i < ARRAYS; i++) *arrays[i] = s->X + capacity * (d + i);
    return ADVGP_OK;
}

void gp_scale_rows_fini(gp_scale_rows *s)
{
    gp_free(s->X);
}

static gp_cmat inputs_of(const gp_scale_rows *s)
{
    return gp_cmat_of(s->X, s->n, s->d);
}

// ---- the logarithm of residuals -------------------------------------------------------------------------------------

// z = ln g + psi (score/left_out.h), standardised. False where they hardly differ, so that there is nothing to fit.
static bool take_logarithms(gp_scale_rows *s)
{
    double n = 0, sum = 0, squares = 0;
    if (!gp_scale_logarithms(s->n, s->u, s->ln_g, s->sorted, s->z)) return false;
    for (size_t i = 0; i < s->n; i++) {
        s->z[i] += s->ln_g[i];
        n += s->w[i], sum += s->w[i] * s->z[i];
    }
    s->centre = sum / n;
    for (size_t i = 0; i < s->n; i++) squares += s->w[i] * (s->z[i] - s->centre) * (s->z[i] - s->centre);
    s->spread = sqrt(squares / n);
    for (size_t i = 0; s->spread > 1e-6 && i < s->n; i++) s->z[i] = (s->z[i] - s->centre) / s->spread;
    return s->spread > 1e-6;
}

// ---- the model of it ------------------------------------------------------------------------------------------------

static bool is_few(const gp_scale_rows *s)
{
    return s->n <= GP_SCALE_SEARCH_ROWS;
}

// What a scale of these rows is.
static gp_train_options shape_of(const gp_scale_fitting *how, const gp_scale_rows *s)
{
    return (gp_train_options){.m = is_few(s) ? gp_least(s->n / ROWS_EACH, INDUCING_FEW) : GP_SCALE_INDUCING,
                              .components = 1,
                              .kernel = how->options->kernel,
                              .map = &gp_map_cholesky,
                              .trend = s->d <= s->n / ROWS_A_COLUMN ? GP_TREND_LINEAR : GP_TREND_CONSTANT,
                              .schedule.seed = how->options->schedule.seed};
}

// A short training, in this process whatever the model's was, synchronous, so that the same rows give the same bits.
static advgp_status train_scale(const gp_scale_fitting *how, const gp_scale_rows *s, const gp_shards *shards,
                                gp_model **out, advgp_error *err)
{
    const size_t wide = BATCH_NUMBERS / shards->d;
    const gp_train_options shape = shape_of(how, s);
    const gp_small_fit fit = {.shards = shards,
                              .schema = how->model->schema,
                              .kernel = shape.kernel,
                              .trend = shape.trend,
                              .m = shape.m,
                              .components = 1,
                              .steps = GP_SCALE_STEPS,
                              .batch = gp_least(wide > BATCH_MIN ? wide : BATCH_MIN, GP_SCALE_BATCH),
                              .workers = gp_least(how->workers, WORKERS_MAX),
                              .seed = shape.schedule.seed};
    gp_learner *learner = NULL;
    advgp_status st = gp_small_fit_run(&fit, &learner, NULL, err);
    if (st == ADVGP_OK) st = gp_model_new_noise(&learner->spec, out, err);
    if (st == ADVGP_OK) gp_learner_copy(learner, *out);
    gp_learner_free(learner);
    return st;
}

// Of few rows, where the search begins: k-means centres, and length-scales at which any two rows have to do with each
// other. (Shorter ones die: what is left is the line, on energy with twice the rest of the gain.)
static advgp_status begin_scale(const gp_scale_fitting *how, const gp_scale_rows *s, const gp_shards *shards,
                                gp_model **out, advgp_error *err)
{
    const gp_train_options shape = shape_of(how, s);
    gp_learner_options o = {.d = s->d,
                            .components = 1,
                            .kernel = shape.kernel,
                            .map = shape.map,
                            .trend = shape.trend,
                            .length_scale = sqrt((double)s->d),
                            .seed = shape.schedule.seed};
    gp_learner *learner = NULL;
    double *centres = NULL;
    advgp_status st = gp_inducing_choose(shards, shape.m, 0, GP_START_KMEANS, o.kernel, o.length_scale, &centres, &o.m,
                                         err);
    o.inducing = gp_cmat_of(centres, o.m, s->d);
    if (st == ADVGP_OK) st = gp_learner_new(&o, &learner, err);
    if (st == ADVGP_OK) st = gp_model_new_noise(&learner->spec, out, err);
    if (st == ADVGP_OK) gp_learner_copy(learner, *out);
    gp_learner_free(learner);
    gp_free(centres);
    return st;
}

// ln g at rows, before it is held within a range.
static advgp_status scale_at(const gp_model *noise, gp_cmat X, double *ln_g, advgp_error *err)
{
    gp_predictor *ln_scale = NULL;
    gp_predict_work *work = NULL;
    advgp_status st = gp_model_predictor(noise, &ln_scale, err);
    if (st == ADVGP_OK) st = gp_predict_work_new(ln_scale, 0, &work, err);
    if (st == ADVGP_OK) st = gp_predict(ln_scale, work, X, ln_g, NULL, NULL, err);
    for (size_t i = 0; st == ADVGP_OK && i < X.rows; i++)
        ln_g[i] = noise->schema->y_mean + noise->schema->y_scale * ln_g[i];
    gp_predict_work_free(work);
    gp_predictor_free(ln_scale);
    return st;
}

// The optimal q(w) for the logarithms as they are now, hyper-parameters as they were found.
static advgp_status refit(gp_model *noise, const gp_scale_rows *s, advgp_error *err)
{
    gp_features *f = NULL;
    gp_pass *pass = NULL;
    gp_qw *qw = NULL;
    const size_t M = noise->layout.M;
    const gp_batch rows = {.X = inputs_of(s), .y = s->z, .w = s->w};
    advgp_status st = gp_features_new(&noise->spec, &f, err);
    if (st == ADVGP_OK) st = gp_pass_new(f, 0, &pass, err);
    if (st == ADVGP_OK) st = gp_qw_new(M, &qw, err);
    if (st == ADVGP_OK) st = gp_pass_run(pass, noise->theta, GP_PASS_STATS, rows, NULL, NULL, err);
    if (st == ADVGP_OK) {
        const gp_stats *sums = gp_pass_stats(pass);
        gp_mat_copy(gp_ro(sums->A), noise->stats.A);
        memcpy(noise->stats.b, sums->b, M * sizeof *sums->b);
        noise->stats.yy = sums->yy, noise->stats.n = sums->n, noise->stats.residual = sums->residual;
        st = gp_qw_optimal(qw, sums, noise->theta[0], noise->theta + noise->layout.n_rest,
                           noise->theta + noise->layout.U, NULL, err);
    }
    gp_qw_free(qw);
    gp_pass_free(pass);
    gp_features_free(f);
    return st;
}

// The first fit is to u itself, with one c for all rows, and too flat; as g comes to be known, c is in proportion to
// it. Then the range: beyond the rows seen the trend would go on and on.
advgp_status gp_scale_sharpen(gp_model *noise, double range[2], gp_scale_rows *s, advgp_error *err)
{
    advgp_status st = scale_at(noise, inputs_of(s), s->ln_g, err);
    for (size_t turn = 0; st == ADVGP_OK && turn < SHARPENED && take_logarithms(s); turn++) {
        st = refit(noise, s, err);
        noise->schema->y_mean = s->centre, noise->schema->y_scale = s->spread;
        if (st == ADVGP_OK) st = scale_at(noise, inputs_of(s), s->ln_g, err);
    }
    range[0] = INFINITY, range[1] = -INFINITY;
    for (size_t i = 0; st == ADVGP_OK && i < s->n; i++)
        range[0] = fmin(range[0], s->ln_g[i]), range[1] = fmax(range[1], s->ln_g[i]);
    return st;
}

advgp_status gp_scale_fit(const gp_scale_fitting *how, gp_scale_rows *s, gp_model **noise, double range[2],
                          advgp_error *err)
{
    gp_shards *shards = NULL;
    if (!take_logarithms(s)) return ADVGP_OK;
    const gp_batch rows = {.X = inputs_of(s), .y = s->z, .w = s->w};
    const gp_rows all = {.n = s->n, .d = s->d, .X = s->X, .y = s->z, .w = s->w};
    advgp_status st = gp_memory_shards_of(&all, how->weighted, how->options->schedule.seed, &shards, err);
    if (st == ADVGP_OK) st = (is_few(s) ? begin_scale : train_scale)(how, s, shards, noise, err);
    gp_shards_free(shards);
    if (st == ADVGP_OK && is_few(s)) st = gp_scale_search(*noise, rows, ITERATIONS, err);
    if (st == ADVGP_OK && is_few(s)) st = refit(*noise, s, err);
    if (st != ADVGP_OK) return st;
    (*noise)->schema->y_mean = s->centre, (*noise)->schema->y_scale = s->spread;
    return gp_scale_sharpen(*noise, range, s, err);
}

// ---- rows that the scale has not seen -------------------------------------------------------------------------------

// The rows of s that are not of this fold, or those that are.
static void take_fold(const gp_scale_rows *s, size_t folds, size_t fold, bool of_fold, gp_scale_rows *out)
{
    out->n = 0;
    for (size_t i = 0; i < s->n; i++) {
        if ((i % folds == fold) != of_fold) continue;
        memcpy(out->X + out->n * s->d, s->X + i * s->d, s->d * sizeof *s->X);
        out->u[out->n] = s->u[i], out->w[out->n] = s->w[i], out->ln_g[out->n] = 0;
        out->n++;
    }
}

advgp_status gp_scale_cross_fit(const gp_scale_fitting *how, gp_scale_rows *s, advgp_error *err)
{
    const size_t folds = s->n < MANY_ROWS ? FOLDS : FOLDS_MANY;
    gp_scale_rows part;
    advgp_status st = gp_scale_rows_init(&part, s->n, s->d, err);
    for (size_t k = 0; k < folds && st == ADVGP_OK; k++) {
        gp_model *noise = NULL;
        double range[2];
        take_fold(s, folds, k, false, &part);
        st = gp_scale_fit(how, &part, &noise, range, err);
        take_fold(s, folds, k, true, &part);
        if (st == ADVGP_OK && noise) st = scale_at(noise, inputs_of(&part), part.ln_g, err);
        for (size_t i = k, at = 0; st == ADVGP_OK && i < s->n; i += folds, at++)
            s->ln_g_unseen[i] = noise ? fmin(fmax(part.ln_g[at], range[0]), range[1]) : s->ln_g[i];
        gp_model_free(noise);
    }
    gp_scale_rows_fini(&part);
    return st;
}
