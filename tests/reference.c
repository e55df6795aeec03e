// reference.c: reference.h, top to bottom in the order of the formulas. long double throughout, so that a difference to
// the fast code is the fast code's rounding.
#include "reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef long double real;

static real *reals(size_t n)
{
    real *p = calloc(n ? n : 1, sizeof *p);
    if (!p) {
        fprintf(stderr, "reference: no memory\n");
        exit(1);
    }
    return p;
}

// ---- shapes

static size_t component_features(const ref_component *c)
{
    if (c->map != REF_EIGEN) return c->m;
    size_t M = 0;
    for (size_t l = 0; l < c->n_groups; l++) M += c->group_rank[l];
    return M;
}

static size_t component_params(const ref_model *model, const ref_component *c)
{
    return 1 + model->d + c->m * model->d + (c->map == REF_RVM ? c->m : 0);
}

static size_t n_trend(const ref_model *model)
{
    return model->trend == 0 ? 0 : model->trend == 1 ? 1 : 1 + model->d;
}

size_t ref_n_features(const ref_model *model)
{
    size_t M = n_trend(model);
    for (size_t b = 0; b < model->n_components; b++) M += component_features(&model->c[b]);
    return M;
}

size_t ref_n_rest(const ref_model *model)
{
    size_t n = 1 + (size_t)model->trend; // ln sigma; none, ln s_c, ln s_c and ln s_l
    for (size_t b = 0; b < model->n_components; b++) n += component_params(model, &model->c[b]);
    return n;
}

size_t ref_size(const ref_model *model)
{
    const size_t M = ref_n_features(model);
    return ref_n_rest(model) + M + M * (M + 1) / 2;
}

// ---- small dense algebra

// K = R R^T, R upper triangular, from the last column to the first.
static void reverse_cholesky(size_t n, const real *K, real *R)
{
    for (size_t i = 0; i < n * n; i++) R[i] = 0;
    for (size_t j = n; j-- > 0;) {
        real pivot = K[j * n + j];
        for (size_t k = j + 1; k < n; k++) pivot -= R[j * n + k] * R[j * n + k];
        if (!(pivot > 0)) {
            fprintf(stderr, "reference: matrix of %zu is not positive definite\n", n);
            exit(1);
        }
        R[j * n + j] = sqrtl(pivot);
        for (size_t i = 0; i < j; i++) {
            real sum = K[i * n + j];
            for (size_t k = j + 1; k < n; k++) sum -= R[i * n + k] * R[j * n + k];
            R[i * n + j] = sum / R[j * n + j];
        }
    }
}

static void invert_upper(size_t n, const real *R, real *inverse)
{
    for (size_t i = 0; i < n * n; i++) inverse[i] = 0;
    for (size_t j = 0; j < n; j++)
        for (size_t i = j + 1; i-- > 0;) {
            real sum = i == j;
            for (size_t k = i + 1; k <= j; k++) sum -= R[i * n + k] * inverse[k * n + j];
            inverse[i * n + j] = sum / R[i * n + i];
        }
}

// Cyclic Jacobi: columns of Q become eigenvectors of K, sorted by descending eigenvalue, signs as docs/math.md 2.
static void jacobi(size_t n, const real *K, real *lambda, real *Q)
{
    real *A = reals(n * n);
    for (size_t i = 0; i < n * n; i++) A[i] = K[i], Q[i] = i % (n + 1) == 0;
    for (int sweep = 0; sweep < 60; sweep++) {
        real off = 0, all = 0;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                all += A[i * n + j] * A[i * n + j];
                if (i != j) off += A[i * n + j] * A[i * n + j];
            }
        if (off <= 1e-38L * all) break;
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++) {
                if (A[p * n + q] == 0) continue;
                const real tau = (A[q * n + q] - A[p * n + p]) / (2 * A[p * n + q]);
                const real t = (tau >= 0 ? 1 : -1) / (fabsl(tau) + sqrtl(1 + tau * tau));
                const real c = 1 / sqrtl(1 + t * t), s = t * c;
                for (size_t k = 0; k < n; k++) {
                    const real kp = A[k * n + p], kq = A[k * n + q];
                    A[k * n + p] = c * kp - s * kq, A[k * n + q] = s * kp + c * kq;
                }
                for (size_t k = 0; k < n; k++) {
                    const real pk = A[p * n + k], qk = A[q * n + k];
                    A[p * n + k] = c * pk - s * qk, A[q * n + k] = s * pk + c * qk;
                }
                for (size_t k = 0; k < n; k++) {
                    const real kp = Q[k * n + p], kq = Q[k * n + q];
                    Q[k * n + p] = c * kp - s * kq, Q[k * n + q] = s * kp + c * kq;
                }
            }
    }
    for (size_t i = 0; i < n; i++) lambda[i] = A[i * n + i];
    for (size_t i = 0; i < n; i++) {
        size_t best = i;
        for (size_t j = i + 1; j < n; j++)
            if (lambda[j] > lambda[best]) best = j;
        const real held = lambda[i];
        lambda[i] = lambda[best], lambda[best] = held;
        for (size_t k = 0; k < n; k++) {
            const real q = Q[k * n + i];
            Q[k * n + i] = Q[k * n + best], Q[k * n + best] = q;
        }
    }
    for (size_t j = 0; j < n; j++) {
        real largest = 0;
        for (size_t k = 0; k < n; k++) largest = fmaxl(largest, fabsl(Q[k * n + j]));
        size_t first = 0;
        while (fabsl(Q[first * n + j]) < largest * (1 - 1e-8L)) first++;
        if (Q[first * n + j] < 0)
            for (size_t k = 0; k < n; k++) Q[k * n + j] = -Q[k * n + j];
    }
    free(A);
}

