// method_exact.c: the exact Gaussian process (model/exact.h), its hyper-parameters by L-BFGS on the evidence: first of
// a sample, then of all rows. Time grows with the cube of the rows: for thousands, not for millions.
#include "base/alloc.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/whole.h"
#include "learn/lengths.h"
#include "linalg/interrupt.h"
#include "method/method.h"
#include "optim/lbfgs.h"
#include "recipe/conclude.h"
#include "recipe/plan.h"
#include "score/calibrate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MATRICES = 6 }; // n x n: five of the evidence with its gradient (model/exact.c), one of LAPACK
enum { READ_ROWS = 1024, EVAL_ROWS = 1000, EVAL_EVERY = 5 };
// By measurement: a sample of ten rows a parameter, within bounds, ends so near the optimum of all rows that a few
// evaluations more are enough; kernels are told apart by the evidence of a larger one.
enum { SAMPLE_MIN = 300, SAMPLE_MAX = 600, SAMPLE_ROWS_EACH = 10, SAMPLE_ITERATIONS = 60, JUDGE_ROWS = 1200 };
enum { OTHER_ITERATIONS = 15 }; // of kernels that begin where another ended
enum { FOLDS = 10, REFIT_ITERATIONS = 20, REFIT_ROWS_MAX = 500, REFIT_ROWS_EACH = 25 };
enum { ITERATIONS_MIN = 3, ITERATIONS = 200, QUICK_ROWS = 500 };
// Where all rows can be asked a few times only, a part of them is asked before: an eighth of the time each.
enum { MIDDLE_ROWS = 1200, MIDDLE_BELOW = 12, MIDDLE_ITERATIONS = 15 };
static const double budget = 3.5e10; // flops of the last stage, about: seconds
// sigma^2 = e^2x + noise_share (1 + a0^2 + s_c^2 + s_l^2), all of the standardised target, is what L-BFGS sees. It is
// the relative jitter of K_mm once more: with less noise the covariance is singular in double precision, and
// predictions would hang on the rounding of one machine.
static const double noise_share = 1e-6, start_noise = 0.4, start_amplitude = 0.9, start_trend = 0.5;
static const double farthest = 25; // |ln eta|, |ln a0|: beyond it lies overflow, not a model

typedef struct exact_run {
    gp_reader reader;
    const gp_schema *schema;
    const gp_train_options *options;
    const gp_train_events *events;
    gp_notes *notes;
    gp_stopwatch began;
    const gp_kernel *kernel;
    gp_exact_spec spec;
    gp_lengths lengths;
    size_t n, n_hyper, n_x, evaluations, rows_seen;
    double *X, *y, *w; // n rows of positive weight; w NULL: ones
    // [n_x]: what L-BFGS moves: ln sigma (see noise_share), ln a0, ln eta of every length-scale, those of the trend.
    double *x, *best;
    double *hyper, *by_hyper; // [n_hyper]: what x means; the gradient there
    double *mean, *var;       // [EVAL_ROWS]
    gp_exact *exact;          // of the present stage
    size_t stage_n;
    gp_score score;
    gp_unseen unseen; // what fits without them say of rows
    bool interrupted, late;
} exact_run;

// ---- rows -----------------------------------------------------------------------------------------------------------

static advgp_status keep_rows(void *ctx, gp_batch rows, advgp_error *err)
{
    (void)err;
    exact_run *r = ctx;
    const size_t d = rows.X.cols;
    for (size_t i = 0; i < rows.X.rows; i++) {
        const double w = rows.w ? rows.w[i] : 1;
        if (w == 0) continue;
        memcpy(r->X + r->n * d, rows.X.p + i * rows.X.ld, d * sizeof *r->X);
        r->y[r->n] = rows.y[i];
        if (r->w) r->w[r->n] = w;
        r->n++;
    }
    return ADVGP_OK;
}

static gp_batch first_rows(const exact_run *r, size_t n)
{
    return (gp_batch){.X = gp_cmat_of(r->X, n, r->spec.d), .y = r->y, .w = r->w};
}

// ---- the evidence ---------------------------------------------------------------------------------------------------

static advgp_status score_block(void *ctx, gp_batch rows, advgp_error *err)
{
    exact_run *r = ctx;
    advgp_status st = gp_exact_predict(r->exact, rows.X, r->mean, NULL, r->var, err);
    for (size_t i = 0; st == ADVGP_OK && i < rows.X.rows; i++)
        gp_score_add(&r->score, r->schema, rows.w ? rows.w[i] : 1, rows.y[i], r->mean[i], r->var[i]);
    return st;
}

