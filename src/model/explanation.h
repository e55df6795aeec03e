// explanation.h: one prediction taken apart, for people. The mean is linear in the kernel columns, so what each
// component, the trend and the row's cell add to it are sums of their own, and together they are the mean. Beside them
// how much of the prior variance is left at the row, and the inducing inputs nearest to it. docs/math.md 6.
#pragma once
#include "model/predict.h"

typedef enum gp_term_kind {
    GP_TERM_CONSTANT,   // of the trend
    GP_TERM_LINE,       // of the trend, all inputs together
    GP_TERM_COMPONENT,  // a kernel
    GP_TERM_CELL,       // the kernel of the row's cell
    GP_TERM_CELL_TREND, // the trend of the row's cell
} gp_term_kind;

typedef struct gp_term {
    gp_term_kind kind;
    size_t number; // of the component or the cell, from 0
    double mean;
} gp_term;

typedef struct gp_neighbour {
    bool local;         // of the row's cell, else of a component
    size_t of, number;  // which cell or component, and which of its inducing inputs, from 0
    double distance;    // r: in length-scales
    double correlation; // of the process there with that at the row, by the prior
    const double *z;    // [d], standardised; the predictor's
} gp_neighbour;

// Of one row, everything standardised.
typedef struct gp_explanation {
    gp_term *terms;
    size_t n_terms;
    double *line; // [d]: what each input adds to GP_TERM_LINE
    // Variance of the kernels before any row was seen. Not of the trend, whose prior grows without end: far away a
    // share of it says nothing.
    double prior;
    gp_neighbour *near;
    size_t n_near, max_near; // nearest first
} gp_explanation;

// Room for the rows of this predictor, and for so many neighbours.
advgp_status gp_explanation_new(const gp_predictor *predictor, size_t max_near, gp_explanation **out, advgp_error *err);
void gp_explanation_free(gp_explanation *explanation); // NULL is fine

// x: [d] finite standardised inputs. ENUMERIC where they are too large.
advgp_status gp_explain(const gp_predictor *predictor, gp_predict_work *work, const double *x, gp_explanation *out,
                        advgp_error *err);

// ---- for predictors -------------------------------------------------------------------------------------------------

void gp_explanation_term(gp_explanation *e, gp_term_kind kind, size_t number, double mean);
// Keeps it if it is near enough.
void gp_explanation_near(gp_explanation *e, gp_neighbour neighbour);

// All that features with the columns k of the row x [d] and the weights a of columns have to say. cell: whose they are;
// GP_GLOBAL: those of the model itself.
enum { GP_GLOBAL = -1 };
void gp_explain_features(const gp_features *f, const double *a, const double *x, const double *k, long cell,
                         gp_explanation *e);

// The prior variance a0sq of one kernel and its inducing inputs, which have the covariances k with x.
typedef struct gp_explained_kernel {
    bool local;
    size_t of, m, d;
    const double *Z, *eta; // m x d, [d]
} gp_explained_kernel;
void gp_explain_inducing(gp_explained_kernel kernel, const double *x, const double *k, double a0sq, gp_explanation *e);
