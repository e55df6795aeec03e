// study.c: the runs of a study, and what follows from them.
#include "api/study.h"
#include "api/record.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/whole.h"
#include "linalg/blas.h"
#include "load/request.h"
#include "recipe/train.h"
#include "store/runlog.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CALIBRATION_ROWS = 8192, ORDINARY_PUSHES = 200, POINTS = 60 };

// ---- options --------------------------------------------------------------------------------------------------------

static size_t *whole_numbers(const gp_options *o, const char *key, size_t *n)
{
    char *const *items;
    *n = gp_options_list(o, key, &items);
    size_t *numbers = gp_alloc(*n ? *n : 1, sizeof *numbers);
    for (size_t i = 0; numbers && i < *n; i++)
        numbers[i] = strcmp(items[i], "inf") == 0 ? GP_DELAY_ANY : gp_index(strtod(items[i], NULL), SIZE_MAX);
    return numbers;
}

static size_t most_workers(const gp_study *s)
{
    size_t most = 1;
    for (size_t i = 0; i < s->n_workers; i++)
        if (s->workers[i] > most) most = s->workers[i];
    return most;
}

static advgp_status check_options(const gp_study *s, advgp_error *err)
{
    const gp_options *o = s->o;
    static const char *const generated[] = {"rows", "columns"};
    for (size_t i = 0; i < sizeof generated / sizeof *generated; i++)
        if (o->n_operands && gp_options_given(o, generated[i]))
            return gp_fail(err, ADVGP_EINVAL, "{%s} is of generated rows: leave it out, or %s", generated[i],
                           o->operands[0]);
    if (s->gradients && gp_options_flag(o, "weak"))
        return gp_fail(err, ADVGP_EINVAL, "{weak} is of costs alone: leave it out, or %s",
                       o->n_operands ? o->operands[0] : "{rmse}");
    if (!s->gradients && gp_options_real(o, "filter") > 0)
        return gp_fail(err, ADVGP_EINVAL, "what {filter} saves depends on the gradients: give DATA or {rmse}");
    if (!o->n_operands && gp_options_given(o, "target"))
        return gp_fail(err, ADVGP_EINVAL, "{target} %s, but no DATA that has it", gp_options_text(o, "target"));
    if (!s->n_workers || !s->n_delays)
        return gp_fail(err, ADVGP_EINVAL, "{workers} and {max-delay} need a number each at least");
    return ADVGP_OK;
}

// The times of --speeds, in the order of workers. Every number of workers sees the first of one list, but for the slow
// one, which is the last of each (slow_factor).
static void set_speeds(gp_study *s)
{
    const char *text = gp_options_text(s->o, "speeds");
    const bool sleeps = strncmp(text, "sleep:", 6) == 0, random = !strcmp(text, "random");
    const size_t n = most_workers(s);
    double values[256];
    size_t count = 0;
    gp_rng rng = gp_rng_seeded((uint64_t)gp_options_int(s->o, "seed"), 0x737065);
    for (const char *p = sleeps ? text + 6 : text; (*p == '.' || (*p >= '0' && *p <= '9')) && count < 256;) {
        char *end;
        values[count++] = strtod(p, &end);
        p = end + (*end == ',');
    }
    for (size_t k = 0; k < n; k++) {
        s->slowness[k] = random ? exp2(2 * gp_rng_uniform(&rng) - 1) : 1;
        if (sleeps && count) s->sleep[k] = values[gp_rng_below(&rng, count)];
        if (!sleeps && count > 1) s->slowness[k] = values[k % count];
    }
}

static double slow_factor(const gp_study *s)
{
    double factor;
    return gp_text_real(gp_options_text(s->o, "speeds"), &factor) ? factor : 1;
}

static double cost_of(const gp_options *o, const char *key, double measured)
{
    return gp_options_is(o, key, "auto") ? measured : gp_options_real(o, key);
}

// ---- the problem ----------------------------------------------------------------------------------------------------

