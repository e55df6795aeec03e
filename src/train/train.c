// train.c: the course of a training: settle, pilots, run, finish, calibrate. Each act is a function below, in that
// order.
#include "train/train.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "train/baseline.h"
#include "train/calibrate.h"
#include "train/checkpoint.h"
#include "train/inducing.h"
#include "train/learner.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

const double gp_train_levels[5] = {0.5, 0.8, 0.9, 0.95, 0.99};

// By measurement (bench/accuracy): a step sees about a fortieth of the rows, within bounds, and a run has a thousand
// steps or six epochs, whichever is more, up to 3,000 steps. A table that one step can see whole has no noise between
// steps and needs fewer.
enum { BATCH_MIN = 512, BATCH_MAX = 8192, BATCH_WHOLE = 1024, READ_ROWS = 4096 };
enum { STEPS_WHOLE = 400, STEPS_MIN = 1000, STEPS_MAX = 3000 };
static const double start_length = 0.7, adam_rate = 0.1;
// Pilots: long enough to rank one component against four on every set tried; on small tables longer, since few held-out
// rows tell less. A sum gains more from the rest of the run than one component does, so it may be a little behind.
enum { PILOT_STEPS_WHOLE = 150, PILOT_STEPS_SMALL = 400, PILOT_STEPS = 200, PILOT_SMALL_ROWS = 50000 };
enum { PILOT_BATCH_MAX = 4096, PILOT_SCORE_ROWS = 20000, PILOT_M_MIN = 40, PILOT_SUM = 4 };
static const double pilot_handicap = 1.01;
enum { EVALUATIONS = 40, EVAL_ROWS = 20000, DEFAULT_PATIENCE = 10 };
static const double interrupted_finish_seconds = 10;

typedef struct training {
    const gp_shards *shards;
    const gp_schema *schema;
    const gp_train_options *options;
    const gp_train_events *events;
    gp_train_result *result;
    gp_reader reader;
    double *inducing;
    size_t m; // after distinct rows were counted
    size_t n_train, batch, steps;
    double wall_start, cpu_start;
    double run_start;  // wall clock when the steps began, after pilots
    size_t first_step; // taken before, where the run was resumed
    gp_learner *learner;
    gp_run_state state;
    bool undecided; // someone asked to stop while pilots ran
} training;

// Fewer held-out rows than this decide nothing: the bound ranks pilots, the schedule ends the run.
enum { HELD_OUT_DECIDES = 100 };
static bool held_out_decides(const training *t)
{
    return gp_shards_rows(t->shards, GP_STOP) >= HELD_OUT_DECIDES;
}

static void say(const training *t, const char *what)
{
    if (t->events->phase) t->events->phase(t->events->ctx, what);
}

static bool stop_asked(const training *t)
{
    return t->events->stop && t->events->stop(t->events->ctx);
}

// ---- settle ---------------------------------------------------------------------------------------------------------

static advgp_status settle(training *t, gp_notes *notes, advgp_error *err)
{
    const gp_train_options *o = t->options;
    t->n_train = gp_shards_rows(t->shards, GP_TRAIN);
    if (!t->n_train) return gp_fail(err, ADVGP_EDATA, "there are no training rows");
    size_t batch = t->n_train <= BATCH_WHOLE ? t->n_train : BATCH_MIN;
    while (batch < BATCH_MAX && 40 * batch < t->n_train) batch *= 2;
    t->batch = o->batch ? o->batch : batch;
    if (t->batch > t->n_train) t->batch = t->n_train;
    const double per_epoch = (double)t->n_train / (double)t->batch;
    const double least = t->batch == t->n_train ? STEPS_WHOLE : STEPS_MIN;
    const double steps = o->epochs > 0 ? o->epochs * per_epoch : fmin(STEPS_MAX, fmax(least, 6 * per_epoch));
    t->steps = (size_t)fmax(1, ceil(steps));
    advgp_status st;
    if (o->theta) {
        t->m = o->m;
        t->inducing = gp_alloc(t->m, t->shards->d * sizeof *t->inducing); // theta has its own
        st = t->inducing ? ADVGP_OK : gp_fail(err, ADVGP_ENOMEM, "no memory for %zu inducing inputs", t->m);
    } else {
        st = gp_inducing_choose(t->shards, o->m, o->start, o->kernel, start_length, &t->inducing, &t->m, err);
    }
    if (st == ADVGP_OK && t->m < o->m)
        st = gp_notes_add(notes, err, t->m, "inducing inputs reduced from %zu to %zu: there are no more distinct rows",
                          o->m, t->m);
    if (st == ADVGP_OK) st = gp_reader_new(t->shards, t->batch > READ_ROWS ? t->batch : READ_ROWS, &t->reader, err);
    return st;
}