// ---- kernels: value and slope in s = r^2

static void kappa(ref_kernel kernel, real s, real *value, real *slope)
{
    if (kernel == REF_ARD_RBF) {
        *value = expl(-s / 2);
        *slope = -*value / 2;
    } else if (kernel == REF_MATERN32) {
        const real t = sqrtl(3 * s);
        *value = (1 + t) * expl(-t);
        *slope = -1.5L * expl(-t);
    } else {
        const real t = sqrtl(5 * s);
        *value = (1 + t + t * t / 3) * expl(-t);
        *slope = -5.0L / 6 * (1 + t) * expl(-t);
    }
}

// ---- one component: everything from theta up to its features

typedef struct part {
    const ref_component *c;
    size_t M, param, feature;
    real a0sq, *eta;
    const double *Z, *rho;
    real *Kmm, *Emm;  // m x m, no jitter; slopes in r^2
    real *Knm, *Enm;  // n x m
    real *T;          // m x M: phi = T^T k_m(x)
    real *Q, *lambda; // group after group: eigenvectors in columns, eigenvalues
} part;

static void kernel_matrix(const ref_model *model, const part *p, size_t n, const double *X, const double *Z, size_t m,
                          real *K, real *E)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++) {
            real s = 0;
            for (size_t k = 0; k < model->d; k++) {
                const real diff = (real)X[i * model->d + k] - (real)Z[j * model->d + k];
                s += p->eta[k] * diff * diff;
            }
            kappa(p->c->kernel, s, &K[i * m + j], &E[i * m + j]);
            K[i * m + j] *= p->a0sq;
            E[i * m + j] *= p->a0sq;
        }
}

static real sigmoid(real x)
{
    return 1 / (1 + expl(-x));
}

static real row_sum(const part *p, size_t i)
{
    real sum = 0;
    for (size_t j = 0; j < p->c->m; j++) sum += p->Kmm[i * p->c->m + j];
    return sum;
}

static void make_map(const ref_model *model, part *p)
{
    const size_t m = p->c->m, M = p->M;
    if (p->c->map == REF_RVM) {
        for (size_t i = 0; i < m; i++) p->T[i * M + i] = sqrtl(sigmoid(p->rho[i]) / row_sum(p, i));
        return;
    }
    if (p->c->map == REF_CHOLESKY) {
        real *K = reals(m * m), *R = reals(m * m), *inverse = reals(m * m);
        for (size_t i = 0; i < m * m; i++) K[i] = p->Kmm[i] + (i % (m + 1) == 0 ? model->jitter * p->a0sq : 0);
        reverse_cholesky(m, K, R);
        invert_upper(m, R, inverse);
        for (size_t i = 0; i < m; i++)
            for (size_t j = 0; j < m; j++) p->T[i * M + j] = inverse[j * m + i]; // L = R^-T
        free(K), free(R), free(inverse);
        return;
    }
    real *Q = p->Q, *lambda = p->lambda;
    for (size_t l = 0, row = 0, col = 0; l < p->c->n_groups; l++) {
        const size_t ml = p->c->group_m[l], rank = p->c->group_rank[l];
        real *K = reals(ml * ml);
        for (size_t i = 0; i < ml; i++)
            for (size_t j = 0; j < ml; j++)
                K[i * ml + j] = p->Kmm[(row + i) * m + row + j] + (i == j ? model->jitter * p->a0sq : 0);
        jacobi(ml, K, lambda, Q);
        for (size_t i = 0; i < ml; i++)
            for (size_t j = 0; j < rank; j++)
                p->T[(row + i) * M + col + j] = Q[i * ml + j] / sqrtl((real)p->c->n_groups * lambda[j]);
        free(K);
        row += ml, col += rank, Q += ml * ml, lambda += ml;
    }
}

