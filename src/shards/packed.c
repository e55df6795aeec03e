// packed.c: packed shards, read by pread. A shard's file is opened when it is first read from, and a block's checksum
// is asked when the block is; after that a read is a copy of the columns' stretches and their transposition. They are
// not mapped: a file that is cut off during a run, or a disk that fails, would be a signal, and here it is a sentence.
#define _XOPEN_SOURCE           700 // realpath
#define _DEFAULT_SOURCE             // MAP_ANONYMOUS
#define XXH_STATIC_LINKING_ONLY     // the state of a hash on the stack
#include "shards/packed.h"

#include "base/alloc.h"
#include "base/machine.h"
#include "data/strings.h"
#include "shards/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

// A file whose head was checked. It lies in pages of its own: reading must not touch the heap.
typedef struct view {
    int fd;       // -1: opened for every read, since too many are open (descriptors_to_keep)
    dev_t device; // which file it was
    ino_t inode;
    atomic_uchar *checked; // one a block
    uint64_t hashes[];     // likewise
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
    shard_file *files;    // n_train + 2
    atomic_long *to_keep; // descriptors that may still be kept
} packed_shards;

enum { PATH_BYTES = PATH_MAX + 32, PIECE_BYTES = 1 << 16, TILE_ROWS = 1024, TILE_COLUMNS = 8 };

// A quarter of those that the process may have: the others are for connections and files.
static long descriptors_to_keep(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    return limit.rlim_cur / 4 > GP_SHARDS_MAX ? GP_SHARDS_MAX : (long)(limit.rlim_cur / 4);
}

// ---- a shard's file -------------------------------------------------------------------------------------------------
static void name_file(const packed_shards *p, const char *dir, size_t k, char out[PATH_BYTES])
{
    char name[32];
    gp_shard_file_name(name, p->base.n_train, k);
    (void)snprintf(out, PATH_BYTES, "%s/%s", dir, name);
}

static advgp_status complain(const packed_shards *p, size_t k, const char *what, advgp_error *err)
{
    char told[PATH_BYTES];
    name_file(p, p->dir, k, told);
    return gp_fail(err, ADVGP_EFILE, "%s: %s; pack the data again", told, what);
}

// Bytes of an open shard, all of them.
static advgp_status load(const packed_shards *p, size_t k, int fd, size_t at, size_t n, void *out, advgp_error *err)
{
    for (size_t done = 0; done < n;) {
        const ssize_t got = pread(fd, (char *)out + done, n - done, (off_t)(at + done));
        if (got == 0) return complain(p, k, "it was cut off while it was read", err);
        if (got < 0 && errno != EINTR) return complain(p, k, strerror(errno), err);
        if (got > 0) done += (size_t)got;
    }
    return ADVGP_OK;
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
    return NULL;
}

// The hashes of the blocks, and the zeros behind them.
static advgp_status load_table(const packed_shards *p, size_t k, int fd, uint64_t wanted, uint64_t *hashes,
                               advgp_error *err)
{
    const gp_shard_layout *l = &p->files[k].layout;
    const size_t bytes = l->n_blocks * sizeof *hashes, padding = l->data_start - sizeof(gp_shard_head) - bytes;
    unsigned char zeros[GP_SHARD_ALIGN];
    XXH3_state_t hash;
    advgp_status st = load(p, k, fd, sizeof(gp_shard_head), bytes, hashes, err);
    if (st == ADVGP_OK) st = load(p, k, fd, sizeof(gp_shard_head) + bytes, padding, zeros, err);
    if (st != ADVGP_OK) return st;
    XXH3_64bits_reset(&hash);
    XXH3_64bits_update(&hash, hashes, bytes);
    XXH3_64bits_update(&hash, zeros, padding);
    return XXH3_64bits_digest(&hash) == wanted ? ADVGP_OK : complain(p, k, "its table of hashes is damaged", err);
}

