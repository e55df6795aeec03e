// duckdb_query.h: what DuckDB tells of a query, and of a JSON file, before it is allowed to work on either. Only the
// files duckdb*.c of this room include it.
#pragma once
#include "files/duckdb_connect.h"
#include "files/inputs.h"
#include "files/query.h"

// The syntax tree of a query, if it is one that is run; see query.h. Nothing of it is run here.
advgp_status gp_duckdb_query_read(gp_duckdb *d, const char *sql, gp_query *out, advgp_error *err);
// The text of a tree that was changed.
advgp_status gp_duckdb_query_text(gp_duckdb *d, const gp_query *query, char **out, advgp_error *err);
// EDATA where a value is nested more deeply than any table: DuckDB looks at what is inside by recursion, and 20,000
// levels are beyond its stack. Reads all of the file.
advgp_status gp_duckdb_json_depth(gp_duckdb *d, const gp_inputs *inputs, const gp_input_file *file, advgp_error *err);
