// query.h: what a query may be and what it reads, told by its syntax tree, which DuckDB gives as JSON
// (json_serialize_sql). A query comes with a model, a packed folder or a log as often as from its user, so one rule is
// for all: one SELECT over the tables of the command, and no function that reads or changes anything else.
// duckdb_connect.h has the second wall.
#pragma once
#include "base/status.h"
#include "files/inputs.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { GP_QUERY_BYTES_MAX = 1 << 20 };

typedef struct gp_query {
    json_t *tree;  // the whole answer of json_serialize_sql
    bool exact;    // no number in it was rounded: it can be made a text again
    char **tables; // in the order in which the text names them first; those of WITH are not among them
    size_t n_tables;
} gp_query; // {0} is empty

// EINVAL with a sentence where the text is no query, or one that is not run.
advgp_status gp_query_init(const char *json, gp_query *out, advgp_error *err);
void gp_query_fini(gp_query *query);
bool gp_query_reads(const gp_query *query, const char *table);           // letter case makes no difference to SQL
const char *gp_query_table_of(const gp_query *query, const char *alias); // FROM flights f; NULL: no table is called so

// The columns of its tables that the query needs for nothing but the named results, such as the target: {column: what
// it is qualified by, or null}, in lower case. Conditions of WHERE may speak of them, other results may not. NULL: no
// memory.
json_t *gp_query_only_for(const gp_query *query, const char *const *results, size_t n);
// Leaves out those conditions of every WHERE, HAVING and QUALIFY, joined by AND, that speak of the column or of a
// result that is made from it; how many they were.
size_t gp_query_forget(gp_query *query, const char *column);

// ---- query_functions.c ----------------------------------------------------------------------------------------------
bool gp_query_may_call(const char *function); // does it compute on values, and nothing else?
bool gp_query_may_name(const char *column);   // false: a word such as current_user

// ---- query_tables.c -------------------------------------------------------------------------------------------------
// Sees to it that every table of the query is one of the inputs. Where the query is `stored` they may be called
// otherwise (gp_file_options): then they get the names of the query. EINVAL or EDATA.
advgp_status gp_query_bind(const gp_query *query, gp_inputs *inputs, bool stored, gp_notes *notes, advgp_error *err);
