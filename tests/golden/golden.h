// golden.h: what the parts of golden_check share: reading a case, the table of computed quantities, and the comparison.
// The format is that of the oracle: every entry of `expected` is {"value", "tol"}, and passes if max |got - value| <=
// tol.
#pragma once
#include "base/status.h"
#include "feature/features.h"
#include "model/pass.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct golden_tally {
    long passed, failed;
} golden_tally;

// Numbers of a (nested) JSON list, row after row; one number counts as a list of one.
typedef struct golden_array {
    double *p;
    size_t n;
} golden_array;
golden_array golden_numbers(const json_t *value);
golden_array golden_field(const json_t *object, const char *key); // exits with a message if it is missing
size_t golden_size(const json_t *object, const char *key);
double golden_number(const json_t *object, const char *key);

// Computed quantities by name; the table owns copies.
typedef struct golden_quantity {
    char name[64];
    golden_array value;
    struct golden_quantity *next;
} golden_quantity;
typedef struct golden_table {
    golden_quantity *first;
} golden_table;
void golden_put(golden_table *table, const char *name, const double *value, size_t n);
void golden_put_number(golden_table *table, const char *name, double value);
void golden_put_mat(golden_table *table, const char *name, gp_cmat value);
void golden_table_free(golden_table *table);

// Compares every entry of case["expected"] with the table: a line for each that fails or is not in it.
void golden_compare(const char *file, const json_t *expected, const golden_table *got, golden_tally *tally);
// One number against another, relatively.
void golden_compare_relative(const char *file, const char *what, double got, double expected, double rtol,
                             golden_tally *tally);

// The model a case describes: its features, rows and start.
typedef struct golden_problem {
    gp_component_spec *components;
    size_t *sizes; // groups
    gp_feature_spec spec;
    golden_array X, y, w;
    gp_rows rows;
} golden_problem;
golden_problem golden_problem_of(const json_t *c);
void golden_problem_free(golden_problem *p);

// A failing call of the library ends the check with the library's message: it is a failure of the case.
void golden_must(advgp_status status, const advgp_error *err, const char *what);

void golden_model_case(const json_t *c, golden_table *got);                     // "model" and "components"
void golden_trace_case(const json_t *c, golden_table *got);                     // "trace", synchronous and delayed
void golden_snelson_case(const char *file, const json_t *c, golden_table *got); // reads snelson.csv beside the file
void golden_units_case(const char *file, const json_t *c, golden_tally *tally);