static advgp_status new_learner(const training *t, size_t components, gp_learner **out, advgp_error *err)
{
    const gp_train_options *o = t->options;
    const gp_learner_options lo = {
        .d = t->shards->d,
        .m = t->m,
        .components = components < t->m ? components : t->m,
        .kernel = o->kernel,
        .map = o->map,
        .trend = o->trend,
        .length_scale = start_length,
        .natural_rate = o->step > 0 ? o->step : 0.2,
        .adam_rate = adam_rate,
        .n_rows = gp_shards_weight(t->shards, GP_TRAIN),
        .seed = o->seed,
        .inducing = gp_cmat_of(t->inducing, t->m, t->shards->d),
    };
    const advgp_status st = gp_learner_new(&lo, out, err);
    if (st == ADVGP_OK && o->theta) memcpy((*out)->theta, o->theta, (*out)->layout.size * sizeof(double));
    return st;
}

// ---- pilots ---------------------------------------------------------------------------------------------------------

// Held-out RMSE after a short run with its finish; where too few rows are held out the bound, which needs none.
static advgp_status pilot(training *t, size_t components, double *score, advgp_error *err)
{
    gp_learner *l = NULL;
    gp_score held_out;
    const size_t batch = t->batch < PILOT_BATCH_MAX ? t->batch : PILOT_BATCH_MAX;
    const size_t steps = t->batch == t->n_train          ? PILOT_STEPS_WHOLE
                         : t->n_train < PILOT_SMALL_ROWS ? PILOT_STEPS_SMALL
                                                         : PILOT_STEPS;
    advgp_status st = new_learner(t, components, &l, err);
    *score = INFINITY;
    for (size_t k = 0; st == ADVGP_OK && k < steps && !stop_asked(t); k++) {
        gp_batch rows;
        st = gp_reader_ring(&t->reader, k * batch, batch, &rows, err);
        if (st == ADVGP_OK) st = gp_learner_step(l, rows, (double)k / (double)steps, err);
    }
    if (st == ADVGP_OK) st = gp_learner_finish(l, &t->reader, 40 * batch, score, err);
    if (st == ADVGP_OK && held_out_decides(t)) {
        st = gp_score_part(&l->spec, l->theta, &t->reader, GP_STOP, PILOT_SCORE_ROWS, t->schema, &held_out, err);
        *score = gp_score_rmse(&held_out);
    }
    gp_learner_free(l);
    return st;
}

static advgp_status choose_components(training *t, size_t *components, advgp_error *err)
{
    *components = t->options->components;
    if (*components) return ADVGP_OK;
    *components = 1;
    if (t->m < PILOT_M_MIN) return ADVGP_OK;
    double one, sum;
    say(t, "pilot: one component");
    advgp_status st = pilot(t, 1, &one, err);
    if (st == ADVGP_OK && !stop_asked(t)) {
        say(t, "pilot: a sum of four components");
        st = pilot(t, PILOT_SUM, &sum, err);
        if (st == ADVGP_OK && sum < (held_out_decides(t) ? pilot_handicap * one : one)) *components = PILOT_SUM;
    }
    t->undecided = stop_asked(t); // the comparison is void; what there is becomes a model, and resuming begins again
    return st;
}

// ---- run ------------------------------------------------------------------------------------------------------------