static part part_new(const ref_model *model, const double *theta, ref_rows rows, size_t b, size_t param, size_t feature)
{
    const ref_component *c = &model->c[b];
    const size_t m = c->m, M = component_features(c), d = model->d, n = rows.n;
    part p = {.c = c, .M = M, .param = param, .feature = feature};
    const double *t = theta + param;
    p.a0sq = expl(2 * (real)t[0]);
    p.eta = reals(d);
    for (size_t k = 0; k < d; k++) p.eta[k] = expl((real)t[1 + k]);
    p.Z = t + 1 + d;
    p.rho = p.Z + m * d;
    p.Kmm = reals(m * m), p.Emm = reals(m * m), p.Knm = reals(n * m), p.Enm = reals(n * m), p.T = reals(m * M);
    p.Q = reals(m * m), p.lambda = reals(m);
    kernel_matrix(model, &p, m, p.Z, p.Z, m, p.Kmm, p.Emm);
    kernel_matrix(model, &p, n, rows.X, p.Z, m, p.Knm, p.Enm);
    make_map(model, &p);
    return p;
}

static void part_free(part *p)
{
    free(p->eta), free(p->Kmm), free(p->Emm), free(p->Knm), free(p->Enm), free(p->T), free(p->Q), free(p->lambda);
}

// ---- the whole model

typedef struct whole {
    const ref_model *model;
    ref_rows rows;
    size_t M, rest;
    part parts[REF_MAX_COMPONENTS];
    real a0sq_sum, ln_sigma, beta;
    real *phi;      // n x M
    real *residual; // n
    real *mu, *U;   // of theta
} whole;

static real weight(ref_rows rows, size_t i)
{
    return rows.w ? rows.w[i] : 1;
}

static whole whole_new(const ref_model *model, const double *theta, ref_rows rows)
{
    const size_t M = ref_n_features(model), n = rows.n, d = model->d;
    whole h = {.model = model, .rows = rows, .M = M, .rest = ref_n_rest(model)};
    h.ln_sigma = theta[0];
    h.beta = expl(-2 * h.ln_sigma);
    h.phi = reals(n * M), h.residual = reals(n), h.mu = reals(M), h.U = reals(M * M);
    size_t param = 1, feature = 0;
    for (size_t b = 0; b < model->n_components; b++) {
        part *p = &h.parts[b];
        *p = part_new(model, theta, rows, b, param, feature);
        h.a0sq_sum += p->a0sq;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < p->M; j++)
                for (size_t l = 0; l < p->c->m; l++)
                    h.phi[i * M + feature + j] += p->Knm[i * p->c->m + l] * p->T[l * p->M + j];
        param += component_params(model, p->c);
        feature += p->M;
    }
    for (size_t i = 0; i < n; i++) {
        h.residual[i] = h.a0sq_sum; // the trend has none
        for (size_t j = 0; j < feature; j++) h.residual[i] -= h.phi[i * M + j] * h.phi[i * M + j];
        if (model->trend >= 1) h.phi[i * M + feature] = expl((real)theta[param]);
        if (model->trend == 2)
            for (size_t k = 0; k < d; k++)
                h.phi[i * M + feature + 1 + k] = expl((real)theta[param + 1]) * rows.X[i * d + k];
    }
    const double *q = theta + h.rest;
    for (size_t j = 0; j < M; j++) h.mu[j] = *q++;
    for (size_t i = 0; i < M; i++)
        for (size_t j = i; j < M; j++) h.U[i * M + j] = *q++;
    return h;
}

static void whole_free(whole *h)
{
    for (size_t b = 0; b < h->model->n_components; b++) part_free(&h->parts[b]);
    free(h->phi), free(h->residual), free(h->mu), free(h->U);
}

