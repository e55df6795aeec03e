// reweigh.c: weights of all training rows, shards that read them so, the posterior over those, and the choice.
#include "learn/reweigh.h"
#include "base/alloc.h"
#include "cells/cells_join.h"
#include "linalg/dense.h"
#include "model/qw.h"
#include "run/crew.h"
#include "score/paired.h"
#include "score/score.h"
#include "store/form.h"

#include <math.h>
#include <string.h>

// More rows than these leave the mean little to gain, and their weights take 8 bytes each.
enum { ROWS_MAX = 2000000, PIECE_ROWS = 4096 };
enum { FIRST_ROWS = 8192 }; // the global part of so many, with weights and without, tells whether all are worth a pass

// ---- rows with weights ----------------------------------------------------------------------------------------------

typedef struct weighed_shards {
    gp_shards base;
    const gp_shards *rows;
    size_t *first;   // [n_train + 1]: of a shard in weights
    double *weights; // of every training row
} weighed_shards;

static advgp_status weighed_read(const gp_shards *self, size_t shard, size_t first, size_t n, double *X, double *y,
                                 double *w, advgp_error *err)
{
    const weighed_shards *s = (const weighed_shards *)self;
    const advgp_status st = gp_shards_read(s->rows, shard, first, n, X, y, w, err);
    if (st != ADVGP_OK || !w || shard >= self->n_train) return st;
    for (size_t i = 0; i < n; i++) w[i] *= s->weights[s->first[shard] + first + i];
    return st;
}

static void weighed_free(gp_shards *self)
{
    weighed_shards *s = (weighed_shards *)self;
    gp_free(s->first);
    gp_free(s->weights);
    gp_shards_fini(self);
    gp_free(s);
}

static const gp_shards_ops weighed_ops = {.name = "weighed", .read = weighed_read, .free = weighed_free};

static advgp_status weighed_new(const gp_shards *rows, weighed_shards **out, advgp_error *err)
{
    const size_t n = gp_shards_rows(rows, GP_TRAIN);
    weighed_shards *s = *out = gp_alloc(1, sizeof *s);
    if (!s) return gp_no_memory(err);
    advgp_status st = gp_shards_init(&s->base, &weighed_ops, rows->d, rows->n_train, true, rows->seed, err);
    s->base.ops = &weighed_ops;
    s->rows = rows;
    s->first = gp_alloc(rows->n_train + 1, sizeof *s->first);
    s->weights = gp_alloc(n, sizeof *s->weights);
    if (st == ADVGP_OK && (!s->first || !s->weights)) st = gp_no_memory(err);
    for (size_t k = 0; st == ADVGP_OK && k < rows->n_train + 2; k++) {
        s->base.rows[k] = rows->rows[k], s->base.weight[k] = rows->weight[k];
        if (k < rows->n_train) s->first[k + 1] = s->first[k] + rows->rows[k];
    }
    return st;
}

// ---- the weights ----------------------------------------------------------------------------------------------------

typedef struct weighing {
    const gp_predictor *predictor;
    weighed_shards *shards;
} weighing;

// 1 / s^2 of the rows of a shard.
static advgp_status weigh_shard(void *ctx, size_t shard, advgp_error *err)
{
    const weighing *g = ctx;
    const gp_shards *rows = g->shards->rows;
    const size_t d = rows->d;
    double *X = gp_alloc(PIECE_ROWS, (d + 4) * sizeof *X), *weights = g->shards->weights + g->shards->first[shard];
    gp_predict_work *work = NULL;
    if (!X) return gp_no_memory(err);
    double *y = X + PIECE_ROWS * d, *w = y + PIECE_ROWS, *mean = w + PIECE_ROWS, *var_f = mean + PIECE_ROWS;
    advgp_status st = gp_predict_work_new(g->predictor, 0, &work, err);
    for (size_t at = 0; st == ADVGP_OK && at < rows->rows[shard]; at += PIECE_ROWS) {
        const size_t left = rows->rows[shard] - at, n = left < PIECE_ROWS ? left : PIECE_ROWS;
        st = gp_shards_read(rows, shard, at, n, X, y, w, err);
        if (st == ADVGP_OK) st = gp_predict(g->predictor, work, gp_cmat_of(X, n, d), mean, var_f, weights + at, err);
        for (size_t i = 0; st == ADVGP_OK && i < n; i++)
            weights[at + i] = 1 / fmax(weights[at + i] - var_f[i], 1e-6 * weights[at + i]); // now var_y, then 1 / s^2
    }
    gp_predict_work_free(work);
    gp_free(X);
    return st;
}

typedef struct totals {
    const double *weights;
    size_t at;
    double before, after;
} totals;

static advgp_status add_weights(void *ctx, gp_batch rows, advgp_error *err)
{
    (void)err;
    totals *t = ctx;
    for (size_t i = 0; i < rows.X.rows; i++) {
        const double w = rows.w ? rows.w[i] : 1;
        t->before += w, t->after += w * t->weights[t->at++];
    }
    return ADVGP_OK;
}

