// advgp.h: Gaussian process regression for tables of any size, as a C library. Read it from top to bottom; a whole
// program is
//
//     advgp_data *table = NULL;
//     advgp_options *options = NULL;
//     advgp_model *model = NULL;
//     advgp_error err;
//     if (advgp_data_files(&(const char *){"flights.parquet"}, 1, &table, &err) ||
//         advgp_options_new("train", &options, &err) ||
//         advgp_options_set(options, "target", "delay", &err) ||
//         advgp_train(table, options, NULL, &model, &err) ||
//         advgp_model_save(model, "delay.safetensors", &err))
//         fprintf(stderr, "%s\n", err.text);
//     advgp_model_free(model);
//     advgp_options_free(options);
//     advgp_data_free(table);
//
// Rules that hold everywhere. A function that can fail returns advgp_status (ADVGP_OK is 0), gives its results through
// out-arguments, which are NULL after a failure, and takes an advgp_error last, which may be NULL. What was made by
// advgp_X_new or the like is freed by advgp_X_free, which takes NULL; where else a handle is NULL, that is
// ADVGP_EINVAL, or nothing: 0 or NULL. The library never prints, exits or aborts, and touches neither signals nor the
// locale. Two threads may use it at once as long as they do not share what one of them changes; a model is never
// changed.
#ifndef ADVGP_H
#define ADVGP_H

#include <stddef.h>

#define ADVGP_VERSION_MAJOR 0
#define ADVGP_VERSION_MINOR 1
#define ADVGP_VERSION_PATCH 0

#if defined(__GNUC__)
#define ADVGP_API __attribute__((visibility("default")))
#else
#define ADVGP_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// ---- 1. errors ------------------------------------------------------------------------------------------------------

// One list gives the enum, the names and the texts. The text says whose turn it is, in a user's words.
#define ADVGP_STATUS_LIST(X)                                      \
    X(OK, "done")                                                 \
    X(EINVAL, "an argument or option is wrong")                   \
    X(ENOMEM, "memory is exhausted")                              \
    X(EIO, "reading or writing failed")                           \
    X(EDATA, "an input is not there or cannot be used")           \
    X(EFILE, "a model or other advgp file is damaged or foreign") \
    X(ENUMERIC, "the computation lost its numbers")               \
    X(ECLUSTER, "workers or the lead were lost")                  \
    X(ESTOPPED, "stopped on request")

typedef enum advgp_status {
#define X(name, text) ADVGP_##name,
    ADVGP_STATUS_LIST(X)
#undef X
} advgp_status;

// Filled on failure, on the caller's stack: the status and one sentence that names the thing, its value and the way
// out.
typedef struct advgp_error {
    advgp_status status;
    char text[512];
} advgp_error;

ADVGP_API const char *advgp_status_name(advgp_status status); // "EINVAL"; "?" for a number that is no status
ADVGP_API const char *advgp_status_text(advgp_status status); // the short sentence of the list above
ADVGP_API const char *advgp_version(void);                    // of the library that runs: "0.1.0"

// ---- 2. options -----------------------------------------------------------------------------------------------------
//
// The options of `advgp train`, `predict`, `evaluate` or `explain`, by the same keys without dashes, with the same
// values and the same errors: `advgp train --help` lists them. Where a function takes options, NULL stands for the
// defaults.

typedef struct advgp_options advgp_options;

ADVGP_API advgp_status advgp_options_new(const char *verb, advgp_options **out, advgp_error *err);
ADVGP_API void advgp_options_free(advgp_options *options);
// A second value replaces the first; after a failure the old one stays.
ADVGP_API advgp_status advgp_options_set(advgp_options *options, const char *key, const char *value, advgp_error *err);

// ---- 3. data --------------------------------------------------------------------------------------------------------
//
// A table of named columns: in files, in the caller's arrays, from Arrow, or collected piece by piece. Which column is
// the target and which holds weights is said by the options `target` and `weights`, as for files.

typedef struct advgp_data advgp_data;

ADVGP_API void advgp_data_free(advgp_data *data);

// Files, globs, folders and packed folders, all that the program reads. They are opened when they are needed.
ADVGP_API advgp_status advgp_data_files(const char *const *paths, size_t n_paths, advgp_data **out, advgp_error *err);

typedef enum advgp_type {
    ADVGP_FLOAT64, // NaN and the infinities are missing values
    ADVGP_FLOAT32,
    ADVGP_INT64,
    ADVGP_INT32,
    ADVGP_BOOLEAN, // one byte, 0: false
    ADVGP_TIME,    // a double: seconds since 1970-01-01 00:00; NaN: missing
    ADVGP_TEXT     // a const char *, UTF-8; NULL: missing
} advgp_type;