static advgp_status load_rows(gp_study *s, advgp_error *err)
{
    const gp_options *o = s->o;
    if (o->n_operands) {
        gp_host_phase(s->host, "reading %s%s", o->operands[0], o->n_operands > 1 ? " and others" : "");
        return gp_load_training(o, NULL, s->host, &s->data, err);
    }
    const double rows = gp_options_real(o, "rows");
    const size_t n = s->gradients ? gp_index(rows, SIZE_MAX) : CALIBRATION_ROWS;
    gp_source *source = NULL;
    const uint64_t seed = (uint64_t)gp_options_int(o, "seed");
    if (s->gradients && rows > 1e8)
        return gp_fail(err, ADVGP_EINVAL, "{rows} %.0f with {rmse}: they would have to be in memory; 1e8 at most",
                       rows);
    advgp_status st = gp_source_synthetic_open(n, (size_t)gp_options_int(o, "columns"), seed, &source, err);
    if (st == ADVGP_OK) st = gp_sim_rows(source, NULL, "y", seed, &s->data.shards, &s->data.schema, err);
    gp_source_free(source);
    return st;
}

static advgp_status make_model(gp_study *s, advgp_error *err)
{
    const gp_options *o = s->o;
    const gp_shards *shards = s->data.shards;
    size_t m = 0;
    advgp_status st = gp_inducing_choose(shards, (size_t)gp_options_int(o, "inducing"), 0, GP_START_KMEANS,
                                         &gp_kernel_ard_rbf, 1, &s->inducing, &m, err);
    if (st != ADVGP_OK) return st;
    const size_t components = (size_t)gp_options_int(o, "components");
    const gp_learner_options lo = {.d = shards->d,
                                   .m = m,
                                   .components = components < m ? components : m,
                                   .kernel = gp_kernel_named(gp_options_text(o, "kernel")),
                                   .map = &gp_map_cholesky,
                                   .trend = gp_options_is(o, "trend", "linear")     ? GP_TREND_LINEAR
                                            : gp_options_is(o, "trend", "constant") ? GP_TREND_CONSTANT
                                                                                    : GP_TREND_NONE,
                                   .length_scale = gp_train_start_length(shards->d),
                                   .seed = (uint64_t)gp_options_int(o, "seed"),
                                   .inducing = gp_cmat_of(s->inducing, m, shards->d)};
    st = gp_learner_new(&lo, &s->learner, err);
    if (st != ADVGP_OK) return st;
    s->problem = (gp_sim_problem){.shards = shards, .schema = s->data.schema, .learner = s->learner};
    return ADVGP_OK;
}

static advgp_status measure(gp_study *s, advgp_error *err)
{
    static const char *const keys[] = {"row-seconds", "push-seconds", "message-seconds", "byte-seconds",
                                       "step-seconds"};
    const gp_options *o = s->o;
    gp_sim_costs m = {0};
    bool needed = false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) needed |= gp_options_is(o, keys[i], "auto");
    if (needed) {
        const gp_learner *l = s->learner;
        const gp_rule_ops *rule = gp_request_schedule(o).rule;
        const advgp_status st = gp_sim_measure(s->data.shards, &l->spec, l->theta, rule, &m, err);
        if (st != ADVGP_OK) return st;
    }
    s->costs = (gp_sim_costs){.row = cost_of(o, "row-seconds", m.row),
                              .push = cost_of(o, "push-seconds", m.push),
                              .message = cost_of(o, "message-seconds", m.message),
                              .byte = cost_of(o, "byte-seconds", m.byte),
                              .step = cost_of(o, "step-seconds", m.step),
                              .sum = m.sum};
    return ADVGP_OK;
}

// ---- the runs -------------------------------------------------------------------------------------------------------

static int stop_asked(void *ctx)
{
    const gp_study *s = ctx;
    return gp_host_stops(s->host);
}

static size_t rows_of(const gp_study *s, size_t workers)
{
    if (s->gradients) return gp_shards_rows(s->data.shards, GP_TRAIN);
    return gp_index(gp_options_real(s->o, "rows"), SIZE_MAX) * (gp_options_flag(s->o, "weak") ? workers : 1);
}

