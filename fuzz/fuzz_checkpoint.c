// fuzz_checkpoint.c: any bytes as a checkpoint, for a small run that is the one that the file names.
#include "base/alloc.h"
#include "fuzz.h"
#include "learn/checkpoint.h"
#include "learn/learner.h"
#include "repair.h"
#include "small_run.h"
#include "store/tensorfile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// What the run must be for the file to be its own; a file without counts is refused before they matter.
static gp_run_state state_of(const char *path)
{
    gp_run_state state = {.best = INFINITY, .every = 10}; // as make_checkpoint.c
    gp_tensorfile *file = NULL;
    const gp_tensor *counts = NULL;
    if (gp_tensorfile_read(path, &file, NULL) == ADVGP_OK) counts = gp_tensorfile_find(file, "counts");
    if (counts && counts->dtype == GP_U64 && gp_tensor_count(counts) >= 19) {
        const uint64_t *c = counts->data;
        state.batch = c[12], state.steps = c[13], state.n_rows = c[14], state.workers = c[15], state.seed = c[16];
        state.data = c[17], state.settings = c[18];
    }
    gp_tensorfile_free(file);
    return state;
}

static void load(const uint8_t *bytes, size_t n)
{
    double evaluated[64];
    const gp_learner *learner = small_learner();
    const size_t size = learner->layout.size;
    FUZZ_CHECK(size <= sizeof evaluated / sizeof *evaluated);
    const long live = gp_alloc_count().live;
    const gp_run_parts parts = small_run(evaluated);
    const char *path = fuzz_file(bytes, n);
    gp_run_state state = state_of(path);
    advgp_error err = {0};
    gp_run_shape shape;
    advgp_status st = gp_checkpoint_shape(path, &shape, &err);
    FUZZ_CHECK(st == ADVGP_OK || (st == ADVGP_EFILE && err.text[0]));
    if (st == ADVGP_OK) FUZZ_CHECK(shape.components <= GP_COMPONENTS_MAX);
    st = gp_checkpoint_load(path, &parts, &state, NULL, &err);
    FUZZ_CHECK(st == ADVGP_OK || ((st == ADVGP_EFILE || st == ADVGP_EINVAL) && err.text[0]));
    if (st == ADVGP_OK) {
        const double *theta = gp_server_theta(parts.server);
        for (size_t i = 0; i < size; i++) FUZZ_CHECK(isfinite(theta[i]) && isfinite(learner->best[i]));
        FUZZ_CHECK(!isnan(state.best) && gp_server_version(parts.server) <= state.steps);
    }
    gp_server_free(parts.server);
    gp_rule_free(parts.rule);
    FUZZ_CHECK(gp_alloc_count().live == live);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    load(bytes, n);
    uint8_t *copy = malloc(n ? n : 1);
    FUZZ_CHECK(copy != NULL);
    if (n) memcpy(copy, bytes, n);
    if (fuzz_repair_tensors(copy, n, "xxh3\\\": \\\"")) load(copy, n);
    free(copy);
    return 0;
}
