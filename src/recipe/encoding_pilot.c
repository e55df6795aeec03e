// encoding_pilot.c: a sample in parts, a small process fitted without one of them, and that part judged by it.
#include "recipe/encoding_pilot.h"
#include "base/alloc.h"
#include "base/least.h"
#include "base/rng.h"
#include "base/sort.h"
#include "learn/steepness.h"
#include "linalg/dense.h"
#include "model/predict.h"
#include "recipe/small_fit.h"
#include "score/score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_EACH = 10, BATCH_MIN = 256, BATCH_NUMBERS = 1 << 16 }; // rows for each inducing point; of wide tables
static const uint64_t part_stream = 0x70696c6f;                    // "pilo": unrelated to who was sampled
// A row's residuals are those of the tenth of the others whose predictions are nearest, and of 30 at least: the noise
// may go with the prediction, which a model of its own will tell in the end.
enum { NEIGHBOURS_MIN = 30, NEIGHBOURS_SHARE = 10 };
static const double hopeful = 0.5; // the share of the gain that a trial must have that the first parts must show

typedef struct judged_row {
    size_t place;            // among them, while they are sorted otherwise
    double target, w;        // in its own units; weight
    double mean, var, score; // of the standardised target
    double crps, off;        // in the target's own units
} judged_row;

typedef struct trial {
    gp_schema schema;   // that of the question with another target; borrows all it points to
    double *X, *y, *w;  // [n x d], [n], [n]: rows to fit first, then those to judge
    double *mean, *var; // [n]: of those to judge; mean is scratch before
    size_t n, n_fit, d; // n_fit of the present part; d: with directions
    judged_row *judged; // [n]: of all parts so far, part by part
    judged_row *sorted; // [n]: some of them by prediction
    size_t n_judged, parts;
    size_t seen[GP_PILOT_PARTS]; // rows of so many parts
    gp_encodings how;
    double *steepness; // GP_PILOT_PARTS x [n_columns x n_columns]: of the fit of each part; NULL: nobody will ask
} trial;

struct gp_encoding_pilot {
    gp_encoding_question question;
    trial present;
    size_t *columns, n_columns; // of which directions may be sums
    double *directions;         // [GP_DIRECTIONS_MAX x d]: weights of those that are tried, or were taken
    size_t n_directions;
    bool settled; // they were taken
};

gp_limits gp_log_bounds(const gp_schema *schema)
{
    return (gp_limits){.lo = 0, .hi = 2 * schema->y_range.hi};
}

// ---- rows -----------------------------------------------------------------------------------------------------------

static void set_logarithm(trial *t, const gp_encoding_question *q)
{
    const gp_rows *rows = q->rows;
    const gp_schema *base = q->schema;
    double *targets = t->mean, weight = 0, mean = 0, m2 = 0;
    bool zero = false;
    for (size_t i = 0; i < rows->n; i++) {
        targets[i] = fmax(gp_schema_target(base, rows->y[i]), 0); // but for rounding it is not negative
        zero = zero || !(targets[i] > 0);
    }
    t->schema.log_target = true;
    t->schema.log_offset = zero ? gp_log_offset(targets, rows->n) : 0;
    if (q->bounds_open) t->schema.bounded = true, t->schema.bounds = gp_log_bounds(base);
    t->schema.y_mean = 0, t->schema.y_scale = 1;
    for (size_t i = 0; i < rows->n; i++) {
        const double z = gp_schema_standardise(&t->schema, fmax(gp_schema_target(base, rows->y[i]), 0));
        const double step = z - mean;
        weight += rows->w[i];
        mean += step * rows->w[i] / weight;
        m2 += rows->w[i] * step * (z - mean);
    }
    t->schema.y_mean = mean;
    t->schema.y_scale = fmax(sqrt(m2 / weight), 1e-12);
}

static bool is_judged(const gp_encoding_question *q, size_t i, size_t part)
{
    return gp_hash_u64(q->seed ^ part_stream, i) % GP_PILOT_PARTS == part;
}

