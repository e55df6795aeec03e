// sim_setting.h: small data with real gradients, and random numbers, for the tests that step simulated clusters.
#pragma once
#include "fixture.h"
#include "model/qw.h"
#include "ps/rule.h"
#include "ps/worker.h"

enum { PROBLEMS = 8, ROWS = 200, INPUTS = 2, POINTS = 4, MAX_SHARDS = 16, MAX_WORKERS = 8, MAX_FAULTS = 8 };

typedef struct setting {
    problem p;
    engine e;
    gp_qw *qw;
    double *theta, *grad;
} setting;

void must(advgp_status status, const advgp_error *err, const char *what);
void setting_init(setting *s, uint64_t seed);
void setting_fini(setting *s);
double bound_of(setting *s, const double *theta); // the collapsed one, a row

// What a worker pushes: the sums over the rows of its shards, shard i having the rows first_rows[i] to first_rows[i +
// 1].
#define ALL_SHARDS SIZE_MAX
advgp_status sum_rows(setting *s, const gp_rule_ops *rule, const size_t *first_rows, const gp_work *work, size_t only,
                      double *push, gp_work_done *done, advgp_error *err);
size_t a_shard_of(const gp_work *work); // of a batch that is one of the worker's shards: which

size_t pick(gp_rng *rng, size_t n);
double between(gp_rng *rng, double low, double high);

// The program around both: the seeds of SIM_FIRST and SIM_SEEDS, which it prints with SIM_SHOW, or, told `bugs`, the
// planted mistakes, for each of which so many seeds may be tried.
int sim_main(int argc, char **argv, int (*run_seeds)(setting *settings, uint64_t first, uint64_t count, bool shown),
             int (*run_bugs)(setting *settings, uint64_t count));
