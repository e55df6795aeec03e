// golden_model.c: every quantity of a "model" or "components" case, computed by the library alone.
#include "base/constants.h"
#include "golden.h"

#include "linalg/dense.h"
#include "model/exact.h"
#include "model/predict.h"
#include "model/qw.h"
#include "optim/step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct work {
    const json_t *c;
    golden_table *got;
    golden_problem problem;
    gp_features *f;
    gp_pass *pass;
    gp_qw *qw;
    gp_theta_layout layout;
    golden_array theta, Xtest;
    double *grad, *trial; // [size]
    advgp_error err;
} work;

static double *doubles(size_t n)
{
    double *p = calloc(n ? n : 1, sizeof *p);
    if (!p) exit(1);
    return p;
}

static void put_prefixed(work *w, const char *prefix, const char *name, const double *value, size_t n)
{
    char full[64];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    golden_put(w->got, full, value, n);
}

// The parts of a gradient before mu, under their names; "components" cases want them as one vector.
static void put_rest(work *w, const char *prefix, const double *grad)
{
    const gp_component *c = &w->f->components[0];
    const size_t d = w->f->d;
    put_prefixed(w, prefix, "ln_sigma", grad, 1);
    put_prefixed(w, prefix, "ln_a0", grad + c->param, 1);
    put_prefixed(w, prefix, "ln_eta", grad + c->param + 1, d);
    put_prefixed(w, prefix, "Z", grad + c->param + 1 + d, c->m * d);
    if (c->map->has_rho) put_prefixed(w, prefix, "rho", grad + c->param + 1 + d + c->m * d, c->m);
    put_prefixed(w, prefix, "theta_rest", grad, w->layout.n_rest);
}

static void put_U(work *w, const char *name, const double *packed)
{
    const size_t M = w->layout.M;
    double *U = doubles(M * M);
    gp_upper_unpack(M, packed, gp_mat_of(U, M, M));
    golden_put(w->got, name, U, M * M);
    free(U);
}

static void put_matrices(work *w)
{
    const gp_component *c = &w->f->components[0];
    const size_t d = w->f->d, m = c->m, n = w->problem.rows.X.rows;
    double *X1 = doubles(n * (d + 2)), *K = doubles(n * w->f->n_cols), *Kmm = doubles(m * m);
    for (size_t i = 0; i < n; i++) {
        X1[i * (d + 2)] = 1;
        for (size_t k = 0; k < d; k++) X1[i * (d + 2) + 1 + k] = w->problem.rows.X.p[i * d + k];
    }
    gp_features_columns(w->f, gp_mat_of(X1, n, d + 2), gp_mat_of(K, n, w->f->n_cols), NULL);
    golden_put_mat(w->got, "k_nm", (gp_cmat){K, n, m, w->f->n_cols});
    gp_component_gram(c, d, gp_mat_of(Kmm, m, m));
    for (size_t i = 0; i < m; i++) Kmm[i * m + i] += c->rung.jitter * c->a0sq; // 0 for rvm
    golden_put(w->got, "k_mm", Kmm, m * m);
    golden_put_mat(w->got, "L", gp_ro(c->T));
    // Columns of T are scale * lambda^-1/2 times a unit vector; rows of rvm's T are alpha^1/2 on the diagonal.
    double *lambda = doubles(c->M), *alpha = doubles(m);
    const double q = c->shape.n_groups ? (double)c->shape.n_groups : 1;
    for (size_t j = 0; j < c->M; j++) {
        double norm = 0;
        for (size_t i = 0; i < m; i++) norm += c->T.p[i * c->T.ld + j] * c->T.p[i * c->T.ld + j];
        lambda[j] = 1 / (q * norm);
        if (j < m) alpha[j] = c->T.p[j * c->T.ld + j] * c->T.p[j * c->T.ld + j];
    }
    golden_put(w->got, "lambda", lambda, c->M);
    golden_put(w->got, "alpha", alpha, m);
    free(X1), free(K), free(Kmm), free(lambda), free(alpha);
}

