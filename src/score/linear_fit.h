// linear_fit.h: least squares with intercept in one pass of normal equations: the method `linear`, with the intercept
// alone the method `mean`, and the baselines of every other.
#pragma once
#include "shards/reader.h"
#include "store/modelfile.h"

// Where the target is a logarithm, exp of a line has no end beyond the rows it was fitted to, and its errors are rarely
// normal: the lognormal mean of such a line may be further off than one number for all rows. So the line is held within
// the targets of training, and least squares tell how exp of it becomes the target: on the rows of training it is then
// never worse than their mean. All of it is of exp(y_scale y), y standardised.
typedef struct gp_line_back {
    bool known;          // else the lognormal mean
    gp_limits range;     // of the standardised target in training
    double shift, slope; // target = shift + slope exp(y_scale line)
} gp_line_back;

// y = coef^T [1 x] + noise over the training rows, all standardised, weighted where rows have weights. Directions that
// the rows do not determine (columns that depend on each other) get no weight: the solution of minimum norm. Where the
// rows are no more than the directions, a ridge far below what a prediction shows tells how far the line can be
// trusted.
typedef struct gp_linear {
    size_t p;         // coefficients: 1 + d, or 1
    gp_mat A;         // p x p: [1 x]^T W [1 x]
    double *b;        // [p]: [1 x]^T W y
    double yy, n;     // y^T W y, sum of weights
    size_t rank;      // directions that the rows determine, of p
    double *coef;     // [p]
    gp_mat U;         // p x p, upper triangular: U^T U is the covariance of coef
    double variance;  // of the noise, squared residuals by n - rank; with a ridge, by its evidence
    double *left_out; // [rows]: of every training row of positive weight, what the line of the others says; or NULL
    gp_line_back back;
    double *block; // owns all of it
} gp_linear;

// slopes false: the intercept alone. stop, if not NULL, is asked between pieces; non-zero ends with ESTOPPED.
advgp_status gp_linear_fit(gp_reader *reader, bool slopes, int (*stop)(void *ctx), void *stop_ctx, gp_linear *out,
                           advgp_error *err);
// The line alone: p, coef, yy, n, rank and variance, with left_out where asked. A baseline needs no more, and it costs
// the cube of rows or columns, whichever are fewer.
advgp_status gp_linear_line(gp_reader *reader, bool left_out, gp_linear *out, advgp_error *err);
// The same without left_out, by at most max_rows of them.
advgp_status gp_linear_line_some(gp_reader *reader, size_t max_rows, gp_linear *out, advgp_error *err);
double gp_linear_line_bytes(size_t rows, size_t d); // about what it takes
// The line of a model's training rows: p, coef, yy, n and variance; from its statistics, or from the rows that an exact
// process keeps. Not found where it has neither a linear trend nor rows.
advgp_status gp_linear_of_model(const gp_model *model, gp_linear *out, bool *found, advgp_error *err);
// Sets fit->back by the training rows, or a hundred thousand of them, where the schema's target is a logarithm.
advgp_status gp_linear_fit_back(gp_linear *fit, const gp_schema *schema, gp_reader *reader, advgp_error *err);
json_t *gp_line_back_json(const gp_line_back *back); // for the record of a model, as "linear_back"; NULL without memory
void gp_linear_fini(gp_linear *fit);
double gp_linear_predict(const gp_linear *fit, const double *x);
// What a line that says so much of a row, standardised, answers in the target's own units.
double gp_linear_answer(const gp_linear *fit, const gp_schema *schema, double line);
