// evaluate.h: how good a model is on the rows of a table whose target is known.
#pragma once
#include "answer/by_value.h"
#include "load/host.h"
#include "options/option.h"
#include "score/assess_json.h"

#include <jansson.h>

enum { GP_CELL_ROWS_MIN = 10 }; // fewer say nothing about a cell

typedef struct gp_evaluation {
    gp_assessment all;
    gp_groups groups; // by the column of `by`, if there is one
    gp_sums *cells;   // [n_cells]: by the cell of the model that a row lies in
    size_t n_cells;
    size_t *judged; // [n_judged]: cells with GP_CELL_ROWS_MIN rows and more, the one with the largest RMSE first
    size_t n_judged;
    size_t n_lost;   // rows that have no answer, and no part in the figures
    json_t *columns; // what the rows have that training had not (gp_answers_columns_json)
} gp_evaluation;

// By the options of `evaluate`: which rows, unless a table is given, which is borrowed; beside it the mean and linear
// regression on the training rows, as far as the model knows them. On failure, too, fini is due.
advgp_status gp_evaluate(const gp_model *model, const gp_options *evaluate, gp_source *table, const gp_host *host,
                         gp_evaluation *out, advgp_error *err);
double gp_evaluation_cell_rmse(const gp_evaluation *evaluation, size_t cell);
void gp_evaluation_fini(gp_evaluation *evaluation);
json_t *gp_evaluate_json(const gp_model *model, const gp_evaluation *evaluation);
