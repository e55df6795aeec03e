// manifest.h: manifest.json of a packed folder, between pack.c, which writes it, and packed.c, which reads it as
// hostile.
#pragma once
#include "shards/packed.h"

typedef struct gp_manifest {
    size_t d, n_train, block_rows;
    bool weighted, float64;
    uint64_t seed;
    size_t *rows;           // n_train + 2
    double *weight;         // n_train + 2
    uint64_t *head_hash;    // n_train + 2
    char *sql, *validation; // NULL if none
    gp_schema *schema;
    uint64_t fingerprint; // of the bytes that were read
} gp_manifest;

advgp_status gp_manifest_write(const gp_manifest *m, const char *path,
                               advgp_error *err); // written and synced; not renamed
advgp_status gp_manifest_read(const char *path, gp_manifest *out, advgp_error *err);
advgp_status gp_manifest_init(gp_manifest *m, size_t n_train, advgp_error *err); // arrays for that many shards
void gp_manifest_fini(gp_manifest *m);                                           // frees schema and texts too
