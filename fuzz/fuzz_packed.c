// fuzz_packed.c: a packed folder of one training shard. Six bytes tell the lengths of manifest, shard-0000.bin and
// stop.bin; calibrate.bin is the rest. What opens can be read to its end, or says which block is damaged.
#define _DEFAULT_SOURCE // mkdtemp
#include "base/alloc.h"
#include "fuzz.h"
#include "repair.h"
#include "shards/packed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { N_FILES = 4, N_SHARDS = 3, ROWS = 64 };
static const char *const names[N_FILES] = {"manifest.json", "shard-0000.bin", "stop.bin", "calibrate.bin"};
static char folder[64];

static void remove_folder(void)
{
    char path[128];
    for (size_t i = 0; i < N_FILES; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

static void make_folder(void)
{
    if (folder[0]) return;
    strcpy(folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/advgp-fuzz-XXXXXX" : "/tmp/advgp-fuzz-XXXXXX");
    FUZZ_CHECK(mkdtemp(folder) != NULL);
    atexit(remove_folder);
}

static void write_file(const char *name, const uint8_t *bytes, size_t n)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    FUZZ_CHECK(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    close(fd);
}

static void read_all(const gp_shards *shards)
{
    FUZZ_CHECK(shards->d > 0);
    double *X = malloc(ROWS * shards->d * sizeof *X), y[ROWS], w[ROWS];
    FUZZ_CHECK(X != NULL);
    for (size_t k = 0; k < shards->n_train + 2; k++) {
        advgp_status st = ADVGP_OK;
        advgp_error err = {0};
        for (size_t i = 0; st == ADVGP_OK && i < shards->rows[k]; i += ROWS) {
            const size_t n = shards->rows[k] - i < ROWS ? shards->rows[k] - i : ROWS;
            st = gp_shards_read(shards, k, i, n, X, y, w, &err);
        }
        FUZZ_CHECK(st == ADVGP_OK || (st == ADVGP_EFILE && strstr(err.text, ".bin")));
    }
    free(X);
}

static void load(uint8_t *const *files, const size_t *sizes)
{
    for (size_t i = 0; i < N_FILES; i++) write_file(names[i], files[i], sizes[i]);
    const long live = gp_alloc_count().live;
    gp_shards *shards;
    gp_schema *schema = NULL;
    char *sql = NULL;
    advgp_error err = {0};
    const advgp_status st = gp_packed_open(folder, &shards, &schema, &sql, &err);
    FUZZ_CHECK(st == ADVGP_OK || (st == ADVGP_EFILE && err.text[0]));
    FUZZ_CHECK((st == ADVGP_OK) == (shards != NULL));
    if (shards) {
        FUZZ_CHECK(schema && schema->d == shards->d);
        const advgp_status whole = gp_packed_check(shards, &err);
        FUZZ_CHECK(whole == ADVGP_OK || (whole == ADVGP_EFILE && strstr(err.text, ".bin")));
        read_all(shards);
    }
    gp_shards_free(shards);
    gp_schema_free(schema);
    gp_free(sql);
    FUZZ_CHECK(gp_alloc_count().live == live);
}

// Hashes of blocks, table and head, as far as the sizes in the head are possible; the hash for the manifest.
static uint64_t repair_shard(uint8_t *bytes, size_t n)
{
    gp_shard_head head;
    gp_shard_layout l;
    if (n < sizeof head) return 0;
    memcpy(&head, bytes, sizeof head);
    if (gp_shard_plan(&l, head.n_columns, head.element_bytes, head.block_rows, head.n_rows) && l.file_bytes == n) {
        for (size_t b = 0; b < l.n_blocks; b++) {
            const uint64_t hash = XXH3_64bits(bytes + l.data_start + b * l.block_bytes, gp_shard_block_size(&l, b));
            memcpy(bytes + sizeof head + b * sizeof hash, &hash, sizeof hash);
        }
        head.table_hash = XXH3_64bits(bytes + sizeof head, l.data_start - sizeof head);
    }
    head.head_hash = XXH3_64bits(&head, offsetof(gp_shard_head, head_hash));
    memcpy(bytes, &head, sizeof head);
    return head.head_hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n < 6) return 0;
    make_folder();
    uint8_t *files[N_FILES];
    size_t sizes[N_FILES], at = 6;
    for (size_t i = 0; i < N_FILES; i++) {
        const size_t told = i < N_SHARDS ? bytes[2 * i] + 256u * bytes[2 * i + 1] : n;
        sizes[i] = told < n - at ? told : n - at;
        files[i] = malloc(sizes[i] ? sizes[i] : 1);
        FUZZ_CHECK(files[i] != NULL);
        memcpy(files[i], bytes + at, sizes[i]);
        at += sizes[i];
    }
    load(files, sizes);
    uint8_t *manifest = files[0], *end = files[0] + sizes[0];
    bool repaired = true;
    for (size_t k = 0; k < N_SHARDS && repaired; k++) {
        repaired = fuzz_put_hex(manifest, (size_t)(end - manifest), "\"xxh3\":\"",
                                repair_shard(files[k + 1], sizes[k + 1]));
        if (repaired) manifest = fuzz_find(manifest, (size_t)(end - manifest), "\"xxh3\":\"") + 8;
    }
    if (repaired) load(files, sizes);
    for (size_t i = 0; i < N_FILES; i++) free(files[i]);
    return 0;
}
