// encode.h: a fitted schema applied to the chunks of a source: dense rows of standardised doubles.
#pragma once
#include "data/notes.h"
#include "data/schema.h"
#include "data/source.h"
#include "data/split.h"

typedef enum gp_encode_mode {
    GP_ENCODE_TRAIN,    // rows without target, weight or (--missing drop) an input are dropped and counted; the split
                        // marks the rest
    GP_ENCODE_EVALUATE, // the same without the split; all rows are GP_STOP
    GP_ENCODE_PREDICT,  // every row gives a row; target and weights need not exist
} gp_encode_mode;

typedef struct gp_rows {
    size_t n, d;
    const double *X;           // n x d, row-major
    const double *y, *w;       // n; y standardised, NaN where PREDICT has none
    const unsigned char *part; // n: gp_part
    const size_t *source_row;  // n: row of the source, from 0
} gp_rows;

typedef struct gp_encoder gp_encoder;

// Finds the columns by name, whatever their order (EDATA names one that is missing), and sets source->wanted to just
// these: a caller who keeps other columns sets them afterwards. schema, source and split are borrowed; split is for
// TRAIN, settled by gp_schema_fit.
advgp_status gp_encoder_new(const gp_schema *schema, gp_source *source, gp_encode_mode mode, const gp_split *split,
                            gp_encoder **out, advgp_error *err);
void gp_encoder_free(gp_encoder *encoder);
void gp_encoder_rewind(gp_encoder *encoder); // before another pass over the source

// rows lives until the next call. It may be empty.
advgp_status gp_encoder_chunk(gp_encoder *encoder, const gp_chunk *chunk, gp_rows *rows, advgp_error *err);

typedef struct gp_encode_counts {
    size_t n_read, n_given;                  // rows
    size_t n_no_target, n_no_weight, n_gaps; // rows dropped
    size_t n_missing, n_unseen;              // values replaced; values of categories not seen in training
    size_t n_outside, n_clipped;             // values beyond those of training; values taken as at the end of a column
} gp_encode_counts;
gp_encode_counts gp_encoder_counts(const gp_encoder *encoder);
// The same of one input of the schema, in rows.
typedef struct gp_column_counts {
    size_t n_missing, n_unseen, n_outside;
} gp_column_counts;
gp_column_counts gp_encoder_column(const gp_encoder *encoder, size_t input);
// A note a column with values replaced or unseen, and one a reason for dropped rows.
advgp_status gp_encoder_notes(const gp_encoder *encoder, gp_notes *notes, advgp_error *err);

// For those who encode by themselves; none where n is 0.
advgp_status gp_note_outside(const gp_input *input, size_t n, gp_notes *notes, advgp_error *err);
advgp_status gp_note_clipped(const gp_input *input, size_t n, gp_notes *notes, advgp_error *err);

// The whole source from its start into a sink: the second pass of pack and of training in memory.
typedef advgp_status (*gp_rows_sink)(void *ctx, const gp_rows *rows, advgp_error *err);
advgp_status gp_encode_all(gp_encoder *encoder, gp_source *source, gp_rows_sink sink, void *sink_ctx,
                           gp_progress progress, void *ctx, advgp_error *err);