static size_t n_kernel_features(const whole *h)
{
    return h->M - n_trend(h->model);
}

void ref_features(const ref_model *model, const double *theta, ref_rows rows, double *phi, double *residual)
{
    whole h = whole_new(model, theta, rows);
    for (size_t i = 0; phi && i < rows.n * h.M; i++) phi[i] = (double)h.phi[i];
    for (size_t i = 0; residual && i < rows.n; i++) residual[i] = (double)h.residual[i];
    whole_free(&h);
}

// (y - phi mu)^2 + |U phi|^2 + residual of row i
static real row_squares(const whole *h, size_t i)
{
    const size_t M = h->M;
    const real *phi = h->phi + i * M;
    real error = h->rows.y[i], sum = h->residual[i];
    for (size_t j = 0; j < M; j++) error -= phi[j] * h->mu[j];
    for (size_t j = 0; j < M; j++) {
        real v = 0;
        for (size_t k = j; k < M; k++) v += h->U[j * M + k] * phi[k];
        sum += v * v;
    }
    return error * error + sum;
}

static real half_ln_2pi(void)
{
    return logl(2 * acosl(-1.0L)) / 2;
}

// ---- gradient (docs/math.md 9)

// From G_nm = dF/dK_nm and G_mm = dF/dK_mm to ln eta and Z.
static void chain_to_inputs(const whole *h, const part *p, const real *Gnm, const real *Gmm, double *grad)
{
    const size_t m = p->c->m, d = h->model->d, n = h->rows.n;
    const double *X = h->rows.X;
    double *g_eta = grad + p->param + 1, *g_Z = g_eta + d;
    for (size_t k = 0; k < d; k++) {
        real sum = 0;
        for (size_t j = 0; j < m; j++) {
            const real z = p->Z[j * d + k];
            real by_z = 0;
            for (size_t i = 0; i < n; i++) {
                const real H = Gnm[i * m + j] * p->Enm[i * m + j], diff = X[i * d + k] - z;
                sum += H * diff * diff;
                by_z -= H * diff;
            }
            for (size_t l = 0; l < m; l++) {
                const real H = (Gmm[j * m + l] + Gmm[l * m + j]) * p->Emm[j * m + l];
                const real diff = z - (real)p->Z[l * d + k];
                sum += H * diff * diff / 2;
                by_z += H * diff;
            }
            g_Z[j * d + k] = (double)(2 * p->eta[k] * by_z);
        }
        g_eta[k] = (double)(p->eta[k] * sum);
    }
}

static void cholesky_Gmm(const part *p, real beta, const real *PtPhi, real *Gmm)
{
    const size_t m = p->c->m;
    real *middle = reals(m * m), *left = reals(m * m);
    for (size_t i = 0; i < m; i++)
        for (size_t j = i; j < m; j++) middle[i * m + j] = PtPhi[i * m + j] * (i == j ? 0.5L : 1);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++)
            for (size_t k = 0; k < m; k++) left[i * m + j] += p->T[i * m + k] * middle[k * m + j];
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++)
            for (size_t k = 0; k < m; k++) Gmm[i * m + j] -= beta * left[i * m + k] * p->T[j * m + k];
    free(middle), free(left);
}

static void eigen_Gmm(const whole *h, const part *p, const real *P, const real *PtPhi, real *Gmm)
{
    const size_t m = p->c->m, n = h->rows.n;
    const real *Q = p->Q, *lambda = p->lambda;
    for (size_t l = 0, row = 0, col = 0; l < p->c->n_groups; l++) {
        const size_t ml = p->c->group_m[l], rank = p->c->group_rank[l];
        for (size_t a = 0; a < ml; a++)
            for (size_t b = 0; b < rank; b++) {
                real W = 0; // (Q^T K_nm^T B)_ab, B = beta P_l diag(q lambda)^-1/2
                for (size_t i = 0; i < n; i++) {
                    real qk = 0;
                    for (size_t j = 0; j < ml; j++) qk += Q[j * ml + a] * p->Knm[i * m + row + j];
                    W += qk * h->beta * P[i * p->M + col + b] / sqrtl((real)p->c->n_groups * lambda[b]);
                }
                if (a == b)
                    W = -h->beta / 2 * PtPhi[(col + b) * p->M + col + b] / lambda[b];
                else
                    W /= lambda[b] - lambda[a];
                for (size_t i = 0; i < ml; i++)
                    for (size_t j = 0; j < ml; j++) Gmm[(row + i) * m + row + j] += Q[i * ml + a] * W * Q[j * ml + b];
            }
        row += ml, col += rank, Q += ml * ml, lambda += ml;
    }
}

