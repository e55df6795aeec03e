// train_data.c: advgp_train: a training whose rows may lie in memory and whose model is handed over.
#include "api/whole_training.h"
#include "lib/handles.h"
#include "linalg/blas.h"

static void on_eval(void *ctx, const gp_train_eval *e)
{
    const advgp_watch *watch = ctx;
    const advgp_progress progress = {.seconds = e->wall,
                                     .seconds_left = e->seconds_left,
                                     .epoch = e->epoch,
                                     .epochs = e->epochs,
                                     .rmse = e->rmse,
                                     .mnlp = e->mnlp,
                                     .bound = e->neg_elbo_per_row};
    watch->progress(watch->ctx, &progress);
}

static void on_line(void *ctx, const char *line)
{
    const advgp_watch *watch = ctx;
    watch->log(watch->ctx, line);
}

static void on_unsaved(void *ctx, const char *why)
{
    const advgp_watch *watch = ctx;
    if (watch->note) watch->note(watch->ctx, why);
}

// The model is given whatever else went wrong.
static advgp_status hand_over(gp_model *model, advgp_model **out, advgp_status st, advgp_error *err)
{
    advgp_error why;
    const advgp_status taken = model ? library_model_take(model, out, &why) : ADVGP_OK;
    if (st != ADVGP_OK || taken == ADVGP_OK) return st;
    if (err) *err = why;
    return taken;
}

advgp_status advgp_train(const advgp_data *data, const advgp_options *train, const advgp_watch *watch,
                         advgp_model **out, advgp_error *err)
{
    library_options options;
    library_host host;
    gp_source *table = NULL;
    gp_model *model = NULL;
    advgp_error unheard; // a worker's fate is told to the others by its sentence
    if (!library_has(out, "place for the result", err)) return ADVGP_EINVAL;
    *out = NULL;
    if (!library_has(data, "table", err)) return ADVGP_EINVAL;
    library_host_init(&host, watch);
    const gp_training_events events = {.ctx = (void *)(uintptr_t)host.watch,
                                       .eval = host.watch->progress ? on_eval : NULL,
                                       .unsaved = on_unsaved,
                                       .log = host.watch->log ? on_line : NULL};
    gp_blas_enter();
    advgp_status st = library_options_init(&options, train, "train", NULL, data, err ? err : &unheard);
    if (st == ADVGP_OK) st = library_table_open(data, &table, err ? err : &unheard);
    const gp_training_job job = {
        .options = &options.set, .table = table, .host = &host.host, .events = &events, .model = &model};
    if (st == ADVGP_OK) st = gp_training(&job, NULL, err ? err : &unheard);
    st = hand_over(model, out, st, err);
    gp_blas_leave();
    gp_source_free(table);
    library_options_fini(&options);
    return library_said(st, err);
}
