// features.h: all features of a model: a list of components (each a kernel with a map and inducing inputs of its own),
// then the trend. The paper's model is one component and no trend; nothing outside this room knows how many there are.
// docs/math.md 2, 3.
//
// A row x has kernel and trend COLUMNS k~(x) = [k_1(x) .. k_J(x), 1, x] (n_cols of them) and FEATURES phi = L~^T k~ (M
// of them), L~ = blockdiag(T_1 .. T_J, s_c, s_l I). Kernel columns and features come first, trend ones last. Sums over
// rows are taken over columns; L~ is applied once per step.
#pragma once
#include "base/status.h"
#include "feature/map.h"
#include "kernel/kernel.h"
#include "linalg/mat.h"

typedef enum gp_trend { GP_TREND_NONE, GP_TREND_CONSTANT, GP_TREND_LINEAR } gp_trend;

typedef struct gp_component_spec {
    const gp_kernel *kernel;
    const gp_map *map;
    gp_map_shape shape;
} gp_component_spec;

typedef struct gp_feature_spec {
    size_t d; // inputs
    size_t n_components;
    const gp_component_spec *components;
    gp_trend trend;
    double jitter; // relative; the first rung of the ladder, 1e-6 unless there is a reason
    // [n_components], where a saved model knows which rung each needed and starts there; 0, or NULL: jitter as above
    const double *rungs;
    // Where a saved model has them: T (m x M, row by row) of every component whose map takes one, one after the other.
    // NULL: gp_features_set makes them.
    const double *maps;
} gp_feature_spec;

typedef struct gp_component {
    const gp_kernel *kernel;
    const gp_map *map;
    gp_map_shape shape;  // its arrays are owned here
    size_t m, M;         // inducing inputs, features
    double jitter;       // the first rung
    const double *given; // T of a saved model, owned here; or NULL
    size_t param;        // theta[param] is ln a0; then ln eta (d), Z (m x d, row major), rho (m, if the map has it)
    size_t col, feature; // where its columns and features start

    // What gp_features_set made of theta:
    double a0sq;
    gp_rung rung;     // the jitter that K_mm needed
    double *eta;      // [d]
    gp_mat Z;         // m x d
    gp_mat inputs;    // d x m: the same, input by input
    gp_mat distances; // (d+2) x m: [1 x |x|^2_eta] times this is r^2 to every inducing input
    gp_mat T;         // m x M, the map
    double *rho;      // [m]
    double *scratch;  // the map's
} gp_component;

typedef struct gp_features {
    size_t d, n_components;
    gp_component *components;
    gp_trend trend;
    double jitter;
    size_t n_cols, n_kernel_cols; // columns: all; those of kernels
    size_t M, n_kernel_features;  // features: all; those of kernels
    size_t n_params;              // entries of theta before mu; theta[0] is ln sigma
    size_t trend_param;           // theta[trend_param] is ln s_c, the next one ln s_l
    // [n_params]: how long a step is in each, where a rule steps alike in all. ln eta is -2 ln of a length-scale: two
    // of its units are one of the logarithm of anything else.
    double *unit;
    double s_c, s_l; // set
    double a0sq_sum; // set: sum over components, k(x, x) without the trend
    // (n_cols + 1) * n_cols doubles that gp_features_set and gp_features_pull write to, and whoever sets the features
    // may use between the two.
    double *scratch;
    gp_mat J;    // scratch of gp_features_pull, for the largest component
    double *row; // the same: [2 m]
} gp_features;

// Copies the spec. d >= 1 and at least one feature.
advgp_status gp_features_new(const gp_feature_spec *spec, gp_features **out, advgp_error *err);
void gp_features_free(gp_features *f);
// The sizes alone (d, trend, n_cols to trend_param), and no memory taken; the same demands on the spec.
advgp_status gp_features_measure(const gp_feature_spec *spec, gp_features *sizes, advgp_error *err);

