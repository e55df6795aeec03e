// serve.c: one model, many threads, no lock: each thread has a workspace and answers rows as they come.
//     serve MODEL [THREADS]          a model of three columns, as train_and_save writes it
#include <advgp.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { REQUESTS = 10000, THREADS_MAX = 64 };

typedef struct server {
    const advgp_model *model;
    unsigned number;
    double highest;
    advgp_error err;
    advgp_status status;
    pthread_t thread;
} server;

static void *serve(void *ctx)
{
    server *s = ctx;
    advgp_workspace *workspace = NULL;
    s->status = advgp_workspace_new(s->model, &workspace, &s->err);
    for (unsigned i = 0; s->status == ADVGP_OK && i < REQUESTS; i++) {
        const double row[] = {(i % 97) / 97.0, (i * 31 % 89) / 89.0, (i * (17 + s->number) % 101) / 101.0};
        double mean, lo, hi;
        s->status = advgp_predict_interval(s->model, workspace, row, 1, 0, 0.9, &mean, &lo, &hi, &s->err);
        if (s->status == ADVGP_OK && hi > s->highest) s->highest = hi;
    }
    advgp_workspace_free(workspace);
    return NULL;
}

int main(int argc, char **argv)
{
    static server servers[THREADS_MAX];
    const unsigned long asked = argc > 2 ? strtoul(argv[2], NULL, 10) : 4;
    const unsigned n = asked < THREADS_MAX ? (unsigned)asked : THREADS_MAX;
    advgp_error err;
    advgp_model *model = NULL;
    if (argc < 2 || !n) {
        fprintf(stderr, "usage: serve MODEL [THREADS]\n");
        return 2;
    }
    if (advgp_model_load(argv[1], &model, &err) != ADVGP_OK) {
        fprintf(stderr, "serve: %s\n", err.text);
        return 1;
    }
    if (advgp_model_inputs(model) != 3) {
        fprintf(stderr, "serve: %s has %zu inputs, and rows of 3 are served here\n", argv[1],
                advgp_model_inputs(model));
        advgp_model_free(model);
        return 1;
    }
    int failed = 0;
    unsigned started = 0;
    for (; started < n; started++) {
        servers[started] = (server){.model = model, .number = started};
        if (pthread_create(&servers[started].thread, NULL, serve, &servers[started]) != 0) break;
    }
    for (unsigned i = 0; i < started; i++) {
        pthread_join(servers[i].thread, NULL);
        if (servers[i].status != ADVGP_OK) fprintf(stderr, "serve: %s\n", servers[i].err.text), failed = 1;
    }
    if (!failed)
        printf("%u threads answered %d rows each; the highest end was %.2f\n", started, REQUESTS, servers[0].highest);
    advgp_model_free(model);
    return failed;
}