// Opens the file and sees that it is whole; `known`, if not NULL, is the file that it was.
static advgp_status open_file(const packed_shards *p, size_t k, const view *known, struct stat *info, int *out,
                              advgp_error *err)
{
    const shard_file *f = &p->files[k];
    char path[PATH_BYTES], told[PATH_BYTES];
    name_file(p, p->real, k, path);
    const int fd = gp_open(path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return complain(p, k, strerror(errno), err);
    advgp_status st = ADVGP_OK;
    if (fstat(fd, info) != 0 || !S_ISREG(info->st_mode) || (uint64_t)info->st_size != f->layout.file_bytes) {
        name_file(p, p->dir, k, told);
        st = gp_fail(err, ADVGP_EFILE,
                     "%s has not the %zu bytes it should have: it is cut off or foreign; pack the data again", told,
                     f->layout.file_bytes);
    } else if (known && (info->st_dev != known->device || info->st_ino != known->inode)) {
        st = complain(p, k, "it was replaced while it was read", err);
    }
    if (st == ADVGP_OK)
        *out = fd;
    else
        close(fd);
    return st;
}

static size_t view_bytes(const shard_file *f)
{
    return sizeof(view) + f->layout.n_blocks * (sizeof(uint64_t) + sizeof(atomic_uchar));
}

static void close_view(const shard_file *f, view *v)
{
    if (!v) return;
    if (v->fd >= 0) close(v->fd);
    munmap(v, view_bytes(f));
}

static advgp_status check_file(const packed_shards *p, size_t k, view *v, advgp_error *err)
{
    gp_shard_head head;
    advgp_status st = load(p, k, v->fd, 0, sizeof head, &head, err);
    const char *wrong = st == ADVGP_OK ? check_head(&p->files[k], &head) : NULL;
    if (wrong) return complain(p, k, wrong, err);
    return st == ADVGP_OK ? load_table(p, k, v->fd, head.table_hash, v->hashes, err) : st;
}

// Of threads that all find it unread each opens it, and one view stays.
static advgp_status open_view(const packed_shards *p, size_t k, view **out, advgp_error *err)
{
    shard_file *f = &p->files[k];
    struct stat info;
    int fd;
    advgp_status st = open_file(p, k, NULL, &info, &fd, err);
    if (st != ADVGP_OK) return st;
    view *v = mmap(NULL, view_bytes(f), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *theirs = NULL;
    if (v == MAP_FAILED) {
        close(fd);
        return gp_no_memory(err);
    }
    v->fd = fd, v->device = info.st_dev, v->inode = info.st_ino;
    v->checked = (atomic_uchar *)(v->hashes + f->layout.n_blocks);
    st = check_file(p, k, v, err);
    const bool keep = st == ADVGP_OK && atomic_fetch_sub(p->to_keep, 1) > 0;
    if (st == ADVGP_OK && !keep) {
        close(v->fd);
        v->fd = -1;
    }
    if (st == ADVGP_OK && atomic_compare_exchange_strong(&f->view, &theirs, v)) {
        *out = v;
        return st;
    }
    if (keep) atomic_fetch_add(p->to_keep, 1);
    close_view(f, v);
    *out = theirs;
    return st;
}

static advgp_status view_of(const packed_shards *p, size_t k, view **out, advgp_error *err)
{
    *out = atomic_load_explicit(&p->files[k].view, memory_order_acquire);
    return *out ? ADVGP_OK : open_view(p, k, out, err);
}

// ---- reading --------------------------------------------------------------------------------------------------------

// A shard that is being read.
typedef struct opened {
    const packed_shards *p;
    const gp_shard_layout *l;
    size_t k;
    view *view;
    int fd;
} opened;

static size_t block_start(const opened *o, size_t block)
{
    return o->l->data_start + block * o->l->block_bytes;
}

static advgp_status check_block(const opened *o, size_t block, advgp_error *err)
{
    if (atomic_load_explicit(&o->view->checked[block], memory_order_relaxed)) return ADVGP_OK;
    unsigned char piece[PIECE_BYTES]; // two threads may both check: no harm
    XXH3_state_t hash;
    XXH3_64bits_reset(&hash);
    const size_t bytes = gp_shard_block_size(o->l, block);
    for (size_t done = 0; done < bytes;) {
        const size_t n = bytes - done < sizeof piece ? bytes - done : sizeof piece;
        const advgp_status st = load(o->p, o->k, o->fd, block_start(o, block) + done, n, piece, err);
        if (st != ADVGP_OK) return st;
        XXH3_64bits_update(&hash, piece, n);
        done += n;
    }
    if (XXH3_64bits_digest(&hash) != o->view->hashes[block]) {
        char path[PATH_BYTES];
        name_file(o->p, o->p->dir, o->k, path);
        return gp_fail(err, ADVGP_EFILE, "%s: block %zu of %zu is damaged (checksum); pack the data again", path, block,
                       o->l->n_blocks);
    }
    atomic_store_explicit(&o->view->checked[block], 1, memory_order_relaxed);
    return ADVGP_OK;
}

// Where rows are in a shard: n from `first` of a block, at most TILE_ROWS.
typedef struct tile {
    size_t block, first, n;
} tile;

// A stretch of one column, as the file has it.
static advgp_status load_column(const opened *o, tile t, size_t column, void *out, advgp_error *err)
{
    const size_t at = column * gp_shard_run(o->l, t.block) + t.first;
    return load(o->p, o->k, o->fd, block_start(o, t.block) + at * o->l->element, t.n * o->l->element, out, err);
}

// Columns of a tile side by side: a cache line of a row is written at once.
typedef union columns {
    float f[TILE_COLUMNS][TILE_ROWS];
    double d[TILE_COLUMNS][TILE_ROWS];
} columns;

static void lay_rows(const columns *c, bool float64, size_t n_columns, size_t n, size_t stride, double *restrict X)
{
    if (float64) {
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n_columns; j++) X[i * stride + j] = c->d[j][i];
    } else {
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n_columns; j++) X[i * stride + j] = c->f[j][i];
    }
}