static advgp_status evaluate(training *t, size_t version, gp_train_eval *e, advgp_error *err)
{
    gp_score score = {0};
    advgp_status st = ADVGP_OK;
    if (gp_shards_rows(t->shards, GP_STOP))
        st = gp_score_part(&t->learner->spec, t->learner->theta, &t->reader, GP_STOP, EVAL_ROWS, t->schema, &score,
                           err);
    const double rows = (double)version * (double)t->batch, wall = gp_clock_wall() - t->wall_start;
    const double steps_here = (double)(version - t->first_step), run = fmax(gp_clock_wall() - t->run_start, 1e-9);
    *e = (gp_train_eval){
        .wall = wall,
        .cpu = gp_clock_cpu() - t->cpu_start,
        .rows = rows,
        .epoch = rows / (double)t->n_train,
        .epochs = (double)t->steps * (double)t->batch / (double)t->n_train,
        .version = version,
        .neg_elbo_per_row = t->learner->neg_elbo_per_row,
        .rmse = gp_score_rmse(&score),
        .mnlp = gp_score_mnlp(&score),
        .rows_per_second = steps_here * (double)t->batch / run,
        .seconds_left = run / fmax(steps_here, 1) * (double)(t->steps - version),
    };
    if (st == ADVGP_OK && t->events->eval) t->events->eval(t->events->ctx, e);
    return st;
}

// Has the run come to its end by what a checkpoint keeps? Then why.
static const char *is_over(const training *t)
{
    const size_t patience = t->options->patience ? t->options->patience : DEFAULT_PATIENCE;
    if (t->state.since_best >= patience) return "no gain on held-out rows";
    return t->state.step >= t->steps ? "the schedule ended" : NULL;
}

// After an evaluation: is this the best so far, and is it time to stop? Then why.
static const char *judge(training *t, const gp_train_eval *e)
{
    gp_learner *l = t->learner;
    if (!held_out_decides(t) || e->mnlp < t->state.best) {
        t->state.best = e->mnlp, t->state.since_best = 0;
        memcpy(l->best, l->theta, l->layout.size * sizeof(double));
    } else {
        t->state.since_best++;
    }
    const char *over = is_over(t);
    if (over) return over;
    if (t->options->seconds > 0 && e->wall >= t->options->seconds) return "time is up";
    return NULL;
}

static advgp_status save(training *t, double *last_save, advgp_error *err)
{
    *last_save = gp_clock_wall();
    return t->options->checkpoint ? gp_checkpoint_save(t->options->checkpoint, t->learner, &t->state, err) : ADVGP_OK;
}

// Steps until the schedule ends, patience runs out, time is up or someone asks; then theta is the best that was seen.
// Evaluations come at fixed steps, so that a resumed run makes the same decisions.
static advgp_status run(training *t, advgp_error *err)
{
    gp_learner *l = t->learner;
    const size_t every = t->steps > EVALUATIONS ? t->steps / EVALUATIONS : 1;
    const double pause = t->options->checkpoint_seconds;
    double last_save = gp_clock_wall();
    t->run_start = last_save;
    t->first_step = t->state.step;
    const char *stopped = is_over(t);
    while (!stopped) {
        gp_batch rows;
        advgp_status st = gp_reader_ring(&t->reader, t->state.step * t->batch, t->batch, &rows, err);
        if (st == ADVGP_OK) st = gp_learner_step(l, rows, (double)t->state.step / (double)t->steps, err);
        if (st != ADVGP_OK) return st;
        t->state.step++;
        const bool due = t->state.step % every == 0 || t->state.step == t->steps;
        gp_train_eval e;
        if (due) st = evaluate(t, t->state.step, &e, err);
        if (st != ADVGP_OK) return st;
        if (due) stopped = judge(t, &e);
        const bool asked = stop_asked(t);
        if (asked || (!stopped && pause > 0 && gp_clock_wall() - last_save >= pause)) st = save(t, &last_save, err);
        if (st != ADVGP_OK) return st;
        if (asked && !stopped) {
            // After the checkpoint: an undisturbed run would not evaluate here, and must not learn of it.
            if (!due) st = evaluate(t, t->state.step, &e, err);
            if (st != ADVGP_OK) return st;
            if (!due) (void)judge(t, &e);
            stopped = "interrupted";
        }
        t->result->interrupted = asked;
    }
    memcpy(l->theta, l->best, l->layout.size * sizeof(double));
    t->result->stopped = stopped;
    t->result->versions = t->state.step;
    t->result->rows = (double)t->state.step * (double)t->batch;
    return ADVGP_OK;
}