static void rvm_Gmm(const part *p, real beta, const real *PtPhi, real *Gmm, double *g_rho)
{
    const size_t m = p->c->m;
    for (size_t i = 0; i < m; i++) {
        const real c = beta / 2 * PtPhi[i * m + i];
        for (size_t j = 0; j < m; j++) Gmm[i * m + j] = -c / row_sum(p, i);
        g_rho[i] = (double)(c * (1 - sigmoid(p->rho[i])));
    }
}

static void part_gradient(const whole *h, const part *p, const real *P_all, double *grad)
{
    const size_t m = p->c->m, M = p->M, n = h->rows.n;
    real *P = reals(n * M), *PtPhi = reals(M * M), *Gnm = reals(n * m), *Gmm = reals(m * m), sum_w = 0, inner = 0;
    for (size_t i = 0; i < n; i++) {
        sum_w += weight(h->rows, i);
        for (size_t j = 0; j < M; j++) P[i * M + j] = P_all[i * h->M + p->feature + j];
    }
    for (size_t i = 0; i < n; i++)
        for (size_t a = 0; a < M; a++)
            for (size_t b = 0; b < M; b++) PtPhi[a * M + b] += P[i * M + a] * h->phi[i * h->M + p->feature + b];
    for (size_t a = 0; a < M; a++) inner += PtPhi[a * M + a];
    grad[p->param] = (double)(h->beta * (inner + sum_w * p->a0sq));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++)
            for (size_t a = 0; a < M; a++) Gnm[i * m + j] += h->beta * P[i * M + a] * p->T[j * M + a];
    if (p->c->map == REF_CHOLESKY)
        cholesky_Gmm(p, h->beta, PtPhi, Gmm);
    else if (p->c->map == REF_EIGEN)
        eigen_Gmm(h, p, P, PtPhi, Gmm);
    else
        rvm_Gmm(p, h->beta, PtPhi, Gmm, grad + p->param + 1 + h->model->d + m * h->model->d);
    chain_to_inputs(h, p, Gnm, Gmm, grad);
    free(P), free(PtPhi), free(Gnm), free(Gmm);
}

static void q_gradient(const whole *h, double *grad)
{
    const size_t M = h->M, n = h->rows.n;
    double *g = grad + h->rest;
    for (size_t j = 0; j < M; j++) {
        real sum = 0;
        for (size_t i = 0; i < n; i++) {
            real error = -(real)h->rows.y[i];
            for (size_t k = 0; k < M; k++) error += h->phi[i * M + k] * h->mu[k];
            sum += weight(h->rows, i) * h->phi[i * M + j] * error;
        }
        *g++ = (double)(h->beta * sum);
    }
    for (size_t a = 0; a < M; a++)
        for (size_t b = a; b < M; b++) { // (U C)_ab
            real sum = 0;
            for (size_t i = 0; i < n; i++) {
                real v = 0;
                for (size_t k = a; k < M; k++) v += h->U[a * M + k] * h->phi[i * M + k];
                sum += weight(h->rows, i) * v * h->phi[i * M + b];
            }
            *g++ = (double)(h->beta * sum);
        }
}

// P = W [Phi (Sigma + mu mu^T - E) - y mu^T]
static real *make_P(const whole *h)
{
    const size_t M = h->M, n = h->rows.n;
    real *P = reals(n * M);
    for (size_t i = 0; i < n; i++) {
        const real *phi = h->phi + i * M;
        real error = -(real)h->rows.y[i];
        for (size_t k = 0; k < M; k++) error += phi[k] * h->mu[k];
        for (size_t j = 0; j < M; j++) {
            real value = error * h->mu[j] - (j < n_kernel_features(h) ? phi[j] : 0);
            for (size_t a = 0; a <= j; a++) {
                real v = 0;
                for (size_t k = a; k < M; k++) v += h->U[a * M + k] * phi[k];
                value += h->U[a * M + j] * v;
            }
            P[i * M + j] = weight(h->rows, i) * value;
        }
    }
    return P;
}

