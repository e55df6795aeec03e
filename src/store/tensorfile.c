// tensorfile.c: safetensors on disk: entries that fit together, bytes in and out, the checksum.
#include "store/tensorfile.h"

#include "base/alloc.h"
#include "base/status.h"
#include "store/atomicfile.h"
#include "store/tensorheader.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_STATIC_LINKING_ONLY // a state on the stack, not on the library's own heap
#include <xxhash.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are written as they lie in memory");

enum { HEADER_MOST = 100 * 1000 * 1000 }; // bytes; what other readers of the format allow

static const struct {
    const char *name;
    size_t size;
} dtypes[GP_N_DTYPES] = {[GP_F64] = {"F64", 8}, [GP_F32] = {"F32", 4}, [GP_I64] = {"I64", 8}, [GP_U64] = {"U64", 8}};

const char *gp_dtype_name(gp_dtype dtype)
{
    return (unsigned)dtype < GP_N_DTYPES ? dtypes[dtype].name : "?";
}

size_t gp_dtype_size(gp_dtype dtype)
{
    return (unsigned)dtype < GP_N_DTYPES ? dtypes[dtype].size : 0;
}

size_t gp_tensor_count(const gp_tensor *tensor)
{
    size_t n = 1;
    for (size_t i = 0; i < tensor->rank; i++) n *= tensor->shape[i];
    return n;
}

static size_t tensor_bytes(const gp_tensor *tensor)
{
    return gp_tensor_count(tensor) * gp_dtype_size(tensor->dtype);
}

// ---- writing --------------------------------------------------------------------------------------------------------

// Visits tensors in the order of a file: wide numbers first, so that all are aligned; otherwise as given.
static const gp_tensor *in_file_order(const gp_tensor *tensors, size_t n, size_t *at)
{
    for (; *at < 2 * n; (*at)++) {
        const gp_tensor *tensor = &tensors[*at < n ? *at : *at - n];
        bool wide = gp_dtype_size(tensor->dtype) == 8;
        if (wide == (*at < n)) {
            (*at)++;
            return tensor;
        }
    }
    return NULL;
}

// The bytes of a tensor, in one piece or in as many as its first dimension has.
typedef struct piece {
    const void *data;
    size_t bytes;
} piece;

static size_t n_pieces(const gp_tensor *tensor)
{
    return tensor->parts ? tensor->shape[0] : 1;
}

static piece piece_of(const gp_tensor *tensor, size_t i)
{
    if (!tensor->parts) return (piece){tensor->data, tensor_bytes(tensor)};
    return (piece){tensor->parts[i], tensor_bytes(tensor) / tensor->shape[0]};
}

uint64_t gp_tensors_xxh3(const gp_tensor *tensors, size_t n)
{
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    const gp_tensor *tensor;
    for (size_t at = 0; (tensor = in_file_order(tensors, n, &at));)
        for (size_t i = 0; i < n_pieces(tensor); i++) {
            const piece p = piece_of(tensor, i);
            XXH3_64bits_update(&state, p.data, p.bytes);
        }
    return XXH3_64bits_digest(&state);
}

static advgp_status check_tensor(const char *path, const gp_tensor *tensors, size_t i, advgp_error *err)
{
    const gp_tensor *tensor = &tensors[i];
    if (!tensor->name || !gp_text_is_utf8(tensor->name, strlen(tensor->name)) ||
        strcmp(tensor->name, "__metadata__") == 0)
        return gp_fail(err, ADVGP_EINVAL, "%.200s: tensor %zu has no usable name", path, i);
    if (tensor->rank > GP_TENSOR_RANK || (unsigned)tensor->dtype >= GP_N_DTYPES)
        return gp_fail(err, ADVGP_EINVAL, "%.200s: tensor '%.80s' has no known type or shape", path, tensor->name);
    if (!tensor->data && !(tensor->parts && tensor->rank) && gp_tensor_count(tensor))
        return gp_fail(err, ADVGP_EINVAL, "%.200s: tensor '%.80s' has no data", path, tensor->name);
    for (size_t k = 0; k < i; k++)
        if (strcmp(tensors[k].name, tensor->name) == 0)
            return gp_fail(err, ADVGP_EINVAL, "%.200s: two tensors are named '%.80s'", path, tensor->name);
    return ADVGP_OK;
}

static void make_header(const gp_tensor *tensors, size_t n, const char *metadata, gp_buffer *header)
{
    uint64_t begin = 0;
    const gp_tensor *tensor;
    gp_tensor_header_begin(header, metadata);
    for (size_t at = 0; (tensor = in_file_order(tensors, n, &at));) {
        uint64_t end = begin + tensor_bytes(tensor);
        gp_tensor_header_add(header, tensor, begin, end);
        begin = end;
    }
    gp_tensor_header_end(header);
}

