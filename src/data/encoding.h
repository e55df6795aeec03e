// encoding.h: how one column of a table becomes columns of numbers, and comes back. A new kind is one file with one
// table, one line of the list below and one line of encoding_test.c, which then asks of it what it asks of all. Whoever
// has an input asks its table, and never which kind it is.
#pragma once
#include "advgp.h"
#include "base/text.h"
#include "data/schema.h"

#include <jansson.h>

typedef struct gp_fit gp_fit; // fit.h
typedef struct gp_candidate gp_candidate;

// Scales of the encoded columns of one input.
typedef struct gp_input_scale {
    const double *mean, *inverse; // inverse: 1 / x_scale
} gp_input_scale;

// Values of one column in n rows of a chunk. One of the two: texts where the kind reads texts and there are some;
// else numbers as a caller may write them: of dates seconds since 2000-01-01, of categories their number in the schema,
// any other number for one that training has not seen.
typedef struct gp_picked {
    const double *numbers; // NaN where missing
    const gp_text *texts;
    const size_t *rows; // n: their places in the arrays
    size_t n;
} gp_picked;

typedef struct gp_oddities { // values that training has not seen, beyond its range, and beyond where it was clipped
    size_t n_unseen, n_outside, n_clipped;
} gp_oddities;

typedef struct gp_remark { // what is odd about a value
    const char *what;      // "outside", "cut" or "unseen"
    double value;          // NaN: none that could be told
    gp_limits range;       // what it is measured by
} gp_remark;

struct gp_encoding {
    const char *name;      // in files and messages
    const char *described; // for people: what the model makes of the column
    advgp_kind kind;       // what a value is to people
    bool asked;            // {encode} takes its name
    bool texts;            // it reads texts; else numbers
    bool uses_target;      // what it learns depends on the targets of training rows
    bool indicators;       // its columns are 0 or 1 and mean something together only: they share a length-scale
    unsigned types;        // bit t: it takes columns of gp_column_type t
    unsigned suggested;    // bit t: it is what such a column gets, unless values or people say otherwise
    double unit;           // a unit of gp_input.range, in those of a value

    // Of gp_candidate.own and gp_input.own, where a kind keeps what is in no other field. NULL: it keeps nothing there.
    void (*free_own)(void *own);

    // ---- the first pass over the rows (fit.h) ----
    advgp_status (*observe)(gp_fit *fit, gp_candidate *c, const gp_chunk *chunk, advgp_error *err);
    // Is it the right one? May set c->encoding to another, or *use to false, with a note. NULL: it is.
    advgp_status (*decide)(const gp_fit *fit, gp_candidate *c, bool *use, advgp_error *err);
    bool (*is_constant)(const gp_candidate *c);
    // Of a column in use: notes, limits, ranks. NULL: none.
    advgp_status (*settle)(const gp_fit *fit, gp_candidate *c, advgp_error *err);
    // What the input keeps; it may take it from the candidate. NULL: nothing.
    advgp_status (*fill)(const gp_fit *fit, gp_candidate *c, gp_input *input, advgp_error *err);
    // Means and scales of its columns (gp_fit_scale), from what was observed: after imputation, so that a missing value
    // sits at the mean and adds nothing.
    advgp_status (*scale)(const gp_candidate *c, const gp_input *input, gp_schema *schema, advgp_error *err);

    // ---- its columns, without the last one that marks missing values ----
    size_t (*width)(const gp_input *input);
    void (*name_column)(const gp_input *input, size_t k, gp_buffer *out); // behind the input's name; NULL: nothing

    // ---- rows ----
    // n_encoded standardised numbers at x, x + stride, ...; counts what is odd. The same value gives the same bits
    // whatever stands beside it. Takes no memory.
    void (*encode)(const gp_input *input, gp_input_scale scale, gp_picked values, double *x, size_t stride,
                   gp_oddities *odd);

    // ---- and back (report/decode.h) ----
    // From a row of d standardised columns to a number as in gp_picked; NaN where it cannot be told. Missing values are
    // the caller's.
    double (*decode)(const gp_schema *schema, const gp_input *input, const double *x);
    void (*show)(const gp_input *input, double value, gp_buffer *out); // such a number, finite, for people
    // What is odd about its value in such a row, which is not missing; false: nothing. NULL: never anything.
    bool (*remark)(const gp_schema *schema, const gp_input *input, const double *x, gp_remark *out);

    // ---- a schema in a file: the members that only this kind has ----
    bool (*write)(const gp_input *input, json_t *o);                          // false: no memory. NULL: none
    advgp_status (*read)(const json_t *o, gp_input *input, advgp_error *err); // believes nothing. NULL: none
};

// One line a kind. Of two with one name the first that takes the type of the column is meant.
#define GP_ENCODING_LIST(X) \
    X(onehot)               \
    X(target)               \
    X(boolean)              \
    X(number)               \
    X(time)

#define X(name) extern const gp_encoding gp_encoding_##name;
GP_ENCODING_LIST(X)
#undef X

extern const gp_encoding *const gp_encoding_family[];                        // ends with NULL; in the order of the list
const gp_encoding *gp_encoding_named(const char *name, gp_column_type type); // NULL if there is none
const gp_encoding *gp_encoding_suggested(gp_column_type type);
bool gp_encoding_is_asked(const char *name);
// "COL=onehot, COL=target or COL=number" of the prefix "COL=" and the last separator " or ".
void gp_encoding_choices(const char *prefix, const char *last, gp_buffer *out);