// All but this part to fit, then the part.
static void take_rows(const gp_encoding_question *q, trial *t, size_t part)
{
    const gp_rows *rows = q->rows;
    t->n_fit = 0;
    for (size_t i = 0; i < rows->n; i++) t->n_fit += !is_judged(q, i, part);
    size_t at[2] = {0, t->n_fit}, judged = t->n_judged;
    for (size_t i = 0; i < rows->n; i++) {
        const size_t k = at[is_judged(q, i, part)]++;
        const double target = gp_schema_target(q->schema, rows->y[i]);
        memcpy(t->X + k * t->d, rows->X + i * rows->d, rows->d * sizeof *t->X);
        t->y[k] = t->schema.log_target ? gp_schema_standardise(&t->schema, fmax(target, 0)) : rows->y[i];
        t->w[k] = rows->w[i];
        if (k >= t->n_fit) t->judged[judged++] = (judged_row){.target = target, .w = rows->w[i]};
    }
}

static advgp_status trial_init(trial *t, const gp_encoding_pilot *p, gp_encodings how, advgp_error *err)
{
    const gp_encoding_question *q = &p->question;
    const size_t n = q->rows->n, d = q->rows->d + how.directions;
    *t = (trial){.schema = *q->schema, .n = n, .d = d, .how = how};
    t->X = gp_alloc(n, (d + 4) * sizeof *t->X);
    t->judged = gp_alloc(2 * n, sizeof *t->judged);
    if (!t->X || !t->judged) return gp_no_memory(err);
    t->y = t->X + n * d, t->w = t->y + n, t->mean = t->w + n, t->var = t->mean + n;
    t->sorted = t->judged + n;
    if (q->directions_open && !how.directions) {
        t->steepness = gp_alloc(GP_PILOT_PARTS * p->n_columns * p->n_columns, sizeof *t->steepness);
        if (!t->steepness) return gp_no_memory(err);
    }
    if (how.logarithm) set_logarithm(t, q);
    return ADVGP_OK;
}

static void trial_fini(trial *t)
{
    gp_free(t->X);
    gp_free(t->judged);
    gp_free(t->steepness);
}

// ---- ranks ----------------------------------------------------------------------------------------------------------

// One encoded column of all rows becomes its ranks, standardised again.
static advgp_status warp_column(trial *t, size_t column, advgp_error *err)
{
    gp_warp warp = {0};
    gp_moments ranks = {0};
    double *x = t->X + column;
    for (size_t i = 0; i < t->n; i++) t->mean[i] = x[i * t->d];
    gp_sort(t->mean, t->n);
    if (!(t->mean[0] < t->mean[t->n - 1])) return ADVGP_OK;
    const advgp_status st = gp_warp_fit(&warp, t->mean, t->n, err);
    if (st != ADVGP_OK) return st;
    for (size_t i = 0; i < t->n; i++) {
        x[i * t->d] = gp_warp_at(&warp, x[i * t->d]);
        gp_moments_add(&ranks, 1, &x[i * t->d], &t->w[i]);
    }
    const double scale = fmax(sqrt(ranks.m2 / ranks.weight), 1e-12);
    for (size_t i = 0; i < t->n; i++) x[i * t->d] = (x[i * t->d] - ranks.mean) / scale;
    gp_warp_fini(&warp);
    return ADVGP_OK;
}

static advgp_status warp_columns(trial *t, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    for (size_t i = 0; st == ADVGP_OK && i < t->schema.n_inputs; i++)
        if (t->schema.inputs[i].long_tailed) st = warp_column(t, t->schema.inputs[i].first, err);
    return st;
}

// ---- directions -----------------------------------------------------------------------------------------------------

static size_t n_products(const gp_encoding_pilot *p)
{
    return p->n_columns * p->n_columns;
}

// Those of a fit that has not seen the part that it will be judged by; of all fits, once they are taken.
static advgp_status find_directions(gp_encoding_pilot *p, size_t first_part, size_t parts, size_t most,
                                    advgp_error *err)
{
    const trial *t = &p->present; // whose rows are as its encoding has them
    double *sum = gp_alloc(n_products(p), sizeof *sum);
    if (!sum) return gp_no_memory(err);
    for (size_t part = first_part; part < first_part + parts; part++)
        for (size_t k = 0; k < n_products(p); k++) sum[k] += t->steepness[part * n_products(p) + k];
    const advgp_status st = gp_steepest(sum, p->n_columns, p->columns, gp_cmat_of(t->X, t->n, t->d), most,
                                        p->directions, &p->n_directions, err);
    gp_free(sum);
    return st;
}

