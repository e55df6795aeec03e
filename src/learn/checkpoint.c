// checkpoint.c: server, rule and evaluation in one safetensors file, with its checksum in the metadata.
#include "learn/checkpoint.h"
#include "base/alloc.h"
#include "learn/learner.h"
#include "ps/server_copy.h"
#include "store/tensorfile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// One list gives the places of the counts. The server's are first.
enum {
    VERSION = GP_IMAGE_VERSION,
    OLDEST = GP_IMAGE_OLDEST,
    CANDIDATE_VERSION = GP_IMAGE_CANDIDATE_VERSION,
    GENERATION = GP_IMAGE_GENERATION,
    HAS_VALUE = GP_IMAGE_HAS_VALUE,
    JUMPS = GP_IMAGE_JUMPS,
    DEALT = GP_IMAGE_DEALT,
    RULE_COUNTER = GP_IMAGE_N_COUNTS,
    SINCE_BEST,
    EVALUATED,
    EVALUATING,
    COMPONENTS,
    INDUCING,
    BATCH,
    STEPS,
    ROWS,
    WORKERS,
    SEED,
    DATA,
    SETTINGS,
    N_COUNTS
};
enum { N_OWN_SCALARS = 2, N_SCALARS = N_OWN_SCALARS + GP_IMAGE_N_REALS, N_TENSORS_MAX = 16 };

static const char metadata_format[] = "{\"checkpoint\": 4, \"xxh3\": \"%016" PRIx64 "\"}";

static gp_tensor doubles(const char *name, const double *data, size_t n)
{
    return (gp_tensor){.name = name, .dtype = GP_F64, .rank = 1, .shape = {n}, .data = data};
}

static gp_tensor integers(const char *name, const uint64_t *data, size_t n)
{
    return (gp_tensor){.name = name, .dtype = GP_U64, .rank = 1, .shape = {n}, .data = data};
}

advgp_status gp_checkpoint_save(const char *path, const gp_run_parts *parts, const gp_run_state *state, uint64_t *id,
                                advgp_error *err)
{
    const gp_server_image s = gp_server_look(parts->server);
    const gp_rule_state rule = parts->rule->ops->state(parts->rule);
    uint64_t counts[N_COUNTS] = {[RULE_COUNTER] = rule.counter ? *rule.counter : 0,
                                 [SINCE_BEST] = state->since_best,
                                 [EVALUATED] = state->evaluated_version,
                                 [EVALUATING] = state->evaluating,
                                 [COMPONENTS] = state->undecided ? 0 : state->components,
                                 [INDUCING] = state->inducing,
                                 [BATCH] = state->batch,
                                 [STEPS] = state->steps,
                                 [ROWS] = state->n_rows,
                                 [WORKERS] = state->workers,
                                 [SEED] = state->seed,
                                 [DATA] = state->data,
                                 [SETTINGS] = state->settings};
    // The finite check knows no infinity: "nothing evaluated yet" is a flag.
    const bool has_best = state->best < 1e300;
    double scalars[N_SCALARS] = {has_best ? state->best : 0, has_best};
    gp_image_get(&s, counts, scalars + N_OWN_SCALARS);
    gp_tensor tensors[N_TENSORS_MAX] = {doubles("theta", s.theta, s.size),
                                        doubles("kept", s.kept, s.size),
                                        doubles("candidate", s.candidate, s.size),
                                        doubles("best", parts->best, s.size),
                                        doubles("judged", parts->evaluated, s.size),
                                        doubles("scalars", scalars, N_SCALARS),
                                        integers("counts", counts, N_COUNTS),
                                        integers("owner", s.owner, s.n_shards),
                                        integers("sequence", s.sequence, s.n_workers),
                                        integers("incarnation", s.incarnation, s.n_workers)};
    size_t n = 10;
    if (s.sent)
        tensors[n++] = (gp_tensor){.name = "sent",
                                   .dtype = GP_F64,
                                   .rank = 2,
                                   .shape = {s.n_workers, s.size},
                                   .parts = (const void *const *)s.sent};
    for (size_t i = 0; i < rule.n_arrays; i++)
        tensors[n++] = doubles(rule.arrays[i].name, rule.arrays[i].values, rule.arrays[i].n);
    char metadata[64];
    const uint64_t xxh3 = gp_tensors_xxh3(tensors, n);
    snprintf(metadata, sizeof metadata, metadata_format, xxh3);
    if (id) *id = xxh3;
    return gp_tensorfile_write(path, tensors, n, metadata, err);
}

