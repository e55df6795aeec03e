// checkpoint.c: parameters, optimiser state and counters in one safetensors file, with its checksum in the metadata.
#include "train/checkpoint.h"
#include "store/tensorfile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// step, since_best, batch, steps, n_rows, seed, Adam's t, components, data, settings
enum { N_COUNTS = 10 };
enum { N_TENSORS = 6 };

static const char metadata_format[] = "{\"checkpoint\": 2, \"xxh3\": \"%016" PRIx64 "\"}";

static gp_tensor vector(const char *name, const double *data, size_t n)
{
    return (gp_tensor){.name = name, .dtype = GP_F64, .rank = 1, .shape = {n}, .data = data};
}

advgp_status gp_checkpoint_save(const char *path, const gp_learner *l, const gp_run_state *state, advgp_error *err)
{
    const size_t size = l->layout.size;
    const uint64_t counts[N_COUNTS] = {
        state->step,   state->since_best, state->batch, state->steps,
        state->n_rows, state->seed,       l->adam.t,    state->undecided ? 0 : l->spec.n_components,
        state->data,   state->settings};
    // JSON and the finite check know no infinity: "nothing evaluated yet" is a flag.
    const double scalars[] = {state->best < 1e300 ? state->best : 0, state->best < 1e300, l->damping,
                              l->neg_elbo_per_row};
    const gp_tensor tensors[N_TENSORS] = {
        vector("theta", l->theta, size),
        vector("best", l->best, size),
        vector("adam_m", l->adam.m, size),
        vector("adam_v", l->adam.v, size),
        vector("scalars", scalars, sizeof scalars / sizeof *scalars),
        {.name = "counts", .dtype = GP_U64, .rank = 1, .shape = {N_COUNTS}, .data = counts},
    };
    char metadata[64];
    snprintf(metadata, sizeof metadata, metadata_format, gp_tensors_xxh3(tensors, N_TENSORS));
    return gp_tensorfile_write(path, tensors, N_TENSORS, metadata, err);
}

static advgp_status open_file(const char *path, gp_tensorfile **file, const uint64_t **counts, advgp_error *err)
{
    const gp_tensor *t;
    char metadata[64];
    advgp_status st = gp_tensorfile_read(path, file, err);
    if (st != ADVGP_OK) return st;
    snprintf(metadata, sizeof metadata, metadata_format, (*file)->xxh3);
    if (!(*file)->metadata || strcmp((*file)->metadata, metadata) != 0)
        st = gp_fail(err, ADVGP_EFILE, "%s is no checkpoint of this version, or was damaged: start without --resume",
                     path);
    if (st == ADVGP_OK) st = gp_tensorfile_need(*file, "counts", GP_U64, 1, (size_t[]){N_COUNTS}, &t, err);
    if (st == ADVGP_OK) *counts = t->data;
    if (st == ADVGP_OK && ((*counts)[0] > (*counts)[3] || (*counts)[7] > GP_COMPONENTS_MAX))
        st = gp_fail(err, ADVGP_EFILE, "%s: its counts cannot be: start without --resume", path);
    if (st != ADVGP_OK) {
        gp_tensorfile_free(*file);
        *file = NULL;
    }
    return st;
}

advgp_status gp_checkpoint_components(const char *path, size_t *components, advgp_error *err)
{
    gp_tensorfile *file;
    const uint64_t *counts;
    advgp_status st = open_file(path, &file, &counts, err);
    if (st != ADVGP_OK) return st;
    *components = (size_t)counts[7];
    gp_tensorfile_free(file);
    return ADVGP_OK;
}

static advgp_status read_vector(const gp_tensorfile *file, const char *name, size_t n, double *to, advgp_error *err)
{
    const gp_tensor *t;
    advgp_status st = gp_tensorfile_need(file, name, GP_F64, 1, &n, &t, err);
    if (st == ADVGP_OK) st = gp_tensorfile_finite(file, t, err);
    if (st == ADVGP_OK) memcpy(to, t->data, n * sizeof *to);
    return st;
}

static advgp_status same(const char *path, const char *what, size_t was, size_t is, advgp_error *err)
{
    if (was == is) return ADVGP_OK;
    return gp_fail(err, ADVGP_EINVAL, "%s is of a run with %s = %zu, this one has %zu: use the same data and options",
                   path, what, was, is);
}

static advgp_status same_run(const char *path, const uint64_t *counts, const gp_run_state *state, advgp_error *err)
{
    advgp_status st = same(path, "seed", (size_t)counts[5], (size_t)state->seed, err); // the seed decides the others
    if (st == ADVGP_OK) st = same(path, "training rows", (size_t)counts[4], state->n_rows, err);
    if (st == ADVGP_OK) st = same(path, "batch", (size_t)counts[2], state->batch, err);
    if (st == ADVGP_OK) st = same(path, "steps", (size_t)counts[3], state->steps, err);
    if (st == ADVGP_OK && counts[8] != state->data)
        st = gp_fail(err, ADVGP_EINVAL, "%s is of a run on other data or with another target: use the same data", path);
    if (st == ADVGP_OK && counts[9] != state->settings)
        st = gp_fail(err, ADVGP_EINVAL,
                     "%s is of a run with another kernel, map, trend, step or patience: use the same options", path);
    return st;
}

advgp_status gp_checkpoint_load(const char *path, gp_learner *l, gp_run_state *state, advgp_error *err)
{
    gp_tensorfile *file;
    const uint64_t *counts;
    advgp_status st = open_file(path, &file, &counts, err);
    if (st != ADVGP_OK) return st;
    const size_t size = l->layout.size;
    double scalars[4];
    const gp_tensor *theta = gp_tensorfile_find(file, "theta");
    st = same_run(path, counts, state, err);
    if (st == ADVGP_OK && counts[7] == 0) { // nothing but the run's identity is of use
        gp_tensorfile_free(file);
        return ADVGP_OK;
    }
    if (st == ADVGP_OK && theta && theta->rank == 1)
        st = same(path, "number of parameters", theta->shape[0], size, err);
    if (st == ADVGP_OK) st = read_vector(file, "theta", size, l->theta, err);
    if (st == ADVGP_OK) st = read_vector(file, "best", size, l->best, err);
    if (st == ADVGP_OK) st = read_vector(file, "adam_m", size, l->adam.m, err);
    if (st == ADVGP_OK) st = read_vector(file, "adam_v", size, l->adam.v, err);
    if (st == ADVGP_OK) st = read_vector(file, "scalars", 4, scalars, err);
    if (st == ADVGP_OK && !(scalars[2] > 0 && scalars[2] <= 1))
        st = gp_fail(err, ADVGP_EFILE, "%s: its damping of %g cannot be: start without --resume", path, scalars[2]);
    if (st == ADVGP_OK) {
        state->step = (size_t)counts[0], state->since_best = (size_t)counts[1];
        state->best = scalars[1] != 0 ? scalars[0] : HUGE_VAL;
        l->adam.t = (unsigned long)counts[6];
        l->damping = scalars[2], l->neg_elbo_per_row = scalars[3];
    }
    gp_tensorfile_free(file);
    return st;
}
