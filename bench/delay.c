// delay.c: what a bound on the delay does (the paper's figure 2): in virtual time with 16 and 1,000 workers that sleep
// 0, 10 or 20 seconds, and with four real threads of which one is 20 times slower; and whether asynchrony keeps what
// docs/math.md 5 promises of it. Prints one JSON object; the tables of docs/delay.md go to stderr.
//     delay [TRAIN TEST] [PART]     two CSV files with a target y, default ../shared/data/kin40k, else generated rows;
//                                   PART: checks, 16, 1000 or threads; default all
#include "base/clock.h"
#include "files/files.h"
#include "linalg/blas.h"
#include "linalg/dense.h"
#include "run/run.h"
#include "study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const size_t taus[] = {0, 5, 10, 20, 40, 80, 160, 200}; // the last is the default
enum { N_TAUS = sizeof taus / sizeof *taus, M = 50, BATCH = 512, POINTS_MAX = 400 };
static const double push_seconds = 0.176; // the paper's, on its cluster

// ---- the problem ----------------------------------------------------------------------------------------------------

typedef struct setup {
    study base;
    const char *data;
} setup;

static gp_source *open_file(const char *path)
{
    advgp_error err;
    gp_source *source;
    const gp_file_options files = {.paths = &path, .n_paths = 1};
    must(gp_source_files_open(&files, NULL, &source, &err), &err);
    return source;
}

static setup setup_of(const char *train, const char *test)
{
    setup s = {.data = "generated"};
    advgp_error err;
    gp_source *rows = NULL, *held_out = NULL;
    if (access(train, R_OK) == 0 && access(test, R_OK) == 0) {
        rows = open_file(train), held_out = open_file(test);
        s.data = train;
    } else {
        must(gp_source_synthetic_open(40000, 8, 1, &rows, &err), &err);
    }
    s.base = study_take(rows, held_out, M, 1);
    return s;
}

// ---- the promises ---------------------------------------------------------------------------------------------------

static int n_checks, n_met;

static void check(const char *what, double value, double bar)
{
    const int met = value <= bar;
    printf("%s{\"check\": \"%s\", \"value\": %.4f, \"bar\": %.4f, \"met\": %s}", n_checks++ ? ", " : "", what, value,
           bar, met ? "true" : "false");
    fprintf(stderr, "%s: %.3f, bar %.3f: %s\n", what, value, bar, met ? "met" : "NOT MET");
    n_met += met;
}

// 16 workers, pushes of 1 +- 0.5 on 512 rows, 120 units of time, steps of constant size.
static double after_120(const setup *s, size_t max_delay, double slow, uint64_t seed)
{
    double slowness[16];
    for (size_t k = 0; k < 16; k++) slowness[k] = k == 15 ? slow : 1;
    const gp_sim_options o = {.schedule.workers = 16,
                              .gradients = true,
                              .schedule.batch = BATCH,
                              .schedule.max_delay = max_delay,
                              .schedule.quorum = gp_rule_natural.quorum,
                              .schedule.follow_pace = true,
                              .age_power = -1,
                              .slowness = slowness,
                              .spread = 0.5,
                              .costs = {.push = 1},
                              .seconds = 120,
                              .schedule.seed = seed};
    gp_sim_result r = study_simulate(&s->base.problem, &o);
    const double rmse = r.rmse;
    gp_sim_result_fini(&r);
    return rmse;
}

static void check_promises(const setup *s)
{
    enum { SEEDS = 5 };
    double mean[4] = {0};
    const size_t delay[] = {0, gp_rule_natural.max_delay, 0, gp_rule_natural.max_delay};
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        for (size_t i = 0; i < 4; i++) mean[i] += after_120(s, delay[i], i < 2 ? 1 : 20, seed) / SEEDS;
    fprintf(stderr,
            "\n16 workers, test RMSE after 120 units, mean of %d seeds\n\n| | equal workers | one 20 times slower |\n"
            "|---|--:|--:|\n| tau = 0 | %.3f | %.3f |\n| default asynchronous rule, tau = %zu | %.3f | %.3f |\n\n",
            SEEDS, mean[0], mean[2], gp_rule_natural.max_delay, mean[1], mean[3]);
    printf("\"after_120\": {\"equal_tau0\": %.4f, \"equal\": %.4f, \"slow_tau0\": %.4f, \"slow\": %.4f}, ", mean[0],
           mean[1], mean[2], mean[3]);
    printf("\"checks\": [");
    check("16 equal workers: asynchronous / synchronous RMSE", mean[1] / mean[0], 1.04);
    check("one of 16 is 20 times slower: asynchronous / RMSE of equal workers, synchronous", mean[3] / mean[0], 1.07);
    printf("], ");
}

// ---- figure 2 in virtual time ---------------------------------------------------------------------------------------

typedef struct figure {
    const char *name;
    const gp_rule_ops *rule;
    double quorum, age_power; // negative: the rule's own; of the quorum, as it follows the pace
} figure;