static gp_sim_options options_of(gp_study *s, size_t workers, size_t delay)
{
    const gp_options *o = s->o;
    const size_t versions = (size_t)gp_options_int(o, "versions"); // inf reads as 0
    const double bandwidth = gp_options_real(o, "bandwidth");      // the same
    gp_sim_options so = {.schedule = gp_request_schedule(o),       // a full batch reads as 0
                         .gradients = s->gradients,
                         .rows = rows_of(s, workers),
                         .age_power = -1,
                         .slowness = s->slowness,
                         .sleep = s->sleep,
                         .spread = gp_options_real(o, "spread"),
                         .latency = gp_options_real(o, "latency"),
                         .bandwidth = bandwidth,
                         .server_bandwidth = bandwidth,
                         .costs = s->costs,
                         .versions = versions,
                         .rmse = s->gradients ? gp_options_real(o, "rmse") : 0,
                         .points = s->gradients ? POINTS : 0,
                         .stop = stop_asked,
                         .stop_ctx = s};
    so.schedule.workers = workers, so.schedule.max_delay = delay, so.schedule.steps = versions;
    const double rows = (double)so.rows / (double)workers;
    const double batch = so.schedule.batch ? fmin((double)so.schedule.batch, rows) : rows;
    const double push = s->costs.push + s->costs.row * batch;
    // The time of an ordinary worker's push with its messages: never 0, whatever costs were given.
    const double ordinary = fmax(1e-6, push + 2 * so.latency + s->costs.step);
    so.seconds = gp_options_is(o, "time", "auto") ? ORDINARY_PUSHES * ordinary : gp_options_real(o, "time");
    return so;
}

static advgp_status simulate_all(gp_study *s, advgp_error *err)
{
    double next = gp_clock_wall() + 2;
    for (size_t i = 0; i < s->n_workers; i++) {
        const size_t W = s->workers[i];
        const double usual = s->slowness[W - 1];
        s->slowness[W - 1] *= slow_factor(s);
        for (size_t j = 0; j < s->n_delays; j++) {
            const gp_sim_options so = options_of(s, W, s->delays[j]);
            const advgp_status st = gp_simulate(&s->problem, &so, &s->results[i * s->n_delays + j], err);
            if (st != ADVGP_OK) return gp_wrap(err, st, "%zu workers", W);
            if (gp_clock_wall() < next) continue;
            next = gp_clock_wall() + 5;
            gp_host_report(s->host, "%zu of %zu runs simulated", i * s->n_delays + j + 1, s->n_workers * s->n_delays);
        }
        s->slowness[W - 1] = usual;
    }
    return ADVGP_OK;
}

// ---- conclusions ----------------------------------------------------------------------------------------------------

// Is a better than b? By the time to the error, by the error, or by versions that count, whichever is known.
static bool is_better(const gp_study *s, const gp_sim_result *a, const gp_sim_result *b)
{
    if (gp_study_has_target(s) && (isfinite(a->reached) || isfinite(b->reached))) return a->reached < b->reached;
    if (s->gradients) return a->rmse < b->rmse;
    return a->progress > 1.001 * b->progress; // no longer delay for nothing
}

size_t gp_study_best_delay(const gp_study *s, size_t i)
{
    const gp_sim_result *r = s->results + i * s->n_delays;
    size_t best = 0;
    for (size_t j = 1; j < s->n_delays; j++)
        if (is_better(s, &r[j], &r[best])) best = j;
    return best;
}

// The first number of workers whose best run is not limited by the workers themselves; NULL: none.
const gp_sim_result *gp_study_saturated(const gp_study *s, size_t *workers)
{
    const gp_sim_result *first = NULL;
    for (size_t i = 0; i < s->n_workers; i++) {
        const gp_sim_result *r = &s->results[i * s->n_delays + gp_study_best_delay(s, i)];
        if (r->limit == GP_LIMIT_WORKERS || (first && s->workers[i] >= *workers)) continue;
        first = r;
        *workers = s->workers[i];
    }
    return first;
}

// ---- as JSON --------------------------------------------------------------------------------------------------------

static json_t *curve_json(const gp_sim_result *r)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < r->n_points; i++)
        json_array_append_new(
            list, json_pack("[f, I, f]", r->points[i].seconds, (json_int_t)r->points[i].version, r->points[i].rmse));
    return list;
}

static json_t *run_json(const gp_study *s, size_t workers, size_t delay, const gp_sim_result *r)
{
    json_t *run = json_pack("{s:I, s:o, s:I, s:f, s:I, s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:s}", "workers",
                            (json_int_t)workers, "max_delay", gp_record_delay(delay), "rows",
                            (json_int_t)rows_of(s, workers), "seconds", r->seconds, "versions", (json_int_t)r->versions,
                            "seconds_per_version",
                            gp_json_real(r->versions ? r->seconds / (double)r->versions : INFINITY), "rows_per_second",
                            r->rows / r->seconds, "waiting", r->waiting, "server", r->server, "network_in", r->line_in,
                            "network_out", r->line_out, "age", r->age, "pushes_per_version", r->used,
                            "progress_per_second", r->progress, "limited_by", gp_sim_limit_name(r->limit));
    if (run && s->gradients) {
        json_object_set_new(run, "rmse", gp_json_real(r->rmse));
        json_object_set_new(run, "rolled_back", json_integer((json_int_t)r->counts.rolled_back));
        if (gp_study_has_target(s)) json_object_set_new(run, "seconds_to_rmse", gp_json_real(r->reached));
        json_object_set_new(run, "curve", curve_json(r));
    }
    return run;
}