static advgp_status write_all(gp_atomicfile *file, const gp_buffer *header, const gp_tensor *tensors, size_t n,
                              advgp_error *err)
{
    uint64_t length = header->n;
    advgp_status st = gp_atomicfile_write(file, &length, sizeof length, err);
    if (st == ADVGP_OK) st = gp_atomicfile_write(file, header->p, header->n, err);
    const gp_tensor *tensor;
    for (size_t at = 0; st == ADVGP_OK && (tensor = in_file_order(tensors, n, &at));)
        for (size_t i = 0; st == ADVGP_OK && i < n_pieces(tensor); i++) {
            const piece p = piece_of(tensor, i);
            st = gp_atomicfile_write(file, p.data, p.bytes, err);
        }
    return st;
}

static advgp_status write_file(const char *path, bool private, const gp_buffer *header, const gp_tensor *tensors,
                               size_t n, advgp_error *err)
{
    gp_atomicfile *file;
    advgp_status st = private ? gp_atomicfile_open_private(path, &file, err) : gp_atomicfile_open(path, &file, err);
    if (st != ADVGP_OK) return st;
    st = write_all(file, header, tensors, n, err);
    if (st == ADVGP_OK) return gp_atomicfile_commit(file, err);
    gp_atomicfile_abandon(file);
    return st;
}

static advgp_status check_and_write(const char *path, bool private, const gp_tensor *tensors, size_t n,
                                    const char *metadata, advgp_error *err)
{
    if (!path || (n && !tensors)) return gp_fail(err, ADVGP_EINVAL, "a tensor file needs a path and tensors");
    for (size_t i = 0; i < n; i++) {
        advgp_status st = check_tensor(path, tensors, i, err);
        if (st != ADVGP_OK) return st;
    }
    if (metadata && !gp_text_is_utf8(metadata, strlen(metadata)))
        return gp_fail(err, ADVGP_EINVAL, "%.200s: the metadata is not UTF-8", path);
    gp_buffer header = {0};
    make_header(tensors, n, metadata, &header);
    advgp_status st = header.failed ? gp_no_memory(err)
                      : header.n > HEADER_MOST
                          ? gp_fail(err, ADVGP_EINVAL, "%.200s: %zu bytes of header are too many; %d are allowed", path,
                                    header.n, HEADER_MOST)
                          : write_file(path, private, &header, tensors, n, err);
    gp_buffer_fini(&header);
    return st;
}

advgp_status gp_tensorfile_write(const char *path, const gp_tensor *tensors, size_t n, const char *metadata,
                                 advgp_error *err)
{
    return check_and_write(path, false, tensors, n, metadata, err);
}

advgp_status gp_tensorfile_write_private(const char *path, const gp_tensor *tensors, size_t n, const char *metadata,
                                         advgp_error *err)
{
    return check_and_write(path, true, tensors, n, metadata, err);
}

// ---- reading --------------------------------------------------------------------------------------------------------

// Where bytes come from: an open file, or memory.
typedef struct origin {
    int fd;
    const char *bytes; // NULL: a file
    uint64_t size;     // of all; in memory, of what is left
} origin;

static advgp_status copy_bytes(origin *from, void *to, size_t n, advgp_error *err)
{
    if (n > from->size) return gp_fail(err, ADVGP_EFILE, "it ends while it is read");
    if (n) memcpy(to, from->bytes, n);
    from->bytes += n, from->size -= n;
    return ADVGP_OK;
}

// Reads exactly n bytes; EFILE where the file ends before.
static advgp_status read_bytes(origin *from, void *to, size_t n, advgp_error *err)
{
    if (from->bytes) return copy_bytes(from, to, n, err);
    for (char *p = to; n;) {
        ssize_t got = read(from->fd, p, n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return gp_fail(err, ADVGP_EDATA, "cannot read: %s", strerror(errno));
        if (got == 0) return gp_fail(err, ADVGP_EFILE, "the file ended while it was read");
        p += got;
        n -= (size_t)got;
    }
    return ADVGP_OK;
}

static advgp_status read_header(origin *from, uint64_t size, gp_tensorfile *file, uint64_t *length, advgp_error *err)
{
    if (size < 8) return gp_fail(err, ADVGP_EFILE, "%llu bytes are no safetensors file", (unsigned long long)size);
    advgp_status st = read_bytes(from, length, 8, err);
    if (st != ADVGP_OK) return st;
    if (*length > HEADER_MOST || *length > size - 8)
        return gp_fail(err, ADVGP_EFILE,
                       "a header of %llu bytes in a file of %llu: damaged, cut off, or no safetensors file",
                       (unsigned long long)*length, (unsigned long long)size);
    file->header = gp_alloc((size_t)*length + 1, 1);
    if (!file->header) return gp_no_memory(err);
    return read_bytes(from, file->header, (size_t)*length, err);
}

static int by_offset(const void *a, const void *b)
{
    const gp_tensor_entry *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const gp_tensor *)a)->name, ((const gp_tensor *)b)->name);
}

