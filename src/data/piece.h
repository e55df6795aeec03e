// piece.h: rows that lie in memory, wherever they come from: arrays of a caller, pieces that were pushed, batches of
// Arrow. A column of a piece knows how its values are read; the source over pieces (memory_source.c) asks for chunk
// after chunk.
#pragma once
#include "data/source.h"

typedef struct gp_piece_column gp_piece_column;

// Rows first .. first + n of the column, as numbers or as texts: the one that fits its type is there, the other NULL.
struct gp_piece_column {
    void (*numbers)(const gp_piece_column *c, size_t first, size_t n, double *out);
    void (*texts)(const gp_piece_column *c, size_t first, size_t n, gp_text *out);
    const void *values;
    ptrdiff_t stride; // bytes from one value to the next
    // Arrow's: the rest is zero for arrays.
    const unsigned char *valid;                  // a bit a row; NULL: all are there
    size_t offset;                               // rows before the first
    const char *const *bytes;                    // buffers of texts
    const gp_piece_column *indices, *dictionary; // value i is that of the dictionary at the i-th index
    // A value is value * factor / divisor + shift, in seconds since 2000-01-01 where it is a time; factor 0: as it is.
    double factor, divisor, shift;
};

typedef struct gp_piece {
    size_t n_rows;
    const gp_piece_column *columns; // as many as the table has
} gp_piece;

// Names and types are copied, the values borrowed until free; columns_take (may be NULL) is the block in which the
// columns of the pieces lie, taken also where it fails. chunk_rows bounds a chunk (0: a sensible one). EDATA where two
// columns have one name.
advgp_status gp_source_pieces_open(const char *const *names, const gp_column_type *types, size_t n_columns,
                                   const gp_piece *pieces, size_t n_pieces, gp_piece_column *columns_take,
                                   size_t chunk_rows, gp_source **out, advgp_error *err);

// Doubles, `stride` bytes apart, with nothing done to them; side by side they are handed on in place.
void gp_piece_doubles(const gp_piece_column *c, size_t first, size_t n, double *out);
// Strings that end with a NUL, NULL where missing.
void gp_piece_strings(const gp_piece_column *c, size_t first, size_t n, gp_text *out);
