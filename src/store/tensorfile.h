// tensorfile.h: safetensors files, written whole or not at all and read as if an enemy had made them. A file is named
// arrays of numbers and one text, the string "advgp" of its __metadata__. The format: 8 bytes little-endian header
// length, a JSON header
// {"name": {"dtype", "shape", "data_offsets"}, ...}, then the tensors' bytes without gaps.
#pragma once
#include "advgp.h"

#include <stddef.h>
#include <stdint.h>

typedef enum gp_dtype { GP_F64, GP_F32, GP_I64, GP_U64, GP_N_DTYPES } gp_dtype;
const char *gp_dtype_name(gp_dtype dtype); // "F64", as files write it
size_t gp_dtype_size(gp_dtype dtype);      // bytes

enum { GP_TENSOR_RANK = 4 };

typedef struct gp_tensor {
    const char *name; // UTF-8
    gp_dtype dtype;
    size_t rank; // 0: a single number
    size_t shape[GP_TENSOR_RANK];
    const void *data; // row major; aligned to 64 bytes in a file that was read
    // To write, in place of data: [shape[0]], where each part of the first dimension lies. NULL in a file that was
    // read.
    const void *const *parts;
} gp_tensor;
size_t gp_tensor_count(const gp_tensor *tensor); // elements

// ---- writing --------------------------------------------------------------------------------------------------------

// XXH3 (64 bits) of the tensors' bytes as a file of these tensors has them, for the metadata to tell.
uint64_t gp_tensors_xxh3(const gp_tensor *tensors, size_t n);

// Replaces `path` (atomicfile.h). metadata may be NULL. Names must be unique.
advgp_status gp_tensorfile_write(const char *path, const gp_tensor *tensors, size_t n, const char *metadata,
                                 advgp_error *err);
// The same for its owner alone, 0600.
advgp_status gp_tensorfile_write_private(const char *path, const gp_tensor *tensors, size_t n, const char *metadata,
                                         advgp_error *err);

// ---- reading --------------------------------------------------------------------------------------------------------

typedef struct gp_tensorfile {
    char *path;         // for messages
    gp_tensor *tensors; // by name
    size_t n;
    const char *metadata; // NULL: none of ours
    uint64_t xxh3;        // of the tensors' bytes: compare it with what the metadata tells
    char *header, *block; // what the names, the metadata and the data point into
} gp_tensorfile;

// Reads the whole file into memory: a mapped one could change or shrink under us. Refuses with EFILE, naming the file
// and the tensor, whatever is not exactly right: lengths, JSON, names given twice, other dtypes, shapes that overflow
// or do not fit their bytes, bytes of two tensors or of none. Values are not looked at: gp_tensorfile_finite.
advgp_status gp_tensorfile_read(const char *path, gp_tensorfile **out, advgp_error *err);
// The same of the bytes of a file, which are copied; `name` stands for it in messages.
advgp_status gp_tensorfile_read_memory(const void *bytes, size_t n, const char *name, gp_tensorfile **out,
                                       advgp_error *err);
void gp_tensorfile_free(gp_tensorfile *file);

const gp_tensor *gp_tensorfile_find(const gp_tensorfile *file, const char *name); // NULL: not there

// The tensor of that name, if it has this type and shape, where GP_ANY stands for any length; else EFILE says how it
// differs.
#define GP_ANY SIZE_MAX
advgp_status gp_tensorfile_need(const gp_tensorfile *file, const char *name, gp_dtype dtype, size_t rank,
                                const size_t *shape, const gp_tensor **out, advgp_error *err);

// EFILE names the first element that is NaN or infinite. Integers are always fine.
advgp_status gp_tensorfile_finite(const gp_tensorfile *file, const gp_tensor *tensor, advgp_error *err);