static advgp_status evaluate(exact_run *r, double nlml, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    r->score = (gp_score){0};
    if (gp_shards_rows(r->reader.shards, GP_STOP))
        st = gp_reader_visit(&r->reader, GP_STOP, EVAL_ROWS, score_block, r, err);
    const double wall = gp_clock_wall() - r->began.wall;
    const gp_train_eval e = {.wall = wall,
                             .cpu = gp_clock_cpu() - r->began.cpu,
                             .rows = (double)r->rows_seen,
                             .epoch = (double)r->rows_seen / (double)r->n,
                             .version = r->evaluations,
                             .neg_elbo_per_row = nlml / (double)r->stage_n,
                             .rmse = gp_score_rmse(&r->score),
                             .mnlp = gp_score_mnlp(&r->score),
                             .rows_per_second = (double)r->rows_seen / fmax(wall, 1e-9)};
    if (st == ADVGP_OK && r->events->eval) r->events->eval(r->events->ctx, &e);
    return st;
}

static bool is_scale(const exact_run *r, size_t i) // x[i] is ln a0, ln s_c or ln s_l
{
    return i == 1 || i >= 2 + r->lengths.n;
}

static void meaning(const exact_run *r, const double *x, double *hyper)
{
    const size_t d = r->spec.d, n_trend = r->n_x - 2 - r->lengths.n;
    double variance = exp(2 * x[0]) + noise_share;
    for (size_t i = 1; i < r->n_x; i++)
        if (is_scale(r, i)) variance += noise_share * exp(2 * x[i]);
    hyper[0] = 0.5 * log(variance);
    hyper[1] = x[1];
    for (size_t k = 0; k < d; k++) hyper[2 + k] = x[2 + r->lengths.of[k]];
    memcpy(hyper + 2 + d, x + 2 + r->lengths.n, n_trend * sizeof *x);
}

// The gradient in hyper becomes that in x: columns share lengths, and the noise depends on every scale.
static void pull(const exact_run *r, const double *x, const double *by_hyper, double *gradient)
{
    const size_t d = r->spec.d, n_trend = r->n_x - 2 - r->lengths.n;
    const double by_variance = by_hyper[0] * exp(-2 * r->hyper[0]); // d ln sigma = d variance / (2 variance)
    memset(gradient, 0, r->n_x * sizeof *gradient);
    gradient[0] = by_variance * exp(2 * x[0]);
    gradient[1] = by_hyper[1];
    for (size_t k = 0; k < d; k++) gradient[2 + r->lengths.of[k]] += by_hyper[2 + k];
    memcpy(gradient + 2 + r->lengths.n, by_hyper + 2 + d, n_trend * sizeof *gradient);
    for (size_t i = 1; i < r->n_x; i++)
        if (is_scale(r, i)) gradient[i] += by_variance * noise_share * exp(2 * x[i]);
}

// -ln p(y) per row and its gradient in x.
static advgp_status objective(void *ctx, const double *x, size_t n, double *value, double *gradient, advgp_error *err)
{
    exact_run *r = ctx;
    r->interrupted = r->interrupted || (r->events->stop && r->events->stop(r->events->ctx));
    r->late = r->options->seconds > 0 && gp_clock_wall() - r->began.wall >= r->options->seconds;
    if (r->evaluations && (r->interrupted || r->late)) return gp_fail(err, ADVGP_ESTOPPED, "stopped");
    for (size_t i = 0; i < n; i++)
        if (!(fabs(x[i]) <= farthest)) return gp_fail(err, ADVGP_ENUMERIC, "exact: a hyper-parameter is extreme");
    meaning(r, x, r->hyper);
    double nlml;
    // The first one is waited for: without it there is nothing to keep.
    gp_interrupt scope;
    gp_interrupt_open(&scope, r->evaluations ? r->events->stop : NULL, r->events->ctx);
    advgp_status st = gp_exact_evidence(r->exact, r->hyper, &nlml, r->by_hyper, NULL, err);
    if (gp_interrupt_close(&scope)) r->interrupted = true;
    if (st != ADVGP_OK) return st;
    pull(r, x, r->by_hyper, gradient);
    for (size_t i = 0; i < n; i++) gradient[i] /= (double)r->stage_n;
    *value = nlml / (double)r->stage_n;
    r->rows_seen += r->stage_n;
    return r->evaluations++ % EVAL_EVERY ? ADVGP_OK : evaluate(r, nlml, err);
}