// A third of the workers each: with 16 a draw may have hardly any that do not sleep.
static void draw_sleeps(size_t n, double *sleep)
{
    for (size_t k = 0; k < n; k++) sleep[k] = 10.0 * (double)(k % 3);
}

static double error_at(const gp_sim_result *r, double seconds)
{
    double rmse = NAN;
    for (size_t i = 0; i < r->n_points && r->points[i].seconds <= seconds; i++) rmse = r->points[i].rmse;
    return rmse;
}

static void print_simulated(size_t tau, const gp_sim_result *r, double speed_up, size_t first)
{
    printf(
        "%s{\"max_delay\": %zu, \"rmse\": %.5f, \"versions\": %llu, \"age\": %.2f, \"waiting\": %.3f, \"speed_up\": ",
        first ? "" : ", ", tau, r->rmse, (unsigned long long)r->versions, r->age, r->waiting);
    printf(isfinite(speed_up) ? "%.1f" : "null", speed_up);
    printf(", \"curve\": [");
    for (size_t i = 0; i < r->n_points; i++)
        printf("%s[%.2f, %.5f]", i ? ", " : "", r->points[i].seconds, r->points[i].rmse);
    printf("]}");
    fflush(stdout);
}

static void draw_figure(const gp_sim_problem *problem, const figure *f, size_t workers, double seconds)
{
    double *sleep = calloc(workers, sizeof *sleep);
    if (!sleep) exit(1);
    draw_sleeps(workers, sleep);
    fprintf(stderr,
            "\n%zu workers, %s, quorum %g (negative: auto)\n\n| tau | versions | age | waiting | RMSE at %.0f s | at "
            "%.0f s | at %.0f s | "
            "speed-up |\n|--:|--:|--:|--:|--:|--:|--:|--:|\n",
            workers, f->name, f->quorum, seconds / 4, seconds / 2, seconds);
    printf("{\"workers\": %zu, \"rule\": \"%s\", \"quorum\": %g, \"seconds\": %g, \"runs\": [", workers, f->name,
           f->quorum, seconds);
    double synchronous = NAN;
    for (size_t i = 0; i < N_TAUS; i++) {
        const gp_sim_options o = {.schedule.workers = workers,
                                  .gradients = true,
                                  .schedule.batch = BATCH,
                                  .schedule.max_delay = taus[i],
                                  .schedule.rule = f->rule,
                                  .schedule.quorum = f->quorum,
                                  .age_power = f->age_power,
                                  .sleep = sleep,
                                  .spread = 0.1,
                                  .latency = 1e-4,
                                  .bandwidth = 1.25e9,
                                  .server_bandwidth = 1.25e9,
                                  .costs = {.push = push_seconds, .step = 1e-4, .byte = 1.5e-10, .message = 1e-6},
                                  .seconds = seconds,
                                  .points = 100,
                                  .schedule.seed = 1};
        gp_sim_result r = study_simulate(problem, &o);
        if (i == 0) synchronous = r.rmse;
        const double speed_up = i ? seconds / gp_sim_time_to(&r, synchronous) : 1;
        print_simulated(taus[i], &r, speed_up > 0 ? speed_up : INFINITY, i == 0);
        fprintf(stderr, "| %zu | %llu | %.2f | %.0f %% | %.3f | %.3f | %.3f | ", taus[i],
                (unsigned long long)r.versions, r.age, 100 * r.waiting, error_at(&r, seconds / 4),
                error_at(&r, seconds / 2), r.rmse);
        fprintf(stderr, speed_up > 0 ? "%.1f |\n" : "not reached |\n", speed_up);
        gp_sim_result_fini(&r);
    }
    printf("]}");
    free(sleep);
}

// ---- real threads ---------------------------------------------------------------------------------------------------

typedef struct curve {
    size_t n;
    gp_sim_point points[POINTS_MAX];
    uint64_t versions;
} curve;

static double rmse_of(const setup *s, gp_reader *reader, const double *theta)
{
    advgp_error err;
    gp_score score;
    must(gp_score_part(&s->base.learner->spec, theta, reader, GP_STOP, 0, s->base.schema, &score, &err), &err);
    return gp_score_rmse(&score);
}

