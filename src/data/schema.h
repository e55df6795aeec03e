// schema.h: how a table becomes standardised numbers: which columns are used, how each is encoded, what replaces a
// missing value, and the scales. Fitted in one pass over the training rows, stored as JSON in model files and
// manifests, applied to any table that has the columns. The rules are docs/data-rules.md.
#pragma once
#include "base/status.h"
#include "data/categories.h"
#include "data/limits.h"
#include "data/notes.h"
#include "data/source.h"
#include "data/split.h"
#include "data/warp.h"
#include "data/writing.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct gp_encoding gp_encoding; // how a column becomes numbers: encoding.h

typedef enum gp_time_part {
    GP_TIME_DAYS,
    GP_TIME_YEARDAY,
    GP_TIME_WEEKDAY,
    GP_TIME_MINUTE,
    // Angles of these three, where the table is long enough to see them come again: 31 December is near 1 January.
    GP_TIME_YEAR_SINE,
    GP_TIME_YEAR_COSINE,
    GP_TIME_WEEK_SINE,
    GP_TIME_WEEK_COSINE,
    GP_TIME_DAY_SINE,
    GP_TIME_DAY_COSINE,
    GP_TIME_PARTS
} gp_time_part;

typedef enum gp_missing { GP_MISSING_IMPUTE, GP_MISSING_DROP, GP_MISSING_ERROR } gp_missing;

// What a weight says: how often its row counts, or how much it matters beside the others. Weights of importance are
// scaled to mean 1 over the usable rows, so that they do not change how many rows there seem to be.
typedef enum gp_weights_are { GP_WEIGHTS_COUNTS, GP_WEIGHTS_IMPORTANCE } gp_weights_are;

typedef enum gp_bounds_are { GP_BOUNDS_AUTO, GP_BOUNDS_NONE, GP_BOUNDS_GIVEN } gp_bounds_are;

typedef struct gp_input { // one column of the table that the model uses
    char *name;
    gp_column_type type; // in training
    const gp_encoding *encoding;
    bool indicator;           // a last encoded column that is 1 where the value is missing
    unsigned time_parts;      // TIME: bit p for gp_time_part p
    gp_writing written;       // NUMBER, TIME: how texts are read
    char *date_format;        // where that is GP_WRITING_FORMAT; else NULL
    char unit[GP_UNIT_BYTES]; // NUMBER: what stands behind it in texts; "": nothing
    gp_categories categories; // ONEHOT, TARGET: sorted
    double *category_values;  // TARGET: encoded value of each category, before standardising
    double prior;             // TARGET: the global mean
    gp_limits range;          // NUMBER, TIME (days): least and most in training; no limits where that is not known
    gp_limits clip;           // NUMBER: values beyond are taken as at these ends
    gp_warp warp;             // NUMBER: then it is mapped to its ranks, where there is a map
    bool long_tailed;         // fresh from fit: NUMBER, and a map might pay. Not stored in JSON.
    void *own;                // what only its encoding knows; NULL: nothing
    size_t first, n_encoded;  // its encoded columns
} gp_input;

// Sums of columns that the table does not have: behind the columns of the inputs, the plain ones, stand some that are
// weighted sums of these, standardised. What a function sees of its inputs is often a difference or a sum of several
// (arrival less departure): along it a kernel with a length-scale for each column needs many inducing inputs.
enum { GP_DIRECTIONS_MAX = 8 };

typedef struct gp_schema {
    gp_input *inputs;
    size_t n_inputs;
    size_t d;            // encoded columns, directions included
    size_t n_directions; // the last ones of them
    double *directions;  // n_directions x (d - n_directions): weights of the plain columns; NULL where there are none
    char **x_names;      // d: "distance", "carrier=AA", "when (weekday)", "age (missing)"
    double *x_mean, *x_scale; // d: X = (encoded - mean) / scale
    char *target, *weights;   // weights may be NULL
    gp_weights_are weights_are;
    double y_mean, y_scale; // of the target, or of its logarithm
    bool log_target;
    double log_offset; // added to the target before its logarithm is taken, where some targets are 0
    bool bounded;      // answers are cut at the bounds
    gp_limits bounds;
    gp_writing target_written; // how a target of texts is read
    gp_missing missing;
    bool dirty;  // texts among numbers or dates are missing values, and ranges their middles
    char **gaps; // DROP, fresh from fit: columns in which a gap drops a training row. Not stored in JSON.
    size_t n_gaps;
    // Fresh from fit, not stored in JSON: least and most of the target in its own units; it is never negative, and
    // skewed.
    gp_limits y_range;
    bool log_may_pay;
    size_t n_rows;   // usable training rows, held-out ones included
    double n_weight; // the sum of their weights, as they stand in the table
} gp_schema;