// `n` columns from `first` into rows of `stride` numbers.
static advgp_status read_columns(const opened *o, tile t, size_t first, size_t n, size_t stride, double *X,
                                 advgp_error *err)
{
    columns c;
    const bool float64 = o->l->element == 8;
    for (size_t done = 0; done < n;) {
        const size_t m = n - done < TILE_COLUMNS ? n - done : TILE_COLUMNS;
        advgp_status st = ADVGP_OK;
        for (size_t j = 0; st == ADVGP_OK && j < m; j++)
            st = load_column(o, t, first + done + j, float64 ? (void *)c.d[j] : (void *)c.f[j], err);
        if (st != ADVGP_OK) return st;
        lay_rows(&c, float64, m, t.n, stride, X + done);
        done += m;
    }
    return ADVGP_OK;
}

static advgp_status read_rows(const opened *o, size_t first, size_t n, double *X, double *y, double *w,
                              advgp_error *err)
{
    const gp_shards *s = &o->p->base;
    const size_t d = s->d, block_rows = o->l->block_rows;
    for (size_t done = 0; done < n;) {
        tile t = {(first + done) / block_rows, (first + done) % block_rows, n - done};
        const size_t left = gp_shard_block_rows(o->l, t.block) - t.first;
        if (t.n > left) t.n = left;
        if (t.n > TILE_ROWS) t.n = TILE_ROWS;
        advgp_status st = check_block(o, t.block, err);
        if (st == ADVGP_OK) st = read_columns(o, t, 0, d, d, X + done * d, err);
        if (st == ADVGP_OK) st = read_columns(o, t, d, 1, 1, y + done, err);
        if (st == ADVGP_OK && w && s->weighted) st = read_columns(o, t, d + 1, 1, 1, w + done, err);
        if (st != ADVGP_OK) return st;
        for (size_t i = 0; w && !s->weighted && i < t.n; i++) w[done + i] = 1;
        done += t.n;
    }
    return ADVGP_OK;
}

static advgp_status packed_read(const gp_shards *s, size_t shard, size_t first, size_t n, double *X, double *y,
                                double *w, advgp_error *err)
{
    opened o = {.p = (const packed_shards *)s, .k = shard};
    struct stat info;
    o.l = &o.p->files[shard].layout;
    advgp_status st = view_of(o.p, shard, &o.view, err);
    if (st != ADVGP_OK) return st;
    o.fd = o.view->fd;
    if (o.fd < 0) st = open_file(o.p, shard, o.view, &info, &o.fd, err);
    if (st == ADVGP_OK) st = read_rows(&o, first, n, X, y, w, err);
    if (o.view->fd < 0 && o.fd >= 0) close(o.fd);
    return st;
}

static void packed_free(gp_shards *s)
{
    packed_shards *p = (packed_shards *)s;
    for (size_t k = 0; p->files && k < s->n_train + 2; k++) close_view(&p->files[k], p->files[k].view);
    gp_free(p->files);
    gp_free(p->to_keep);
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
    return p->dir && p->real ? ADVGP_OK : gp_no_memory(err);
}

advgp_status gp_packed_open(const char *dir, gp_shards **out, gp_schema **schema, char **sql, advgp_error *err)
{
    *out = NULL;
    gp_manifest m = {0};
    gp_buffer path = {0};
    gp_buffer_add(&path, "%s/manifest.json", dir);
    advgp_status st = path.failed ? gp_no_memory(err) : ADVGP_OK;
    if (st == ADVGP_OK) st = gp_manifest_read(path.p, &m, err);
    gp_buffer_fini(&path);
    if (st != ADVGP_OK) return st;
    packed_shards *p = gp_alloc(1, sizeof *p);
    if (!p) {
        st = gp_no_memory(err);
        goto done;
    }
    p->base.ops = &packed_ops;
    p->fingerprint = m.fingerprint;
    st = gp_shards_init(&p->base, &packed_ops, m.d, m.n_train, m.weighted, m.seed, err);
    if (st == ADVGP_OK) st = find_folder(p, dir, err);
    p->files = gp_alloc(m.n_train + 2, sizeof *p->files);
    p->to_keep = gp_alloc(1, sizeof *p->to_keep);
    if (st == ADVGP_OK && !(p->files && p->to_keep)) st = gp_no_memory(err);
    if (st == ADVGP_OK) atomic_init(p->to_keep, descriptors_to_keep());
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
