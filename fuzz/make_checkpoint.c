// make_checkpoint.c: writes checkpoints of the small run: before anybody came, and with both workers there.
//   make_checkpoint FOLDER
#include "small_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void come(gp_server *server, uint32_t worker)
{
    const gp_message hello = {.kind = GP_HELLO, .worker = worker, .token = worker + 1};
    size_t peer;
    gp_message answer;
    FUZZ_CHECK(gp_server_on_message(server, 0, worker, &hello, NULL) == ADVGP_OK);
    while (gp_server_next(server, 0, &peer, &answer)) {}
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"fresh", "run"};
    const char *folder = argc > 1 ? argv[1] : ".";
    const gp_learner *l = small_learner();
    for (size_t i = 0; i < 2; i++) {
        double evaluated[64] = {0};
        char path[4096];
        advgp_error err = {0};
        const gp_run_parts parts = small_run(evaluated);
        memcpy(evaluated, l->theta, l->layout.size * sizeof(double));
        for (uint32_t k = 0; i && k < WORKERS; k++) come(parts.server, k);
        const gp_run_state state = {.best = i ? 0.5 : HUGE_VAL,
                                    .components = 1,
                                    .evaluating = i,
                                    .batch = 5,
                                    .steps = 100,
                                    .every = 10,
                                    .n_rows = 20,
                                    .workers = WORKERS,
                                    .seed = 1,
                                    .data = 0x1234,
                                    .settings = 0x5678};
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        FUZZ_CHECK(gp_checkpoint_save(path, &parts, &state, NULL, &err) == ADVGP_OK);
        const gp_run_parts next = small_run(evaluated); // a seed that cannot be gone on from would be of little use
        gp_run_state back = state;
        FUZZ_CHECK(gp_checkpoint_load(path, &next, &back, NULL, &err) == ADVGP_OK);
        gp_server_free(next.server);
        gp_rule_free(next.rule);
        gp_server_free(parts.server);
        gp_rule_free(parts.rule);
    }
    return 0;
}