// Of the rows in the first n_shards shards, and as much as before in all of them, so that sigma^2 stays the noise of an
// average row.
static advgp_status weigh(const gp_predictor *predictor, const double *ln_g, gp_reader *reader, size_t threads,
                          size_t n_shards, weighed_shards *s, advgp_error *err)
{
    const size_t n = s->first[n_shards];
    weighing g = {.predictor = predictor, .shards = s};
    totals t = {.weights = s->weights};
    advgp_status st = ln_g ? ADVGP_OK : gp_crew_do(threads, n_shards, weigh_shard, &g, NULL, NULL, err);
    for (size_t i = 0; ln_g && i < n; i++) s->weights[i] = exp(-2 * ln_g[i]);
    if (st == ADVGP_OK) st = gp_reader_visit(reader, GP_TRAIN, n, add_weights, &t, err);
    const double factor = t.before / t.after;
    for (size_t i = 0; st == ADVGP_OK && i < n; i++) s->weights[i] *= factor;
    return st;
}

// ---- the posterior --------------------------------------------------------------------------------------------------

static advgp_status add_rows(void *ctx, gp_batch rows, advgp_error *err)
{
    return gp_pass_add(ctx, rows, err);
}

static advgp_status copy_cells(const gp_cells *from, gp_cells **out, advgp_error *err)
{
    const advgp_status st = gp_cells_new(&from->shape, out, err);
    if (st != ADVGP_OK) return st;
    memcpy((*out)->scale, from->scale, from->shape.d * sizeof(double));
    memcpy((*out)->centres, from->centres, from->shape.n * from->shape.d * sizeof(double));
    memcpy((*out)->theta, from->theta, from->n_theta * sizeof(double));
    return st;
}

// The best noise and q(w) of the sums in pass, and of the sums of cells.
static advgp_status join(const gp_stats *sums, const gp_model *model, const gp_features *f, const gp_shards *rows,
                         size_t threads, double *theta, gp_cells *cells, advgp_error *err)
{
    double *mu = theta + model->layout.n_rest, *U = theta + model->layout.U, neg_elbo;
    gp_qw *qw = NULL;
    if (cells) {
        const gp_cells_join_options o = {.shards = rows, .global = f, .stats = sums, .threads = threads};
        return gp_cells_join(&o, cells, model->layout, theta, &neg_elbo, err);
    }
    advgp_status st = gp_qw_new(model->layout.M, &qw, err);
    if (st == ADVGP_OK) st = gp_qw_best_noise(qw, sums, &theta[0], NULL, err);
    if (st == ADVGP_OK) st = gp_qw_optimal(qw, sums, theta[0], mu, U, NULL, err);
    gp_qw_free(qw);
    return st;
}

typedef struct candidate {
    double *theta;
    gp_cells *cells;
    gp_features *f;
    gp_pass *pass;
} candidate;

static void candidate_fini(candidate *c)
{
    gp_free(c->theta);
    gp_cells_free(c->cells);
    gp_pass_free(c->pass);
    gp_features_free(c->f);
}

// The posterior of these rows, the first max_rows of them (0: all, and with the model's cells).
static advgp_status fit(candidate *c, const gp_model *model, const gp_shards *rows, size_t max_rows, size_t threads,
                        advgp_error *err)
{
    gp_reader reader = {0};
    const size_t bytes = model->layout.size * sizeof(double);
    c->theta = gp_alloc(model->layout.size, sizeof(double));
    if (!c->theta) return gp_no_memory(err);
    memcpy(c->theta, model->theta, bytes);
    advgp_status st = gp_features_new(&model->spec, &c->f, err);
    if (st == ADVGP_OK) st = gp_pass_new(c->f, 0, &c->pass, err);
    if (st == ADVGP_OK) st = gp_reader_new(rows, PIECE_ROWS, &reader, err);
    if (st == ADVGP_OK) st = gp_pass_begin(c->pass, c->theta, GP_PASS_STATS, err);
    if (st == ADVGP_OK) st = gp_reader_visit(&reader, GP_TRAIN, max_rows, add_rows, c->pass, err);
    if (st == ADVGP_OK) st = gp_pass_end(c->pass, NULL, NULL, err);
    if (st == ADVGP_OK && model->cells && !max_rows) st = copy_cells(model->cells, &c->cells, err);
    if (st == ADVGP_OK) st = join(gp_pass_stats(c->pass), model, c->f, rows, threads, c->theta, c->cells, err);
    gp_reader_fini(&reader);
    return st;
}

static void exchange(gp_model *model, candidate *c)
{
    double *theta = model->theta;
    gp_cells *cells = model->cells;
    model->theta = c->theta, model->cells = c->cells;
    c->theta = theta, c->cells = cells;
}