// Sorts by offset; every byte of the data must belong to exactly one tensor.
static advgp_status check_layout(gp_tensor_entry *entries, size_t n, uint64_t data, advgp_error *err)
{
    uint64_t covered = 0;
    qsort(entries, n, sizeof *entries, by_offset);
    for (size_t i = 0; i < n; i++) {
        const char *name = entries[i].tensor.name;
        unsigned long long begin = entries[i].begin, end = entries[i].end;
        if (begin < covered)
            return gp_fail(err, ADVGP_EFILE, "tensors '%.80s' and '%.80s' overlap at byte %llu",
                           entries[i - 1].tensor.name, name, begin);
        if (begin > covered)
            return gp_fail(err, ADVGP_EFILE, "bytes %llu to %llu, before tensor '%.80s', belong to no tensor",
                           (unsigned long long)covered, begin, name);
        if (end > data)
            return gp_fail(err, ADVGP_EFILE, "tensor '%.80s' ends at byte %llu of %llu: the file is cut off", name, end,
                           (unsigned long long)data);
        covered = end;
    }
    if (covered < data)
        return gp_fail(err, ADVGP_EFILE, "the last %llu bytes belong to no tensor",
                       (unsigned long long)(data - covered));
    return ADVGP_OK;
}

// Hands out the place of every tensor in one block, each on a cache line wherever it lay in the file.
static void arena_data(gp_arena *arena, gp_tensor_entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++) entries[i].tensor.data = gp_arena_bytes(arena, tensor_bytes(&entries[i].tensor), 1);
}

static advgp_status read_data(origin *from, gp_tensorfile *file, gp_tensor_entry *entries, size_t n, advgp_error *err)
{
    gp_arena arena = {0};
    arena_data(&arena, entries, n);
    file->block = arena.overflowed ? NULL : gp_alloc(arena.used, 1);
    if (!file->block) return gp_no_memory(err);
    arena = (gp_arena){.base = file->block};
    arena_data(&arena, entries, n);
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    for (size_t i = 0; i < n; i++) {
        char *to = file->block + ((const char *)entries[i].tensor.data - file->block);
        size_t bytes = tensor_bytes(&entries[i].tensor);
        advgp_status st = read_bytes(from, to, bytes, err);
        if (st != ADVGP_OK) return st;
        XXH3_64bits_update(&state, to, bytes);
    }
    file->xxh3 = XXH3_64bits_digest(&state);
    return ADVGP_OK;
}

static advgp_status list_tensors(gp_tensorfile *file, const gp_tensor_entry *entries, size_t n, advgp_error *err)
{
    file->tensors = gp_alloc(n, sizeof *file->tensors);
    if (!file->tensors) return gp_no_memory(err);
    for (size_t i = 0; i < n; i++) file->tensors[i] = entries[i].tensor;
    file->n = n;
    qsort(file->tensors, n, sizeof *file->tensors, by_name);
    for (size_t i = 1; i < n; i++)
        if (strcmp(file->tensors[i - 1].name, file->tensors[i].name) == 0)
            return gp_fail(err, ADVGP_EFILE, "two tensors are named '%.80s'", file->tensors[i].name);
    return ADVGP_OK;
}

static advgp_status read_origin(origin *from, gp_tensorfile *file, advgp_error *err)
{
    const uint64_t size = from->size;
    uint64_t length = 0;
    advgp_status st = read_header(from, size, file, &length, err);
    if (st != ADVGP_OK) return st;
    gp_tensor_entry *entries = gp_alloc(gp_tensor_header_most((size_t)length), sizeof *entries);
    if (!entries) return gp_no_memory(err);
    size_t n = 0;
    st = gp_tensor_header_read(file->header, (size_t)length, entries, &n, &file->metadata, err);
    if (st == ADVGP_OK) st = check_layout(entries, n, size - 8 - length, err);
    if (st == ADVGP_OK) st = read_data(from, file, entries, n, err);
    if (st == ADVGP_OK) st = list_tensors(file, entries, n, err);
    gp_free(entries);
    return st;
}