typedef struct gp_schema_options {
    const char *target, *weights;               // weights may be NULL
    const char *const *features;                // NULL: all columns but target, weights and group
    const char *const *exclude, *const *encode; // encode: "COLUMN=onehot|target|number"
    const char *const *date_formats;            // "FORMAT" or "COLUMN=FORMAT", as of strptime
    const gp_schema *known; // of the model that a run goes on from: columns that it has not are left out; or NULL
    size_t n_features, n_exclude, n_encode, n_date_formats;
    gp_missing missing;
    gp_weights_are weights_are;
    bool log_target;
    gp_bounds_are bounds_are;
    gp_limits bounds;   // GP_BOUNDS_GIVEN
    bool refuse_dirty;  // a text among numbers or dates is an error
    bool keep_outliers; // no column is clipped
    bool ranks;         // columns of long tails are mapped to their ranks
} gp_schema_options;

enum { GP_ONEHOT_MAX = 32, GP_ONEHOT_FORCED_MAX = 1000, GP_ROWS_PER_CATEGORY = 20, GP_ROWS_MIN = 10 };

// Called between chunks with the rows read so far; a non-zero return stops with ESTOPPED. May be NULL.
typedef int (*gp_progress)(void *ctx, size_t rows);

// Reads the source once (twice for a LAST split over text columns) from its start, settles the split, and leaves the
// source rewound. Only columns in use stay wanted.
advgp_status gp_schema_fit(gp_source *source, const gp_schema_options *options, gp_split *split, gp_notes *notes,
                           gp_progress progress, void *ctx, gp_schema **out, advgp_error *err);
void gp_schema_free(gp_schema *schema);

// ---- directions (directions.c) --------------------------------------------------------------------------------------

size_t gp_schema_plain(const gp_schema *schema); // encoded columns of the inputs: those before the directions
// Adds n of them, weights [n x plain], to a schema that has none: their mean and scale are 0 and 1.
advgp_status gp_schema_add_directions(gp_schema *schema, size_t n, const double *weights, advgp_error *err);
// The directions of another schema, in the units of this one, which has none yet. None are added where a column of
// theirs is not here.
advgp_status gp_schema_take_directions(gp_schema *schema, const gp_schema *from, advgp_error *err);
// Names of columns, once the weights are there.
advgp_status gp_schema_name_directions(gp_schema *schema, advgp_error *err);
// The last columns of an encoded row from its plain ones.
void gp_schema_follow_directions(const gp_schema *schema, double *x);

char *gp_schema_to_json(const gp_schema *schema); // free with gp_free; NULL without memory
// Reads text as hostile: EFILE names what is wrong with it.
advgp_status gp_schema_from_json(const char *text, size_t n, gp_schema **out, advgp_error *err);

double gp_schema_target(const gp_schema *schema,
                        double standardised); // back to the target's own units (the median, if log-target)
double gp_schema_standardise(const gp_schema *schema, double target); // NaN where the logarithm does not exist
double gp_schema_cut(const gp_schema *schema, double answer); // an answer in the target's units, within the bounds
// "auto", "none" or "LO:HI", of which one may be empty.
advgp_status gp_bounds_parse(const char *text, gp_bounds_are *are, gp_limits *bounds, advgp_error *err);
double gp_schema_input(const gp_schema *schema, size_t j, double standardised); // encoded column j before scaling
// The same for people: without the rounding of there and back, 0 is 0; of a column by ranks, the value of that rank.
double gp_schema_shown(const gp_schema *schema, size_t j, double standardised);

// What is added to n targets, some of which are 0, before their logarithm (offset.c); they are scratch. 0: none is
// positive.
double gp_log_offset(double *y, size_t n);

double gp_schema_weight_factor(const gp_schema *schema); // from a weight in the table to that of the row
// Can a scale be squared, summed and divided by, in double precision? What it scales cannot be computed with if not.
bool gp_scale_is_usable(double scale);

// For fit and JSON: names the encoded columns and places them, from encodings, categories, parts and indicators, and
// from the number of directions, which name themselves once their weights are there.
advgp_status gp_schema_layout(gp_schema *schema, advgp_error *err);
const char *gp_missing_name(gp_missing missing);
const char *gp_weights_are_name(gp_weights_are what);
// seconds since 2000-01-01 into gp_time_part values
void gp_time_split(double seconds, double parts[GP_TIME_PARTS]);
enum { GP_TIME_TEXT_BYTES = 40 };
const char *gp_time_text(double seconds, char out[GP_TIME_TEXT_BYTES]); // the same: 2008-03-14, with 17:30
const char *gp_time_part_name(gp_time_part part);
gp_time_part gp_time_part_at(const gp_input *input, size_t k); // of its k-th encoded column; GP_TIME_PARTS: none
advgp_status gp_missing_parse(const char *text, gp_missing *out, advgp_error *err);