// Reads ln a0, ln eta, Z, rho, ln s_c, ln s_l from theta and makes K_mm and T of every component. Fails with
// ADVGP_ENUMERIC if a parameter is out of range or a ladder ends. Afterwards f may be read by many threads (not by
// gp_features_pull). A given T that is no map of these inducing inputs is ADVGP_EINVAL.
advgp_status gp_features_set(gp_features *f, const double *theta, advgp_error *err);

// What gp_features_set would answer, without the work where the answer is certain; f is not set afterwards.
advgp_status gp_features_can_set(gp_features *f, const double *theta, advgp_error *err);

// K_mm of a component, without jitter (m x m, contiguous).
void gp_component_gram(const gp_component *c, size_t d, gp_mat K);
// Of its row i, before the diagonal: the slopes in r^2. Both arrays have i doubles; s is scratch.
void gp_component_slopes(const gp_component *c, size_t d, size_t i, double *s, double *slope);

// Columns of a block of rows. X1 is B x (d+2): [1 x .], its last column is overwritten. K (B x n_cols view) becomes the
// columns; what stands beyond them in a row, up to its ld, may be overwritten. slope, if not NULL, has the layout of K
// and becomes the slopes in r^2 for components that need an array. Faster where ld is at least gp_features_row.
size_t gp_features_row(const gp_features *f);
void gp_features_columns(const gp_features *f, gp_mat X1, gp_mat K, double *slope);

// Products with L~: out = L~ A (A is M x c), out = L~^T A (A is n_cols x c), out = A L~ (A is r x n_cols).
void gp_features_left(const gp_features *f, gp_cmat A, gp_mat out);
void gp_features_left_t(const gp_features *f, gp_cmat A, gp_mat out);
void gp_features_right(const gp_features *f, gp_cmat A, gp_mat out);
// The first two where the result is known to be symmetric (its first columns, if it has no more), which then costs half
// or less: out = L~ A with A = B L~^T, out = L~^T A with A = B L~ and B symmetric.
void gp_features_left_symmetric(const gp_features *f, gp_cmat A, gp_mat out);
void gp_features_left_t_symmetric(const gp_features *f, gp_cmat A, gp_mat out);

// Whether every map is of the kind `lower`: then nobody needs sums over columns times features (CL and c below).
bool gp_features_lower(const gp_features *f);

// How many times rounding in a sum over kernel columns grows when it is carried to features: max over features of k(x,
// x) |T_j|^2.
double gp_features_condition(const gp_features *f);

// k(x, x) - |phi|^2 over the kernel features of one row; rounding below 0 counts as 0.
double gp_features_residual(const gp_features *f, const double *phi);

// H = G o K' over the kernel columns, in place of G (B x n_kernel_cols), up to each component's constant slope_ratio,
// which gp_features_pull multiplies in. row_sums is B x n_components. K and slope are as gp_features_columns left them.
void gp_features_times_slope(const gp_features *f, gp_cmat K, const double *slope, gp_mat G, gp_mat row_sums);

// Gradient of sum_i w_i g_i in every parameter from ln a0 on to ln s_l, written to grad (indexed as theta).
// docs/math.md 3.
typedef struct gp_feature_sums {
    double n, beta;
    gp_cmat A;          // M x M: Phi^T W Phi
    const double *b;    // [M]: Phi^T W y
    gp_mat CL;          // n_cols x M: K~^T W Phi, at the start of the features' scratch; destroyed
    double *scratch;    // gp_features_pull_scratch(f) doubles elsewhere
    const double *c;    // [n_cols]: K~^T W y
    gp_cmat SE;         // M x M: S - E
    const double *mu;   // [M]
    const double *diag; // [M]: diagonal of A (S - E) - b mu^T
    gp_cmat HX;         // n_kernel_cols x (d+1): H^T [1 X]
    gp_cmat hxx;        // n_components x d: sum_i (H_b 1)_i x_i o x_i
} gp_feature_sums;
size_t gp_features_pull_scratch(const gp_features *f);
void gp_features_pull(gp_features *f, const gp_feature_sums *sums, double *grad);