double ref_sum_g(const ref_model *model, const double *theta, ref_rows rows, double *grad)
{
    whole h = whole_new(model, theta, rows);
    real squares = 0, sum_w = 0;
    for (size_t i = 0; i < rows.n; i++) {
        if (weight(rows, i) == 0) continue;
        squares += weight(rows, i) * row_squares(&h, i);
        sum_w += weight(rows, i);
    }
    if (grad) {
        grad[0] = (double)(sum_w - h.beta * squares);
        real *P = make_P(&h);
        for (size_t b = 0; b < model->n_components; b++) part_gradient(&h, &h.parts[b], P, grad);
        double *g_trend = grad + h.rest - model->trend;
        const size_t first = n_kernel_features(&h);
        for (size_t t = 0; t < n_trend(model); t++) {
            real sum = 0;
            for (size_t i = 0; i < rows.n; i++) sum += P[i * h.M + first + t] * h.phi[i * h.M + first + t];
            const size_t at = t == 0 ? 0 : 1;
            g_trend[at] = (double)(h.beta * sum) + (t >= 2 ? g_trend[at] : 0);
        }
        q_gradient(&h, grad);
        free(P);
    }
    const real value = sum_w * (half_ln_2pi() + h.ln_sigma) + h.beta / 2 * squares;
    whole_free(&h);
    return (double)value;
}

// ---- q(w)

static void stats(const whole *h, real *A, real *b, real *residual, real *yy, real *sum_w)
{
    const size_t M = h->M;
    *residual = *yy = *sum_w = 0;
    for (size_t i = 0; i < h->rows.n; i++) {
        const real w = weight(h->rows, i), y = h->rows.y[i], *phi = h->phi + i * M;
        *residual += w * h->residual[i];
        *yy += w * y * y;
        *sum_w += w;
        for (size_t j = 0; j < M; j++) {
            b[j] += w * phi[j] * y;
            for (size_t k = 0; k < M; k++) A[j * M + k] += w * phi[j] * phi[k];
        }
    }
}

void ref_stats(const ref_model *model, const double *theta, ref_rows rows, double *A, double *b, double *residual)
{
    whole h = whole_new(model, theta, rows);
    const size_t M = h.M;
    real *A_real = reals(M * M), *b_real = reals(M), r, yy, n;
    stats(&h, A_real, b_real, &r, &yy, &n);
    for (size_t i = 0; i < M * M; i++) A[i] = (double)A_real[i];
    for (size_t i = 0; i < M; i++) b[i] = (double)b_real[i];
    *residual = (double)r;
    free(A_real), free(b_real);
    whole_free(&h);
}

// mu = P^-1 t, P^-1 = U^T U; returns ln det P / 2
static real solve_q(size_t M, const real *P, const real *t, double *mu, double *U)
{
    real *V = reals(M * M), *inverse = reals(M * M), log_det = 0;
    reverse_cholesky(M, P, V);
    invert_upper(M, V, inverse);
    for (size_t i = 0; i < M; i++) log_det += logl(V[i * M + i]);
    for (size_t i = 0; i < M; i++)
        for (size_t j = i; j < M; j++) *U++ = (double)inverse[i * M + j];
    for (size_t i = 0; i < M; i++) {
        real sum = 0;
        for (size_t a = 0; a <= i; a++) {
            real v = 0;
            for (size_t k = a; k < M; k++) v += inverse[a * M + k] * t[k];
            sum += inverse[a * M + i] * v;
        }
        mu[i] = (double)sum;
    }
    free(V), free(inverse);
    return log_det;
}

double ref_optimal(const ref_model *model, const double *theta, ref_rows rows, double *mu, double *U)
{
    whole h = whole_new(model, theta, rows);
    const size_t M = h.M;
    real *P = reals(M * M), *b = reals(M), residual, yy, n, fit = 0;
    stats(&h, P, b, &residual, &yy, &n);
    for (size_t i = 0; i < M * M; i++) P[i] = h.beta * P[i] + (i % (M + 1) == 0);
    for (size_t i = 0; i < M; i++) b[i] *= h.beta;
    const real log_det = solve_q(M, P, b, mu, U);
    // b^T P^-1 b = |U b|^2, from the same factor but in full precision
    real *V = reals(M * M), *inverse = reals(M * M);
    reverse_cholesky(M, P, V);
    invert_upper(M, V, inverse);
    for (size_t i = 0; i < M; i++) {
        real v = 0;
        for (size_t k = i; k < M; k++) v += inverse[i * M + k] * b[k];
        fit += v * v;
    }
    const real value = n * (half_ln_2pi() + h.ln_sigma) + log_det + h.beta / 2 * (yy + residual) - fit / 2;
    free(P), free(b), free(V), free(inverse);
    whole_free(&h);
    return (double)value;
}

