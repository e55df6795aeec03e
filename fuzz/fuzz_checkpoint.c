// fuzz_checkpoint.c: any bytes as a checkpoint, for a small learner whose run is the one that the file names.
#include "base/alloc.h"
#include "fuzz.h"
#include "repair.h"
#include "store/tensorfile.h"
#include "train/checkpoint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static gp_learner *small_learner(void)
{
    static const double points[] = {-1, 0.5, 1, -0.5};
    static gp_learner *learner;
    const gp_learner_options options = {.d = 2,
                                        .m = 2,
                                        .components = 1,
                                        .kernel = gp_kernel_named("ard-rbf"),
                                        .map = &gp_map_cholesky,
                                        .trend = GP_TREND_LINEAR,
                                        .length_scale = 1,
                                        .natural_rate = 0.2,
                                        .adam_rate = 0.1,
                                        .n_rows = 20,
                                        .inducing = gp_cmat_of(points, 2, 2)};
    if (!learner) FUZZ_CHECK(gp_learner_new(&options, &learner, NULL) == ADVGP_OK);
    return learner;
}

// What the run must be for the file to be its own; a file without counts is refused before they matter.
static gp_run_state state_of(const char *path)
{
    gp_run_state state = {.best = INFINITY};
    gp_tensorfile *file = NULL;
    const gp_tensor *counts = NULL;
    if (gp_tensorfile_read(path, &file, NULL) == ADVGP_OK) counts = gp_tensorfile_find(file, "counts");
    if (counts && counts->dtype == GP_U64 && gp_tensor_count(counts) >= 10) {
        const uint64_t *c = counts->data;
        state.batch = c[2], state.steps = c[3], state.n_rows = c[4], state.seed = c[5];
        state.data = c[8], state.settings = c[9];
    }
    gp_tensorfile_free(file);
    return state;
}

static void load(const uint8_t *bytes, size_t n)
{
    gp_learner *learner = small_learner();
    const long live = gp_alloc_count().live;
    const char *path = fuzz_file(bytes, n);
    gp_run_state state = state_of(path);
    advgp_error err = {0};
    size_t components;
    advgp_status st = gp_checkpoint_components(path, &components, &err);
    FUZZ_CHECK(st == ADVGP_OK || (st == ADVGP_EFILE && err.text[0]));
    if (st == ADVGP_OK) FUZZ_CHECK(components <= GP_COMPONENTS_MAX);
    st = gp_checkpoint_load(path, learner, &state, &err);
    FUZZ_CHECK(st == ADVGP_OK || ((st == ADVGP_EFILE || st == ADVGP_EINVAL) && err.text[0]));
    if (st == ADVGP_OK) {
        for (size_t i = 0; i < learner->layout.size; i++)
            FUZZ_CHECK(isfinite(learner->theta[i]) && isfinite(learner->best[i]));
        FUZZ_CHECK(learner->damping > 0 && learner->damping <= 1 && !isnan(state.best));
        FUZZ_CHECK(state.step <= state.steps);
    }
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