size_t gp_run_next_eval(const gp_run_state *state, size_t evaluated)
{
    const size_t next = evaluated + state->every - evaluated % state->every;
    return next < state->steps ? next : state->steps;
}

// ---- reading --------------------------------------------------------------------------------------------------------

// A checksum is no proof that a run wrote it: what no run leaves behind is refused, here as far as the counts tell by
// themselves, in gp_server_restore and below as far as the run knows. NULL: nothing is wrong.
static const char *wrong_count(const uint64_t *c)
{
    const uint64_t version = c[VERSION];
    if (version > c[STEPS]) return "version";
    if (c[OLDEST] > version) return "oldest version";
    if (c[CANDIDATE_VERSION] > version) return "version of the candidate";
    if (c[GENERATION] > UINT32_MAX / 2) return "generation";
    if (c[HAS_VALUE] > 1 || c[DEALT] > 1 || c[EVALUATING] > 1) return "flags";
    if (c[JUMPS] > version) return "number of jumps";
    if (c[RULE_COUNTER] > version) return "number of steps";
    if (c[EVALUATED] > version) return "evaluated version";
    if (c[SINCE_BEST] > version) return "number of evaluations";
    if (c[COMPONENTS] > GP_COMPONENTS_MAX) return "number of components";
    if (c[WORKERS] < 1 || c[WORKERS] > GP_WORKERS_MAX) return "number of workers";
    return NULL;
}

static advgp_status open_file(const char *path, gp_tensorfile **file, const uint64_t **counts, advgp_error *err)
{
    const gp_tensor *t;
    char metadata[64];
    advgp_status st = gp_tensorfile_read(path, file, err);
    if (st != ADVGP_OK) return st;
    snprintf(metadata, sizeof metadata, metadata_format, (*file)->xxh3);
    if (!(*file)->metadata || strcmp((*file)->metadata, metadata) != 0)
        st = gp_fail(err, ADVGP_EFILE, "%s is no checkpoint of this version, or was damaged: start without {resume}",
                     path);
    if (st == ADVGP_OK) st = gp_tensorfile_need(*file, "counts", GP_U64, 1, (size_t[]){N_COUNTS}, &t, err);
    if (st == ADVGP_OK) *counts = t->data;
    const char *wrong = st == ADVGP_OK ? wrong_count(*counts) : NULL;
    if (wrong) st = gp_fail(err, ADVGP_EFILE, "%s: its %s cannot be: start without {resume}", path, wrong);
    if (st != ADVGP_OK) {
        gp_tensorfile_free(*file);
        *file = NULL;
    }
    return st;
}

advgp_status gp_checkpoint_shape(const char *path, gp_run_shape *out, advgp_error *err)
{
    gp_tensorfile *file;
    const uint64_t *counts;
    advgp_status st = open_file(path, &file, &counts, err);
    if (st != ADVGP_OK) return st;
    *out = (gp_run_shape){.components = (size_t)counts[COMPONENTS],
                          .inducing = (size_t)counts[INDUCING],
                          .workers = (size_t)counts[WORKERS]};
    gp_tensorfile_free(file);
    return ADVGP_OK;
}

static advgp_status find(const gp_tensorfile *file, const char *name, gp_dtype dtype, size_t n, const void **to,
                         advgp_error *err)
{
    const gp_tensor *t;
    advgp_status st = gp_tensorfile_need(file, name, dtype, 1, &n, &t, err);
    if (st == ADVGP_OK && dtype == GP_F64) st = gp_tensorfile_finite(file, t, err);
    if (st == ADVGP_OK) *to = t->data;
    return st;
}

