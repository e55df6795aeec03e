// basis_rotation.c: the rotation of every component from its T, old and new, and q(w) through its precision: with U =
// R^-1 the precision is R R^T, and O R R^T O^T has a reverse Cholesky factor again.
#include "model/basis_rotation.h"
#include "base/alloc.h"
#include "linalg/dense.h"
#include "linalg/factor.h"

#include <math.h>
#include <string.h>

struct gp_basis_rotation {
    gp_theta_layout layout;
    double **old;   // one a component: m x M, columns of length 1; NULL where the map does not turn
    double *now;    // the same of the present one, for the largest component
    gp_mat O;       // M_b x M_b
    gp_mat R, B, C; // M x M
    double *mu;     // [M]
};

static bool follows(const gp_component *c)
{
    return c->map->take && c->shape.follows;
}

static gp_basis_rotation *plan(const gp_features *f, gp_arena *arena)
{
    const gp_theta_layout layout = gp_theta_layout_of(f);
    const size_t M = layout.M;
    gp_basis_rotation *self = gp_arena_bytes(arena, 1, sizeof *self);
    gp_basis_rotation cut = {.layout = layout, .old = gp_arena_bytes(arena, f->n_components, sizeof *cut.old)};
    size_t largest = 0, widest = 0;
    for (size_t b = 0; b < f->n_components; b++) {
        const gp_component *c = &f->components[b];
        if (!follows(c)) continue;
        double *piece = gp_arena_doubles(arena, c->m * c->M);
        if (cut.old) cut.old[b] = piece;
        if (c->m * c->M > largest) largest = c->m * c->M;
        if (c->M > widest) widest = c->M;
    }
    cut.now = gp_arena_doubles(arena, largest);
    cut.O = gp_mat_of(gp_arena_doubles(arena, widest * widest), widest, widest);
    cut.R = gp_mat_of(gp_arena_doubles(arena, M * M), M, M);
    cut.B = gp_mat_of(gp_arena_doubles(arena, M * M), M, M);
    cut.C = gp_mat_of(gp_arena_doubles(arena, M * M), M, M);
    cut.mu = gp_arena_doubles(arena, M);
    if (self) *self = cut;
    return self;
}

advgp_status gp_basis_rotation_new(const gp_features *f, gp_basis_rotation **out, advgp_error *err)
{
    *out = NULL;
    bool turns = false;
    for (size_t b = 0; b < f->n_components; b++) turns = turns || follows(&f->components[b]);
    if (!turns) return ADVGP_OK;
    gp_arena arena = {0};
    (void)plan(f, &arena);
    if (!gp_arena_take(&arena)) return gp_no_memory(err);
    *out = plan(f, &arena);
    return ADVGP_OK;
}

void gp_basis_rotation_free(gp_basis_rotation *rotation)
{
    gp_free(rotation);
}

// Columns of T are eigenvectors times lambda^-1/2: their length is all that is to be taken away. Vectors of different
// groups of an ensemble share no inducing input, so their products are 0 by themselves.
static void unit_columns(const gp_component *c, double *to)
{
    for (size_t j = 0; j < c->M; j++) {
        double square = 0;
        for (size_t i = 0; i < c->m; i++) square += c->T.p[i * c->M + j] * c->T.p[i * c->M + j];
        const double scale = 1 / sqrt(square);
        for (size_t i = 0; i < c->m; i++) to[i * c->M + j] = scale * c->T.p[i * c->M + j];
    }
}

void gp_basis_rotation_keep(gp_basis_rotation *t, const gp_features *f)
{
    for (size_t b = 0; t && b < f->n_components; b++)
        if (t->old[b]) unit_columns(&f->components[b], t->old[b]);
}

// Rows of component c: B = O R, mu' = O mu; and C = I - O O^T, what the old vectors do not reach of the new ones.
static void rotate_component(gp_basis_rotation *t, const gp_component *c, const double *old, const double *mu)
{
    const size_t M = t->layout.M, at = c->feature;
    gp_mat O = gp_mat_of(t->O.p, c->M, c->M);
    unit_columns(c, t->now);
    gp_gemm(GP_TRANSPOSED, GP_AS_IS, 1, gp_cmat_of(t->now, c->m, c->M), gp_cmat_of(old, c->m, c->M), 0, O);
    gp_gemv(GP_AS_IS, 1, gp_ro(O), mu + at, 0, t->mu + at);
    gp_gemm(GP_AS_IS, GP_AS_IS, 1, gp_ro(O), gp_cmat_part(gp_ro(t->R), at, 0, c->M, M), 0,
            gp_mat_part(t->B, at, 0, c->M, M));
    const gp_mat rest = gp_mat_part(t->C, at, at, c->M, c->M);
    for (size_t i = 0; i < c->M; i++) rest.p[i * rest.ld + i] = 1;
    gp_gemm(GP_AS_IS, GP_TRANSPOSED, -1, gp_ro(O), gp_ro(O), 1, rest);
}

advgp_status gp_basis_rotation_carry(gp_basis_rotation *t, const gp_features *f, double *theta, advgp_error *err)
{
    if (!t) return ADVGP_OK;
    const size_t M = t->layout.M;
    double *mu = theta + t->layout.n_rest, *U = theta + t->layout.U;
    gp_upper_unpack(M, U, t->R);
    for (size_t i = 0; i < M; i++)
        if (!(fabs(t->R.p[i * M + i]) > 0)) return gp_fail(err, ADVGP_ENUMERIC, "q(w) has no precision to carry over");
    gp_invert_upper(t->R);
    gp_mat_copy(gp_ro(t->R), t->B);
    gp_mat_zero(t->C);
    memcpy(t->mu, mu, M * sizeof *mu);
    for (size_t b = 0; b < f->n_components; b++)
        if (t->old[b]) rotate_component(t, &f->components[b], t->old[b], mu);
    gp_gemm(GP_AS_IS, GP_TRANSPOSED, 1, gp_ro(t->B), gp_ro(t->B), 1, t->C);
    if (!gp_all_finite(M, t->mu) || !gp_all_finite(M * M, t->C.p) || !gp_reverse_cholesky(t->C, 0, NULL))
        return gp_fail(err, ADVGP_ENUMERIC, "q(w) could not be carried over to the new features");
    gp_invert_upper(t->C);
    memcpy(mu, t->mu, M * sizeof *mu);
    gp_upper_pack(gp_ro(t->C), U);
    return ADVGP_OK;
}
