// load.h: from what options name to rows that training can read: files through schema and split into memory,
// packed folders as they are, and tables larger than memory by way of a packed folder.
#pragma once
#include "data/split.h"
#include "files/files.h"
#include "load/host.h"
#include "options/option.h"
#include "shards/shards.h"

typedef struct gp_loaded {
    gp_shards *shards;
    gp_schema *schema;
    char *sql;         // NULL: none
    gp_notes notes;    // what a user should know
    gp_plan encodings; // ranks, directions and logarithm, as trials or options chose them; nothing of packed rows
} gp_loaded;

// Data of train: operands, data options, --validation, --cache. A packed folder brings its own schema; data options
// that contradict it are EINVAL. Where a table is given, it takes the place of operands; it is borrowed.
advgp_status gp_load_training(const gp_options *o, gp_source *table, const gp_host *host, gp_loaded *out,
                              advgp_error *err);
// Are the rows that these options give in the folder of --cache, packed and whole? Nothing is written.
advgp_status gp_load_cached(const gp_options *o, bool *found, advgp_error *err);
// Rows with a known target, encoded by a schema that exists: all of them as GP_STOP.
advgp_status gp_load_known(const gp_options *o, const char *const *paths, size_t n_paths, const char *sql,
                           const gp_schema *schema, const gp_host *host, gp_notes *notes, gp_shards **out,
                           advgp_error *err);
// The rows of --test, to be scored by what was loaded (all GP_STOP); NULL without the option.
advgp_status gp_load_test(const gp_options *o, const gp_host *host, gp_loaded *data, gp_shards **rows,
                          advgp_error *err);
void gp_loaded_fini(gp_loaded *loaded); // schema too, unless set to NULL

// A name for what operands and options give, from what decides it: files, data options, seed, and the version of advgp,
// whose rules for a table may change. *steady: all are files, which can be compared again; a pipe is read once and
// gone.
uint64_t gp_fingerprint(const gp_options *o, bool *steady);

// How the files that options name are read: DuckDB takes a gigabyte at most, and a quarter of what there is where that
// is little; --spool-limit; the host stops it.
gp_file_options gp_load_files(const gp_options *o, const gp_host *host, const char *const *paths, size_t n_paths,
                              const char *sql);

// The data of pack: reads the operands and writes the folder of --output.
advgp_status gp_load_pack(const gp_options *o, const gp_host *host, gp_notes *notes, size_t *n_rows, advgp_error *err);
