// tensorheader.h: the JSON header of a safetensors file, to and from text. Knows nothing of files; tensorfile.c
// includes it.
#pragma once
#include "base/text.h"
#include "store/tensorfile.h"

typedef struct gp_tensor_entry {
    gp_tensor tensor; // without data
    uint64_t begin, end;
} gp_tensor_entry;

// How many entries a header of n bytes can hold at most.
size_t gp_tensor_header_most(size_t n);

// Takes the n bytes apart in place: names and metadata point into `header`, which has room for one more byte. Checks
// the JSON and every entry by itself; that entries fit together is the caller's. `entries` has room for
// gp_tensor_header_most(n).
advgp_status gp_tensor_header_read(char *header, size_t n, gp_tensor_entry *entries, size_t *n_entries,
                                   const char **metadata, advgp_error *err);

void gp_tensor_header_begin(gp_buffer *out, const char *metadata);
void gp_tensor_header_add(gp_buffer *out, const gp_tensor *tensor, uint64_t begin, uint64_t end);
void gp_tensor_header_end(gp_buffer *out);
