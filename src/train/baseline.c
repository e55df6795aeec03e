// baseline.c: normal equations of [1 x y], solved with the jitter ladder: columns that depend on each other must not
// stop a training.
#include "train/baseline.h"
#include "base/alloc.h"
#include "linalg/dense.h"
#include "linalg/factor.h"

#include <math.h>

typedef struct sums {
    size_t d;
    gp_mat block, C; // CHUNK x (d+2): [1 x y] times sqrt(w); (d+2)^2, upper
} sums;

enum { CHUNK = 256 };

static advgp_status add_rows(void *ctx, gp_batch rows, advgp_error *err)
{
    (void)err;
    sums *s = ctx;
    const size_t d = s->d;
    for (size_t first = 0; first < rows.X.rows; first += CHUNK) {
        const size_t B = rows.X.rows - first < CHUNK ? rows.X.rows - first : CHUNK;
        for (size_t i = 0; i < B; i++) {
            const double root = rows.w ? sqrt(rows.w[first + i]) : 1, *x = rows.X.p + (first + i) * rows.X.ld;
            double *to = s->block.p + i * s->block.ld;
            to[0] = root;
            for (size_t k = 0; k < d; k++) to[1 + k] = root * x[k];
            to[d + 1] = root * rows.y[first + i];
        }
        gp_syrk_upper(gp_cmat_part(gp_ro(s->block), 0, 0, B, d + 2), 1, s->C);
    }
    return ADVGP_OK;
}

advgp_status gp_linear_fit(gp_reader *reader, double *coef, advgp_error *err)
{
    const size_t d = reader->shards->d, p = d + 1;
    double *memory = gp_alloc(CHUNK * (d + 2) + (d + 2) * (d + 2) + 2 * p * p, sizeof(double));
    if (!memory) return gp_fail(err, ADVGP_ENOMEM, "no memory for linear regression on %zu inputs", d);
    sums s = {.d = d, .block = gp_mat_of(memory, CHUNK, d + 2), .C = gp_mat_of(memory + CHUNK * (d + 2), d + 2, d + 2)};
    advgp_status st = gp_reader_visit(reader, GP_TRAIN, 0, add_rows, &s, err);
    if (st == ADVGP_OK) {
        gp_mat A = gp_mat_of(s.C.p + (d + 2) * (d + 2), p, p), R = gp_mat_of(A.p + p * p, p, p);
        gp_mat_mirror_upper(s.C);
        gp_mat_copy(gp_cmat_part(gp_ro(s.C), 0, 0, p, p), A);
        for (size_t i = 0; i < p; i++) coef[i] = s.C.p[i * s.C.ld + d + 1];
        gp_rung rung = {.jitter = 0};
        if (gp_cholesky_ladder(gp_ro(A), A.p[0], &rung, R)) { // A.p[0] is the sum of weights: inputs are standardised
            gp_trsm_left(GP_UPPER, GP_AS_IS, gp_ro(R), gp_mat_of(coef, p, 1));
            gp_trsm_left(GP_UPPER, GP_TRANSPOSED, gp_ro(R), gp_mat_of(coef, p, 1));
        } else {
            st = gp_fail(err, ADVGP_ENUMERIC, "linear regression: the inputs are not finite");
        }
    }
    gp_free(memory);
    return st;
}

double gp_linear_predict(const double *coef, size_t d, const double *x)
{
    return coef[0] + gp_dot(d, coef + 1, x);
}
