// packed.c: packed shards, mapped. A shard's file is mapped when it is first read from, and a block's checksum is asked
// when the block is; after that a read is a transposition.
#define _XOPEN_SOURCE   700 // realpath
#define _DEFAULT_SOURCE     // MAP_ANONYMOUS
#include "data/packed.h"

#include "base/alloc.h"
#include "base/machine.h"
#include "data/manifest.h"
#include "data/strings.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

// A file that is mapped and whose head was checked. It lies in pages of its own: reading must not touch the heap.
typedef struct view {
    const unsigned char *bytes;
    atomic_uchar checked[]; // one a block
} view;

typedef struct shard_file {
    gp_shard_layout layout;
    uint64_t head_hash;   // as the manifest has it
    _Atomic(view *) view; // NULL: nobody has read from it
} shard_file;

typedef struct packed_shards {
    gp_shards base;
    char *dir;  // as it was given, for messages
    char *real; // where it is: files are opened late, and the working directory may be another by then
    uint64_t fingerprint;
    shard_file *files; // n_train + 2
} packed_shards;

enum { PATH_BYTES = PATH_MAX + 32 };

// ---- a shard's file -------------------------------------------------------------------------------------------------
static void name_file(const packed_shards *p, const char *dir, size_t k, char out[PATH_BYTES])
{
    char name[32];
    gp_shard_file_name(name, p->base.n_train, k);
    (void)snprintf(out, PATH_BYTES, "%s/%s", dir, name);
}

static const char *check_head(const shard_file *f, const gp_shard_head *head)
{
    const gp_shard_layout *l = &f->layout;
    if (memcmp(head->magic, "ADVGPSH1", 8) != 0) return "it is no shard";
    if (XXH3_64bits(head, offsetof(gp_shard_head, head_hash)) != head->head_hash) return "its head is damaged";
    if (head->head_hash != f->head_hash) return "it belongs to another packing";
    if (head->element_bytes != l->element || head->n_columns != l->n_columns || head->n_rows != l->n_rows ||
        head->block_rows != l->block_rows || head->n_blocks != l->n_blocks)
        return "its sizes differ from the manifest's";
    if (XXH3_64bits(head + 1, l->data_start - sizeof *head) != head->table_hash)
        return "its table of hashes is damaged";
    return NULL;
}

static advgp_status map_file(const packed_shards *p, size_t k, void **out, advgp_error *err)
{
    const shard_file *f = &p->files[k];
    char path[PATH_BYTES], told[PATH_BYTES];
    name_file(p, p->real, k, path);
    name_file(p, p->dir, k, told);
    const int fd = gp_open(path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return gp_fail(err, ADVGP_EFILE, "%s: %s; pack the data again", told, strerror(errno));
    struct stat info;
    advgp_status st = ADVGP_OK;
    void *bytes = MAP_FAILED;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || (uint64_t)info.st_size != f->layout.file_bytes)
        st = gp_fail(err, ADVGP_EFILE,
                     "%s has not the %zu bytes it should have: it is cut off or foreign; pack the data again", told,
                     f->layout.file_bytes);
    if (st == ADVGP_OK) {
        bytes = mmap(NULL, f->layout.file_bytes, PROT_READ, MAP_SHARED, fd, 0);
        if (bytes == MAP_FAILED) st = gp_fail(err, ADVGP_EIO, "cannot map %s: %s", told, strerror(errno));
    }
    close(fd);
    const char *wrong = st == ADVGP_OK ? check_head(f, bytes) : NULL;
    if (wrong) {
        munmap(bytes, f->layout.file_bytes);
        st = gp_fail(err, ADVGP_EFILE, "%s: %s; pack the data again", told, wrong);
    }
    *out = bytes;
    return st;
}

static size_t view_bytes(const shard_file *f)
{
    return sizeof(view) + f->layout.n_blocks;
}

static void close_view(const shard_file *f, view *v)
{
    if (!v) return;
    munmap((void *)(uintptr_t)v->bytes, f->layout.file_bytes);
    munmap(v, view_bytes(f));
}