// What a checkpoint must share with the run that goes on from it, beyond its counts.
static advgp_status identify(training *t, advgp_error *err)
{
    const gp_train_options *o = t->options;
    char *schema = gp_schema_to_json(t->schema), settings[160];
    if (!schema) return gp_fail(err, ADVGP_ENOMEM, "no memory for the schema");
    snprintf(settings, sizeof settings, "%.40s %.40s %d %a %zu", o->kernel->name, o->map->name, (int)o->trend, o->step,
             o->patience);
    t->state.data = XXH3_64bits(schema, strlen(schema));
    t->state.settings = XXH3_64bits(settings, strlen(settings));
    gp_free(schema);
    return ADVGP_OK;
}

// A fresh learner with the number of components the pilots choose, or the one a checkpoint holds.
static advgp_status begin(training *t, advgp_error *err)
{
    size_t components = 0;
    advgp_status st = ADVGP_OK;
    if (t->options->resume) st = gp_checkpoint_components(t->options->resume, &components, err);
    if (st == ADVGP_OK && components && t->options->components && components != t->options->components)
        return gp_fail(err, ADVGP_EINVAL, "%s is of a run with %zu components, this one has %zu: use the same options",
                       t->options->resume, components, t->options->components);
    if (st == ADVGP_OK && !components) st = choose_components(t, &components, err);
    if (st == ADVGP_OK) st = new_learner(t, components, &t->learner, err);
    t->state = (gp_run_state){.best = INFINITY,
                              .undecided = t->undecided,
                              .batch = t->batch,
                              .steps = t->steps,
                              .seed = t->options->seed,
                              .n_rows = t->n_train};
    if (st == ADVGP_OK) st = identify(t, err);
    if (st != ADVGP_OK) return st;
    memcpy(t->learner->best, t->learner->theta, t->learner->layout.size * sizeof(double));
    return t->options->resume ? gp_checkpoint_load(t->options->resume, t->learner, &t->state, err) : ADVGP_OK;
}

// ---- finish ---------------------------------------------------------------------------------------------------------

// An interrupted run must end soon: its finish takes as many rows as the steps did in ten seconds, and says so in the
// record.
static advgp_status finish(training *t, size_t *rows, advgp_error *err)
{
    const double speed = t->result->rows / fmax(gp_clock_wall() - t->wall_start, 1e-3);
    *rows = t->n_train;
    if (t->result->interrupted && speed * interrupted_finish_seconds < (double)t->n_train)
        *rows = (size_t)fmax((double)t->batch, speed * interrupted_finish_seconds);
    say(t, "finish: exact posterior over the training rows");
    return gp_learner_finish(t->learner, &t->reader, *rows, &t->result->neg_elbo, err);
}

typedef struct linear_score {
    const double *coef;
    const gp_schema *schema;
    gp_score linear, mean;
} linear_score;

static advgp_status score_baselines(void *ctx, gp_batch rows, advgp_error *err)
{
    (void)err;
    linear_score *s = ctx;
    for (size_t i = 0; i < rows.X.rows; i++) {
        const double w = rows.w ? rows.w[i] : 1;
        const double p = gp_linear_predict(s->coef, rows.X.cols, rows.X.p + i * rows.X.ld);
        gp_score_add(&s->linear, s->schema, w, rows.y[i], p, 1);
        gp_score_add(&s->mean, s->schema, w, rows.y[i], 0, 1);
    }
    return ADVGP_OK;
}

static advgp_status baselines(training *t, gp_part part, gp_model *model, advgp_error *err)
{
    double *coef = gp_alloc(t->shards->d + 1, sizeof(double));
    if (!coef) return gp_fail(err, ADVGP_ENOMEM, "no memory for linear regression");
    linear_score s = {.coef = coef, .schema = t->schema};
    advgp_status st = gp_linear_fit(&t->reader, coef, err);
    if (st == ADVGP_OK) st = gp_reader_visit(&t->reader, part, 0, score_baselines, &s, err);
    model->baseline_linear = gp_score_rmse(&s.linear);
    model->baseline_mean = gp_score_rmse(&s.mean);
    gp_free(coef);
    return st;
}