// A column is a name and a value a row, `stride` bytes from one to the next; stride 0 says that they lie side by side.
// A column of a row-major matrix has the length of its row as stride.
typedef struct advgp_column {
    const char *name;
    advgp_type type;
    const void *values;
    ptrdiff_t stride;
} advgp_column;

// A table without columns. What is added is borrowed until the table is freed, except for the names. Columns may be
// added to a table of Arrow too.
ADVGP_API advgp_status advgp_data_new(size_t n_rows, advgp_data **out, advgp_error *err);
ADVGP_API advgp_status advgp_data_add(advgp_data *data, const advgp_column *column, advgp_error *err);

// A table of which nobody knows how long it will be: advgp_data_new with 0 rows, then pieces, each copied to its end.
// The first piece says which columns there are; later ones have the same, in any order.
ADVGP_API advgp_status advgp_data_append(advgp_data *data, const advgp_data *piece, advgp_error *err);

// Arrow's C stream interface, as pyarrow, polars, DuckDB and others export it (https://arrow.apache.org/docs/format/
// CStreamInterface.html). The stream is read to its end and released here, after a failure too; its buffers are kept.
struct ArrowArrayStream;
ADVGP_API advgp_status advgp_data_arrow(struct ArrowArrayStream *stream, advgp_data **out, advgp_error *err);

ADVGP_API size_t advgp_data_rows(const advgp_data *data); // 0 of files, which nobody has read

// ---- 4. training ----------------------------------------------------------------------------------------------------

typedef struct advgp_model advgp_model;

// How far a training is, each time it has looked at the rows held out.
typedef struct advgp_progress {
    double seconds, seconds_left; // since it began; to the end of its steps, at the present speed
    double epoch, epochs;         // passes over the rows, of how many; epochs 0: nobody knows
    double rmse, mnlp;            // on those rows, in the target's own units; NaN where there are none
    double bound;                 // the negative evidence lower bound, a row
} advgp_progress;

// Who watches. Every member may be NULL. What is told is told by the thread that called the library; whether to stop is
// asked often, by any thread of the training.
typedef struct advgp_watch {
    void *ctx;
    void (*note)(void *ctx, const char *text); // a sentence that people should read, of the data mostly
    void (*progress)(void *ctx, const advgp_progress *progress);
    void (*log)(void *ctx, const char *line); // a line of the run's log, as JSON
    int (*stopping)(void *ctx);               // non-zero: end soon
    const volatile int *stop; // the same without a call: set to non-zero by anybody, a signal handler too
} advgp_watch;

// All of `advgp train`, by the options of "train". `output`, `checkpoint`, `log` and `report` name files that are
// written only if they are given. A training that is stopped returns ADVGP_ESTOPPED; then, and where a file could not
// be written, *out is the model all the same, if there is one. A process that joins a cluster as its worker
// (`transport`) has worked when this returns, and *out is NULL.
ADVGP_API advgp_status advgp_train(const advgp_data *data, const advgp_options *train, const advgp_watch *watch,
                                   advgp_model **out, advgp_error *err);

// ---- 5. models ------------------------------------------------------------------------------------------------------

// One file, as the program writes and reads it. Loading reads it as a stranger's and proves it by golden rows.
// A small file can mean large matrices: ADVGP_EFILE where it asks for more than a quarter of the memory or 10 seconds
// of arithmetic, unless it is trusted.
ADVGP_API advgp_status advgp_model_load(const char *path, advgp_model **out, advgp_error *err);
ADVGP_API advgp_status advgp_model_load_trusted(const char *path, advgp_model **out, advgp_error *err);
// As the first, of the n bytes of such a file, which are not needed any more when this returns.
ADVGP_API advgp_status advgp_model_load_memory(const void *bytes, size_t n, advgp_model **out, advgp_error *err);
ADVGP_API advgp_status advgp_model_save(const advgp_model *model, const char *path, advgp_error *err);
ADVGP_API void advgp_model_free(advgp_model *model);

// What `advgp inspect` prints, as JSON with everything and in at most 60 lines for people. For advgp_text_free.
ADVGP_API advgp_status advgp_model_inspect(const advgp_model *model, char **json, advgp_error *err);
ADVGP_API advgp_status advgp_model_describe(const advgp_model *model, char **text, advgp_error *err);
ADVGP_API void advgp_text_free(char *text);

// The columns that the model wants, in its order.
typedef enum advgp_kind { ADVGP_KIND_NUMBER, ADVGP_KIND_BOOLEAN, ADVGP_KIND_TIME, ADVGP_KIND_CATEGORY } advgp_kind;
ADVGP_API const char *advgp_model_target(const advgp_model *model);
ADVGP_API size_t advgp_model_inputs(const advgp_model *model);
ADVGP_API const char *advgp_model_input(const advgp_model *model, size_t i, advgp_kind *kind); // NULL: none; kind too
// A text of a column of categories as the number that stands for it in a row below; -1: not seen in training.
ADVGP_API double advgp_model_category(const advgp_model *model, size_t i, const char *text);