// Features, prediction and per-row terms at theta; prefix "" or "opt.".
static void put_predictions(work *w, const char *prefix, const double *theta)
{
    const size_t M = w->layout.M, n = w->problem.rows.X.rows, d = w->f->d, n_test = w->Xtest.n / d;
    const size_t most = n > n_test ? n : n_test;
    gp_predictor *p = NULL;
    gp_predict_work *pw = NULL;
    golden_must(gp_predictor_new(&w->problem.spec, theta, &p, &w->err), &w->err, "predictor");
    golden_must(gp_predict_work_new(p, 7, &pw, &w->err), &w->err, "workspace");
    double *phi = doubles(most * M), *resid = doubles(most), *mean = doubles(most), *vf = doubles(most),
           *vy = doubles(most);
    const gp_cmat Xtest = gp_cmat_of(w->Xtest.p, n_test, d);

    golden_must(gp_predict(p, pw, Xtest, mean, vf, vy, &w->err), &w->err, "predict");
    put_prefixed(w, prefix, "pred.mean", mean, n_test);
    put_prefixed(w, prefix, "pred.var_latent", vf, n_test);
    put_prefixed(w, prefix, "pred.var", vy, n_test);
    if (json_object_get(w->c, "ytest")) {
        golden_array y = golden_field(w->c, "ytest");
        double sum_sq = 0, sum_nlp = 0;
        for (size_t i = 0; i < n_test; i++) {
            const double off = y.p[i] - mean[i];
            sum_sq += off * off;
            sum_nlp += GP_HALF_LN_2PI + 0.5 * log(vy[i]) + 0.5 * off * off / vy[i];
        }
        put_prefixed(w, prefix, "pred.rmse", &(double){sqrt(sum_sq / (double)n_test)}, 1);
        put_prefixed(w, prefix, "pred.mnlp", &(double){sum_nlp / (double)n_test}, 1);
        free(y.p);
    }
    if (!*prefix) {
        golden_must(gp_predict_features(p, pw, Xtest, gp_mat_of(phi, n_test, M), resid, &w->err), &w->err, "features");
        golden_put(w->got, "phi_test", phi, n_test * M);
        golden_must(gp_predict_features(p, pw, w->problem.rows.X, gp_mat_of(phi, n, M), resid, &w->err), &w->err,
                    "features");
        golden_put(w->got, "phi", phi, n * M);
        golden_put(w->got, "ktilde", resid, n);
        golden_must(gp_predict(p, pw, w->problem.rows.X, mean, vf, vy, &w->err), &w->err, "predict");
        for (size_t i = 0; i < n; i++) { // g_i, with |U phi|^2 + ktilde = the latent variance
            const double off = w->problem.rows.y[i] - mean[i];
            vy[i] = GP_HALF_LN_2PI + theta[0] + 0.5 * exp(-2 * theta[0]) * (off * off + vf[i]);
        }
        golden_put(w->got, "g", vy, n);
    }
    free(phi), free(resid), free(mean), free(vf), free(vy);
    gp_predict_work_free(pw);
    gp_predictor_free(p);
}

static double run_pass(work *w, const double *theta, gp_batch rows, gp_pass_kind kind, double *grad)
{
    double sum_g;
    golden_must(gp_pass_run(w->pass, theta, kind, rows, &sum_g, grad, &w->err), &w->err, "pass");
    return sum_g;
}

static void put_bound(work *w)
{
    const gp_theta_layout l = w->layout;
    const double sum_g = run_pass(w, w->theta.p, w->problem.rows, GP_PASS_GRADIENT, w->grad);
    double *grad_h = doubles(l.size);
    const double h = gp_theta_kl(l, w->theta.p, grad_h);
    golden_put_number(w->got, "sum_g", sum_g);
    golden_put_number(w->got, "h", h);
    golden_put_number(w->got, "neg_elbo", sum_g + h);
    golden_put(w->got, "grad.theta", w->grad, l.size);
    put_rest(w, "grad.", w->grad);
    golden_put(w->got, "grad.mu", w->grad + l.n_rest, l.M);
    put_U(w, "grad.U", w->grad + l.U);
    golden_put(w->got, "grad_h.mu", grad_h + l.n_rest, l.M);
    put_U(w, "grad_h.U", grad_h + l.U);
    free(grad_h);
}

static void put_optimum(work *w)
{
    const gp_theta_layout l = w->layout;
    double neg_elbo, ln_sigma;
    run_pass(w, w->theta.p, w->problem.rows, GP_PASS_STATS, NULL);
    memcpy(w->trial, w->theta.p, l.size * sizeof(double));
    golden_must(gp_qw_optimal(w->qw, gp_pass_stats(w->pass), w->theta.p[0], w->trial + l.n_rest, w->trial + l.U,
                              &neg_elbo, &w->err),
                &w->err, "optimal q(w)");
    golden_put_number(w->got, "opt.neg_elbo", neg_elbo);
    golden_put(w->got, "opt.mu", w->trial + l.n_rest, l.M);
    put_U(w, "opt.U", w->trial + l.U);
    gp_mat U = gp_mat_of(doubles(l.M * l.M), l.M, l.M), Sigma = gp_mat_of(doubles(l.M * l.M), l.M, l.M);
    gp_upper_unpack(l.M, w->trial + l.U, U);
    gp_gemm(GP_TRANSPOSED, GP_AS_IS, 1, gp_ro(U), gp_ro(U), 0, Sigma);
    golden_put_mat(w->got, "opt.Sigma", gp_ro(Sigma));
    free(U.p), free(Sigma.p);
    golden_must(gp_qw_noise(w->qw, gp_pass_stats(w->pass), w->theta.p + l.n_rest, w->theta.p + l.U, &ln_sigma, &w->err),
                &w->err, "noise");
    golden_put_number(w->got, "noise.ln_sigma", ln_sigma);
    golden_must(gp_qw_best_noise(w->qw, gp_pass_stats(w->pass), &ln_sigma, &neg_elbo, &w->err), &w->err, "best noise");
    golden_put_number(w->got, "noise.ln_sigma_opt", ln_sigma);
    golden_put_number(w->got, "noise.neg_elbo_opt", neg_elbo);
    run_pass(w, w->trial, w->problem.rows, GP_PASS_GRADIENT, w->grad);
    put_rest(w, "opt.grad.", w->grad);
    put_predictions(w, "opt.", w->trial);
}

