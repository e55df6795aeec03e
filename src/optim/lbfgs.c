// lbfgs.c: libLBFGS behind lbfgs.h. The only file that knows its types.
#include "optim/lbfgs.h"
#include "base/alloc.h"
#include "linalg/dense.h"

#include <lbfgs.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { PAST = 5 };

typedef struct run {
    gp_objective objective;
    void *ctx;
    double *best_x;
    double best_value;
    double *start_gradient; // where the present line starts
    double start_value;     // infinite until the function was finite once
    size_t iterations, evaluations;
    double value_tol;
    double past[PAST];   // values of the last iterations, as a ring
    bool settled;        // they fell by less than value_tol
    advgp_status status; // not OK: the objective failed for good
    advgp_error *err;
} run;

// Out of bounds: as if the line rose again to just above its start with the slope it began with, turned round. The line
// search then fits a parabola and halves its step. (A huge value with no slope makes it interpolate to next to nothing
// and give up.)
static double out_of_bounds(const run *r, int n, lbfgsfloatval_t *g)
{
    for (int i = 0; i < n; i++) g[i] = isfinite(r->start_value) ? -r->start_gradient[i] : 0;
    return isfinite(r->start_value) ? r->start_value + 1e-8 * (1 + fabs(r->start_value)) : HUGE_VAL;
}

static void start_line(run *r, int n, double value, const lbfgsfloatval_t *g)
{
    r->start_value = value;
    memcpy(r->start_gradient, g, (size_t)n * sizeof *g);
}

static lbfgsfloatval_t evaluate(void *instance, const lbfgsfloatval_t *x, lbfgsfloatval_t *g, const int n,
                                const lbfgsfloatval_t step)
{
    (void)step;
    run *r = instance;
    double value = 0;
    advgp_error why = {0};
    r->evaluations++;
    if (r->status != ADVGP_OK) return 0; // on the way out
    advgp_status st = r->objective(r->ctx, x, (size_t)n, &value, g, &why);
    if (st == ADVGP_OK && isfinite(value) && gp_all_finite((size_t)n, g)) {
        if (!isfinite(r->start_value)) start_line(r, n, value, g);
        if (value < r->best_value) {
            r->best_value = value;
            memcpy(r->best_x, x, (size_t)n * sizeof *x);
        }
        return value;
    }
    if (st != ADVGP_OK && st != ADVGP_ENUMERIC) {
        r->status = st;
        if (r->err) *r->err = why;
    }
    return out_of_bounds(r, n, g);
}

static int progress(void *instance, const lbfgsfloatval_t *x, const lbfgsfloatval_t *g, const lbfgsfloatval_t fx,
                    const lbfgsfloatval_t xnorm, const lbfgsfloatval_t gnorm, const lbfgsfloatval_t step, int n, int k,
                    int ls)
{
    (void)x, (void)xnorm, (void)gnorm, (void)step, (void)ls;
    run *r = instance;
    r->iterations = (size_t)k;
    start_line(r, n, fx, g);
    // libLBFGS has such a test, and it takes every negative value for the end.
    double *then = &r->past[k % PAST];
    r->settled = r->value_tol > 0 && k > PAST && *then - fx < r->value_tol * fmax(1, fabs(fx));
    *then = fx;
    return r->settled || r->status != ADVGP_OK;
}

static gp_stop_reason reason(int code)
{
    switch (code) { // libLBFGS's own list of outcomes
    case LBFGS_SUCCESS:
    case LBFGS_STOP:
    case LBFGS_ALREADY_MINIMIZED:
        return GP_STOPPED_CONVERGED;
    case LBFGSERR_MAXIMUMITERATION:
        return GP_STOPPED_ITERATION_LIMIT;
    default:
        return GP_STOPPED_NO_DESCENT;
    }
}

advgp_status gp_lbfgs(gp_objective objective, void *ctx, size_t n, double *x, const gp_lbfgs_options *options,
                      gp_lbfgs_result *result, advgp_error *err)
{
    if (!objective || !x || !n) return gp_fail(err, ADVGP_EINVAL, "lbfgs: no function or no variables given");
    if (n > INT_MAX) return gp_fail(err, ADVGP_EINVAL, "lbfgs: %zu variables are more than libLBFGS can count", n);
    static const gp_lbfgs_options defaults = {0};
    const gp_lbfgs_options *o = options ? options : &defaults;
    lbfgs_parameter_t param;
    lbfgs_parameter_init(&param);
    param.m = o->memory ? (int)o->memory : 10;
    param.max_iterations = (int)o->max_iterations;
    param.epsilon = o->gradient_tol > 0 ? o->gradient_tol : 1e-5;

    run r = {.objective = objective,
             .ctx = ctx,
             .best_value = HUGE_VAL,
             .start_value = HUGE_VAL,
             .value_tol = o->value_tol,
             .err = err};
    advgp_status st = ADVGP_OK;
    lbfgsfloatval_t *at = lbfgs_malloc((int)n); // libLBFGS wants its own alignment
    r.best_x = gp_alloc(n, 2 * sizeof *r.best_x);
    r.start_gradient = r.best_x ? r.best_x + n : NULL;
    if (!at || !r.best_x) {
        st = gp_no_memory(err);
        goto done;
    }
    memcpy(at, x, n * sizeof *x);
    lbfgsfloatval_t value;
    const int code = lbfgs((int)n, at, &value, evaluate, progress, &r, &param);
    if (isfinite(r.best_value)) memcpy(x, r.best_x, n * sizeof *x);
    if (r.status != ADVGP_OK)
        st = r.status; // the text is in err already
    else if (code == LBFGSERR_OUTOFMEMORY)
        st = gp_no_memory(err);
    else if (!isfinite(r.best_value))
        st = gp_fail(err, ADVGP_ENUMERIC, "lbfgs: the function is not finite at the start");
    if (result)
        *result = (gp_lbfgs_result){.value = r.best_value,
                                    .iterations = r.iterations,
                                    .evaluations = r.evaluations,
                                    .stopped = r.settled ? GP_STOPPED_CONVERGED : reason(code)};
done:
    gp_free(r.best_x);
    lbfgs_free(at);
    return st;
}
