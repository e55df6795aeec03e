// scaling.c: how a training would scale from 4 to 1,024 workers, strong and weak, synchronous and asynchronous (the
// paper's figure 3): costs are measured on this machine, the cluster is simulated (sim/simulate.h). Verifies first:
// the same simulation twice gives the same result. Prints one JSON object; the tables of docs/scaling.md go to stderr.
//     scaling [ROWS=700000] [ROWS_OF_EACH=5469] [COLUMNS=8]
#include "linalg/blas.h"
#include "study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const size_t sizes[] = {50, 100, 200}, workers[] = {4, 8, 16, 32, 64, 128, 256, 512, 1024};
enum { N_SIZES = sizeof sizes / sizeof *sizes, N_WORKERS = sizeof workers / sizeof *workers };
enum { CALIBRATION_ROWS = 8192, PUSHES = 60 };
// 10 Gbit/s, 0.1 ms one way, and workers whose pushes differ by 20 %.
static const double latency = 1e-4, bandwidth = 1.25e9, spread = 0.2;

typedef struct setup {
    study base;
    gp_sim_costs costs;
} setup;

static setup setup_of(size_t m, size_t d)
{
    setup s;
    advgp_error err;
    gp_source *source;
    must(gp_source_synthetic_open(CALIBRATION_ROWS, d, 1, &source, &err), &err);
    s.base = study_take(source, NULL, m, 0.7);
    const gp_learner *l = s.base.learner;
    must(gp_sim_measure(s.base.shards, &l->spec, l->theta, &gp_rule_natural, &s.costs, &err), &err);
    return s;
}

static gp_sim_result simulate(const setup *s, size_t n_workers, size_t rows, size_t max_delay)
{
    const double push = s->costs.push + s->costs.row * (double)rows / (double)n_workers;
    // The server may take far longer than a push: long enough for PUSHES rounds either way.
    const double server = s->costs.step +
                          (double)n_workers * 2 * 8 * (double)s->base.learner->layout.size * s->costs.byte;
    const double line = (double)n_workers * 8 * (double)s->base.learner->layout.size / bandwidth;
    const gp_sim_options o = {.schedule.workers = n_workers,
                              .rows = rows,
                              .schedule.max_delay = max_delay,
                              .schedule.quorum = gp_rule_natural.quorum,
                              .age_power = -1,
                              .spread = spread,
                              .latency = latency,
                              .bandwidth = bandwidth,
                              .server_bandwidth = bandwidth,
                              .costs = s->costs,
                              .seconds = PUSHES * (push + server + line + 2 * latency),
                              .schedule.seed = 1};
    return study_simulate(&s->base.problem, &o);
}

static double version_ms(const gp_sim_result *r)
{
    return 1e3 * r->seconds / fmax(1, (double)r->versions);
}

static void print_run(const char *mode, size_t n_workers, size_t rows, const gp_sim_result *r, int first)
{
    printf("%s{\"mode\": \"%s\", \"workers\": %zu, \"rows\": %zu, \"ms_per_version\": %.4f, \"rows_per_s\": %.0f, "
           "\"waiting\": %.3f, \"server\": %.3f, \"network\": %.3f, \"age\": %.2f, \"limited_by\": \"%s\"}",
           first ? "" : ", ", mode, n_workers, rows, version_ms(r), r->rows / r->seconds, r->waiting, r->server,
           fmax(r->line_in, r->line_out), r->age, gp_sim_limit_name(r->limit));
}

static void tabulate(const setup *s, const char *name, size_t rows, int weak)
{
    printf("\"%s\": [", name);
    fprintf(
        stderr,
        "\n%s scaling, m = %zu\n\n| workers | rows | synchronous: ms a version | rows/s | waiting | limited by |"
        " asynchronous: ms a version | rows/s | waiting | limited by |\n|--:|--:|--:|--:|--:|---|--:|--:|--:|---|\n",
        weak ? "Weak" : "Strong", s->base.learner->f->n_kernel_cols);
    for (size_t i = 0; i < N_WORKERS; i++) {
        const size_t n = workers[i], total = weak ? rows * n : rows;
        const gp_sim_result a = simulate(s, n, total, 0), b = simulate(s, n, total, gp_rule_natural.max_delay);
        print_run("synchronous", n, total, &a, i == 0);
        print_run("asynchronous", n, total, &b, 0);
        fprintf(stderr, "| %zu | %zu | %.3g | %.3g | %.0f %% | %s | %.3g | %.3g | %.0f %% | %s |\n", n, total,
                version_ms(&a), a.rows / a.seconds, 100 * a.waiting, gp_sim_limit_name(a.limit), version_ms(&b),
                b.rows / b.seconds, 100 * b.waiting, gp_sim_limit_name(b.limit));
    }
    printf("]");
}

int main(int argc, char **argv)
{
    const size_t rows = argc > 1 ? strtoul(argv[1], NULL, 10) : 700000;
    const size_t each = argc > 2 ? strtoul(argv[2], NULL, 10) : 5469; // the paper's 87,500 rows on 16 cores
    const size_t d = argc > 3 ? strtoul(argv[3], NULL, 10) : 8;
    if (rows < workers[N_WORKERS - 1] || !each || !d) {
        fprintf(stderr, "usage: scaling [ROWS >= 1024] [ROWS_OF_EACH] [COLUMNS]\n");
        return 2;
    }
    if (gp_blas_reserve(1, NULL) != ADVGP_OK) return 1;
    printf("{\"bench\": \"scaling\", \"version\": \"%s\", \"blas\": \"%s\", \"d\": %zu, \"latency\": %g, "
           "\"bandwidth\": %g, "
           "\"spread\": %g, \"max_delay\": %zu, \"quorum\": %g, \"sizes\": [",
           advgp_version(), gp_blas_name(), d, latency, bandwidth, spread, gp_rule_natural.max_delay,
           gp_rule_natural.quorum);
    for (size_t k = 0; k < N_SIZES; k++) {
        setup s = setup_of(sizes[k], d);
        const gp_sim_costs *c = &s.costs;
        const gp_sim_result a = simulate(&s, 16, rows, 200), b = simulate(&s, 16, rows, 200);
        if (a.versions != b.versions || a.seconds != b.seconds) {
            fprintf(stderr, "scaling: the same simulation gave two results: not trusted\n");
            return 1;
        }
        printf("%s{\"m\": %zu, \"push_seconds\": %.3e, \"row_seconds\": %.3e, \"message_seconds\": %.3e, "
               "\"byte_seconds\": %.3e, \"step_seconds\": %.3e, \"push_bytes\": %.0f, \"parameter_bytes\": %.0f, ",
               k ? ", " : "", sizes[k], c->push, c->row, c->message, c->byte, c->step, a.push_bytes, a.parameter_bytes);
        fprintf(
            stderr,
            "\nm = %zu: a push %.3g ms + %.3g us a row; server %.3g us a message, %.3g ns a byte, %.3g ms a version;"
            " push %.0f bytes, parameters %.0f\n",
            sizes[k], 1e3 * c->push, 1e6 * c->row, 1e6 * c->message, 1e9 * c->byte, 1e3 * c->step, a.push_bytes,
            a.parameter_bytes);
        tabulate(&s, "strong", rows, 0);
        printf(", ");
        tabulate(&s, "weak", each, 1);
        printf("}");
        fflush(stdout);
        study_free(&s.base);
    }
    printf("]}\n");
    return 0;
}