static void put_exact(work *w)
{
    const gp_component *c = &w->f->components[0];
    const size_t d = w->f->d, n_test = w->Xtest.n / d;
    const gp_exact_spec spec = {.d = d, .n_components = 1, .kernels = &c->kernel};
    gp_exact *e = NULL;
    double nlml, *hyper = doubles(2 + d), *grad = doubles(2 + d);
    hyper[0] = w->theta.p[0];
    memcpy(hyper + 1, w->theta.p + c->param, (1 + d) * sizeof(double));
    golden_must(gp_exact_new(&spec, w->problem.rows, &e, &w->err), &w->err, "exact");
    golden_must(gp_exact_evidence(e, hyper, &nlml, grad, NULL, &w->err), &w->err, "exact evidence");
    golden_put_number(w->got, "exact.nlml", nlml);
    golden_put_number(w->got, "exact.grad.ln_sigma", grad[0]);
    golden_put_number(w->got, "exact.grad.ln_a0", grad[1]);
    golden_put(w->got, "exact.grad.ln_eta", grad + 2, d);
    double *mean = doubles(n_test), *vf = doubles(n_test), *vy = doubles(n_test);
    golden_must(gp_exact_predict(e, gp_cmat_of(w->Xtest.p, n_test, d), mean, vf, vy, &w->err), &w->err,
                "exact predict");
    golden_put(w->got, "exact.pred.mean", mean, n_test);
    golden_put(w->got, "exact.pred.var_latent", vf, n_test);
    golden_put(w->got, "exact.pred.var", vy, n_test);
    free(mean), free(vf), free(vy), free(hyper), free(grad);
    gp_exact_free(e);
}

// ---- update rules -----------------------------------------------------------------------------------------

static void put_natural(work *w, const json_t *settings)
{
    const gp_theta_layout l = w->layout;
    const size_t d = w->f->d;
    golden_array batch = golden_field(settings, "batch");
    double *X = doubles(batch.n * d), *y = doubles(batch.n), *weight = w->problem.rows.w ? doubles(batch.n) : NULL;
    for (size_t i = 0; i < batch.n; i++) {
        const size_t row = (size_t)batch.p[i];
        memcpy(X + i * d, w->problem.rows.X.p + row * d, d * sizeof(double));
        y[i] = w->problem.rows.y[row];
        if (weight) weight[i] = w->problem.rows.w[row];
    }
    const double scale = json_object_get(settings, "scale") ? golden_number(settings, "scale")
                                                            : (double)w->problem.rows.X.rows / (double)batch.n;
    run_pass(w, w->theta.p, (gp_batch){gp_cmat_of(X, batch.n, d), y, weight}, GP_PASS_STATS, NULL);
    memcpy(w->trial, w->theta.p, l.size * sizeof(double));
    golden_must(gp_qw_natural(w->qw, gp_pass_stats(w->pass), scale, w->theta.p[0], golden_number(settings, "rate"),
                              w->trial + l.n_rest, w->trial + l.U, &w->err),
                &w->err, "natural step");
    golden_put(w->got, "natgrad.mu", w->trial + l.n_rest, l.M);
    put_U(w, "natgrad.U", w->trial + l.U);
    golden_put_mat(w->got, "natgrad.precision", gp_qw_precision(w->qw));
    golden_put(w->got, "natgrad.theta1", gp_qw_shift(w->qw), l.M);
    free(X), free(y), free(weight), free(batch.p);
}

static void put_prox(work *w, const json_t *settings)
{
    memcpy(w->trial, w->theta.p, w->layout.size * sizeof(double));
    run_pass(w, w->trial, w->problem.rows, GP_PASS_GRADIENT, w->grad);
    gp_step_prox(w->layout, gp_range_all(w->layout), golden_number(settings, "gamma"), w->grad, w->trial);
    golden_put(w->got, "prox.theta", w->trial, w->layout.size);
}