static advgp_status read_doubles(const gp_tensorfile *file, const char *name, size_t n, double *to, advgp_error *err)
{
    const void *data;
    const advgp_status st = find(file, name, GP_F64, n, &data, err);
    if (st == ADVGP_OK) memcpy(to, data, n * sizeof *to);
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
    advgp_status st = same(path, "seed", (size_t)counts[SEED], (size_t)state->seed, err); // it decides the others
    if (st == ADVGP_OK) st = same(path, "training rows", (size_t)counts[ROWS], state->n_rows, err);
    if (st == ADVGP_OK && counts[WORKERS] != state->workers)
        st = gp_fail(err, ADVGP_EINVAL, "%s is of a run with %zu workers, this one has %zu: give it {workers} %zu",
                     path, (size_t)counts[WORKERS], state->workers, (size_t)counts[WORKERS]);
    if (st == ADVGP_OK && counts[COMPONENTS] != 0)
        st = same(path, "inducing inputs", (size_t)counts[INDUCING], state->inducing, err);
    if (st == ADVGP_OK) st = same(path, "batch", (size_t)counts[BATCH], state->batch, err);
    if (st == ADVGP_OK) st = same(path, "steps", (size_t)counts[STEPS], state->steps, err);
    if (st == ADVGP_OK && counts[DATA] != state->data)
        st = gp_fail(err, ADVGP_EINVAL, "%s is of a run on other data or with another target: use the same data", path);
    if (st == ADVGP_OK && counts[SETTINGS] != state->settings)
        st = gp_fail(err, ADVGP_EINVAL,
                     "%s is of a run with another kernel, map, trend, optimizer, step, delay, precision or patience: "
                     "use the same "
                     "options",
                     path);
    return st;
}

static advgp_status read_rule(const gp_tensorfile *file, const uint64_t *counts, gp_rule *rule, advgp_error *err)
{
    const gp_rule_state state = rule->ops->state(rule);
    advgp_status st = ADVGP_OK;
    for (size_t i = 0; st == ADVGP_OK && i < state.n_arrays; i++) {
        st = read_doubles(file, state.arrays[i].name, state.arrays[i].n, state.arrays[i].values, err);
        for (size_t j = 0; st == ADVGP_OK && state.arrays[i].squares && j < state.arrays[i].n; j++)
            if (state.arrays[i].values[j] < 0)
                st = gp_fail(err, ADVGP_EFILE, "%s holds means of squares, and one is negative", state.arrays[i].name);
    }
    if (st == ADVGP_OK && state.counter) *state.counter = counts[RULE_COUNTER];
    return st;
}

// The copies of workers that came.
static advgp_status find_sent(const gp_tensorfile *file, size_t n_workers, size_t size, const double **rows,
                              advgp_error *err)
{
    const gp_tensor *t;
    advgp_status st = gp_tensorfile_need(file, "sent", GP_F64, 2, (size_t[]){n_workers, size}, &t, err);
    if (st == ADVGP_OK) st = gp_tensorfile_finite(file, t, err);
    for (size_t k = 0; st == ADVGP_OK && k < n_workers; k++) rows[k] = (const double *)t->data + k * size;
    return st;
}

// The arrays of an image, borrowed from the file, and from `rows`.
static advgp_status read_image(const gp_tensorfile *file, const uint64_t *counts, const double *scalars,
                               const double **rows, gp_server_image *image, advgp_error *err)
{
    const void *theta, *kept, *candidate, *owner, *sequence, *incarnation;
    advgp_status st = find(file, "theta", GP_F64, image->size, &theta, err);
    if (st == ADVGP_OK) st = find(file, "kept", GP_F64, image->size, &kept, err);
    if (st == ADVGP_OK) st = find(file, "candidate", GP_F64, image->size, &candidate, err);
    if (st == ADVGP_OK && image->sent) st = find_sent(file, image->n_workers, image->size, rows, err);
    if (st == ADVGP_OK) st = find(file, "owner", GP_U64, image->n_shards, &owner, err);
    if (st == ADVGP_OK) st = find(file, "sequence", GP_U64, image->n_workers, &sequence, err);
    if (st == ADVGP_OK) st = find(file, "incarnation", GP_U64, image->n_workers, &incarnation, err);
    if (st != ADVGP_OK) return st;
    gp_image_set(image, counts, scalars + N_OWN_SCALARS);
    image->theta = theta, image->kept = kept, image->candidate = candidate;
    if (image->sent) image->sent = rows;
    image->owner = owner, image->sequence = sequence, image->incarnation = incarnation;
    return ADVGP_OK;
}

