// recipe.c: the story of a training, from its facts to its model. What is decided by a rule stands in plan.c, what by a
// trial in the act that holds it (shape.c, fit_cells.c, noise.c; before the rows are encoded, encoding_pilot.c), the
// numbers of both in table.h, and the judge of all trials in judge.c.
#include "base/alloc.h"
#include "base/clock.h"
#include "learn/map_choice.h"
#include "recipe/conductor.h"
#include "recipe/plan.h"

#include <math.h>

static advgp_status check(const gp_train_request *request, advgp_error *err)
{
    const gp_train_options *o = request->options;
    if (!request->shards || !request->schema || !o)
        return gp_fail(err, ADVGP_EINVAL, "train: no rows, schema or options given");
    if (!o->kernel || !o->map || !o->m)
        return gp_fail(err, ADVGP_EINVAL, "train: a kernel, a map and at least one inducing input are needed");
    advgp_status st = gp_map_choice_check(gp_training_map(o), o->m, o->components, err);
    if (st != ADVGP_OK) return st;
    const double step = o->schedule.natural_rate;
    if (!(step >= 0 && step <= 1)) return gp_fail(err, ADVGP_EINVAL, "train: step %g is not in 0 .. 1", step);
    if (o->theta && !o->components)
        return gp_fail(err, ADVGP_EINVAL, "train: parameters to start from need a number of components");
    return ADVGP_OK;
}

static advgp_status open_training(gp_training *t, const gp_train_request *request, gp_train_result *result,
                                  advgp_error *err)
{
    static const gp_train_events silent = {0};
    *t = (gp_training){0};
    const advgp_status st = check(request, err);
    if (st != ADVGP_OK) return st;
    *t = (gp_training){.shards = request->shards,
                       .schema = request->schema,
                       .options = request->options,
                       .events = request->events ? request->events : &silent,
                       .result = result,
                       .notes = request->notes,
                       .conductor = request->options->replay ? &gp_conductor_replay : &gp_conductor_live,
                       .line_mnlp = NAN,
                       .wall_start = gp_clock_wall(),
                       .cpu_start = gp_clock_cpu()};
    *result = (gp_train_result){0};
    t->rows_passed = gp_alloc(2, sizeof *t->rows_passed); // zeroed
    if (!t->rows_passed) return gp_no_memory(err);
    t->cells_done = t->rows_passed + 1;
    return ADVGP_OK;
}

static void make_plan(gp_training *t, const gp_train_request *request)
{
    gp_plan *plan = &t->result->plan;
    *plan = gp_plan_make(&t->facts, t->options);
    gp_plan_take_encodings(plan, request->encodings);
}

// The schema of the request is the model's on success only.
static advgp_status make_model(gp_training *t, const gp_train_request *request, size_t finish_rows, gp_model **model,
                               advgp_error *err)
{
    advgp_status st = gp_model_new(&t->learner->spec, request->schema, request->sql, model, err);
    if (st != ADVGP_OK) return st;
    st = gp_training_fill_model(t, *model, finish_rows, err);
    if (st == ADVGP_OK) return st;
    (*model)->schema = NULL; // still the caller's
    gp_model_free(*model);
    *model = NULL;
    return st;
}

// Up to the posterior over all rows; a replay may come to the end of a part of its log on the way, and goes on.
advgp_status gp_training_fit(gp_training *t, const gp_train_request *request, gp_training_steps steps,
                             gp_train_result *result, size_t *finish_rows, advgp_error *err)
{
    advgp_status st = open_training(t, request, result, err);
    if (st == ADVGP_OK) st = gp_training_measure(t, err); // facts: rows, columns, cores, memory
    if (st == ADVGP_OK) make_plan(t, request);            // rules: workers, batch, steps, inducing points, cells
    if (st == ADVGP_OK) st = gp_training_prepare(t, err); // room for it, and where inducing points begin
    if (st == ADVGP_OK) st = gp_training_begin(t, err);   // trial: one component or a sum; then the server
    while (st == ADVGP_OK) {                              // once, but for the replay of a run that was resumed
        st = steps(t, err);                               // versions, until validation rows say that it is enough
        if (st == ADVGP_OK && !t->conductor->at_checkpoint(t)) st = gp_training_finish(t, finish_rows, err);
        if (st != ADVGP_OK || !t->conductor->at_checkpoint(t)) break;
        st = t->conductor->next_part(t, err);
    }
    return st;
}

void gp_training_fini(gp_training *t)
{
    gp_training_end_run(t);
    gp_cells_free(t->cells);
    gp_learner_free(t->learner);
    gp_free(t->views);
    gp_free(t->rows_passed);
    gp_reader_fini(&t->reader);
    gp_free(t->inducing);
}

advgp_status gp_training_run(const gp_train_request *request, gp_training_steps steps, gp_model **model,
                             gp_train_result *result, advgp_error *err)
{
    gp_train_result unused;
    gp_training t;
    size_t finish_rows = 0;
    *model = NULL;
    advgp_status st = gp_training_fit(&t, request, steps, result ? result : &unused, &finish_rows, err);
    if (st == ADVGP_OK) st = gp_training_fit_cells(&t, err);                   // trial: local processes
    if (st == ADVGP_OK) st = make_model(&t, request, finish_rows, model, err); // trials: noise, groups; calibration
    gp_training_fini(&t);
    return st;
}

advgp_status gp_train(const gp_train_request *request, gp_model **model, gp_train_result *result, advgp_error *err)
{
    return gp_training_run(request, gp_training_versions, model, result, err);
}