static void put_adadelta(work *w, const json_t *settings)
{
    const size_t size = w->layout.size;
    double *steps = doubles(size);
    gp_adadelta state = {.decay = golden_number(settings, "rho"),
                         .epsilon = golden_number(settings, "eps"),
                         .damping = 1,
                         .acc_g = doubles(size),
                         .acc_u = doubles(size)};
    memcpy(w->trial, w->theta.p, size * sizeof(double));
    for (int t = 1; t <= 2; t++) {
        char prefix[32];
        snprintf(prefix, sizeof prefix, "adadelta.step%d.", t);
        run_pass(w, w->trial, w->problem.rows, GP_PASS_GRADIENT, w->grad);
        gp_step_adadelta(w->layout, gp_range_all(w->layout), &state, w->grad, w->trial, steps);
        put_prefixed(w, prefix, "theta", w->trial, size);
        put_prefixed(w, prefix, "acc_g", state.acc_g, size);
        put_prefixed(w, prefix, "acc_u", state.acc_u, size);
        put_prefixed(w, prefix, "step", steps, size);
    }
    free(steps), free(state.acc_g), free(state.acc_u);
}

// On all of theta the gradient is that of the whole bound, h included; on the rest h has no part.
static void put_adam(work *w, const json_t *settings, bool all)
{
    const size_t size = w->layout.size, n = all ? size : w->layout.n_rest;
    gp_adam state = {.rate = golden_number(settings, "lr"),
                     .beta1 = golden_number(settings, "beta1"),
                     .beta2 = golden_number(settings, "beta2"),
                     .epsilon = golden_number(settings, "eps"),
                     .m = doubles(n),
                     .v = doubles(n)};
    memcpy(w->trial, w->theta.p, size * sizeof(double));
    for (int t = 1; t <= 2; t++) {
        char name[32];
        snprintf(name, sizeof name, "adam_%s.step%d.theta", all ? "all" : "rest", t);
        run_pass(w, w->trial, w->problem.rows, GP_PASS_GRADIENT, w->grad);
        if (all) (void)gp_theta_kl(w->layout, w->trial, w->grad);
        gp_step_adam(&state, n, w->grad, w->trial);
        golden_put(w->got, name, w->trial, size);
    }
    free(state.m), free(state.v);
}

// ---- the case ---------------------------------------------------------------------------------------------

static bool wants(const work *w, const char *prefix)
{
    const char *name;
    json_t *entry;
    json_object_foreach(json_object_get(w->c, "expected"), name, entry)
    {
        if (!strncmp(name, prefix, strlen(prefix))) return true;
    }
    return false;
}

void golden_model_case(const json_t *c, golden_table *got)
{
    work w = {.c = c,
              .got = got,
              .problem = golden_problem_of(c),
              .theta = golden_field(c, "theta"),
              .Xtest = golden_field(c, "Xtest")};
    golden_must(gp_features_new(&w.problem.spec, &w.f, &w.err), &w.err, "features");
    golden_must(gp_pass_new(w.f, 7, &w.pass, &w.err), &w.err, "pass"); // an odd block: cases are small
    w.layout = gp_theta_layout_of(w.f);
    golden_must(gp_qw_new(w.layout.M, &w.qw, &w.err), &w.err, "q(w)");
    w.grad = doubles(w.layout.size), w.trial = doubles(w.layout.size);
    if (w.theta.n != w.layout.size) {
        printf("theta has %zu numbers, the model %zu\n0 passed, 1 failed\n", w.theta.n, w.layout.size);
        exit(1);
    }
    const json_t *updates = json_object_get(c, "updates");
    put_bound(&w);
    put_matrices(&w); // of the features as the bound has set them
    put_predictions(&w, "", w.theta.p);
    put_optimum(&w);
    if (wants(&w, "exact.")) put_exact(&w);
    if (wants(&w, "natgrad.")) put_natural(&w, json_object_get(updates, "natgrad"));
    if (wants(&w, "prox.")) put_prox(&w, json_object_get(updates, "prox"));
    if (wants(&w, "adadelta.")) put_adadelta(&w, json_object_get(updates, "adadelta"));
    if (wants(&w, "adam_all.")) put_adam(&w, json_object_get(updates, "adam"), true);
    if (wants(&w, "adam_rest.")) put_adam(&w, json_object_get(updates, "adam"), false);
    free(w.grad), free(w.trial), free(w.theta.p), free(w.Xtest.p);
    gp_qw_free(w.qw);
    gp_pass_free(w.pass);
    gp_features_free(w.f);
    golden_problem_free(&w.problem);
}