static void follow_directions(const gp_encoding_pilot *p, trial *t)
{
    const size_t plain = p->question.rows->d;
    for (size_t i = 0; i < t->n; i++)
        for (size_t k = 0; k < p->n_directions; k++)
            t->X[i * t->d + plain + k] = gp_dot(plain, p->directions + k * plain, t->X + i * t->d);
}

// ---- fitting --------------------------------------------------------------------------------------------------------

static advgp_status predict_judged(trial *t, const gp_predictor *predictor, advgp_error *err)
{
    const size_t n = t->n - t->n_fit;
    gp_predict_work *work = NULL;
    advgp_status st = gp_predict_work_new(predictor, 0, &work, err);
    if (st == ADVGP_OK)
        st = gp_predict(predictor, work, gp_cmat_of(t->X + t->n_fit * t->d, n, t->d), t->mean, NULL, t->var, err);
    for (size_t i = 0; st == ADVGP_OK && i < n; i++) {
        judged_row *row = &t->judged[t->n_judged++];
        row->mean = t->mean[i], row->var = t->var[i];
        row->score = (t->y[t->n_fit + i] - row->mean) / sqrt(row->var);
    }
    gp_predict_work_free(work);
    return st;
}

// What a fit says: of the rows to judge, and how steep it is.
static advgp_status hear(const gp_encoding_pilot *p, trial *t, const gp_learner *l, advgp_error *err)
{
    gp_predictor *predictor = NULL;
    advgp_status st = gp_predictor_new(&l->spec, l->theta, &predictor, err);
    if (st == ADVGP_OK) st = predict_judged(t, predictor, err);
    if (st == ADVGP_OK && t->steepness)
        st = gp_steepness_add(predictor, gp_cmat_of(t->X, t->n_fit, t->d), p->n_columns, p->columns,
                              t->steepness + t->parts * n_products(p), err);
    gp_predictor_free(predictor);
    return st;
}

static advgp_status fit_part(const gp_encoding_pilot *p, trial *t, bool *stopped, advgp_error *err)
{
    const gp_encoding_question *q = &p->question;
    const bool few = t->n < GP_PILOT_ONE_PART;
    const size_t told = t->n_fit / ROWS_EACH, wide = BATCH_NUMBERS / t->d, fits = wide > BATCH_MIN ? wide : BATCH_MIN;
    const gp_rows fitted = {.n = t->n_fit, .d = t->d, .X = t->X, .y = t->y, .w = t->w};
    gp_shards *shards = NULL;
    gp_learner *learner = NULL;
    advgp_status st = gp_memory_shards_of(&fitted, q->schema->weights != NULL, q->seed, &shards, err);
    const gp_small_fit fit = {.shards = shards,
                              .schema = &t->schema,
                              .kernel = q->kernel,
                              .trend = t->d <= told ? GP_TREND_LINEAR : GP_TREND_CONSTANT,
                              .m = gp_least(told, GP_PILOT_INDUCING),
                              .components = 1,
                              .steps = few ? GP_PILOT_STEPS_FEW : GP_PILOT_STEPS,
                              .batch = gp_least(fits, few ? GP_PILOT_BATCH_FEW : GP_PILOT_BATCH),
                              .seed = q->seed,
                              .stop = q->stop,
                              .stop_ctx = q->stop_ctx};
    if (st == ADVGP_OK) st = gp_small_fit_run(&fit, &learner, NULL, err);
    *stopped = st == ADVGP_OK && !learner;
    if (st == ADVGP_OK && learner) st = hear(p, t, learner, err);
    gp_learner_free(learner);
    gp_shards_free(shards);
    return st;
}

// ---- judging --------------------------------------------------------------------------------------------------------

// CRPS of n sorted values, equally likely, at y: E|v - y| - E|v - v'| / 2.
static double sample_crps(const double *sorted, size_t n, double y)
{
    double off = 0, between = 0;
    for (size_t i = 0; i < n; i++) {
        off += fabs(sorted[i] - y);
        between += (2 * (double)i + 1 - (double)n) * sorted[i];
    }
    return off / (double)n - between / ((double)n * (double)n);
}

static int by_mean(const void *a, const void *b)
{
    const double x = ((const judged_row *)a)->mean, y = ((const judged_row *)b)->mean;
    return (x > y) - (x < y);
}

