// fixture.h: what the tests of every room share: random problems of any size, comparisons that say what was expected,
// what came and with which seed, and the plain reference. Everything random comes from the seed in the message.
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/status.h"
#include "feature/features.h"
#include "linalg/dense.h"
#include "model/pass.h"
#include "reference.h"

// Seconds after which something hangs: minutes, times ADVGP_SLOW, as the scripts' (tests/limits.sh). No test waits for
// less, since a machine may be busy.
double hang_limit(void);

// ---- comparisons

// |got - expected| <= tol * (1 + |expected|)
#define CHECK_CLOSE(expected, got, tol, label) check_close(expected, got, tol, label, #got, __FILE__, __LINE__)
// max |got_i - expected_i| <= tol * max_i |expected_i| (or tol where all are below 1)
#define CHECK_ARRAY(n, expected, got, tol, label) check_array(n, expected, got, tol, label, #got, __FILE__, __LINE__)
// the same bits
#define CHECK_BITS(n, expected, got, label) check_bits(n, expected, got, label, #got, __FILE__, __LINE__)
// a status of OK; otherwise the text of the error (called err) is shown
#define CHECK_OK(call, label) check_status(ADVGP_OK, call, &err, label, #call, __FILE__, __LINE__)
// a failure with this status and a text that names something
#define CHECK_FAILS(status, call, label) check_status(status, call, &err, label, #call, __FILE__, __LINE__)
#define CHECK(condition, label, ...)     check_true(condition, label, #condition, __FILE__, __LINE__, "" __VA_ARGS__)

void check_close(double expected, double got, double tol, const char *label, const char *what, const char *file,
                 int line);
void check_array(size_t n, const double *expected, const double *got, double tol, const char *label, const char *what,
                 const char *file, int line);
void check_bits(size_t n, const double *expected, const double *got, const char *label, const char *what,
                const char *file, int line);
void check_status(advgp_status expected, advgp_status got, advgp_error *err, const char *label, const char *what,
                  const char *file, int line);
__attribute__((format(printf, 6, 7))) void check_true(bool condition, const char *label, const char *what,
                                                      const char *file, int line, const char *format, ...);

double *doubles(size_t n); // zeroed, by calloc: not counted by gp_alloc; free with free

// Least squares of X coef = y (X is n x p, row major) by LAPACK's dgels, which knows no normal equations.
void fixture_least_squares(size_t n, size_t p, const double *X, const double *y, double *coef);

// ---- random problems

typedef struct problem_options {
    size_t n, d, n_components;
    size_t m;                // per component; 0: 1 to 6, each its own
    const gp_kernel *kernel; // NULL: any, each component its own
    const gp_map *map;       // NULL: any
    gp_trend trend;
    bool weighted;  // weights: some 0, some integers, some not
    bool full_rank; // keep every eigenvector
    bool z_is_x;    // the first m = n inducing inputs are the rows
    double jitter;  // negative: 0; 0: 1e-6
} problem_options;

typedef struct problem {
    char label[256]; // shape and seed, for messages
    gp_rng rng;      // go on from here
    size_t n, d;
    gp_component_spec components[REF_MAX_COMPONENTS];
    size_t group_m[REF_MAX_COMPONENTS][REF_MAX_GROUPS], group_rank[REF_MAX_COMPONENTS][REF_MAX_GROUPS];
    gp_feature_spec spec;
    ref_model model; // the same, in the reference's words
    gp_theta_layout layout;
    double *X, *y, *w, *theta; // w is NULL without weights
    gp_batch rows;
    ref_rows plain;
} problem;

// The caller's problem must stay where it is: spec points into it.
void problem_init(problem *p, uint64_t seed, problem_options options);
void problem_fini(problem *p);
void problem_relabel(problem *p, const char *note);

// Features and pass of a problem; both are freed together.
typedef struct engine {
    gp_features *f;
    gp_pass *pass;
} engine;
engine engine_new(const problem *p, size_t block_rows);
void engine_free(engine e);

// sum_g and gradient (grad may be NULL) at theta over rows; fails the test if the pass fails.
double run_pass(engine e, const double *theta, gp_batch rows, double *grad, const char *label);

// Derivative of f in x[i] by the five-point rule: error h^4, so that 1e-8 or so is reached before rounding takes over.
typedef double (*scalar_function)(void *ctx, const double *x);
double differentiate(scalar_function f, void *ctx, double *x, size_t i, double step);

// Smallest eigenvalue of a symmetric matrix, by the reference's own Jacobi rotations.
double smallest_eigenvalue(size_t n, const double *A);

// Whoever is asked whether to stop: non-zero answers from `until` on.
typedef struct patience {
    int asked, until;
} patience;
int asked(void *patience);
