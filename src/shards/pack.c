// pack.c: any source into packed shards. Rows are dealt to one loose file a shard as they come (row after row, appended
// in large pieces); then each loose file is mapped and written out in shuffled order, block by block. So the shuffle is
// uniform, out of core, and the memory taken does not depend on the number of rows.
#define _GNU_SOURCE // renameat2
#include "base/alloc.h"
#include "base/temporary.h"
#include "data/strings.h"
#include "shards/manifest.h"
#include "shards/packed.h"
#include "shards/shuffle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { BUFFERS_BYTES = 1 << 26, BUFFER_BYTES_MAX = 1 << 18, BLOCK_BYTES = 1 << 20, PATH_BYTES = 4096 };

typedef struct packer {
    gp_manifest m;
    const gp_schema *schema; // borrowed; m.schema points at it while the manifest is written
    char dir[PATH_BYTES];    // the folder being written, beside the final one
    int ticket;              // of that folder (temporary.h)
    size_t stride;           // elements a row
    size_t element, row_bytes;
    size_t dealt;
    bool apart; // the present rows are all held out
    size_t buffer_rows;
    unsigned char *buffers; // buffer_rows rows a shard
    size_t *buffered;       // rows in each
    unsigned char *block;   // one block in its final form
    uint64_t *hashes;       // of the blocks of one shard
    size_t hashes_capacity;
} packer;

static advgp_status name_file(const packer *p, const char *name, char out[PATH_BYTES], advgp_error *err)
{
    if (snprintf(out, PATH_BYTES, "%s/%s", p->dir, name) >= PATH_BYTES)
        return gp_fail(err, ADVGP_EINVAL, "%s: the name is too long", p->dir);
    return ADVGP_OK;
}

static advgp_status name_shard(const packer *p, const char *prefix, size_t shard, char out[PATH_BYTES],
                               advgp_error *err)
{
    char file[32], name[64];
    gp_shard_file_name(file, p->m.n_train, shard);
    snprintf(name, sizeof name, "%s%s", prefix, file);
    return name_file(p, name, out, err);
}

static advgp_status write_all(int fd, const void *bytes, size_t n, const char *path, advgp_error *err)
{
    const char *p = bytes;
    while (n) {
        ssize_t put = write(fd, p, n);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return gp_fail(err, ADVGP_EIO, "cannot write %s: %s", path, strerror(errno));
        p += put;
        n -= (size_t)put;
    }
    return ADVGP_OK;
}

// ---- dealing --------------------------------------------------------------------------------------------------------
// Opened for each piece: thousands of shards must not need thousands of descriptors.
static advgp_status flush_shard(packer *p, size_t shard, advgp_error *err)
{
    char path[PATH_BYTES];
    if (p->buffered[shard] == 0) return ADVGP_OK;
    advgp_status st = name_shard(p, "loose-", shard, path, err);
    if (st != ADVGP_OK) return st;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0) return gp_fail(err, ADVGP_EIO, "cannot write %s: %s", path, strerror(errno));
    st = write_all(fd, p->buffers + shard * p->buffer_rows * p->row_bytes, p->buffered[shard] * p->row_bytes, path,
                   err);
    close(fd);
    p->buffered[shard] = 0;
    return st;
}

static void narrow_row(const packer *p, unsigned char *out, const double *x, double y, double w)
{
    size_t d = p->m.d;
    if (p->element == 8) {
        double *row = (double *)(void *)out;
        memcpy(row, x, d * sizeof *row);
        row[d] = y;
        if (p->m.weighted) row[d + 1] = w;
    } else {
        float *restrict row = (float *)(void *)out;
        for (size_t j = 0; j < d; j++) row[j] = (float)x[j];
        row[d] = (float)y;
        if (p->m.weighted) row[d + 1] = (float)w;
    }
}

static advgp_status deal_rows(void *ctx, const gp_rows *rows, advgp_error *err)
{
    packer *p = ctx;
    gp_manifest *m = &p->m;
    for (size_t i = 0; i < rows->n; i++) {
        unsigned part = p->apart ? gp_split_half(m->seed, rows->source_row[i]) : rows->part[i];
        size_t shard = part == GP_TRAIN ? gp_shuffle_deal(m->seed, p->dealt++, m->n_train)
                                        : m->n_train + (part == GP_CALIBRATE);
        unsigned char *row = p->buffers + (shard * p->buffer_rows + p->buffered[shard]++) * p->row_bytes;
        narrow_row(p, row, rows->X + i * rows->d, rows->y[i], rows->w[i]);
        m->rows[shard]++;
        m->weight[shard] += m->weighted ? rows->w[i] : 1;
        if (p->buffered[shard] < p->buffer_rows) continue;
        advgp_status st = flush_shard(p, shard, err);
        if (st != ADVGP_OK) return st;
    }
    return ADVGP_OK;
}