// ---- stages ---------------------------------------------------------------------------------------------------------

static void start(exact_run *r)
{
    const size_t d = r->spec.d, G = r->lengths.n;
    r->x[0] = log(start_noise);
    r->x[1] = log(start_amplitude);
    for (size_t g = 0; g < G; g++) r->x[2 + g] = -log((double)d); // r^2 of two rows is about 2, whatever d
    for (size_t i = 2 + G; i < r->n_x; i++) r->x[i] = log(start_trend);
}

static advgp_status take_rows(exact_run *r, size_t n, advgp_error *err)
{
    gp_exact_free(r->exact);
    r->exact = NULL;
    r->stage_n = n;
    return gp_exact_new(&r->spec, first_rows(r, n), &r->exact, err);
}

static bool is_over(const exact_run *r)
{
    return r->interrupted || r->late;
}

static size_t last_iterations(const exact_run *r)
{
    const double n = (double)r->n, flops = n * n * (n + 4 * (double)r->spec.d);
    return gp_index(fmax(ITERATIONS_MIN, budget / flops), ITERATIONS);
}

// From x on the first n rows (they come shuffled), which all are at last.
static advgp_status stage(exact_run *r, size_t n, size_t iterations, gp_lbfgs_result *found, advgp_error *err)
{
    const bool last = n == r->n;
    const gp_lbfgs_options o = {.max_iterations = last ? last_iterations(r) : iterations,
                                .gradient_tol = 1e-6,
                                .value_tol = last ? 1e-4 : 3e-4};
    advgp_status st = take_rows(r, n, err);
    if (st == ADVGP_OK) st = gp_lbfgs(objective, r, r->n_x, r->x, &o, found, err);
    return st == ADVGP_ESTOPPED ? ADVGP_OK : st; // the best so far is a model
}

// -ln p(y) of the first n rows at x; infinite where it cannot be computed.
static advgp_status judge(exact_run *r, size_t n, double *nlml, advgp_error *err)
{
    *nlml = INFINITY;
    if (is_over(r)) return ADVGP_OK;
    advgp_status st = take_rows(r, n, err);
    meaning(r, r->x, r->hyper);
    if (st == ADVGP_OK) st = gp_exact_evidence(r->exact, r->hyper, nlml, NULL, NULL, err);
    return st == ADVGP_ENUMERIC ? ADVGP_OK : st;
}

// Every kernel on a sample; the one with the largest evidence of a larger one stays, with its x.
static advgp_status choose_kernel(exact_run *r, size_t sample, gp_lbfgs_result *found, advgp_error *err)
{
    const gp_kernel *chosen = NULL;
    double least = INFINITY, nlml;
    advgp_status st = ADVGP_OK;
    for (size_t i = 0; gp_kernels[i] && st == ADVGP_OK && !(chosen && is_over(r)); i++) {
        if (!r->options->kernel_open && gp_kernels[i] != r->options->kernel) continue;
        r->kernel = gp_kernels[i];
        if (!chosen) start(r); // the others begin where it ended
        st = stage(r, sample, chosen ? OTHER_ITERATIONS : SAMPLE_ITERATIONS, found, err);
        if (st == ADVGP_OK && r->options->kernel_open) st = judge(r, r->n < JUDGE_ROWS ? r->n : JUDGE_ROWS, &nlml, err);
        if (chosen && !(r->options->kernel_open && nlml < least)) continue;
        least = nlml;
        chosen = r->kernel;
        memcpy(r->best, r->x, r->n_x * sizeof *r->x);
    }
    r->kernel = chosen ? chosen : r->options->kernel;
    memcpy(r->x, r->best, r->n_x * sizeof *r->x);
    return st;
}

static size_t sample_rows(const exact_run *r)
{
    size_t n = SAMPLE_ROWS_EACH * r->n_x;
    if (n < SAMPLE_MIN) n = SAMPLE_MIN;
    if (n > SAMPLE_MAX) n = SAMPLE_MAX;
    return r->n > QUICK_ROWS && n < r->n ? n : r->n;
}

