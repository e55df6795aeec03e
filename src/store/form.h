// form.h: the kinds of model that a file can hold. A form says which tensors and which members of the metadata a model
// has, reads them back with every claim checked, and makes the predictor. Methods (src/method) choose one; most share
// `weights`. A new form is one file with one table, declared below and listed in form_table.c.
#pragma once
#include "store/modelimage.h"

// How a kernel of a model looks from outside: for people, not for computing.
typedef struct gp_kernel_view {
    const char *kernel, *map;
    size_t m, M;          // inducing inputs, features
    double a0sq, jitter;  // jitter: the one that held, once the model was loaded
    const double *ln_eta; // [d]
} gp_kernel_view;

// What its predictor takes beside what stands in the file: a few numbers there may mean a large matrix here.
typedef struct gp_load_cost {
    double bytes, flops;
} gp_load_cost;

typedef struct gp_model_form {
    const char *name; // member `form` of the metadata

    // ---- writing: members of the metadata that only this form has. False: no memory.
    bool (*describe)(const gp_model *model, json_t *metadata);

    // ---- reading: the model that metadata and tensors claim to be, with room for everything. Sizes are compared with
    // tensors before memory is taken. schema is taken on success only.
    advgp_status (*claim)(const gp_tensorfile *file, const json_t *metadata, gp_schema *schema_take, const char *sql,
                          gp_model **out, advgp_error *err);

    // ---- both: tensors at most, the twins that the image needs, and the list (modelimage.h).
    size_t (*n_tensors)(const gp_model *model);
    void (*plan)(gp_model_image *image, const gp_model *model, gp_arena *arena);
    void (*list)(gp_model_image *image, const gp_model *model);
    // From the model to the twins of the image, and back with checks of the values.
    advgp_status (*pack)(gp_model_image *image, const gp_model *model, const gp_predictor *predictor, advgp_error *err);
    advgp_status (*unpack)(const gp_model_image *image, gp_model *model, advgp_error *err);

    // By the sizes alone: asked before the predictor is made of a stranger's file.
    gp_load_cost (*cost)(const gp_model *model);
    advgp_status (*predictor)(const gp_model *model, gp_predictor **out, advgp_error *err);

    // ---- for inspect: the kernels, and the slope of the fitted trend along input k, both standardised.
    size_t (*n_kernels)(const gp_model *model);
    gp_kernel_view (*kernel)(const gp_model *model, size_t b);
    double (*slope)(const gp_model *model, size_t k);
} gp_model_form;

extern const gp_model_form gp_form_weights, gp_form_linear, gp_form_exact;

extern const gp_model_form *const gp_model_forms[];         // ends with NULL
const gp_model_form *gp_model_form_named(const char *name); // NULL if there is none

// ---- shared by forms ------------------------------------------------------------------------------------------------

// An empty model of this form, with record, options and names; theta has n_theta entries. For the constructors of
// modelfile.h.
advgp_status gp_model_alloc(const gp_model_form *form, size_t n_theta, const char *sql, gp_model **out,
                            advgp_error *err);

const char *gp_trend_name(gp_trend trend);
advgp_status gp_metadata_bad(advgp_error *err, const char *what); // EFILE: "the metadata is damaged: what"
bool gp_metadata_size(const json_t *o, size_t most, size_t *out); // a whole number from 0 to most
advgp_status gp_metadata_d_and_trend(const json_t *metadata, size_t *d, gp_trend *trend, advgp_error *err);