// ---- 6. predicting rows ---------------------------------------------------------------------------------------------
//
// A row is a double a column, in the model's order: the number; 0 or 1; seconds since 1970; the number of the category;
// NaN where it is missing. `rows` has n_rows of them, `stride` doubles from one to the next (0: side by side). All
// results are in the target's own units, and NaN where double precision cannot hold them, so far from the rows of
// training.
//
// These functions take no lock and no memory: any number of threads may share a model, each with a workspace of its
// own.

typedef struct advgp_workspace advgp_workspace;

ADVGP_API advgp_status advgp_workspace_new(const advgp_model *model, advgp_workspace **out, advgp_error *err);
ADVGP_API void advgp_workspace_free(advgp_workspace *workspace);

ADVGP_API advgp_status advgp_predict_mean(const advgp_model *model, advgp_workspace *workspace, const double *rows,
                                          size_t n_rows, size_t stride, double *mean, advgp_error *err);
// mean[n_rows]; sd_f: of the function, sd_y: of an observation. Each may be NULL.
ADVGP_API advgp_status advgp_predict_sd(const advgp_model *model, advgp_workspace *workspace, const double *rows,
                                        size_t n_rows, size_t stride, double *mean, double *sd_f, double *sd_y,
                                        advgp_error *err);
// The calibrated interval that holds an observation with probability `level`, from 0.001 to 0.999, and the mean, which
// may be NULL.
ADVGP_API advgp_status advgp_predict_interval(const advgp_model *model, advgp_workspace *workspace, const double *rows,
                                              size_t n_rows, size_t stride, double level, double *mean, double *lo,
                                              double *hi, advgp_error *err);
// values[n_rows x n_levels], row by row; levels from 0.0001 to 0.9999.
ADVGP_API advgp_status advgp_predict_quantiles(const advgp_model *model, advgp_workspace *workspace, const double *rows,
                                               size_t n_rows, size_t stride, const double *levels, size_t n_levels,
                                               double *values, advgp_error *err);
// The probability that an observation lies above `threshold`.
ADVGP_API advgp_status advgp_predict_exceeds(const advgp_model *model, advgp_workspace *workspace, const double *rows,
                                             size_t n_rows, size_t stride, double threshold, double *probability,
                                             advgp_error *err);

// ---- 7. predicting tables -------------------------------------------------------------------------------------------
//
// Columns by name, texts and dates as in training, whatever the order: all that `advgp predict` does to a file. A row
// of the table is a row of the answer.

typedef struct advgp_answer advgp_answer;

// Columns as the options of "predict" ask for: `interval`, `quantiles`, `exceeds`, `draws`, `mean-only`. By default
// mean, sd_f, sd_y, lo and hi.
ADVGP_API advgp_status advgp_predict_data(const advgp_model *model, const advgp_data *data,
                                          const advgp_options *predict, const advgp_watch *watch, advgp_answer **out,
                                          advgp_error *err);
ADVGP_API size_t advgp_answer_rows(const advgp_answer *answer);
ADVGP_API size_t advgp_answer_columns(const advgp_answer *answer);
ADVGP_API const char *advgp_answer_name(const advgp_answer *answer, size_t column);
ADVGP_API const double *advgp_answer_values(const advgp_answer *answer, size_t column); // a number a row
ADVGP_API void advgp_answer_free(advgp_answer *answer);

// ---- 8. judging -----------------------------------------------------------------------------------------------------

// What `advgp evaluate --json` prints, of rows whose target is known, by the options of "evaluate". For
// advgp_text_free.
ADVGP_API advgp_status advgp_evaluate(const advgp_model *model, const advgp_data *data, const advgp_options *evaluate,
                                      const advgp_watch *watch, char **json, advgp_error *err);

// ---- 9. explaining --------------------------------------------------------------------------------------------------

// Why the model says what it says of rows: the `rows` of what `advgp explain --json` prints, as a JSON array
// (docs/explain.md), by the options of "explain". `rows` of these says which; without it they are all rows of a table
// in memory, which has 10,000 at most, and the first of files. For advgp_text_free.
ADVGP_API advgp_status advgp_explain(const advgp_model *model, const advgp_data *data, const advgp_options *explain,
                                     const advgp_watch *watch, char **json, advgp_error *err);

// ---- 10. this machine -----------------------------------------------------------------------------------------------

// What `advgp info` prints, as JSON and for people: versions, the core that OpenBLAS computes with, transports, CPU.
// For advgp_text_free.
ADVGP_API advgp_status advgp_config_json(char **json, advgp_error *err);
ADVGP_API advgp_status advgp_config_text(char **text, advgp_error *err);

#ifdef __cplusplus
}
#endif
#endif