json_t *gp_study_json(const gp_study *s)
{
    const gp_sim_costs *c = &s->costs;
    size_t workers = 0;
    json_t *runs = json_array(), *best = json_array();
    for (size_t i = 0; i < s->n_workers; i++) {
        for (size_t j = 0; j < s->n_delays; j++)
            json_array_append_new(runs, run_json(s, s->workers[i], s->delays[j], &s->results[i * s->n_delays + j]));
        json_array_append_new(best, json_pack("{s:I, s:o}", "workers", (json_int_t)s->workers[i], "max_delay",
                                              gp_record_delay(s->delays[gp_study_best_delay(s, i)])));
    }
    const gp_sim_result *first = gp_study_saturated(s, &workers);
    json_t *saturates = first ? json_pack("{s:s, s:I}", "what", gp_sim_limit_name(first->limit), "workers",
                                          (json_int_t)workers)
                              : json_null();
    return json_pack("{s:{s:f, s:f, s:f, s:f, s:f, s:f}, s:I, s:I, s:f, s:f, s:b, s:o, s:o, s:o}", "costs", "push",
                     c->push, "row", c->row, "message", c->message, "byte", c->byte, "step", c->step, "sum", c->sum,
                     "inducing", (json_int_t)s->learner->f->n_kernel_cols, "columns", (json_int_t)s->learner->spec.d,
                     "push_bytes", s->results->push_bytes, "parameter_bytes", s->results->parameter_bytes, "gradients",
                     s->gradients, "runs", runs, "best", best, "saturates", saturates);
}

// ---- the study ------------------------------------------------------------------------------------------------------

static advgp_status prepare(gp_study *s, advgp_error *err)
{
    s->workers = whole_numbers(s->o, "workers", &s->n_workers);
    s->delays = whole_numbers(s->o, "max-delay", &s->n_delays);
    if (!s->workers || !s->delays) return gp_no_memory(err);
    advgp_status st = check_options(s, err);
    if (st != ADVGP_OK) return st;
    s->slowness = gp_alloc(most_workers(s), sizeof *s->slowness);
    s->sleep = gp_alloc(most_workers(s), sizeof *s->sleep);
    s->results = gp_alloc(s->n_workers * s->n_delays, sizeof *s->results);
    if (!s->slowness || !s->sleep || !s->results) return gp_no_memory(err);
    set_speeds(s);
    st = load_rows(s, err);
    if (st == ADVGP_OK) gp_host_notes(s->host, &s->data.notes);
    if (st == ADVGP_OK && s->gradients && !gp_shards_rows(s->data.shards, GP_STOP))
        st = gp_fail(err, ADVGP_EDATA, "no rows are held out, so there is no error to look at: see {validation}");
    if (st == ADVGP_OK) st = make_model(s, err);
    return st == ADVGP_OK ? measure(s, err) : st;
}

advgp_status gp_study_run(const gp_options *simulate, const gp_host *host, gp_study *s, advgp_error *err)
{
    *s = (gp_study){.o = simulate,
                    .host = host,
                    .gradients = simulate->n_operands > 0 || gp_options_given(simulate, "rmse"),
                    .target = gp_options_real(simulate, "rmse")};
    advgp_status st = gp_blas_reserve(1, err);
    if (st == ADVGP_OK) st = prepare(s, err);
    return st == ADVGP_OK ? simulate_all(s, err) : st;
}

void gp_study_fini(gp_study *s)
{
    for (size_t i = 0; s->results && i < s->n_workers * s->n_delays; i++) gp_sim_result_fini(&s->results[i]);
    gp_free(s->results);
    gp_free(s->workers);
    gp_free(s->delays);
    gp_free(s->slowness);
    gp_free(s->sleep);
    gp_learner_free(s->learner);
    gp_free(s->inducing);
    gp_loaded_fini(&s->data);
}