static advgp_status open_and_read(const char *path, gp_tensorfile *file, advgp_error *err)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe without a writer must not hold us
    if (fd < 0) return gp_fail(err, ADVGP_EDATA, "cannot open: %s", strerror(errno));
    advgp_status st = ADVGP_OK;
    if (fstat(fd, &about) != 0)
        st = gp_fail(err, ADVGP_EDATA, "cannot read: %s", strerror(errno));
    else if (!S_ISREG(about.st_mode))
        st = gp_fail(err, ADVGP_EFILE, "is not a regular file");
    else
        st = read_origin(&(origin){.fd = fd, .size = (uint64_t)about.st_size}, file, err);
    close(fd);
    return st;
}

// memory NULL: the file of that name.
static advgp_status read_named(const char *path, origin *memory, gp_tensorfile **out, advgp_error *err)
{
    gp_tensorfile *file = gp_alloc(1, sizeof *file);
    if (file) file->path = gp_text_copy(path, strlen(path));
    advgp_status st = !file || !file->path ? gp_no_memory(err)
                      : memory             ? read_origin(memory, file, err)
                                           : open_and_read(path, file, err);
    if (st == ADVGP_OK) {
        *out = file;
        return st;
    }
    gp_tensorfile_free(file);
    return gp_wrap(err, st, "%.200s", path);
}

advgp_status gp_tensorfile_read(const char *path, gp_tensorfile **out, advgp_error *err)
{
    *out = NULL;
    if (!path) return gp_fail(err, ADVGP_EINVAL, "a tensor file needs a path");
    return read_named(path, NULL, out, err);
}

advgp_status gp_tensorfile_read_memory(const void *bytes, size_t n, const char *name, gp_tensorfile **out,
                                       advgp_error *err)
{
    *out = NULL;
    return read_named(name, &(origin){.fd = -1, .bytes = bytes, .size = n}, out, err);
}

void gp_tensorfile_free(gp_tensorfile *file)
{
    if (!file) return;
    gp_free(file->path);
    gp_free(file->tensors);
    gp_free(file->header);
    gp_free(file->block);
    gp_free(file);
}

// ---- asking ---------------------------------------------------------------------------------------------------------

const gp_tensor *gp_tensorfile_find(const gp_tensorfile *file, const char *name)
{
    gp_tensor key = {.name = name};
    return bsearch(&key, file->tensors, file->n, sizeof *file->tensors, by_name);
}

static void add_shape(gp_buffer *out, size_t rank, const size_t *shape)
{
    gp_buffer_add(out, "[");
    for (size_t i = 0; i < rank; i++)
        if (shape[i] == GP_ANY)
            gp_buffer_add(out, "%sany", i ? ", " : "");
        else
            gp_buffer_add(out, "%s%zu", i ? ", " : "", shape[i]);
    gp_buffer_add(out, "]");
}

static bool shapes_agree(const gp_tensor *tensor, size_t rank, const size_t *shape)
{
    if (tensor->rank != rank) return false;
    for (size_t i = 0; i < rank; i++)
        if (shape[i] != GP_ANY && shape[i] != tensor->shape[i]) return false;
    return true;
}

advgp_status gp_tensorfile_need(const gp_tensorfile *file, const char *name, gp_dtype dtype, size_t rank,
                                const size_t *shape, const gp_tensor **out, advgp_error *err)
{
    const gp_tensor *tensor = gp_tensorfile_find(file, name);
    *out = NULL;
    if (!tensor) return gp_fail(err, ADVGP_EFILE, "%.200s: tensor '%.80s' is missing", file->path, name);
    if (tensor->dtype == dtype && shapes_agree(tensor, rank, shape)) {
        *out = tensor;
        return ADVGP_OK;
    }
    gp_buffer is = {0}, wanted = {0};
    add_shape(&is, tensor->rank, tensor->shape);
    add_shape(&wanted, rank, shape);
    advgp_status st = is.failed || wanted.failed
                          ? gp_no_memory(err)
                          : gp_fail(err, ADVGP_EFILE, "%.200s: tensor '%.80s' is %s %s; %s %s was expected", file->path,
                                    name, gp_dtype_name(tensor->dtype), is.p, gp_dtype_name(dtype), wanted.p);
    gp_buffer_fini(&is);
    gp_buffer_fini(&wanted);
    return st;
}

advgp_status gp_tensorfile_finite(const gp_tensorfile *file, const gp_tensor *tensor, advgp_error *err)
{
    size_t n = gp_tensor_count(tensor);
    if (tensor->dtype != GP_F64 && tensor->dtype != GP_F32) return ADVGP_OK;
    for (size_t i = 0; i < n; i++) {
        double value = tensor->dtype == GP_F64 ? ((const double *)tensor->data)[i]
                                               : (double)((const float *)tensor->data)[i];
        if (!isfinite(value))
            return gp_fail(err, ADVGP_EFILE, "%.200s: element %zu of tensor '%.80s' is %g", file->path, i, tensor->name,
                           value);
    }
    return ADVGP_OK;
}
