// packed.h: a folder of packed shards: encoded, standardised, shuffled rows that are read block by block.
//
//   DIR/manifest.json    schema, scales, policy, target, seed; rows, weight and the hash of the head of every shard
//   DIR/shard-0000.bin   one file a training shard; stop.bin and calibrate.bin hold the held-out rows
//
// A shard, little-endian: the head below, n_blocks XXH3 hashes of 8 bytes, zeros up to a multiple of 64, then the
// blocks. A block is n_columns runs of one column each (inputs, target, weights if there are any), every run padded
// with zeros to 16 values. All but the last block hold block_rows rows. Where a block starts follows from these
// numbers; nothing in the file can point elsewhere.
#pragma once
#include "shards/shards.h"

typedef struct gp_shard_head {
    char magic[8]; // "ADVGPSH1"
    uint32_t element_bytes, n_columns;
    uint64_t n_rows;
    uint32_t block_rows, n_blocks;
    uint64_t table_hash; // of the block hashes and the zeros behind them
    uint64_t reserved[2];
    uint64_t head_hash; // of the 56 bytes before
} gp_shard_head;

enum { GP_SHARD_ALIGN = 64, GP_RUN_VALUES = 16, GP_BLOCK_ROWS_MAX = 4096 };

typedef struct gp_shard_layout {
    size_t n_columns, element, block_rows, n_rows, n_blocks;
    size_t data_start, block_bytes, file_bytes;
} gp_shard_layout;
// False where the numbers do not fit together or into memory addresses.
bool gp_shard_plan(gp_shard_layout *out, size_t n_columns, size_t element, size_t block_rows, uint64_t n_rows);
size_t gp_shard_block_rows(const gp_shard_layout *l, size_t block); // rows in that block
size_t gp_shard_run(const gp_shard_layout *l, size_t block);        // values in a padded run of that block
size_t gp_shard_block_size(const gp_shard_layout *l, size_t block); // bytes
void gp_shard_file_name(char out[32], size_t n_train, size_t shard);

// ---- reading --------------------------------------------------------------------------------------------------------
bool gp_packed_is(const char *path); // is it a folder with a manifest or with shards of ours?
// Reads and checks the manifest, which has the rows and weight of every shard. A shard's file is opened, and its head
// checked, when a row of it is first read; each of its blocks likewise. So whoever reads two shards opens two files,
// and keeps them open while descriptors are plenty. A file that is cut off or replaced meanwhile is an error that names
// it. schema (may be NULL) and sql (may be NULL; NULL in it if none was used) are the caller's to free. EFILE for
// everything wrong with the files.
advgp_status gp_packed_open(const char *dir, gp_shards **out, gp_schema **schema, char **sql, advgp_error *err);
// For whoever will need them all: opens every shard now, so that a file that is gone, cut off or foreign is known
// before work begins. The blocks are still checked when they are read.
advgp_status gp_packed_check(const gp_shards *s, advgp_error *err);
// Which data set it is: a hash of the manifest, and by it of schema, scales, seed and the head of every shard. Two
// processes that have the same one read the same rows. 0 for other shards than packed ones.
uint64_t gp_packed_fingerprint(const gp_shards *s);
const char *gp_packed_dir(const gp_shards *s); // absolute, without links; NULL for other shards than packed ones

// ---- writing --------------------------------------------------------------------------------------------------------
typedef struct gp_pack_options {
    const char *dir;
    size_t n_shards; // 0: 64, or fewer for few rows
    bool float64;
    uint64_t seed;
    const char *validation; // as typed, kept in the manifest; may be NULL
    const char *sql;        // likewise
    gp_source *held_out;    // a source of all held-out rows, where they are not among the others; may be NULL
} gp_pack_options;

// May packed data go there? EIO where dir is something else, or cannot be made. Nothing changes. gp_pack asks too.
advgp_status gp_pack_try(const char *dir, advgp_error *err);
// Second pass and writing: reads the source from its start through schema and split (as gp_schema_fit left them) into
// dir. An existing packed folder is replaced at the very end; on failure nothing is left behind and it is untouched.
// progress counts rows read.
advgp_status gp_pack(gp_source *source, const gp_schema *schema, const gp_split *split, const gp_pack_options *options,
                     gp_notes *notes, gp_progress progress, void *ctx, advgp_error *err);

// The packed rows as a source again: columns are the encoded ones in their own units, then target and weights.
advgp_status gp_source_packed_open(const char *dir, gp_source **out, advgp_error *err);