// ---- one shard ------------------------------------------------------------------------------------------------------
// Rows in shuffled order from the loose file, sixteen at a time: first their places, so that the memory is already on
// its way, then the copy, a full run of every column.
static void fill_float(const packer *p, const gp_shuffle *order, const float *loose, size_t first, size_t n, size_t run)
{
    float *restrict block = (float *)(void *)p->block;
    if (!loose) return; // no rows
    for (size_t i = 0; i < n; i += GP_RUN_VALUES) {
        size_t m = n - i < GP_RUN_VALUES ? n - i : GP_RUN_VALUES;
        const float *rows[GP_RUN_VALUES];
        for (size_t k = 0; k < m; k++) {
            rows[k] = loose + gp_shuffle_at(order, first + i + k) * p->stride;
            __builtin_prefetch(rows[k]);
        }
        for (size_t j = 0; j < p->stride; j++)
            for (size_t k = 0; k < m; k++) block[j * run + i + k] = rows[k][j];
    }
}

static void fill_double(const packer *p, const gp_shuffle *order, const double *loose, size_t first, size_t n,
                        size_t run)
{
    double *restrict block = (double *)(void *)p->block;
    if (!loose) return; // no rows
    for (size_t i = 0; i < n; i++) {
        const double *row = loose + gp_shuffle_at(order, first + i) * p->stride;
        for (size_t j = 0; j < p->stride; j++) block[j * run + i] = row[j];
    }
}

static advgp_status write_blocks(packer *p, size_t shard, const void *loose, const gp_shard_layout *l, int fd,
                                 const char *path, advgp_error *err)
{
    gp_shuffle order = gp_shuffle_new(gp_shard_key(p->m.seed, shard), l->n_rows);
    advgp_status st = ADVGP_OK;
    for (size_t b = 0; st == ADVGP_OK && b < l->n_blocks; b++) {
        size_t n = gp_shard_block_rows(l, b), run = gp_shard_run(l, b), bytes = gp_shard_block_size(l, b);
        if (run != n) memset(p->block, 0, bytes); // the padding
        if (l->element == 8)
            fill_double(p, &order, loose, b * l->block_rows, n, run);
        else
            fill_float(p, &order, loose, b * l->block_rows, n, run);
        p->hashes[b] = XXH3_64bits(p->block, bytes);
        st = write_all(fd, p->block, bytes, path, err);
    }
    return st;
}

// The table of hashes with the zeros behind it, up to the first block.
static size_t table_bytes(const gp_shard_layout *l)
{
    return l->data_start - sizeof(gp_shard_head);
}

static advgp_status make_hashes(packer *p, const gp_shard_layout *l, advgp_error *err)
{
    size_t n = table_bytes(l) / sizeof *p->hashes;
    if (n > p->hashes_capacity) {
        gp_free(p->hashes);
        p->hashes = gp_alloc(n, sizeof *p->hashes);
        p->hashes_capacity = p->hashes ? n : 0;
        if (!p->hashes) return gp_no_memory(err);
    }
    if (n) memset(p->hashes, 0, n * sizeof *p->hashes);
    return ADVGP_OK;
}

static advgp_status write_head(packer *p, size_t shard, const gp_shard_layout *l, int fd, const char *path,
                               advgp_error *err)
{
    gp_shard_head head = {.magic = {'A', 'D', 'V', 'G', 'P', 'S', 'H', '1'},
                          .element_bytes = (uint32_t)l->element,
                          .n_columns = (uint32_t)l->n_columns,
                          .n_rows = l->n_rows,
                          .block_rows = (uint32_t)l->block_rows,
                          .n_blocks = (uint32_t)l->n_blocks,
                          .table_hash = XXH3_64bits(p->hashes, table_bytes(l))};
    head.head_hash = XXH3_64bits(&head, offsetof(gp_shard_head, head_hash));
    p->m.head_hash[shard] = head.head_hash;
    if (lseek(fd, 0, SEEK_SET) != 0) return gp_fail(err, ADVGP_EIO, "cannot write %s: %s", path, strerror(errno));
    advgp_status st = write_all(fd, &head, sizeof head, path, err);
    if (st == ADVGP_OK) st = write_all(fd, p->hashes, table_bytes(l), path, err);
    if (st == ADVGP_OK && ftruncate(fd, (off_t)l->file_bytes) != 0)
        st = gp_fail(err, ADVGP_EIO, "cannot write %s: %s", path, strerror(errno));
    return st;
}

