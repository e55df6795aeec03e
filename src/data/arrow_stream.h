// arrow_stream.h: tables of other programs as they pass them on within a process, by Arrow's C data and stream
// interface (https://arrow.apache.org/docs/format/CDataInterface.html): three structs, no library. The buffers are read
// where they lie.
#pragma once
#include "data/piece.h"

#include <stdint.h>

// The structs are an ABI that many programs define alike, under this guard.
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE           2
#define ARROW_FLAG_MAP_KEYS_SORTED    4
struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

// A stream that was read to its end.
typedef struct gp_arrow_table {
    char **names;
    gp_column_type *types;
    size_t n_columns;
    gp_piece *batches;
    size_t n_batches, n_rows;
    struct ArrowSchema schema; // the table's own, released by fini
    struct ArrowArray *arrays; // n_batches
} gp_arrow_table;

// Reads the stream to its end and releases it, after a failure too. EDATA names a column of a type that is none of
// ours. On failure, too, fini is due.
advgp_status gp_arrow_table_read(struct ArrowArrayStream *stream, gp_arrow_table *out, advgp_error *err);
void gp_arrow_table_fini(gp_arrow_table *table);
