// modelimage.h: the tensors of a model file, as one list that the writer fills and the reader expects: so names and
// shapes are written once. modelfile_write.c and modelfile_read.c include it.
#pragma once
#include "store/modelfile.h"
#include "store/tensorfile.h"

enum { GP_GOLDEN_VALUES = 3 * GP_GOLDEN_ROWS }; // mean, sd_f, sd_y of each

typedef struct gp_model_tensor {
    char name[32];
    size_t rank, shape[2];
    double *data; // in the model, or in the image below
} gp_model_tensor;

typedef struct gp_model_image {
    gp_model_tensor *list;
    size_t n;
    const char *prefix; // of every name: "noise." in the image of a scale model, else ""
    // Twins: what a file has in another shape than a model. NULL where the form has no such thing.
    double *x_mean, *x_scale; // [d], and the two of the target: twins of the schema's
    double y_mean, y_scale;
    double *jitter;   // [components], or one: the rung that held
    double *maps;     // T of every component whose map takes one, one after the other
    double *stat_a;   // [M (M + 1) / 2]: upper triangle of A
    double *coef_cov; // M x M: covariance of the coefficients
    double *golden_x; // GP_GOLDEN_ROWS x d: encoded, in their own units
    double *golden_y; // GP_GOLDEN_ROWS x 3: mean, sd_f, sd_y of the target or its logarithm
    char *block;
} gp_model_image;

// Adds one tensor to the list: a number, a vector, a matrix. For forms (form.h).
void gp_image_scalar(gp_model_image *image, const char *name, double *data);
void gp_image_vector(gp_model_image *image, const char *name, size_t n, double *data);
void gp_image_matrix(gp_model_image *image, const char *name, size_t rows, size_t cols, double *data);

// Lists every tensor of a file of this model, each pointing to where its numbers are or belong. The model must outlive
// the image; calibration is listed if it has rows. A scale model has an image of its own (`noise`).
advgp_status gp_model_image_init(gp_model_image *image, const gp_model *model, advgp_error *err);
advgp_status gp_model_image_noise(gp_model_image *image, const gp_model *model, advgp_error *err); // of model->noise
void gp_model_image_fini(gp_model_image *image);

void gp_model_image_golden_x(gp_model_image *image, const gp_model *model); // makes the rows
// Predicts the rows of golden_x: out is GP_GOLDEN_ROWS x 3.
advgp_status gp_model_image_golden_y(const gp_model_image *image, const gp_model *model, const gp_predictor *predictor,
                                     double *out, advgp_error *err);

// The metadata ends with a checksum of its own text, `,"text_xxh3":"0123456789abcdef"}`, over all before it and a }.
enum { GP_TEXT_TAIL_BYTES = 32 };
void gp_model_text_tail(const char *text, size_t n, char tail[GP_TEXT_TAIL_BYTES + 1]); // text without its last }