void ref_natural(const ref_model *model, const double *theta, ref_rows rows, double scale, double rate, double *mu,
                 double *U)
{
    whole h = whole_new(model, theta, rows);
    const size_t M = h.M;
    real *A = reals(M * M), *b = reals(M), *P = reals(M * M), *t = reals(M), *inverse = reals(M * M), residual, yy, n;
    stats(&h, A, b, &residual, &yy, &n);
    invert_upper(M, h.U, inverse);
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < M; j++) {
            real now = 0; // Sigma^-1 = U^-1 U^-T
            for (size_t k = 0; k < M; k++) now += inverse[i * M + k] * inverse[j * M + k];
            P[i * M + j] = (1 - (real)rate) * now + rate * ((i == j) + scale * h.beta * A[i * M + j]);
            t[i] += (1 - (real)rate) * now * h.mu[j];
        }
    for (size_t i = 0; i < M; i++) t[i] += rate * scale * h.beta * b[i];
    (void)solve_q(M, P, t, mu, U);
    free(A), free(b), free(P), free(t), free(inverse);
    whole_free(&h);
}

double ref_noise(const ref_model *model, const double *theta, ref_rows rows)
{
    whole h = whole_new(model, theta, rows);
    real squares = 0, n = 0;
    for (size_t i = 0; i < rows.n; i++) {
        squares += weight(rows, i) * row_squares(&h, i);
        n += weight(rows, i);
    }
    whole_free(&h);
    return (double)(logl(squares / n) / 2);
}

double ref_kl(const ref_model *model, const double *theta)
{
    const size_t M = ref_n_features(model);
    const double *mu = theta + ref_n_rest(model), *U = mu + M;
    real sum = -(real)M, log_det = 0;
    for (size_t j = 0; j < M; j++) sum += (real)mu[j] * mu[j];
    for (size_t i = 0; i < M; i++)
        for (size_t j = i; j < M; j++, U++) {
            sum += (real)*U * *U;
            if (i == j) log_det += logl(fabsl((real)*U));
        }
    return (double)(sum / 2 - log_det);
}

// ---- the paper's step

void ref_adadelta(const ref_model *model, double decay, double epsilon, double damping, const double *gradient,
                  double *theta, double *acc_g, double *acc_u)
{
    const size_t M = ref_n_features(model), rest = ref_n_rest(model), size = ref_size(model);
    real *gamma = reals(size);
    for (size_t i = 0; i < size; i++) {
        const real g = gradient[i], G = decay * (real)acc_g[i] + (1 - (real)decay) * g * g;
        gamma[i] = sqrtl((real)acc_u[i] + epsilon) / sqrtl(G + epsilon) / damping;
        const real u = -gamma[i] * g;
        acc_g[i] = (double)G;
        acc_u[i] = (double)(decay * (real)acc_u[i] + (1 - (real)decay) * u * u);
        theta[i] = (double)(theta[i] + u);
    }
    for (size_t j = 0; j < M; j++) theta[rest + j] = (double)(theta[rest + j] / (1 + gamma[rest + j]));
    size_t at = rest + M;
    for (size_t i = 0; i < M; i++)
        for (size_t j = i; j < M; j++, at++) {
            const real u = theta[at], g = gamma[at];
            theta[at] = (double)(i == j ? (u + sqrtl(u * u + 4 * (1 + g) * g)) / (2 * (1 + g)) : u / (1 + g));
        }
    free(gamma);
}

// ---- prediction

void ref_predict(const ref_model *model, const double *theta, ref_rows rows, double *mean, double *var_f, double *var_y)
{
    whole h = whole_new(model, theta, rows);
    const size_t M = h.M;
    for (size_t i = 0; i < rows.n; i++) {
        const real *phi = h.phi + i * M;
        real m = 0, var = fmaxl(0, h.residual[i]);
        for (size_t j = 0; j < M; j++) {
            real v = 0;
            m += phi[j] * h.mu[j];
            for (size_t k = j; k < M; k++) v += h.U[j * M + k] * phi[k];
            var += v * v;
        }
        mean[i] = (double)m;
        var_f[i] = (double)var;
        var_y[i] = (double)(var + 1 / h.beta);
    }
    whole_free(&h);
}
