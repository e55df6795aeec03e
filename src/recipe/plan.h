// plan.h: what a training is going to do: each choice with its value, where it comes from and why, in words. People see
// it before a training (--dry-run), in its log and model record, in `inspect` and in the report.
#pragma once
#include "base/text.h"
#include "recipe/facts.h"
#include "recipe/judge.h"

#include <jansson.h>

// The rules alone: no file, clock or thread, and the same facts and options give the same plan. What only a trial can
// say is open until it was held; then gp_plan_take and gp_plan_choose enter it.
gp_plan gp_plan_make(const gp_facts *facts, const gp_train_options *options);

// A trial's answer: a count or a word, and the verdict behind it.
void gp_plan_take(gp_planned *choice, size_t n, gp_origin origin, const gp_verdict *verdict, const char *challenger);
void gp_plan_choose(gp_planned *choice, const char *word, gp_origin origin, const gp_verdict *verdict,
                    const char *challenger);
// With so many workers instead, and why: the rows of a step and the steps follow from their number.
void gp_plan_set_workers(gp_plan *plan, const gp_facts *facts, const gp_train_options *options, size_t workers,
                         const char *why);
// What trials chose before the rows were encoded; encodings may be NULL.
void gp_plan_take_encodings(gp_plan *plan, const gp_plan *encodings);
// The number is settled, or turned out otherwise: fewer distinct rows, less room.
__attribute__((format(printf, 3, 4))) void gp_plan_settle(gp_planned *choice, size_t n, const char *why, ...);

// ---- rules that acts ask again --------------------------------------------------------------------------------------

bool gp_plan_is_exact(const gp_train_options *options, size_t rows); // what method auto stands for
bool gp_plan_wants_cells(const gp_facts *facts, const gp_train_options *options);
size_t gp_plan_cells(size_t rows, bool noisy); // how many, where nobody says it
bool gp_plan_is_noisy(double noise);           // more noise than signal
// Bytes of a sparse training beside its rows.
double gp_plan_sparse_bytes(const gp_facts *facts, const gp_train_options *options, size_t inducing, size_t workers,
                            size_t threads);
double gp_plan_rows_a_version(const gp_train_options *options, size_t workers, size_t batch, size_t rows);

// ---- for people -----------------------------------------------------------------------------------------------------

json_t *gp_plan_json(const gp_plan *plan); // [{"choice", "value", "origin", "why"}, ...]; NULL without memory
void gp_plan_text(const gp_plan *plan, gp_buffer *out);
// A plan as JSON, of a model's record, as the same lines.
void gp_plan_json_text(const json_t *plan, gp_buffer *out);
