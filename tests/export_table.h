// export_table.h: tables for tests and benchmarks, made by DuckDB.
#pragma once
#include "advgp.h"

// The rows of a query as a file: Parquet, CSV or JSON lines by its ending (.parquet, .csv, .jsonl, with .gz for the
// last two).
advgp_status export_table(const char *sql, const char *path, advgp_error *err);
