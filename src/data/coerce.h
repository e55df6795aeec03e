// coerce.h: a column as the representation its user wants: numbers out of text and text out of numbers, a chunk at a
// time, with the row named where it cannot be done.
#pragma once
#include "base/decimal.h"
#include "data/source.h"
#include "data/writing.h"

enum { GP_SLIP_BYTES = 44 }; // of a value that is shown

typedef struct gp_coerced {
    double *numbers; // buffers for `capacity` rows, made when first needed
    gp_text *texts;
    char (*digits)[GP_DECIMAL_BYTES];
    size_t capacity;
    bool booleans;            // its user wants truths: "yes", "no" and the like are numbers too
    gp_writing written;       // what its texts are
    const char *format;       // borrowed, for GP_WRITING_FORMAT
    const char *unit;         // borrowed: what stands behind every number; NULL or "": nothing
    bool dirty;               // what is no number (or date) is a missing value, and a range its middle
    size_t n_dirty;           // how many such values there were
    char slip[GP_SLIP_BYTES]; // the first of them
} gp_coerced;                 // {0} at first; one a column
void gp_coerced_fini(gp_coerced *c);

bool gp_parse_number(gp_text text, double *number); // the whole text is a number, as programs or people write it
bool gp_parse_plain(gp_text text, double *number);  // as programs do; blanks around it allowed

// Points *out at n_rows values that live as long as the chunk and the buffer; of dates seconds since 2000-01-01. EDATA
// where text is no number ("true" and "false" are), or no date where dates are written, unless the buffer is dirty.
advgp_status gp_coerce_numbers(const gp_source *source, size_t column, const gp_chunk *chunk, gp_coerced *buffer,
                               const double **out, advgp_error *err);
advgp_status gp_coerce_texts(const gp_source *source, size_t column, const gp_chunk *chunk, gp_coerced *buffer,
                             const gp_text **out, advgp_error *err);
