// stop.c: a training that is watched, and ended by its watcher when it is good enough; what there is then is a model.
//     stop FILE TARGET RMSE
#include <advgp.h>

#include <stdio.h>
#include <stdlib.h>

typedef struct watcher {
    double enough;
    volatile int stop;
} watcher;

static void on_progress(void *ctx, const advgp_progress *p)
{
    watcher *w = ctx;
    printf("epoch %.1f of %.0f: RMSE %.4g\n", p->epoch, p->epochs, p->rmse);
    if (p->rmse <= w->enough) w->stop = 1;
}

static void on_note(void *ctx, const char *text)
{
    (void)ctx;
    printf("%s\n", text);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: stop FILE TARGET RMSE\n");
        return 2;
    }
    watcher w = {.enough = strtod(argv[3], NULL)};
    const advgp_watch watch = {.ctx = &w, .note = on_note, .progress = on_progress, .stop = &w.stop};
    advgp_error err;
    advgp_data *table = NULL;
    advgp_options *options = NULL;
    advgp_model *model = NULL;
    const char *path = argv[1];
    advgp_status st = advgp_data_files(&path, 1, &table, &err);
    if (st == ADVGP_OK) st = advgp_options_new("train", &options, &err);
    if (st == ADVGP_OK) st = advgp_options_set(options, "target", argv[2], &err);
    if (st == ADVGP_OK) st = advgp_options_set(options, "method", "advgp", &err);
    if (st == ADVGP_OK) st = advgp_train(table, options, &watch, &model, &err);
    if (st == ADVGP_ESTOPPED && model)
        printf("stopped on request, with a model of %s\n", advgp_model_target(model));
    else if (st == ADVGP_OK)
        printf("it came to its end before\n");
    else
        fprintf(stderr, "stop: %s\n", err.text);
    advgp_model_free(model);
    advgp_options_free(options);
    advgp_data_free(table);
    return model && (st == ADVGP_OK || st == ADVGP_ESTOPPED) ? 0 : 1;
}