static advgp_status find_hyper(exact_run *r, gp_train_result *result, advgp_error *err)
{
    gp_lbfgs_result found = {0};
    const size_t sample = sample_rows(r);
    advgp_status st = choose_kernel(r, sample, &found, err);
    if (st == ADVGP_OK && r->n > MIDDLE_ROWS && last_iterations(r) < MIDDLE_BELOW)
        st = stage(r, MIDDLE_ROWS, MIDDLE_ITERATIONS, &found, err);
    if (st == ADVGP_OK && sample < r->n)
        st = stage(r, r->n, 0, &found, err);
    else if (st == ADVGP_OK)
        st = take_rows(r, r->n, err); // of the kernel that was chosen
    result->stopped = r->interrupted                                ? GP_STOPPED_INTERRUPTED
                      : r->late                                     ? GP_STOPPED_TIME
                      : found.stopped == GP_STOPPED_ITERATION_LIMIT ? GP_STOPPED_ITERATIONS
                                                                    : GP_STOPPED_MAXIMUM;
    result->interrupted = r->interrupted;
    result->versions = r->evaluations;
    result->rows = (double)r->rows_seen;
    return st;
}

// ---- rows left out --------------------------------------------------------------------------------------------------

// The others first, then those of the fold.
static void set_apart(const exact_run *from, size_t first, size_t n, exact_run *to)
{
    const size_t d = from->spec.d;
    for (size_t i = 0, others = 0, of_fold = from->n - n; i < from->n; i++) {
        const size_t at = i < first || i >= first + n ? others++ : of_fold++;
        memcpy(to->X + at * d, from->X + i * d, d * sizeof *to->X);
        to->y[at] = from->y[i];
        if (to->w) to->w[at] = from->w[i];
    }
}

// Hyper-parameters of the others, from x on, and what they say of the last n rows.
static advgp_status leave_out(exact_run *r, size_t n, advgp_error *err)
{
    const gp_lbfgs_options o = {.max_iterations = REFIT_ITERATIONS, .gradient_tol = 1e-6, .value_tol = 1e-3};
    const size_t others = r->n - n, d = r->spec.d;
    gp_lbfgs_result found;
    double nlml;
    advgp_status st = take_rows(r, others, err);
    if (st == ADVGP_OK) st = gp_lbfgs(objective, r, r->n_x, r->x, &o, &found, err);
    meaning(r, r->x, r->hyper);
    if (st == ADVGP_OK) st = gp_exact_evidence(r->exact, r->hyper, &nlml, NULL, NULL, err);
    if (st == ADVGP_OK)
        st = gp_exact_predict(r->exact, gp_cmat_of(r->X + others * d, n, d), r->mean, NULL, r->var, err);
    for (size_t i = 0; st == ADVGP_OK && i < n; i++) {
        r->unseen.mean[r->unseen.n] = r->mean[i];
        r->unseen.sd[r->unseen.n++] = sqrt(r->var[i]);
    }
    return st;
}

// Leave-one-out in closed form has hyper-parameters that have seen the row, and where rows are few for each of them its
// scores are too small: of 50 rows intervals at 80 % held 77 %. There they are found anew for each tenth of the rows,
// without it. Where that does not come to an end the closed form has to do, and *out stays as it is.
static advgp_status leave_out_folds(exact_run *r, gp_unseen *out, advgp_error *err)
{
    const gp_train_events quiet = {.stop = r->events->stop, .ctx = r->events->ctx};
    if (r->n < FOLDS || r->n > REFIT_ROWS_MAX || r->n > REFIT_ROWS_EACH * r->n_x || is_over(r) ||
        gp_shards_rows(r->reader.shards, GP_CALIBRATE) >= GP_CALIBRATION_ROWS_MIN)
        return ADVGP_OK;
    exact_run part = *r;
    part.events = &quiet;
    part.exact = NULL;
    part.X = gp_alloc(r->n, r->spec.d * sizeof *r->X);
    part.y = gp_alloc(r->n, sizeof *r->y);
    part.w = r->w ? gp_alloc(r->n, sizeof *r->w) : NULL;
    part.x = gp_alloc(r->n_x, sizeof *r->x);
    part.unseen = (gp_unseen){.mean = gp_alloc(r->n, 2 * sizeof(double)), .refitted = true};
    const bool good = part.X && part.y && (part.w || !r->w) && part.x && part.unseen.mean;
    part.unseen.sd = good ? part.unseen.mean + r->n : NULL;
    advgp_status st = good ? ADVGP_OK : gp_no_memory(err);
    for (size_t k = 0; k < FOLDS && st == ADVGP_OK; k++) {
        const size_t first = r->n * k / FOLDS;
        memcpy(part.x, r->x, r->n_x * sizeof *r->x);
        set_apart(r, first, r->n * (k + 1) / FOLDS - first, &part);
        st = leave_out(&part, r->n * (k + 1) / FOLDS - first, err);
    }
    if (st == ADVGP_OK)
        *out = part.unseen;
    else
        gp_free(part.unseen.mean);
    r->interrupted = part.interrupted;
    gp_exact_free(part.exact);
    gp_free(part.X);
    gp_free(part.y);
    gp_free(part.w);
    gp_free(part.x);
    return st == ADVGP_ESTOPPED || st == ADVGP_ENUMERIC ? ADVGP_OK : st;
}