static advgp_status map_loose(const char *path, size_t bytes, void **out, advgp_error *err)
{
    *out = NULL;
    if (bytes == 0) return ADVGP_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *map = fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0) close(fd);
    if (map == MAP_FAILED) return gp_fail(err, ADVGP_EIO, "cannot map %s: %s", path, strerror(errno));
    *out = map;
    return ADVGP_OK;
}

static advgp_status finish_shard(packer *p, size_t shard, advgp_error *err)
{
    char from[PATH_BYTES], path[PATH_BYTES];
    gp_shard_layout l;
    void *loose = NULL;
    int fd = -1;
    size_t bytes = p->m.rows[shard] * p->row_bytes;
    advgp_status st = flush_shard(p, shard, err);
    if (st == ADVGP_OK && !gp_shard_plan(&l, p->stride, p->element, p->m.block_rows, p->m.rows[shard]))
        st = gp_fail(err, ADVGP_EINVAL, "a shard of %zu rows and %zu columns is too large; take more shards",
                     p->m.rows[shard], p->stride);
    if (st == ADVGP_OK) st = make_hashes(p, &l, err);
    if (st == ADVGP_OK) st = name_shard(p, "loose-", shard, from, err);
    if (st == ADVGP_OK) st = name_shard(p, "", shard, path, err);
    if (st == ADVGP_OK) st = map_loose(from, bytes, &loose, err);
    if (st != ADVGP_OK) return st;
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 || lseek(fd, (off_t)l.data_start, SEEK_SET) < 0)
        st = gp_fail(err, ADVGP_EIO, "cannot write %s: %s", path, strerror(errno));
    if (st == ADVGP_OK) st = write_blocks(p, shard, loose, &l, fd, path, err);
    if (st == ADVGP_OK) st = write_head(p, shard, &l, fd, path, err);
    if (fd >= 0) close(fd);
    if (loose) munmap(loose, bytes);
    if (bytes) unlink(from);
    return st;
}

// ---- the folder -----------------------------------------------------------------------------------------------------
static void remove_folder(const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *entry; d && (entry = readdir(d));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) unlinkat(dirfd(d), entry->d_name, 0);
    if (d) closedir(d);
    rmdir(dir);
}

// Is a file of this name written here? (gp_shard_file_name)
static bool is_ours(const char *name)
{
    static const char *const names[] = {".", "..", "manifest.json", "stop.bin", "calibrate.bin"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    const size_t n = sizeof "shard-" - 1, digits = strncmp(name, "shard-", n) == 0 ? strspn(name + n, "0123456789") : 0;
    return digits && strcmp(name + n + digits, ".bin") == 0;
}

// Something in the folder that packing would not have written, or an empty text.
static void find_foreign(const char *dir, char name[256])
{
    DIR *d = opendir(dir);
    name[0] = 0;
    for (struct dirent *entry; d && !name[0] && (entry = readdir(d));)
        if (!is_ours(entry->d_name)) snprintf(name, 256, "%s", entry->d_name);
    if (d) closedir(d);
}

static bool is_empty_folder(const char *dir)
{
    DIR *d = opendir(dir);
    size_t n = 0;
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return d && n <= 2; // "." and ".."
}

// Replacing is for packed data only: a slip of the pen must not cost anyone a folder of photographs, nor what somebody
// has put beside the shards.
static advgp_status check_target(const char *dir, advgp_error *err)
{
    struct stat info;
    char foreign[256];
    if (lstat(dir, &info) != 0) return ADVGP_OK;
    if (S_ISLNK(info.st_mode)) return gp_fail(err, ADVGP_EINVAL, "%s is a link; name the folder itself", dir);
    if (S_ISDIR(info.st_mode) && is_empty_folder(dir)) return ADVGP_OK;
    if (!gp_packed_is(dir))
        return gp_fail(err, ADVGP_EINVAL, "%s exists and is no packed data; choose another name or remove it", dir);
    find_foreign(dir, foreign);
    if (!foreign[0]) return ADVGP_OK;
    return gp_fail(err, ADVGP_EINVAL, "%s would be replaced, and %s in it is no part of packed data; move it away", dir,
                   foreign);
}

static advgp_status sync_folder(const char *dir, advgp_error *err)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && fsync(fd) == 0;
    if (!ok) (void)gp_fail(err, ADVGP_EIO, "cannot sync %s: %s", dir, strerror(errno));
    if (fd >= 0) close(fd);
    return ok ? ADVGP_OK : ADVGP_EIO;
}