static advgp_status fill_model(training *t, gp_model *model, size_t finish_rows, advgp_error *err)
{
    const gp_learner *l = t->learner;
    const size_t M = l->layout.M;
    const gp_stats *stats = gp_pass_stats(l->pass);
    memcpy(model->theta, l->theta, l->layout.size * sizeof(double));
    memcpy(model->stats.A.p, stats->A.p, M * M * sizeof(double));
    memcpy(model->stats.b, stats->b, M * sizeof(double));
    model->stats.yy = stats->yy, model->stats.n = stats->n, model->stats.residual = stats->residual;

    const gp_part part = gp_shards_rows(t->shards, GP_STOP) ? GP_STOP : GP_TRAIN;
    gp_train_result *r = t->result;
    gp_score score;
    r->held_out = part == GP_STOP;
    advgp_status st = gp_calibrate(model, &t->reader, err);
    if (st == ADVGP_OK) st = gp_score_part(&l->spec, l->theta, &t->reader, part, 0, t->schema, &score, err);
    if (st == ADVGP_OK)
        st = gp_coverage(model, &t->reader, part, 5, gp_train_levels, r->coverage, r->coverage_gaussian, err);
    if (st == ADVGP_OK) st = baselines(t, part, model, err);
    if (st != ADVGP_OK) return st;
    r->rmse = gp_score_rmse(&score), r->mnlp = gp_score_mnlp(&score);
    r->n_train = (double)t->n_train;
    r->wall = gp_clock_wall() - t->wall_start, r->cpu = gp_clock_cpu() - t->cpu_start;
    json_t *record = json_pack("{s:f, s:f, s:f, s:s, s:I, s:I, s:I, s:I, s:b, s:f, s:f}", "rmse", r->rmse, "mnlp",
                               r->mnlp, "neg_elbo", r->neg_elbo, "stopped", r->stopped, "rows", (json_int_t)t->n_train,
                               "finish_rows", (json_int_t)finish_rows, "versions", (json_int_t)r->versions, "batch",
                               (json_int_t)t->batch, "held_out", r->held_out, "wall_seconds", r->wall, "cpu_seconds",
                               r->cpu);
    if (!record || json_object_update(model->record, record) < 0)
        st = gp_fail(err, ADVGP_ENOMEM, "no memory for the training record");
    json_decref(record);
    return st;
}

// ---- the whole
// --------------------------------------------------------------------------------------------------------

static advgp_status check(const gp_shards *shards, const gp_schema *schema, const gp_train_options *o, advgp_error *err)
{
    if (!shards || !schema || !o) return gp_fail(err, ADVGP_EINVAL, "train: no rows, schema or options given");
    if (!o->kernel || !o->map || !o->m)
        return gp_fail(err, ADVGP_EINVAL, "train: a kernel, a map and at least one inducing input are needed");
    if (!(o->step >= 0 && o->step <= 1)) return gp_fail(err, ADVGP_EINVAL, "train: step %g is not in 0 .. 1", o->step);
    if (o->theta && !o->components)
        return gp_fail(err, ADVGP_EINVAL, "train: parameters to start from need a number of components");
    return ADVGP_OK;
}

advgp_status gp_train(const gp_shards *shards, gp_schema *schema_take, const char *sql, const gp_train_options *options,
                      const gp_train_events *events, gp_notes *notes, gp_model **model, gp_train_result *result,
                      advgp_error *err)
{
    static const gp_train_events silent = {0};
    gp_train_result unused;
    advgp_status st = check(shards, schema_take, options, err);
    if (st != ADVGP_OK) return st;
    training t = {.shards = shards,
                  .schema = schema_take,
                  .options = options,
                  .events = events ? events : &silent,
                  .result = result ? result : &unused,
                  .wall_start = gp_clock_wall(),
                  .cpu_start = gp_clock_cpu()};
    *t.result = (gp_train_result){0};
    *model = NULL;
    size_t finish_rows = 0;
    st = settle(&t, notes, err);
    if (st == ADVGP_OK) st = begin(&t, err);
    if (st == ADVGP_OK) say(&t, "training");
    if (st == ADVGP_OK) st = run(&t, err);
    if (st == ADVGP_OK) st = finish(&t, &finish_rows, err);
    if (st == ADVGP_OK) st = gp_model_new(&t.learner->spec, schema_take, sql, model, err);
    if (st == ADVGP_OK) {
        st = fill_model(&t, *model, finish_rows, err);
        if (st != ADVGP_OK) {
            (*model)->schema = NULL; // still the caller's
            gp_model_free(*model);
            *model = NULL;
        }
    }
    gp_learner_free(t.learner);
    gp_reader_fini(&t.reader);
    gp_free(t.inducing);
    return st;
}