// ---- the model ------------------------------------------------------------------------------------------------------

static advgp_status make_model(exact_run *r, const gp_train_request *request, gp_train_result *result, gp_model **model,
                               advgp_error *err)
{
    double jitter = 0;
    meaning(r, r->x, r->hyper);
    advgp_status st = gp_exact_evidence(r->exact, r->hyper, &result->neg_elbo, NULL, &jitter, err);
    if (st == ADVGP_OK) st = evaluate(r, result->neg_elbo, err);
    if (st == ADVGP_OK)
        st = gp_model_new_exact(r->kernel, r->options->trend, r->n, r->w != NULL, request->schema, request->sql, model,
                                err);
    if (st != ADVGP_OK) return st;
    gp_model *m = *model;
    memcpy(m->method, "exact", sizeof "exact");
    memcpy(m->theta, r->hyper, r->n_hyper * sizeof *r->hyper);
    memcpy(m->x_train, r->X, r->n * r->spec.d * sizeof *r->X);
    memcpy(m->alpha, gp_exact_weights(r->exact), r->n * sizeof *m->alpha);
    if (r->w) memcpy(m->w_train, r->w, r->n * sizeof *r->w);
    m->exact.jitter = jitter;
    for (size_t i = 0; i < r->n; i++) {
        const double w = r->w ? r->w[i] : 1;
        m->stats.n += w;
        m->stats.yy += w * r->y[i] * r->y[i];
    }
    gp_exact_free(r->exact); // its matrices are as large as those of the predictors that follow
    r->exact = NULL;
    st = leave_out_folds(r, &m->unseen, err);
    result->interrupted = r->interrupted;
    if (r->options->kernel_open)
        snprintf(result->plan.kernel.value, sizeof result->plan.kernel.value, "%s", r->kernel->name),
            snprintf(result->plan.kernel.why, sizeof result->plan.kernel.why, "the rows are likeliest under it");
    if (st == ADVGP_OK) st = gp_train_conclude(m, &r->reader, r->options, r->began, result, r->notes, err);
    if (st == ADVGP_OK) return st;
    m->schema = NULL; // still the caller's
    gp_model_free(m);
    *model = NULL;
    return st;
}

// ---- the whole ------------------------------------------------------------------------------------------------------

static advgp_status check(const gp_shards *shards, const gp_schema *schema, const gp_train_options *o, advgp_error *err)
{
    if (!shards || !schema || !o || !o->kernel)
        return gp_fail(err, ADVGP_EINVAL, "exact: no rows, schema, options or kernel given");
    const size_t n = gp_shards_rows(shards, GP_TRAIN);
    if (!n) return gp_fail(err, ADVGP_EDATA, "there are no training rows");
    if (n > GP_MODEL_EXACT_ROWS_MAX)
        return gp_fail(err, ADVGP_EDATA,
                       "%zu training rows are too many for {method} exact, which takes %d: its memory grows with their "
                       "square and its time with their cube. Use {method} advgp, or take a sample with {sql}",
                       n, GP_MODEL_EXACT_ROWS_MAX);
    return ADVGP_OK;
}