// Of threads that all find it unread each maps it, and one view stays.
static advgp_status open_view(const packed_shards *p, size_t k, view **out, advgp_error *err)
{
    shard_file *f = &p->files[k];
    void *bytes;
    const advgp_status st = map_file(p, k, &bytes, err);
    if (st != ADVGP_OK) return st;
    view *v = mmap(NULL, view_bytes(f), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *theirs = NULL;
    if (v == MAP_FAILED) {
        munmap(bytes, f->layout.file_bytes);
        return gp_fail(err, ADVGP_ENOMEM, "no memory for the %zu blocks of a shard", f->layout.n_blocks);
    }
    v->bytes = bytes;
    if (!atomic_compare_exchange_strong(&f->view, &theirs, v)) {
        close_view(f, v);
        v = theirs;
    }
    *out = v;
    return ADVGP_OK;
}

static advgp_status view_of(const packed_shards *p, size_t k, view **out, advgp_error *err)
{
    *out = atomic_load_explicit(&p->files[k].view, memory_order_acquire);
    return *out ? ADVGP_OK : open_view(p, k, out, err);
}

// ---- reading --------------------------------------------------------------------------------------------------------
size_t gp_packed_blocks(const gp_shards *s, size_t shard)
{
    return ((const packed_shards *)s)->files[shard].layout.n_blocks;
}

advgp_status gp_packed_block(const gp_shards *s, size_t shard, size_t block, gp_block *out, advgp_error *err)
{
    const packed_shards *p = (const packed_shards *)s;
    const gp_shard_layout *l = &p->files[shard].layout;
    view *v;
    const advgp_status st = view_of(p, shard, &v, err);
    if (st != ADVGP_OK) return st;
    const unsigned char *values = v->bytes + l->data_start + block * l->block_bytes;
    if (!atomic_load_explicit(&v->checked[block], memory_order_relaxed)) { // two threads may both check: no harm
        uint64_t wanted;
        memcpy(&wanted, v->bytes + sizeof(gp_shard_head) + block * sizeof wanted, sizeof wanted);
        if (XXH3_64bits(values, gp_shard_block_size(l, block)) != wanted) {
            char path[PATH_BYTES];
            name_file(p, p->dir, shard, path);
            return gp_fail(err, ADVGP_EFILE, "%s: block %zu of %zu is damaged (checksum); pack the data again", path,
                           block, l->n_blocks);
        }
        atomic_store_explicit(&v->checked[block], 1, memory_order_relaxed);
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
    size_t block_rows = ((const packed_shards *)s)->files[shard].layout.block_rows;
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
    for (size_t k = 0; p->files && k < s->n_train + 2; k++) close_view(&p->files[k], p->files[k].view);
    gp_free(p->files);
    gp_free(p->dir);
    gp_free(p->real);
    gp_shards_fini(s);
    gp_free(p);
}

static const gp_shards_ops packed_ops = {.name = "packed", .read = packed_read, .free = packed_free};

// ---- opening --------------------------------------------------------------------------------------------------------
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

static advgp_status plan_shards(packed_shards *p, const gp_manifest *m, advgp_error *err)
{
    const size_t n_columns = m->d + 1 + m->weighted, element = m->float64 ? 8 : 4;
    for (size_t k = 0; k < m->n_train + 2; k++) {
        shard_file *f = &p->files[k];
        char name[32];
        gp_shard_file_name(name, m->n_train, k);
        if (!gp_shard_plan(&f->layout, n_columns, element, m->block_rows, m->rows[k]))
            return gp_fail(err, ADVGP_EFILE, "%s: the manifest gives impossible sizes for %s", p->dir, name);
        f->head_hash = m->head_hash[k];
        p->base.rows[k] = m->rows[k];
        p->base.weight[k] = m->weight[k];
    }
    return ADVGP_OK;
}

static advgp_status find_folder(packed_shards *p, const char *dir, advgp_error *err)
{
    char real[PATH_MAX];
    if (strlen(dir) >= PATH_MAX || !realpath(dir, real))
        return gp_fail(err, ADVGP_EFILE, "cannot open %.200s: %s", dir,
                       strlen(dir) >= PATH_MAX ? "the name is too long" : strerror(errno));
    p->dir = gp_copy_text(dir);
    p->real = gp_copy_text(real);
    return p->dir && p->real ? ADVGP_OK : gp_fail(err, ADVGP_ENOMEM, "no memory for %s", dir);
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
    p->fingerprint = m.fingerprint;
    st = gp_shards_init(&p->base, &packed_ops, m.d, m.n_train, m.weighted, m.seed, err);
    if (st == ADVGP_OK) st = find_folder(p, dir, err);
    p->files = gp_alloc(m.n_train + 2, sizeof *p->files);
    if (st == ADVGP_OK && !p->files) st = gp_fail(err, ADVGP_ENOMEM, "no memory for %s", dir);
    if (st == ADVGP_OK) st = plan_shards(p, &m, err);
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

advgp_status gp_packed_check(const gp_shards *s, advgp_error *err)
{
    view *v;
    advgp_status st = ADVGP_OK;
    for (size_t k = 0; st == ADVGP_OK && k < s->n_train + 2; k++) st = view_of((const packed_shards *)s, k, &v, err);
    return st;
}

uint64_t gp_packed_fingerprint(const gp_shards *s)
{
    return s->ops == &packed_ops ? ((const packed_shards *)s)->fingerprint : 0;
}

const char *gp_packed_dir(const gp_shards *s)
{
    return s->ops == &packed_ops ? ((const packed_shards *)s)->real : NULL;
}
