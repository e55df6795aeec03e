// golden_other.c: Snelson's data (exact GP at its optimum, and the collapsed bound there) and the scalar units.
#include "golden.h"

#include "model/exact.h"
#include "model/qw.h"
#include "optim/lbfgs.h"
#include "optim/step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Snelson ----------------------------------------------------------------------------------------------

enum { MAX_ROWS = 1000 };

// snelson.csv beside the case: lines x,y, perhaps under a header.
static size_t read_csv(const char *case_file, double *x, double *y)
{
    char path[4096];
    const char *slash = strrchr(case_file, '/');
    snprintf(path, sizeof path, "%.*ssnelson.csv", slash ? (int)(slash - case_file + 1) : 0, case_file);
    FILE *f = fopen(path, "r");
    if (!f) {
        printf("%s: cannot be opened, and the case needs it\n0 passed, 1 failed\n", path);
        exit(1);
    }
    char line[256];
    size_t n = 0;
    while (n < MAX_ROWS && fgets(line, sizeof line, f)) {
        char *comma = strchr(line, ','), *end;
        if (!comma) continue;
        x[n] = strtod(line, &end);
        if (end == line) continue; // the header
        y[n++] = strtod(comma + 1, NULL);
    }
    fclose(f);
    return n;
}

static advgp_status evidence(void *ctx, const double *x, size_t n, double *value, double *gradient, advgp_error *err)
{
    (void)n;
    return gp_exact_evidence(ctx, x, value, gradient, NULL, err);
}

// Central differences of the gradient, fourth order.
static void hessian(gp_exact *e, const double *at, double *H)
{
    static const double offset[] = {-2, -1, 1, 2}, weight[] = {1.0 / 12, -8.0 / 12, 8.0 / 12, -1.0 / 12};
    const double h = 1e-3;
    advgp_error err;
    memset(H, 0, 9 * sizeof *H);
    for (size_t j = 0; j < 3; j++)
        for (size_t k = 0; k < 4; k++) {
            double x[3], g[3], value;
            memcpy(x, at, sizeof x);
            x[j] += offset[k] * h;
            golden_must(gp_exact_evidence(e, x, &value, g, NULL, &err), &err, "exact evidence");
            for (size_t i = 0; i < 3; i++) H[i * 3 + j] += weight[k] * g[i] / h;
        }
}

static double collapsed_bound(const golden_problem *p, gp_rows rows, const double *hyper, const golden_array *Z)
{
    gp_features *f = NULL;
    gp_pass *pass = NULL;
    gp_qw *qw = NULL;
    advgp_error err;
    double bound;
    golden_must(gp_features_new(&p->spec, &f, &err), &err, "features");
    golden_must(gp_pass_new(f, 0, &pass, &err), &err, "pass");
    const gp_theta_layout l = gp_theta_layout_of(f);
    golden_must(gp_qw_new(l.M, &qw, &err), &err, "q(w)");
    double *theta = calloc(l.size, sizeof *theta);
    if (!theta) exit(1);
    memcpy(theta, hyper, 3 * sizeof *theta);
    memcpy(theta + 3, Z->p, Z->n * sizeof *theta);
    gp_theta_start_q(l, theta);
    golden_must(gp_pass_run(pass, theta, GP_PASS_STATS, rows, NULL, NULL, &err), &err, "pass");
    golden_must(gp_qw_optimal(qw, gp_pass_stats(pass), hyper[0], NULL, NULL, &bound, &err), &err, "collapsed bound");
    free(theta);
    gp_qw_free(qw);
    gp_pass_free(pass);
    gp_features_free(f);
    return bound;
}

void golden_snelson_case(const char *file, const json_t *c, golden_table *got)
{
    static double x[MAX_ROWS], y[MAX_ROWS];
    const size_t n = read_csv(file, x, y);
    golden_array mean = golden_field(c, "mean"), std = golden_field(c, "std"), hyper = golden_field(c, "hyper");
    golden_array Z = golden_field(c, "Z");
    for (size_t i = 0; i < n; i++) {
        x[i] = (x[i] - mean.p[0]) / std.p[0];
        y[i] = (y[i] - mean.p[1]) / std.p[1];
    }
    golden_problem p = golden_problem_of(c);
    const gp_rows rows = {gp_cmat_of(x, n, 1), y, NULL};
    const gp_exact_spec spec = {.d = 1, .n_components = 1, .kernels = &p.components[0].kernel};
    gp_exact *e = NULL;
    advgp_error err;
    double nlml, H[9], optimum[3] = {-0.5, 0, 0.5}; // a plain start: moderate noise, amplitude 1, length-scale near 1
    golden_must(gp_exact_new(&spec, rows, &e, &err), &err, "exact");
    golden_must(gp_exact_evidence(e, hyper.p, &nlml, NULL, NULL, &err), &err, "exact evidence");
    golden_put_number(got, "exact.nlml", nlml);
    golden_put_number(got, "opt.neg_elbo", collapsed_bound(&p, rows, hyper.p, &Z));
    gp_lbfgs_result result;
    golden_must(gp_lbfgs(evidence, e, 3, optimum, &(gp_lbfgs_options){.gradient_tol = 1e-9}, &result, &err), &err,
                "lbfgs");
    golden_put_number(got, "exact.optimum.nlml", result.value);
    golden_put(got, "exact.optimum.hyper", optimum, 3);
    hessian(e, optimum, H);
    golden_put(got, "exact.optimum.hessian", H, 9);
    free(mean.p), free(std.p), free(hyper.p), free(Z.p);
    gp_exact_free(e);
    golden_problem_free(&p);
}

// ---- units ------------------------------------------------------------------------------------------------

static void kernel_unit(const char *file, const json_t *unit, double rtol, golden_tally *tally)
{
    const gp_kernel *kernel = gp_kernel_named(json_string_value(json_object_get(unit, "kernel")));
    char what[96];
    double k = golden_number(unit, "r2"), slope;
    snprintf(what, sizeof what, "%s at r2 = %g", kernel ? kernel->name : "unknown kernel", k);
    if (!kernel) {
        golden_compare_relative(file, what, NAN, 0, rtol, tally);
        return;
    }
    kernel->eval(gp_mat_of(&k, 1, 1), 1, &slope);
    golden_compare_relative(file, what, k, golden_number(unit, "k"), rtol, tally);
    golden_compare_relative(file, what, slope, golden_number(unit, "dk_dr2"), rtol, tally);
}

static void prox_unit(const char *file, const json_t *unit, double rtol, golden_tally *tally)
{
    const char *element = json_string_value(json_object_get(unit, "element"));
    const double value = golden_number(unit, "value"), gamma = golden_number(unit, "gamma");
    char what[96];
    snprintf(what, sizeof what, "prox %s of %g, gamma %g", element, value, gamma);
    const double got = !strcmp(element, "diagonal") ? gp_prox_diagonal(value, gamma) : gp_prox_shrink(value, gamma);
    golden_compare_relative(file, what, got, golden_number(unit, "result"), rtol, tally);
}

void golden_units_case(const char *file, const json_t *c, golden_tally *tally)
{
    const json_t *kernels = json_object_get(c, "kernels"), *prox = json_object_get(c, "prox");
    const double rtol = golden_number(c, "rtol");
    for (size_t i = 0; i < json_array_size(kernels); i++) kernel_unit(file, json_array_get(kernels, i), rtol, tally);
    for (size_t i = 0; i < json_array_size(prox); i++) prox_unit(file, json_array_get(prox, i), rtol, tally);
}
