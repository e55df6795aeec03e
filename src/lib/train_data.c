// train_data.c: advgp_train: a training whose rows may lie in memory and whose model is handed over.
#include "api/whole_training.h"
#include "lib/handles.h"
#include "linalg/blas.h"

static void on_eval(void *ctx, const gp_train_eval *e)
{
    const advgp_watch *watch = ((const library_host *)ctx)->watch;
    const advgp_progress progress = {.seconds = e->wall,
                                     .seconds_left = e->seconds_left,
                                     .epoch = e->epoch,
                                     .epochs = e->epochs,
                                     .rmse = e->rmse,
                                     .mnlp = e->mnlp,
                                     .bound = e->neg_elbo_per_row};
    if (watch->progress) watch->progress(watch->ctx, &progress);
}

static void on_line(void *ctx, const char *line)
{
    const advgp_watch *watch = ((const library_host *)ctx)->watch;
    watch->log(watch->ctx, line);
}

static void on_checkpoint(void *ctx, const char *path, size_t version, uint64_t id, const char *failed)
{
    const advgp_watch *watch = ((const library_host *)ctx)->watch;
    (void)path, (void)version, (void)id;
    if (failed && watch->note) watch->note(watch->ctx, failed);
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
    host.host.eval = on_eval, host.host.checkpoint = on_checkpoint;
    host.host.log = host.watch->log ? on_line : NULL;
    gp_blas_enter();
    advgp_status st = library_options_init(&options, train, "train", NULL, data, err ? err : &unheard);
    if (st == ADVGP_OK) st = library_table_open(data, &table, err ? err : &unheard);
    const gp_training_job job = {.options = &options.set, .table = table, .host = &host.host, .model = &model};
    if (st == ADVGP_OK) st = gp_training(&job, NULL, err ? err : &unheard);
    st = hand_over(model, out, st, err);
    gp_blas_leave();
    gp_source_free(table);
    library_options_fini(&options);
    return library_said(st, err);
}
