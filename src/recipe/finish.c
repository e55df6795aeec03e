// finish.c: the last acts: polish, the exact posterior over the training rows, the model.
#include "base/clock.h"
#include "learn/collapsed.h"
#include "linalg/factor.h"
#include "recipe/conclude.h"
#include "recipe/conductor.h"
#include "recipe/table.h"

#include <math.h>
#include <string.h>

static advgp_status polish(gp_training *t, advgp_error *err)
{
    const gp_collapsed_options o = {.run = t->run,
                                    .learner = t->learner,
                                    .n_rows = gp_shards_weight(t->shards, GP_TRAIN),
                                    .stop = t->conductor->stop,
                                    .stop_ctx = t};
    gp_collapsed *bound = NULL;
    advgp_status st = gp_collapsed_new(&o, &bound, err);
    advgp_error why = {0};
    if (st == ADVGP_OK) {
        st = gp_collapsed_lbfgs(bound, GP_POLISH_ITERATIONS, NULL, &why);
        if (st == ADVGP_ENUMERIC) // the best so far stays, and was good enough to come here
            st = gp_notes_add(t->notes, err, 1, "the last refinement of the parameters (L-BFGS) ended early: %s",
                              why.text);
        else if (st == ADVGP_ESTOPPED)
            st = ADVGP_OK;
        else if (st != ADVGP_OK && err)
            *err = why;
    }
    gp_collapsed_free(bound);
    return st;
}

// Every step saw all rows, so there is no noise between them: L-BFGS ends where the steps only come near, and on few
// rows that decides how close a sparse model comes to the exact process. By what the record says, not by the clock: a
// replay must come to the same decision.
static bool is_polished(const gp_training *t)
{
    const bool was_interrupted = t->result->interrupted || t->result->stopped == GP_STOPPED_INTERRUPTED;
    const bool small = gp_training_sees_all(t) && t->n_train <= GP_WHOLE_ROWS_MAX &&
                       gp_schedule_settled(t->options->schedule).rule == &gp_rule_natural;
    return small && !t->options->unpolished && !(t->options->epochs > 0) && // who counts epochs gets no more
           t->result->stopped != GP_STOPPED_TIME && !was_interrupted;
}

advgp_status gp_training_finish(gp_training *t, size_t *rows, advgp_error *err)
{
    const double start = gp_clock_wall();
    advgp_status st = t->conductor->to_collections(t, err);
    if (st == ADVGP_OK && !t->conductor->at_checkpoint(t) && is_polished(t)) st = polish(t, err);
    if (st != ADVGP_OK || t->conductor->at_checkpoint(t)) return st;
    const size_t passed = atomic_load(t->rows_passed);
    const bool here = !t->options->cluster && !t->options->replay; // other processes do not tell what they have done
    gp_training_phase(
        t, "finish: exact posterior over the training rows",
        (gp_act){
            .count = here ? t->rows_passed : NULL, .first = passed, .last = passed + t->n_train, .counts_rows = true});
    st = t->conductor->finish(t, rows, err);
    t->result->finish_seconds = gp_clock_wall() - start;
    t->result->counts = gp_server_count(t->run->server);
    t->result->jitter = fmax(gp_qw_jitter(t->learner->qw), t->run->rule->jitter);
    if (st == ADVGP_OK && t->result->jitter > 0)
        st = gp_notes_add(t->notes, err, 1,
                          "the precision of q(w) was not positive in double precision and was raised by %g of its mean "
                          "diagonal on the way: the noise may be too small for these rows",
                          t->result->jitter);
    return st;
}

advgp_status gp_training_fill_model(gp_training *t, gp_model *model, size_t finish_rows, advgp_error *err)
{
    const double start = gp_clock_wall();
    gp_learner_copy(t->learner, model);
    model->cells = t->cells, t->cells = NULL;
    if (t->options->noise != GP_NOISE_CONSTANT)
        gp_training_phase(t, "noise of each row, calibration", (gp_act){0});
    else if (t->learner->layout.M > GP_EIGEN_LONG)
        gp_training_phase(t, "calibration", (gp_act){0});
    advgp_status st = gp_train_conclude(model, &t->reader, t->options, (gp_stopwatch){t->wall_start, t->cpu_start},
                                        t->result, t->notes, err);
    if (st != ADVGP_OK) return st;
    t->result->last_seconds = gp_clock_wall() - start;
    json_t *record = json_pack("{s:I, s:I, s:I}", "finish_rows", (json_int_t)finish_rows, "batch",
                               (json_int_t)t->batch * (json_int_t)t->workers, "workers", (json_int_t)t->workers);
    if (record && t->result->jitter > 0) json_object_set_new(record, "posterior_jitter", json_real(t->result->jitter));
    if (record && t->result->counts.rolled_back)
        json_object_set_new(record, "rolled_back", json_integer((json_int_t)t->result->counts.rolled_back));
    if (record && model->cells) json_object_set_new(record, "cells", json_integer((json_int_t)model->cells->shape.n));
    if (!record || json_object_update(model->record, record) < 0) st = gp_no_memory(err);
    json_decref(record);
    return st;
}