// After all are written: the kernel has been writing the first ones while the last were made.
static advgp_status sync_shards(const packer *p, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    for (size_t k = 0; st == ADVGP_OK && k < p->m.n_train + 2; k++) {
        char path[PATH_BYTES];
        st = name_shard(p, "", k, path, err);
        int fd = st == ADVGP_OK ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (st == ADVGP_OK && (fd < 0 || fsync(fd) != 0))
            st = gp_fail(err, ADVGP_EIO, "cannot sync %s: %s", path, strerror(errno));
        if (fd >= 0) close(fd);
    }
    return st;
}

static advgp_status move_in(const packer *p, const char *dir, advgp_error *err)
{
    char old[PATH_BYTES + 8];
    bool replaced = false;
    snprintf(old, sizeof old, "%s.old", p->dir);
    if (rename(p->dir, dir) == 0) return ADVGP_OK;                          // nothing there, or an empty folder
    if (renameat2(AT_FDCWD, p->dir, AT_FDCWD, dir, RENAME_EXCHANGE) == 0) { // at no moment is there none
        remove_folder(p->dir);
        return ADVGP_OK;
    }
    replaced = rename(dir, old) == 0;
    if (replaced && rename(p->dir, dir) == 0) {
        remove_folder(old);
        return ADVGP_OK;
    }
    advgp_status st = gp_fail(err, ADVGP_EIO, "cannot put the packed data at %s: %s", dir, strerror(errno));
    if (replaced) rename(old, dir);
    return st;
}

static size_t choose_block_rows(size_t row_bytes)
{
    size_t rows = GP_BLOCK_ROWS_MAX;
    while (rows > GP_RUN_VALUES && rows * row_bytes > BLOCK_BYTES) rows /= 2;
    return rows;
}

static advgp_status packer_init(packer *p, const gp_schema *schema, const gp_split *split, const gp_pack_options *o,
                                advgp_error *err)
{
    size_t n_shards = o->n_shards ? o->n_shards : gp_shards_suggest(split ? split->n_rows : schema->n_rows);
    if (n_shards > GP_SHARDS_MAX)
        return gp_fail(err, ADVGP_EINVAL, "%zu shards: 1 to %d are possible", n_shards, GP_SHARDS_MAX);
    gp_manifest *m = &p->m;
    advgp_status st = gp_manifest_init(m, n_shards, err);
    if (st != ADVGP_OK) return st;
    m->d = schema->d;
    m->weighted = schema->weights != NULL;
    m->float64 = o->float64;
    m->seed = o->seed;
    m->sql = o->sql ? gp_copy_text(o->sql) : NULL;
    m->validation = o->validation ? gp_copy_text(o->validation) : NULL;
    p->schema = schema;
    p->stride = m->d + 1 + m->weighted;
    p->element = o->float64 ? 8 : 4;
    p->row_bytes = p->stride * p->element;
    m->block_rows = choose_block_rows(p->row_bytes);
    size_t bytes = BUFFERS_BYTES / (n_shards + 2);
    bytes = bytes > BUFFER_BYTES_MAX ? BUFFER_BYTES_MAX : bytes;
    p->buffer_rows = bytes / p->row_bytes ? bytes / p->row_bytes : 1;
    p->buffers = gp_alloc(n_shards + 2, p->buffer_rows * p->row_bytes);
    p->buffered = gp_alloc(n_shards + 2, sizeof *p->buffered);
    p->block = gp_alloc(m->block_rows, p->row_bytes);
    bool ok = p->buffers && p->buffered && p->block && (!o->sql || m->sql) && (!o->validation || m->validation);
    return ok ? ADVGP_OK : gp_no_memory(err);
}