// Four threads that sleep, one of them 20 times longer: what they compute is little beside, so cores are no limit.
static curve run_threads(const setup *s, size_t max_delay, double sleep, double seconds)
{
    curve c = {0};
    advgp_error err;
    gp_run *run;
    gp_reader reader;
    const double delays[] = {sleep, sleep, sleep, 20 * sleep};
    const gp_run_options o = {.spec = &s->base.learner->spec,
                              .theta = s->base.learner->theta,
                              .shards = s->base.shards,
                              .schedule.rule = &gp_rule_natural,
                              .schedule.natural_rate = 0.2,
                              .schedule.adam_rate = 0.1,
                              .schedule.workers = 4,
                              .schedule.batch = BATCH,
                              .schedule.mixed = true,
                              .schedule.max_delay = max_delay,
                              .schedule.quorum = gp_rule_natural.quorum,
                              .schedule.follow_pace = true,
                              .delays = delays,
                              .n_delays = 4};
    must(gp_reader_new(s->base.shards, 4096, &reader, &err), &err);
    must(gp_run_team_new(&o, &run, &err), &err);
    must(gp_run_start(run, &err), &err);
    const double start = gp_clock_wall(), every = seconds / 100;
    uint64_t judged = 0;
    for (double next = 0; gp_clock_wall() - start < seconds;) {
        must(run->ops->turn(run, 0.02, &err), &err);
        const double now = gp_clock_wall() - start;
        const uint64_t version = gp_server_version(run->server);
        if (now < next || version == judged || c.n == POINTS_MAX) continue;
        c.points[c.n++] = (gp_sim_point){now, version, rmse_of(s, &reader, gp_server_theta(run->server))};
        judged = version, next = now + every;
    }
    c.versions = gp_server_version(run->server);
    gp_run_free(run);
    gp_reader_fini(&reader);
    return c;
}

static double time_to(const curve *c, double rmse)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->points[i].rmse <= rmse) return c->points[i].seconds;
    return INFINITY;
}

static double last_of(const curve *c)
{
    return c->n ? c->points[c->n - 1].rmse : NAN;
}

static void study_threads(const setup *s)
{
    const double sleep = 0.025, seconds = 20;
    static curve c;
    double synchronous = NAN;
    printf("\"threads\": {\"workers\": 4, \"sleep\": %g, \"slow_sleep\": %g, \"seconds\": %g, \"runs\": [", sleep,
           20 * sleep, seconds);
    fprintf(stderr,
            "\n4 threads, one 20 times slower, natural, quorum auto, %.0f s\n\n| tau | versions | RMSE at the end | "
            "seconds to the RMSE of tau = 0 | speed-up |\n|--:|--:|--:|--:|--:|\n",
            seconds);
    for (size_t i = 0; i < N_TAUS; i++) {
        const size_t tau = taus[i];
        c = run_threads(s, tau, sleep, seconds);
        if (i == 0) synchronous = last_of(&c);
        const double reached = i ? time_to(&c, synchronous) : seconds;
        printf("%s{\"max_delay\": %zu, \"versions\": %llu, \"rmse\": %.5f, \"seconds_to_synchronous_rmse\": ",
               i ? ", " : "", tau, (unsigned long long)c.versions, last_of(&c));
        printf(isfinite(reached) ? "%.3f, \"curve\": [" : "null, \"curve\": [", reached);
        for (size_t j = 0; j < c.n; j++) printf("%s[%.2f, %.5f]", j ? ", " : "", c.points[j].seconds, c.points[j].rmse);
        printf("]}");
        fflush(stdout);
        fprintf(stderr, "| %zu | %llu | %.3f | %.2f | %.1f |\n", tau, (unsigned long long)c.versions, last_of(&c),
                reached, seconds / reached);
    }
    printf("], \"checks\": [");
    n_checks = 0;
    fprintf(stderr, "\n");
    check("one of 4 threads is 20 times slower: time to the RMSE of tau = 0 / its time",
          time_to(&c, synchronous) / seconds, 0.25);
    printf("]}, ");
}

int main(int argc, char **argv)
{
    const char *root = "../shared/data/kin40k";
    char train[4096], test[4096];
    const char *part = argc == 2 || argc == 4 ? argv[argc - 1] : "all";
    snprintf(train, sizeof train, "%s/train.csv.gz", root);
    snprintf(test, sizeof test, "%s/test.csv.gz", root);
    if (gp_blas_reserve(1, NULL) != ADVGP_OK) return 1;
    setup s = argc > 2 ? setup_of(argv[1], argv[2]) : setup_of(train, test);
    const int all = !strcmp(part, "all");
    printf("{\"bench\": \"delay\", \"version\": \"%s\", \"blas\": \"%s\", \"data\": \"%s\", \"m\": %d, ",
           advgp_version(), gp_blas_name(), s.data, M);
    if (all || !strcmp(part, "checks")) check_promises(&s);
    if (all || !strcmp(part, "threads")) study_threads(&s);
    const figure figures[] = {{"natural", &gp_rule_natural, -1, -1},
                              {"natural", &gp_rule_natural, 0.25, -1},
                              {"prox, steps / sqrt(1 + age)", &gp_rule_prox, 0, -1},
                              {"prox, steps / (1 + age)", &gp_rule_prox, 0, 1},
                              {"prox, steps as they are", &gp_rule_prox, 0, 0}};
    printf("\"figure2\": [");
    for (size_t i = 0; i < sizeof figures / sizeof *figures && (all || !strcmp(part, "16")); i++) {
        if (i) printf(", ");
        draw_figure(&s.base.problem, &figures[i], 16, 400);
    }
    if (all) printf(", ");
    if (all || !strcmp(part, "1000")) draw_figure(&s.base.problem, &figures[0], 1000, 60);
    printf("], \"met\": %d}\n", n_met);
    study_free(&s.base);
    return 0;
}
