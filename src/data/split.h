// split.h: which rows are held out, and for what. Every decision is a pure function of the seed and the row (its number
// among the usable ones, or its group), so two passes, and two machines, agree without a word.
#pragma once
#include "base/status.h"
#include "data/source.h"

#include <stddef.h>
#include <stdint.h>

typedef enum gp_part {
    GP_TRAIN,
    GP_STOP,      // held out: stops training and gives the reported figures
    GP_CALIBRATE, // held out: sets the intervals
    GP_PARTS,
} gp_part;

typedef enum gp_split_kind {
    GP_SPLIT_NONE,
    GP_SPLIT_FRACTION, // of the rows, at random
    GP_SPLIT_LAST,     // the last rows, for series
    GP_SPLIT_GROUP,    // whole groups: no customer on both sides
    GP_SPLIT_FILE,     // another file; this one keeps all its rows
} gp_split_kind;

typedef struct gp_split {
    gp_split_kind kind;
    double fraction;
    uint64_t seed;
    const char *name;  // column of GROUP, path of FILE; points into the text parsed
    size_t whole_rows; // a FRACTION holds out none of so many rows or fewer
    // Settled by the first pass:
    size_t n_rows;    // usable rows
    double threshold; // FRACTION and GROUP: held out below it
} gp_split;

enum { GP_HELD_OUT_MAX = 100000, GP_HELD_OUT_MIN_ROWS = 400 };

// "0.05", "0" or "none", "last:0.1", "group:COLUMN", or the path of a file. EINVAL on a fraction outside [0, 1).
advgp_status gp_split_parse(const char *text, uint64_t seed, gp_split *out, advgp_error *err);
// After the rows are counted: caps the number, and holds out none of fewer than 400 rows (docs/math.md 6), or of
// whole_rows. A GROUP's
// threshold is settled by gp_split_settle_groups instead.
void gp_split_settle(gp_split *split, size_t n_rows);
// hashes and rows of the n groups; complete: all groups are among them. Groups are held out in the order of their
// hashes until the fraction is reached, at least one and never all.
advgp_status gp_split_settle_groups(gp_split *split, size_t n_rows, const double *hashes, const size_t *rows, size_t n,
                                    bool complete, advgp_error *err);

double gp_split_group_hash(const gp_split *split, gp_text group); // in [0, 1)
// row: number among usable rows. group_hash matters for GROUP only.
gp_part gp_split_part(const gp_split *split, size_t row, double group_hash);
gp_part gp_split_half(uint64_t seed, size_t row); // STOP or CALIBRATE, for rows known to be held out (FILE)
// Before the split is settled: may this row be held out? True for every row that will be (unless fewer than a handful
// of groups make one from the upper half of the hashes necessary), and not for many more. LAST needs n_rows set
// beforehand.
bool gp_split_maybe(const gp_split *split, size_t row, double group_hash);