static advgp_status load(const gp_tensorfile *file, const uint64_t *counts, const gp_run_parts *parts,
                         gp_run_state *state, advgp_error *err)
{
    double scalars[N_SCALARS];
    gp_server_image image = gp_server_look(parts->server); // for the shapes of this run, where nobody came yet
    const gp_tensor *came;
    advgp_status st = gp_tensorfile_need(file, "incarnation", GP_U64, 1, (size_t[]){GP_ANY}, &came, err);
    if (st != ADVGP_OK) return st;
    image.n_workers = came->shape[0];
    const double **rows = gp_alloc(image.n_workers + 1, sizeof *rows);
    if (!rows) return gp_no_memory(err);
    st = read_doubles(file, "scalars", N_SCALARS, scalars, err);
    if (st == ADVGP_OK && scalars[1] != 0 && scalars[1] != 1)
        st = gp_fail(err, ADVGP_EFILE, "whether it has a best evaluation is %g, neither 0 nor 1", scalars[1]);
    if (st == ADVGP_OK) st = read_image(file, counts, scalars, rows, &image, err);
    if (st == ADVGP_OK) st = read_doubles(file, "best", image.size, parts->best, err);
    if (st == ADVGP_OK) st = read_doubles(file, "judged", image.size, parts->evaluated, err);
    if (st == ADVGP_OK) st = read_rule(file, counts, parts->rule, err);
    if (st == ADVGP_OK) st = gp_server_restore(parts->server, &image, err);
    gp_free((void *)rows);
    if (st != ADVGP_OK) return st;
    state->components = (size_t)counts[COMPONENTS];
    state->inducing = (size_t)counts[INDUCING];
    state->since_best = (size_t)counts[SINCE_BEST];
    state->evaluating = counts[EVALUATING];
    state->evaluated_version = (size_t)counts[EVALUATED];
    state->best = scalars[1] != 0 ? scalars[0] : HUGE_VAL;
    return ADVGP_OK;
}

advgp_status gp_checkpoint_load(const char *path, const gp_run_parts *parts, gp_run_state *state, uint64_t *id,
                                advgp_error *err)
{
    gp_tensorfile *file;
    const uint64_t *counts;
    advgp_status st = open_file(path, &file, &counts, err);
    if (st != ADVGP_OK) return st;
    const gp_tensor *theta = gp_tensorfile_find(file, "theta");
    if (id) *id = counts[COMPONENTS] ? file->xxh3 : 0;
    st = same_run(path, counts, state, err);
    if (st == ADVGP_OK && counts[COMPONENTS] != 0 &&
        counts[VERSION] > gp_run_next_eval(state, (size_t)counts[EVALUATED]))
        st = gp_fail(err, ADVGP_EFILE,
                     "%s: its version, %" PRIu64 ", is beyond the evaluation that was due after %" PRIu64
                     ": start without {resume}",
                     path, counts[VERSION], counts[EVALUATED]);
    if (st == ADVGP_OK && counts[COMPONENTS] != 0) { // else nothing but the run's identity is of use
        if (theta && theta->rank == 1)
            st = same(path, "number of parameters", theta->shape[0], gp_server_look(parts->server).size, err);
        if (st == ADVGP_OK) st = load(file, counts, parts, state, err);
        if (st == ADVGP_EFILE) st = gp_wrap(err, st, "%s cannot be gone on from; start without {resume}", path);
    }
    gp_tensorfile_free(file);
    return st;
}
