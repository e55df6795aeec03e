// pass_state.h: what the files of a pass share: pass.c has begin and the rows, pass_end.c what follows from their sums.
#pragma once
#include "linalg/strips.h"
#include "model/pass.h"

// The large products are taken in strips (strips.h) where the CPU has registers for them, else by BLAS, which is also
// what the strips are tested against. Widths are rounded up with columns of zeros, to this for BLAS: it is slow on the
// ragged edge.
enum { GP_PASS_WIDTH = 4 };

struct gp_pass {
    gp_features *f;
    gp_theta_layout layout;
    size_t block_rows;
    size_t lanes; // of strips, or 0: BLAS
    gp_pass_kind kind;
    double max_loss;
    bool by_features; // this pass forms Phi
    bool mixed;       // slopes may be multiplied in single precision
    bool single;      // this pass multiplies them so: W is of floats
    bool begun;
    bool keeps;  // the last pass was of the kind KEEP
    size_t kept; // rows of it in the block

    // Of theta, made by begin:
    const double *theta; // the caller's, until end
    double ln_sigma, beta;
    double *mu;  // [M]
    gp_mat SE;   // M x M: S - E = mu mu^T + Sigma - E
    double *W;   // M~ = L~ (S - E) L~^T over the row -a^T, a = L~ mu: (n_cols+1) x n_kernel_cols, in strips component
                 // after component, or for BLAS padded (by features: (M+1) rows, (S - E) L~^T instead of M~). Before
                 // and after the rows: scratch
    size_t in_W; // doubles

    // Of one block, B = block_rows:
    gp_mat X1;           // B x (d+2): [1 x .]
    gp_mat KY;           // B x (n_cols+1), padded with zeros: [K~ y]; with weights, rows times sqrt(w)
    double *slope;       // as KY
    double *packed;      // KY or PhiY in strips
    gp_mat G;            // B x n_kernel_cols, padded: then H; strips have it in registers
    gp_mat PhiY;         // B x (M+1): [Phi y], where Phi is formed
    gp_mat h1;           // B x n_components: row sums of H, component by component
    double *lanes_of_h1; // [B * GP_STRIP_LANES]: of one component, not yet added up; or twice as many floats
    gp_mat32 KY32;       // KY, slope and [1 X] in single precision, where strips are used
    float *slope32;
    gp_mat32 X32;
    gp_mat32 XH32;    // d+1 x n_kernel_cols, components padded: of the block
    double *y, *root; // [B]: targets, square roots of the weights

    // Sums over all rows so far:
    gp_mat C;   // (n_cols+1)^2, padded, upper: [K~ y]^T W [K~ y]
    double n;   // sum of weights
    gp_mat HX;  // n_kernel_cols x (d+1): H^T [1 X]
    gp_mat XH;  // its transpose, components padded, where strips are used; HX follows at the end
    gp_mat hxx; // n_components x d

    // End:
    gp_mat CL;      // n_cols x M, in the scratch of the features: C L~ = K~^T W Phi
    double *c;      // [n_cols]
    double *diag;   // [M]
    gp_stats stats; // A is where C was
};

static inline size_t gp_pass_padded(const gp_pass *p, size_t width)
{
    return gp_strip_width(p->lanes ? p->lanes : GP_PASS_WIDTH, width);
}

// Floats of a vector: strips in single precision are rounded up to these.
static inline size_t gp_pass_lanes32(const gp_pass *p)
{
    return 2 * p->lanes;
}

static inline bool gp_pass_wants_gradient(gp_pass_kind kind)
{
    return kind == GP_PASS_GRADIENT || kind == GP_PASS_REST;
}

// pass.c: what begin makes of q(w), and the sums of the kept rows at it.
void gp_pass_set_q(gp_pass *pass, const double *theta);
void gp_pass_add_kept(gp_pass *pass);