static size_t first_not_below(const double *sorted, size_t n, double value)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (sorted[mid] < value)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void replace_sorted(double *sorted, size_t n, double gone, double come)
{
    const size_t from = first_not_below(sorted, n, gone);
    if (from == n) return; // not a number
    memmove(sorted + from, sorted + from + 1, (n - 1 - from) * sizeof *sorted);
    const size_t to = first_not_below(sorted, n - 1, come);
    memmove(sorted + to + 1, sorted + to, (n - 1 - to) * sizeof *sorted);
    sorted[to] = come;
}

// A row by the sorted scores of `n` rows about it, itself among them: targets rise with scores, so they come sorted.
static void judge_row(trial *t, const judged_row *row, const double *scores, size_t n)
{
    const double sd = sqrt(row->var);
    const size_t own = first_not_below(scores, n, row->score);
    size_t others = 0;
    for (size_t k = 0; k < n; k++) {
        if (k == own) continue;
        t->mean[others++] = gp_schema_cut(&t->schema, gp_schema_target(&t->schema, row->mean + sd * scores[k]));
    }
    t->judged[row->place].crps = sample_crps(t->mean, others, row->target);
    t->judged[row->place].off = row->target - gp_predicted_mean(&t->schema, row->mean, row->var);
}

// The first n rows, in the order of their predictions: from one to the next at most one other row comes and one goes.
static void judge(trial *t, size_t n)
{
    const size_t tenth = n / NEIGHBOURS_SHARE, others = tenth > NEIGHBOURS_MIN ? tenth : NEIGHBOURS_MIN;
    const size_t half = others / 2, about = others + 1;
    double *scores = t->var; // of predictions that are known by now
    for (size_t i = 0; i < n; i++) t->sorted[i] = t->judged[i], t->sorted[i].place = i;
    qsort(t->sorted, n, sizeof *t->sorted, by_mean);
    for (size_t k = 0; k < about; k++) scores[k] = t->sorted[k].score;
    gp_sort(scores, about);
    for (size_t i = 0, first = 0; i < n; i++) {
        if (i > first + half && first + about < n) {
            replace_sorted(scores, about, t->sorted[first].score, t->sorted[first + about].score);
            first++;
        }
        judge_row(t, &t->sorted[i], scores, about);
    }
}

static double crps_of(const judged_row *row)
{
    return row->crps;
}

static double square_of(const judged_row *row)
{
    return row->off * row->off;
}

// The first `rows` of both are the same.
static advgp_status pair(const trial *before, const trial *after, size_t rows, double (*figure)(const judged_row *row),
                         gp_paired *out, advgp_error *err)
{
    const advgp_status st = gp_paired_init(out, rows, err);
    if (st != ADVGP_OK) return st;
    for (size_t i = 0; i < rows; i++) gp_paired_add(out, before->judged[i].w, figure(&before->judged[i]));
    gp_paired_turn(out);
    for (size_t i = 0; i < rows; i++) gp_paired_add(out, after->judged[i].w, figure(&after->judged[i]));
    return st;
}

static gp_trial trial_of(const trial *before, const trial *after)
{
    return after->how.directions > before->how.directions ? GP_TRIAL_DIRECTIONS
           : after->how.ranks && !before->how.ranks       ? GP_TRIAL_RANKS
                                                          : GP_TRIAL_LOGARITHM;
}

static advgp_status compare(trial *before, trial *after, size_t rows, gp_verdict *out, advgp_error *err)
{
    gp_paired crps = {0}, squares = {0};
    judge(before, rows), judge(after, rows);
    advgp_status st = pair(before, after, rows, crps_of, &crps, err);
    if (st == ADVGP_OK) st = pair(before, after, rows, square_of, &squares, err);
    if (st == ADVGP_OK) *out = gp_judge(trial_of(before, after), &crps, &squares);
    gp_paired_fini(&crps);
    gp_paired_fini(&squares);
    return st;
}

// ---- part by part ---------------------------------------------------------------------------------------------------

