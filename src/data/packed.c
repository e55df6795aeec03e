// packed.c: packed shards, mapped. A block's checksum is asked when the block is first read; after that a read is a
// transposition.
#include "data/packed.h"

#include "base/alloc.h"
#include "data/manifest.h"
#include "data/strings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

typedef struct mapping {
    const unsigned char *bytes; // NULL where the shard has no rows
    gp_shard_layout layout;
    atomic_uchar *checked; // one a block
} mapping;

typedef struct packed_shards {
    gp_shards base;
    char *dir;
    mapping *maps; // n_train + 2
} packed_shards;

// ---- opening --------------------------------------------------------------------------------------------------------
static const char *check_head(const gp_shard_head *head, const gp_manifest *m, size_t shard, const gp_shard_layout *l)
{
    if (memcmp(head->magic, "ADVGPSH1", 8) != 0) return "it is no shard";
    if (XXH3_64bits(head, offsetof(gp_shard_head, head_hash)) != head->head_hash) return "its head is damaged";
    if (head->head_hash != m->head_hash[shard]) return "it belongs to another packing";
    if (head->element_bytes != l->element || head->n_columns != l->n_columns || head->n_rows != l->n_rows ||
        head->block_rows != l->block_rows || head->n_blocks != l->n_blocks)
        return "its sizes differ from the manifest's";
    return NULL;
}

static advgp_status map_file(mapping *map, const char *path, const gp_manifest *m, size_t shard, advgp_error *err)
{
    const gp_shard_layout *l = &map->layout;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return gp_fail(err, ADVGP_EFILE, "%s: %s; pack the data again", path, strerror(errno));
    struct stat info;
    advgp_status st = ADVGP_OK;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || (uint64_t)info.st_size != l->file_bytes)
        st = gp_fail(err, ADVGP_EFILE,
                     "%s has not the %zu bytes it should have: it is cut off or foreign; pack the data again", path,
                     l->file_bytes);
    void *bytes = st == ADVGP_OK ? mmap(NULL, l->file_bytes, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (st == ADVGP_OK && bytes == MAP_FAILED) st = gp_fail(err, ADVGP_EIO, "cannot map %s: %s", path, strerror(errno));
    close(fd);
    if (st != ADVGP_OK) return st;
    map->bytes = bytes;
    const gp_shard_head *head = bytes;
    const char *wrong = check_head(head, m, shard, l);
    if (!wrong && XXH3_64bits(map->bytes + sizeof *head, l->data_start - sizeof *head) != head->table_hash)
        wrong = "its table of hashes is damaged";
    return wrong ? gp_fail(err, ADVGP_EFILE, "%s: %s; pack the data again", path, wrong) : ADVGP_OK;
}

static advgp_status open_shard(packed_shards *p, const gp_manifest *m, size_t shard, advgp_error *err)
{
    mapping *map = &p->maps[shard];
    char name[32];
    gp_shard_file_name(name, m->n_train, shard);
    if (!gp_shard_plan(&map->layout, m->d + 1 + m->weighted, m->float64 ? 8 : 4, m->block_rows, m->rows[shard]))
        return gp_fail(err, ADVGP_EFILE, "%s: the manifest gives impossible sizes for %s", p->dir, name);
    map->checked = gp_alloc(map->layout.n_blocks, sizeof *map->checked);
    gp_buffer path = {0};
    gp_buffer_add(&path, "%s/%s", p->dir, name);
    advgp_status st = map->checked && !path.failed ? map_file(map, path.p, m, shard, err)
                                                   : gp_fail(err, ADVGP_ENOMEM, "no memory for a shard");
    gp_buffer_fini(&path);
    p->base.rows[shard] = m->rows[shard];
    p->base.weight[shard] = m->weight[shard];
    return st;
}

// ---- reading --------------------------------------------------------------------------------------------------------
size_t gp_packed_blocks(const gp_shards *s, size_t shard)
{
    return ((const packed_shards *)s)->maps[shard].layout.n_blocks;
}

advgp_status gp_packed_block(const gp_shards *s, size_t shard, size_t block, gp_block *out, advgp_error *err)
{
    const packed_shards *p = (const packed_shards *)s;
    const mapping *map = &p->maps[shard];
    const gp_shard_layout *l = &map->layout;
    const unsigned char *values = map->bytes + l->data_start + block * l->block_bytes;
    if (!atomic_load_explicit(&map->checked[block], memory_order_relaxed)) { // two threads may both check: no harm
        uint64_t wanted;
        memcpy(&wanted, map->bytes + sizeof(gp_shard_head) + block * sizeof wanted, sizeof wanted);
        if (XXH3_64bits(values, gp_shard_block_size(l, block)) != wanted) {
            char name[32];
            gp_shard_file_name(name, s->n_train, shard);
            return gp_fail(err, ADVGP_EFILE, "%s/%s: block %zu of %zu is damaged (checksum); pack the data again",
                           p->dir, name, block, l->n_blocks);
        }
        atomic_store_explicit(&map->checked[block], 1, memory_order_relaxed);
    }
    *out = (gp_block){.n_rows = gp_shard_block_rows(l, block),
                      .float64 = l->element == 8,
                      .run = gp_shard_run(l, block),
                      .values = values};
    return ADVGP_OK;
}

