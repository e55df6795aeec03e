// left_out.c: leave-one-out by leverage, or as the predictor itself knows it; and of a scale, by leverage once more.
#include "score/left_out.h"
#include "base/alloc.h"
#include "base/sort.h"

#include <math.h>

typedef struct leaving {
    const gp_predictor *predictor;
    gp_predict_work *work, *scale_work;     // the last NULL: no scale
    double *inputs;                         // [capacity x inputs of the scale]: a block
    double *block_mean, *spread, *residual; // [capacity]
    double *deviation, *variance;           // [n]: by the predictor itself; NULL: by leverage
    double *mean, *var;                     // [n]: without the row
    double *u, *ln_g, *h, *psi, *sorted;    // [n]: |score|; ln of the row's factor, and its leverage there; scratch
    size_t n, done;                         // rows of positive weight, and how many of them are through
    gp_predicted_row each;
    void *ctx;
} leaving;

// ---- the mean -------------------------------------------------------------------------------------------------------

// A row's leverage h = beta w phi^T Sigma phi at the optimal q(w): without the row its mean is off by (y - mean)/(1 -
// h), and the variance of its weight-space part is sigma^2 h/(1 - h) / w. Least squares obeys the same two formulas.
static double leverage(double weight, double spread, double noise)
{
    return fmin(weight * spread / noise, 1 - 1e-6);
}

static bool is_line(const gp_predictor *predictor)
{
    const gp_features *f = gp_predictor_features(predictor);
    return f && f->n_components == 0;
}

// Of a line a row may have the leverage 1: as the only one of its direction, such as the one row of a category, it
// leaves no residual whatever it is, and the others know nothing of it but the mean.
static double mean_of_line(double y, double mean, double h)
{
    return h < 1 - 1e-9 ? y - (y - mean) / (1 - h) : 0;
}

static void leave_out(leaving *l, gp_batch rows, size_t i)
{
    const size_t k = l->done;
    if (l->deviation) {
        l->mean[k] = rows.y[i] - l->deviation[k], l->var[k] = l->variance[k];
    } else {
        const double noise = gp_predictor_noise(l->predictor);
        const double w = rows.w ? rows.w[i] : 1, h = leverage(w, l->spread[i], noise);
        l->mean[k] = is_line(l->predictor) ? mean_of_line(rows.y[i], l->block_mean[i], w * l->spread[i] / noise)
                                           : rows.y[i] - (rows.y[i] - l->block_mean[i]) / (1 - h);
        l->var[k] = l->spread[i] / (1 - h) + l->residual[i] + noise;
    }
}

// ---- the scale ------------------------------------------------------------------------------------------------------

bool gp_scale_logarithms(size_t n, const double *u, const double *ln_g, double *sorted, double *psi)
{
    double a = 0, sum = 0;
    for (size_t i = 0; i < n; i++) sum += sorted[i] = u[i] * exp(-ln_g[i]);
    gp_sort(sorted, n);
    const double c = fmax(sorted[n / 2], 1e-3 * sum / (double)n);
    if (!(c > 0)) return false;
    for (size_t i = 0; i < n; i++) a += sorted[i] / (sorted[i] + c) / (double)n;
    for (size_t i = 0; i < n; i++) psi[i] = log(u[i] * exp(-ln_g[i]) + c) / a;
    return true;
}

// Of the rows from `first` on that the block has added.
static advgp_status ask_scale(leaving *l, gp_batch rows, size_t first, advgp_error *err)
{
    const gp_predictor *ln_scale = l->predictor->ln_scale;
    const size_t n = l->done - first, d = ln_scale->d;
    const double noise = gp_predictor_noise(l->predictor);
    for (size_t i = 0, k = first; i < rows.X.rows; i++) {
        if (rows.w && rows.w[i] == 0) continue;
        const double var_f = fmax(l->var[k] - noise, 0);
        gp_scale_inputs(l->predictor, rows.X.p + i * rows.X.ld, l->mean[k], var_f, l->inputs + (k - first) * d);
        l->u[k] = fabs(rows.y[i] - l->mean[k]) / sqrt(l->var[k]);
        l->h[k++] = rows.w ? rows.w[i] : 1;
    }
    const advgp_status st = gp_predict_parts(ln_scale, l->scale_work, gp_cmat_of(l->inputs, n, d), l->ln_g + first,
                                             l->spread, l->residual, err);
    for (size_t i = 0; st == ADVGP_OK && i < n; i++) {
        l->ln_g[first + i] = l->predictor->scale.centre + l->predictor->scale.slope * l->ln_g[first + i];
        l->h[first + i] = leverage(l->h[first + i], l->spread[i], gp_predictor_noise(ln_scale));
    }
    return st;
}

// What a row's own score has added to its factor is taken away, as from the mean: the scale is the optimum for ln g +
// psi (noise.c), but for a constant. Then the variances.
static void leave_out_of_scale(leaving *l)
{
    const double *range = l->predictor->scale.range;
    double mean = 0;
    const bool known = gp_scale_logarithms(l->n, l->u, l->ln_g, l->sorted, l->psi);
    for (size_t k = 0; known && k < l->n; k++) mean += l->psi[k] / (double)l->n;
    for (size_t k = 0; k < l->n; k++) {
        const double ln_g = l->ln_g[k] - (known ? l->h[k] / (1 - l->h[k]) * (l->psi[k] - mean) : 0);
        l->var[k] *= exp(2 * fmin(fmax(ln_g, range[0]), range[1]));
    }
}