static void take_statistics(gp_model *model, const gp_stats *sums)
{
    gp_mat_copy(gp_ro(sums->A), model->stats.A);
    memcpy(model->stats.b, sums->b, model->layout.M * sizeof(double));
    model->stats.yy = sums->yy, model->stats.n = sums->n, model->stats.residual = sums->residual;
}

// ---- the choice -----------------------------------------------------------------------------------------------------

enum { JUDGED_ROWS = 200000 };

// Squared errors in the target's own units, as RMSE has them.
typedef struct judging {
    const gp_schema *schema;
    gp_paired errors;
} judging;

static void judge_row(void *ctx, double w, const double *x, double y, double mean, double var_y)
{
    (void)x;
    judging *j = ctx;
    const double off = gp_schema_target(j->schema, y) - gp_predicted_mean(j->schema, mean, var_y);
    gp_paired_add(&j->errors, w, off * off);
}

static advgp_status ask(const gp_model *model, const candidate *c, gp_reader *reader, judging *j, advgp_error *err)
{
    gp_predictor *p = NULL;
    advgp_status st = c->cells ? gp_cells_predictor_new(&model->spec, c->theta, c->cells, &p, err)
                               : gp_predictor_new(&model->spec, c->theta, &p, err);
    if (st == ADVGP_OK) st = gp_predict_rows(p, reader, GP_STOP, JUDGED_ROWS, judge_row, j, err);
    gp_predictor_free(p);
    return st;
}

// By how much `to` is better than `from`, in standard errors.
static advgp_status compare(const gp_model *model, const candidate *from, const candidate *to, gp_reader *reader,
                            double *gain, advgp_error *err)
{
    const size_t n = gp_shards_rows(reader->shards, GP_STOP);
    judging j = {.schema = model->schema};
    advgp_status st = gp_paired_init(&j.errors, n < JUDGED_ROWS ? n : JUDGED_ROWS, err);
    if (st == ADVGP_OK) st = ask(model, from, reader, &j, err);
    gp_paired_turn(&j.errors);
    if (st == ADVGP_OK) st = ask(model, to, reader, &j, err);
    *gain = st == ADVGP_OK ? gp_paired_gain(&j.errors) : 0;
    gp_paired_fini(&j.errors);
    return st;
}

static advgp_status try_some(const gp_model *model, gp_reader *reader, const gp_shards *weighed, double *gain,
                             advgp_error *err)
{
    candidate plain = {0}, other = {0};
    advgp_status st = fit(&plain, model, reader->shards, FIRST_ROWS, 1, err);
    if (st == ADVGP_OK) st = fit(&other, model, weighed, FIRST_ROWS, 1, err);
    if (st == ADVGP_OK) st = compare(model, &plain, &other, reader, gain, err);
    candidate_fini(&plain);
    candidate_fini(&other);
    return st;
}

static advgp_status try_all(gp_model *model, gp_reader *reader, const gp_shards *weighed, size_t threads, double *gain,
                            advgp_error *err)
{
    candidate c = {0};
    const candidate now = {.theta = model->theta, .cells = model->cells};
    advgp_status st = fit(&c, model, weighed, 0, threads, err);
    if (st == ADVGP_OK) st = compare(model, &now, &c, reader, gain, err);
    if (st == ADVGP_OK && *gain > 1) {
        exchange(model, &c);
        take_statistics(model, gp_pass_stats(c.pass));
    }
    candidate_fini(&c);
    return st;
}

advgp_status gp_reweigh(gp_model *model, gp_reader *reader, size_t threads, const double *ln_g, gp_reweighed *out,
                        advgp_error *err)
{
    weighed_shards *rows = NULL;
    gp_predictor *predictor = NULL;
    *out = (gp_reweighed){0};
    if (model->form != &gp_form_weights || !model->noise || gp_shards_rows(reader->shards, GP_TRAIN) > ROWS_MAX)
        return ADVGP_OK;
    advgp_status st = weighed_new(reader->shards, &rows, err);
    if (st == ADVGP_OK) st = gp_model_predictor(model, &predictor, err);
    size_t first = 0; // shards that have the rows which are tried
    while (st == ADVGP_OK && first < reader->shards->n_train && rows->first[first] < FIRST_ROWS) first++;
    if (st == ADVGP_OK) st = weigh(predictor, ln_g, reader, threads, first, rows, err);
    if (st == ADVGP_OK) st = try_some(model, reader, &rows->base, &out->gain, err);
    const bool all = st == ADVGP_OK && out->gain > 0; // what some rows say against is not asked of all
    if (all && first < reader->shards->n_train)
        st = weigh(predictor, ln_g, reader, threads, reader->shards->n_train, rows, err);
    gp_predictor_free(predictor); // before the cells that it borrows
    if (st == ADVGP_OK && all) {
        st = try_all(model, reader, &rows->base, threads, &out->gain, err);
        if (st == ADVGP_OK && out->gain > 1) out->shards = &rows->base, rows = NULL;
    }
    if (rows) weighed_free(&rows->base);
    return st;
}