// Rows `first` .. of a block, row-major. Sixteen rows at a time: a cache line of each column is used up before it can
// be evicted.
static void transpose_float(const gp_block *b, size_t first, size_t n, size_t d, double *restrict X)
{
    const float *values = b->values;
    for (size_t i = 0; i < n; i += GP_RUN_VALUES) {
        size_t m = n - i < GP_RUN_VALUES ? n - i : GP_RUN_VALUES;
        for (size_t j = 0; j < d; j++) {
            const float *restrict column = values + j * b->run + first + i;
            for (size_t k = 0; k < m; k++) X[(i + k) * d + j] = column[k];
        }
    }
}

static void transpose_double(const gp_block *b, size_t first, size_t n, size_t d, double *restrict X)
{
    const double *values = b->values;
    for (size_t i = 0; i < n; i += GP_RUN_VALUES) {
        size_t m = n - i < GP_RUN_VALUES ? n - i : GP_RUN_VALUES;
        for (size_t j = 0; j < d; j++) {
            const double *restrict column = values + j * b->run + first + i;
            for (size_t k = 0; k < m; k++) X[(i + k) * d + j] = column[k];
        }
    }
}

static void copy_column(const gp_block *b, size_t column, size_t first, size_t n, double *out)
{
    if (b->float64) {
        memcpy(out, (const double *)b->values + column * b->run + first, n * sizeof *out);
    } else {
        const float *values = (const float *)b->values + column * b->run + first;
        for (size_t i = 0; i < n; i++) out[i] = values[i];
    }
}

static advgp_status packed_read(const gp_shards *s, size_t shard, size_t first, size_t n, double *X, double *y,
                                double *w, advgp_error *err)
{
    size_t block_rows = ((const packed_shards *)s)->maps[shard].layout.block_rows;
    for (size_t done = 0; done < n;) {
        gp_block b;
        advgp_status st = gp_packed_block(s, shard, (first + done) / block_rows, &b, err);
        if (st != ADVGP_OK) return st;
        size_t from = (first + done) % block_rows, m = b.n_rows - from < n - done ? b.n_rows - from : n - done;
        if (b.float64)
            transpose_double(&b, from, m, s->d, X + done * s->d);
        else
            transpose_float(&b, from, m, s->d, X + done * s->d);
        copy_column(&b, s->d, from, m, y + done);
        if (w && s->weighted) copy_column(&b, s->d + 1, from, m, w + done);
        for (size_t i = 0; w && !s->weighted && i < m; i++) w[done + i] = 1;
        done += m;
    }
    return ADVGP_OK;
}

static void packed_free(gp_shards *s)
{
    packed_shards *p = (packed_shards *)s;
    for (size_t k = 0; p->maps && k < s->n_train + 2; k++) {
        if (p->maps[k].bytes) munmap((void *)(uintptr_t)p->maps[k].bytes, p->maps[k].layout.file_bytes);
        gp_free(p->maps[k].checked);
    }
    gp_free(p->maps);
    gp_free(p->dir);
    gp_shards_fini(s);
    gp_free(p);
}

static const gp_shards_ops packed_ops = {.name = "packed", .read = packed_read, .free = packed_free};

bool gp_packed_is(const char *path)
{
    char name[4096], head[256] = {0}; // on the stack: a question that cannot fail must not need memory
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) return false;
    if (snprintf(name, sizeof name, "%s/manifest.json", path) >= (int)sizeof name) return false;
    FILE *f = fopen(name, "rb");
    size_t n = f ? fread(head, 1, sizeof head - 1, f) : 0;
    if (f) fclose(f);
    if (n && strstr(head, "\"advgp-packed\"")) return true;
    // The manifest may be lost or spoilt: then a shard tells, and opening says what is wrong.
    (void)snprintf(name, sizeof name, "%s/stop.bin", path);
    f = fopen(name, "rb");
    n = f ? fread(head, 1, 8, f) : 0;
    if (f) fclose(f);
    return n == 8 && memcmp(head, "ADVGPSH1", 8) == 0;
}

advgp_status gp_packed_open(const char *dir, gp_shards **out, gp_schema **schema, char **sql, advgp_error *err)
{
    *out = NULL;
    gp_manifest m = {0};
    gp_buffer path = {0};
    gp_buffer_add(&path, "%s/manifest.json", dir);
    advgp_status st = path.failed ? gp_fail(err, ADVGP_ENOMEM, "no memory for a file name") : ADVGP_OK;
    if (st == ADVGP_OK) st = gp_manifest_read(path.p, &m, err);
    gp_buffer_fini(&path);
    if (st != ADVGP_OK) return st;
    packed_shards *p = gp_alloc(1, sizeof *p);
    if (!p) {
        st = gp_fail(err, ADVGP_ENOMEM, "no memory for %s", dir);
        goto done;
    }
    p->base.ops = &packed_ops;
    p->dir = gp_copy_text(dir);
    st = gp_shards_init(&p->base, &packed_ops, m.d, m.n_train, m.weighted, m.seed, err);
    p->maps = gp_alloc(m.n_train + 2, sizeof *p->maps);
    if (st == ADVGP_OK && (!p->dir || !p->maps)) st = gp_fail(err, ADVGP_ENOMEM, "no memory for %s", dir);
    for (size_t k = 0; st == ADVGP_OK && k < m.n_train + 2; k++) st = open_shard(p, &m, k, err);
done:
    if (st != ADVGP_OK) {
        if (p) packed_free(&p->base);
    } else {
        *out = &p->base;
        if (schema) *schema = m.schema, m.schema = NULL;
        if (sql) *sql = m.sql, m.sql = NULL;
    }
    gp_manifest_fini(&m);
    return st;
}
