// duckdb_connect.h: a database in memory that stays within its limits and never goes to the network. Only the files
// duckdb*.c of this room include it.
#pragma once
#include "base/status.h"

#include <duckdb.h>
#include <stddef.h>

typedef struct gp_duckdb {
    duckdb_database db;
    duckdb_connection connection;
    int spill; // ticket of the folder for what does not fit into memory (temporary.h)
} gp_duckdb;

// memory_bytes: 0 is 1 GiB; threads: 0 is 1; temporary is where it spills: NULL is $TMPDIR, else /tmp.
advgp_status gp_duckdb_connect(size_t memory_bytes, size_t threads, const char *temporary, gp_duckdb *out,
                               advgp_error *err);
void gp_duckdb_disconnect(gp_duckdb *d); // also after a failure, also twice
