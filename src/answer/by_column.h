// by_column.h: the figures of rows by the value of a column: where a model is good, and where it is not.
#pragma once
#include "data/source.h"
#include "score/assess.h"

enum { GP_GROUPS_MAX = 1000 };

typedef struct gp_group {
    char *value; // as a text; NULL: missing, or the others beyond GP_GROUPS_MAX
    size_t rows;
    double n, squares, crps, winkler, width, inside; // sums over rows, weighted; of the interval at gp_judged_level
} gp_group;
void gp_group_add(gp_group *group, double w, const gp_row_figures *figures); // a row
double gp_group_rmse(const gp_group *group);

typedef struct gp_groups {
    char *column; // NULL: none, and nothing is counted
    gp_group *list;
    size_t n;
    gp_group missing, others;
    size_t at;           // of the source
    gp_column_type type; // how its values are read
    uint32_t *slots;     // by hash: 1 + place in the list
} gp_groups;

// Finds the column, EDATA if there is none, and asks the source for it. On failure, too, fini is due.
advgp_status gp_groups_init(gp_groups *groups, gp_source *source, const char *column, advgp_error *err);
void gp_groups_fini(gp_groups *groups);

// Row `row` of the chunk, with its weight.
advgp_status gp_groups_add(gp_groups *groups, const gp_chunk *chunk, size_t row, double w,
                           const gp_row_figures *figures, advgp_error *err);
void gp_groups_end(gp_groups *groups); // the largest first
