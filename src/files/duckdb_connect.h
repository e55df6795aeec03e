// duckdb_connect.h: a database in memory that stays within its limits and never goes to the network. Only the files
// duckdb*.c of this room include it.
#pragma once
#include "base/status.h"

#include <duckdb.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct gp_duckdb {
    duckdb_database db;
    duckdb_connection connection;
    char spill_path[PATH_MAX]; // the folder for what does not fit into memory; empty: none yet
    int spill;                 // its ticket (temporary.h)
} gp_duckdb;

// memory_bytes: 0 is 1 GiB; threads: 0 is 1; temporary is where it spills: NULL is $TMPDIR, else /tmp. With as_written
// joins are done in the order and with the sides of the text, which keeps the order of the left table's rows.
advgp_status gp_duckdb_connect(size_t memory_bytes, size_t threads, const char *temporary, bool as_written,
                               gp_duckdb *out, advgp_error *err);
// From here on the database opens these files ('a', 'b': literals of SQL) and where it spills, and no others, loads no
// extension and takes no setting, whatever it is asked to run. Before anything is run that came from outside.
advgp_status gp_duckdb_lock(gp_duckdb *d, const char *paths, advgp_error *err);
void gp_duckdb_disconnect(gp_duckdb *d); // also after a failure, also twice