static advgp_status take_memory(exact_run *r, const gp_shards *shards, advgp_error *err)
{
    const size_t n = gp_shards_rows(shards, GP_TRAIN), d = shards->d;
    const double bytes = sizeof(double) * (double)n * (MATRICES * (double)n + 3 * (double)d);
    char what[120], said[200];
    snprintf(what, sizeof what, "an exact process of %zu rows and %zu encoded columns", n, d);
    const advgp_status st = gp_memory_check(bytes, what, "use {method} advgp, or take a sample with {sql}", err);
    if (st != ADVGP_OK) return st;
    if (bytes > 0.1 * gp_memory_bytes() && r->events->phase) {
        snprintf(said, sizeof said, "%s takes about %.2g GB of memory", what, bytes / 1e9);
        r->events->phase(r->events->ctx, said);
    }
    r->X = gp_alloc(n, d * sizeof *r->X);
    r->y = gp_alloc(n, sizeof *r->y);
    r->w = shards->weighted ? gp_alloc(n, sizeof *r->w) : NULL;
    r->by_hyper = gp_alloc(r->n_hyper, sizeof *r->by_hyper);
    r->hyper = gp_alloc(r->n_hyper, sizeof *r->hyper);
    r->mean = gp_alloc(READ_ROWS, sizeof *r->mean);
    r->var = gp_alloc(READ_ROWS, sizeof *r->var);
    const bool good = r->X && r->y && (r->w || !shards->weighted) && r->hyper && r->by_hyper && r->mean && r->var;
    if (!good) return gp_no_memory(err);
    return gp_reader_new(shards, READ_ROWS, &r->reader, err);
}

// Which length-scales there are depends on the rows, and on that the room for x.
static advgp_status lay_out(exact_run *r, advgp_error *err)
{
    const advgp_status st = gp_lengths_new(r->schema, first_rows(r, r->n), &r->lengths, err);
    if (st != ADVGP_OK) return st;
    r->n_x = r->n_hyper - r->spec.d + r->lengths.n;
    r->x = gp_alloc(r->n_x, sizeof *r->x);
    r->best = gp_alloc(r->n_x, sizeof *r->best);
    return r->x && r->best ? ADVGP_OK : gp_no_memory(err);
}

static void run_fini(exact_run *r)
{
    gp_lengths_fini(&r->lengths);
    gp_free(r->best);
    gp_free(r->by_hyper);
    gp_exact_free(r->exact);
    gp_reader_fini(&r->reader);
    gp_free(r->X);
    gp_free(r->y);
    gp_free(r->w);
    gp_free(r->x);
    gp_free(r->hyper);
    gp_free(r->mean);
    gp_free(r->var);
}

static advgp_status train_exact(const gp_train_request *request, gp_model **model, gp_train_result *result,
                                advgp_error *err)
{
    const gp_shards *shards = request->shards;
    const gp_train_options *options = request->options;
    static const gp_train_events silent = {0};
    gp_train_result unused, *out = result ? result : &unused;
    *model = NULL;
    *out = (gp_train_result){0};
    advgp_status st = check(shards, request->schema, options, err);
    if (st != ADVGP_OK) return st;
    exact_run r = {.schema = request->schema,
                   .options = options,
                   .events = request->events ? request->events : &silent,
                   .notes = request->notes,
                   .began = gp_stopwatch_start(),
                   .spec = {.d = shards->d, .n_components = 1, .trend = options->trend},
                   .n_hyper = gp_exact_fit_n_hyper(shards->d, options->trend)};
    r.spec.kernels = &r.kernel;
    const gp_facts facts = gp_facts_measure(shards, options);
    out->plan = gp_plan_make(&facts, options);
    gp_plan_take_encodings(&out->plan, request->encodings);
    st = take_memory(&r, shards, err);
    if (st == ADVGP_OK) st = gp_reader_visit(&r.reader, GP_TRAIN, 0, keep_rows, &r, err);
    if (st == ADVGP_OK) st = lay_out(&r, err);
    if (st == ADVGP_OK && r.events->phase) r.events->phase(r.events->ctx, "hyper-parameters by the exact evidence");
    if (st == ADVGP_OK) st = find_hyper(&r, out, err);
    if (st == ADVGP_OK) st = make_model(&r, request, out, model, err);
    run_fini(&r);
    return st;
}

// Whoever says how many threads may work says nothing of the method: it has one, and its model is the same.
static const char *const exact_options[] = {"kernel", "trend", "noise", "time", "workers", NULL};

const gp_method gp_method_exact = {
    .name = "exact",
    .summary = "the exact Gaussian process, for up to 5000 training rows",
    .options = exact_options,
    .train = train_exact,
};