// Unless it has been: the fit of the others, and what it says of this part.
static advgp_status see_part(gp_encoding_pilot *p, trial *t, size_t part, bool *stopped, advgp_error *err)
{
    const gp_encoding_question *q = &p->question;
    advgp_status st = ADVGP_OK;
    if (t->parts > part || *stopped) return st;
    t->n_judged = part ? t->seen[part - 1] : 0; // a fit that failed on the way left nothing behind
    if (t->how.directions && !p->settled) st = find_directions(p, part, 1, t->how.directions, err);
    if (t->how.directions) t->d = q->rows->d + p->n_directions;
    if (st == ADVGP_OK) take_rows(q, t, part);
    if (st == ADVGP_OK && t->how.ranks) st = warp_columns(t, err);
    if (st == ADVGP_OK && t->how.directions) follow_directions(p, t);
    if (st == ADVGP_OK) st = fit_part(p, t, stopped, err);
    if (st == ADVGP_OK && !*stopped) t->seen[t->parts++] = t->n_judged;
    return st;
}

// An encoding by which too little is gained so far is given up.
static advgp_status try_parts(gp_encoding_pilot *p, trial *other, gp_verdict *out, advgp_error *err)
{
    const gp_encoding_question *q = &p->question;
    const size_t parts = q->rows->n < GP_PILOT_ONE_PART ? GP_PILOT_PARTS : 1;
    bool stopped = false;
    advgp_status st = ADVGP_OK;
    for (size_t part = 0; part < parts && st == ADVGP_OK && !stopped; part++) {
        st = see_part(p, &p->present, part, &stopped, err);
        if (st == ADVGP_OK) st = see_part(p, other, part, &stopped, err);
        if (st != ADVGP_OK || stopped) break;
        st = compare(&p->present, other, other->seen[part], out, err);
        if (!(out->gain > hopeful * gp_trial_least(trial_of(&p->present, other)))) break;
    }
    if (stopped) *out = gp_verdict_none();
    return st;
}

advgp_status gp_encoding_pilot_try(gp_encoding_pilot *pilot, gp_encodings other, gp_verdict *out, advgp_error *err)
{
    trial t = {0};
    *out = gp_verdict_none();
    if (pilot->question.rows->n < GP_PILOT_ROWS_MIN) return ADVGP_OK;
    advgp_status st = trial_init(&t, pilot, other, err);
    if (st == ADVGP_OK) st = try_parts(pilot, &t, out, err);
    if (st == ADVGP_ENUMERIC) st = ADVGP_OK, out->taken = false; // what cannot be computed does not pay
    if (st == ADVGP_OK && pilot->question.directions_asked && other.directions && out->tried)
        out->taken = pilot->n_directions > 0;
    const bool settles = out->taken && other.directions && !pilot->settled;
    if (st == ADVGP_OK && settles) {
        st = find_directions(pilot, 0, pilot->present.parts, other.directions, err);
        out->taken = pilot->n_directions > 0; // parts may have some that all together have not
    }
    if (st == ADVGP_OK && out->taken) {
        pilot->settled |= settles;
        const trial worse = pilot->present;
        pilot->present = t, t = worse;
    }
    trial_fini(&t);
    return st;
}

static advgp_status pilot_init(gp_encoding_pilot *p, gp_encodings present, advgp_error *err)
{
    const gp_encoding_question *q = &p->question;
    const size_t d = q->rows->d;
    p->columns = gp_alloc(d, sizeof *p->columns);
    p->directions = gp_alloc(GP_DIRECTIONS_MAX * d, sizeof *p->directions);
    if (!p->columns || !p->directions) return gp_no_memory(err);
    p->n_columns = gp_steepness_columns(q->schema, p->columns);
    return trial_init(&p->present, p, present, err);
}

advgp_status gp_encoding_pilot_new(const gp_encoding_question *question, gp_encodings present, gp_encoding_pilot **out,
                                   advgp_error *err)
{
    gp_encoding_pilot *p = *out = gp_alloc(1, sizeof *p);
    if (!p) return gp_no_memory(err);
    p->question = *question;
    const advgp_status st = pilot_init(p, present, err);
    if (st == ADVGP_OK) return st;
    gp_encoding_pilot_free(p);
    *out = NULL;
    return st;
}

gp_encodings gp_encoding_pilot_present(const gp_encoding_pilot *pilot)
{
    return pilot->present.how;
}

size_t gp_encoding_pilot_directions(const gp_encoding_pilot *pilot, const double **weights)
{
    *weights = pilot->directions;
    return pilot->settled ? pilot->n_directions : 0;
}

void gp_encoding_pilot_free(gp_encoding_pilot *pilot)
{
    if (!pilot) return;
    trial_fini(&pilot->present);
    gp_free(pilot->columns);
    gp_free(pilot->directions);
    gp_free(pilot);
}