// ---- rows -----------------------------------------------------------------------------------------------------------

static advgp_status look(void *ctx, gp_batch rows, advgp_error *err)
{
    leaving *l = ctx;
    const size_t first = l->done;
    advgp_status st = ADVGP_OK;
    if (!l->deviation) st = gp_predict_parts(l->predictor, l->work, rows.X, l->block_mean, l->spread, l->residual, err);
    for (size_t i = 0; st == ADVGP_OK && i < rows.X.rows; i++) {
        if (rows.w && rows.w[i] == 0) continue;
        leave_out(l, rows, i);
        l->done++;
    }
    return st == ADVGP_OK && l->scale_work ? ask_scale(l, rows, first, err) : st;
}

static advgp_status tell(void *ctx, gp_batch rows, advgp_error *err)
{
    (void)err;
    leaving *l = ctx;
    for (size_t i = 0; i < rows.X.rows; i++) {
        const double weight = rows.w ? rows.w[i] : 1;
        if (weight == 0) continue;
        l->each(l->ctx, weight, rows.X.p + i * rows.X.ld, rows.y[i], l->mean[l->done], l->var[l->done]);
        l->done++;
    }
    return ADVGP_OK;
}

static advgp_status count_rows(void *ctx, gp_batch rows, advgp_error *err)
{
    (void)err;
    size_t *n = ctx;
    for (size_t i = 0; i < rows.X.rows; i++) *n += !rows.w || rows.w[i] != 0;
    return ADVGP_OK;
}

// All of it is freed as one, at l->mean.
static advgp_status make_room(leaving *l, size_t all, size_t capacity, advgp_error *err)
{
    const size_t d = l->predictor->ln_scale ? l->predictor->ln_scale->d : 0;
    double *p = gp_alloc(9 * all + (3 + d) * capacity, sizeof *p);
    if (!p) return gp_no_memory(err);
    double **arrays[] = {&l->mean, &l->var, &l->u, &l->ln_g, &l->h, &l->psi, &l->sorted, &l->deviation, &l->variance};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) *arrays[i] = p + i * all;
    l->block_mean = p + 9 * all, l->spread = l->block_mean + capacity, l->residual = l->spread + capacity;
    l->inputs = l->residual + capacity;
    advgp_status st = gp_predict_work_new(l->predictor, 0, &l->work, err);
    if (st == ADVGP_OK && d) st = gp_predict_work_new(l->predictor->ln_scale, 0, &l->scale_work, err);
    return st;
}

advgp_status gp_left_out_rows(const gp_predictor *predictor, gp_reader *reader, size_t max_rows, gp_predicted_row each,
                              void *ctx, advgp_error *err)
{
    leaving l = {.predictor = predictor, .each = each, .ctx = ctx};
    size_t all = 0; // of the rows asked for; a predictor that knows its own leaves out every one of them
    const size_t most = predictor->ops->left_out ? 0 : max_rows;
    advgp_status st = gp_reader_visit(reader, GP_TRAIN, most, count_rows, &all, err);
    if (st == ADVGP_OK) st = make_room(&l, all, reader->capacity, err);
    if (st == ADVGP_OK && predictor->ops->left_out)
        st = predictor->ops->left_out(predictor, all, l.deviation, l.variance, err);
    else
        l.deviation = NULL;
    if (st == ADVGP_OK) st = gp_reader_visit(reader, GP_TRAIN, max_rows, look, &l, err);
    l.n = l.done, l.done = 0;
    if (st == ADVGP_OK && l.scale_work) leave_out_of_scale(&l);
    if (st == ADVGP_OK) st = gp_reader_visit(reader, GP_TRAIN, max_rows, tell, &l, err);
    gp_free(l.mean);
    gp_predict_work_free(l.work);
    gp_predict_work_free(l.scale_work);
    return st;
}

// ---- as the model has been told -------------------------------------------------------------------------------------

typedef struct recalling {
    const gp_unseen *unseen;
    size_t done, most;
    gp_predicted_row each;
    void *ctx;
} recalling;

static advgp_status recall(void *ctx, gp_batch rows, advgp_error *err)
{
    (void)err;
    recalling *r = ctx;
    for (size_t i = 0; i < rows.X.rows && r->done < r->most; i++) {
        const double weight = rows.w ? rows.w[i] : 1;
        if (weight == 0) continue;
        const double mean = r->unseen->mean[r->done], sd = r->unseen->sd[r->done];
        r->each(r->ctx, weight, rows.X.p + i * rows.X.ld, rows.y[i], mean, sd * sd);
        r->done++;
    }
    return ADVGP_OK;
}

advgp_status gp_unseen_rows(const gp_model *model, const gp_predictor *predictor, gp_reader *reader, size_t max_rows,
                            gp_predicted_row each, void *ctx, advgp_error *err)
{
    const size_t n = model->unseen.n;
    recalling r = {.unseen = &model->unseen, .most = max_rows && max_rows < n ? max_rows : n, .each = each, .ctx = ctx};
    if (!n) return gp_left_out_rows(predictor, reader, max_rows, each, ctx, err);
    return gp_reader_visit(reader, GP_TRAIN, 0, recall, &r, err);
}