static void packer_fini(packer *p)
{
    p->m.schema = NULL; // the caller's
    gp_manifest_fini(&p->m);
    gp_free(p->buffers);
    gp_free(p->buffered);
    gp_free(p->block);
    gp_free(p->hashes);
}

static advgp_status make_folder(packer *p, const char *dir, advgp_error *err)
{
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/') n--;
    if (n == 0 || n > PATH_BYTES / 2) return gp_fail(err, ADVGP_EINVAL, "'%s' cannot be the name of a folder", dir);
    snprintf(p->dir, sizeof p->dir, "%.*s.tmp-%ld", (int)n, dir, (long)getpid());
    p->ticket = gp_temporary_add(p->dir);
    if (mkdir(p->dir, 0777) == 0) return ADVGP_OK;
    gp_temporary_drop(p->ticket);
    p->ticket = GP_NOT_TEMPORARY;
    advgp_status st = gp_fail(err, ADVGP_EIO, "cannot make the folder %s: %s", p->dir, strerror(errno));
    p->dir[0] = 0;
    return st;
}

static advgp_status finish(packer *p, gp_progress progress, void *ctx, size_t rows, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    char path[PATH_BYTES];
    for (size_t k = 0; st == ADVGP_OK && k < p->m.n_train + 2; k++) {
        st = finish_shard(p, k, err);
        if (st == ADVGP_OK && progress && progress(ctx, rows) != 0)
            st = gp_fail(err, ADVGP_ESTOPPED, "stopped while packing");
    }
    if (st == ADVGP_OK) st = sync_shards(p, err);
    if (st == ADVGP_OK) st = name_file(p, "manifest.json", path, err);
    p->m.schema = (gp_schema *)(uintptr_t)p->schema; // only read by the writer
    if (st == ADVGP_OK) st = gp_manifest_write(&p->m, path, err);
    p->m.schema = NULL;
    return st == ADVGP_OK ? sync_folder(p->dir, err) : st;
}

static advgp_status deal_held_out(packer *p, gp_source *source, gp_notes *notes, gp_progress progress, void *ctx,
                                  advgp_error *err)
{
    gp_encoder *encoder = NULL;
    p->apart = true;
    advgp_status st = gp_encoder_new(p->schema, source, GP_ENCODE_EVALUATE, NULL, &encoder, err);
    if (st == ADVGP_OK) st = gp_encode_all(encoder, source, deal_rows, p, progress, ctx, err);
    if (st == ADVGP_OK) st = gp_encoder_notes(encoder, notes, err);
    gp_encoder_free(encoder);
    return st;
}

advgp_status gp_pack_try(const char *dir, advgp_error *err)
{
    packer *p = gp_alloc(1, sizeof *p);
    if (!p) return gp_no_memory(err);
    advgp_status st = check_target(dir, err);
    if (st == ADVGP_OK) st = make_folder(p, dir, err);
    if (st == ADVGP_OK) remove_folder(p->dir);
    gp_temporary_drop(p->ticket);
    gp_free(p);
    return st;
}

advgp_status gp_pack(gp_source *source, const gp_schema *schema, const gp_split *split, const gp_pack_options *options,
                     gp_notes *notes, gp_progress progress, void *ctx, advgp_error *err)
{
    packer *p = gp_alloc(1, sizeof *p);
    gp_encoder *encoder = NULL;
    if (!p) return gp_no_memory(err);
    advgp_status st = check_target(options->dir, err);
    if (st == ADVGP_OK) st = packer_init(p, schema, split, options, err);
    if (st == ADVGP_OK) st = gp_encoder_new(schema, source, GP_ENCODE_TRAIN, split, &encoder, err);
    if (st == ADVGP_OK) st = make_folder(p, options->dir, err);
    if (st == ADVGP_OK) st = gp_encode_all(encoder, source, deal_rows, p, progress, ctx, err);
    if (st == ADVGP_OK && options->held_out) st = deal_held_out(p, options->held_out, notes, progress, ctx, err);
    if (st == ADVGP_OK) st = finish(p, progress, ctx, gp_encoder_counts(encoder).n_read, err);
    if (st == ADVGP_OK) st = gp_encoder_notes(encoder, notes, err);
    if (st == ADVGP_OK) st = move_in(p, options->dir, err);
    if (st != ADVGP_OK && p->dir[0]) remove_folder(p->dir);
    gp_temporary_drop(p->ticket);
    gp_encoder_free(encoder);
    packer_fini(p);
    gp_free(p);
    return st;
}
