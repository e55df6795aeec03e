// fuzz_checkpoint.c: any bytes as a checkpoint, for a small run that is the one that the file names.
#include "base/alloc.h"
#include "fuzz.h"
#include "repair.h"
#include "store/tensorfile.h"
#include "train/checkpoint.h"
#include "train/learner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHARDS = 3, WORKERS = 2 };

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
                                        .inducing = gp_cmat_of(points, 2, 2)};
    if (!learner) FUZZ_CHECK(gp_learner_new(&options, &learner, NULL) == ADVGP_OK);
    return learner;
}

// A server that nobody has come to; it is new for every file, since one goes on from a checkpoint only once.
static gp_run_parts small_run(double *judged)
{
    static const double weight[SHARDS] = {7, 7, 6};
    gp_learner *l = small_learner();
    const gp_rule_options rule = {.layout = l->layout, .range = gp_range_all(l->layout), .natural_rate = 0.2};
    gp_run_parts parts = {.best = l->best, .judged = judged};
    FUZZ_CHECK(gp_rule_natural.make(&rule, &parts.rule, NULL) == ADVGP_OK);
    const gp_server_options server = {.rule = parts.rule,
                                      .theta = l->theta,
                                      .n_shards = SHARDS,
                                      .shard_weight = weight,
                                      .workers = WORKERS,
                                      .workers_max = WORKERS};
    FUZZ_CHECK(gp_server_new(&server, &parts.server, NULL) == ADVGP_OK);
    return parts;
}

// What the run must be for the file to be its own; a file without counts is refused before they matter.
static gp_run_state state_of(const char *path)
{
    gp_run_state state = {.best = INFINITY};
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
    double judged[64];
    const gp_learner *learner = small_learner();
    const size_t size = learner->layout.size;
    FUZZ_CHECK(size <= sizeof judged / sizeof *judged);
    const long live = gp_alloc_count().live;
    const gp_run_parts parts = small_run(judged);
    const char *path = fuzz_file(bytes, n);
    gp_run_state state = state_of(path);
    advgp_error err = {0};
    size_t components, workers;
    advgp_status st = gp_checkpoint_shape(path, &components, &workers, &err);
    FUZZ_CHECK(st == ADVGP_OK || (st == ADVGP_EFILE && err.text[0]));
    if (st == ADVGP_OK) FUZZ_CHECK(components <= GP_COMPONENTS_MAX);
    st = gp_checkpoint_load(path, &parts, &state, &err);
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
