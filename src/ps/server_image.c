// server_image.c: what others see of a server, and the image by which another goes on where it was.
#include "base/alloc.h"
#include "linalg/dense.h"
#include "ps/server_state.h"

#include <assert.h>
#include <math.h>
#include <string.h>

// ---- looking --------------------------------------------------------------------------------------------------------

uint64_t gp_server_version(const gp_server *s)
{
    return s->version;
}

uint64_t gp_server_allowed(const gp_server *s)
{
    return s->allowed;
}

bool gp_server_collects(const gp_server *s)
{
    return s->collecting;
}

const double *gp_server_theta(const gp_server *s)
{
    return s->theta;
}

double gp_server_value(const gp_server *s)
{
    return s->value;
}

bool gp_server_begun(const gp_server *s)
{
    return s->begun;
}

size_t gp_server_live(const gp_server *s)
{
    return s->n_live;
}

gp_member gp_server_member(const gp_server *s, uint32_t worker)
{
    assert(worker < s->o.workers_max);
    return s->members[worker].seen;
}

const gp_shard_table *gp_server_shards(const gp_server *s)
{
    return &s->table;
}

gp_server_counts gp_server_count(const gp_server *s)
{
    return s->counts;
}

// ---- checkpoint -----------------------------------------------------------------------------------------------------

gp_server_image gp_server_look(gp_server *s)
{
    size_t n_workers = s->o.workers_max; // those who may still come for the first time cost nothing
    while (n_workers > 0 && !s->members[n_workers - 1].seen.incarnation) n_workers--;
    bool dealt = s->begun; // or before a restart, after which it has not begun again
    for (size_t i = 0; i < s->table.n; i++) dealt |= s->table.owner[i] != GP_NOBODY;
    gp_server_image image = {.version = s->collecting ? s->steps_version : s->version,
                             .oldest = s->collecting ? s->steps_oldest : s->oldest,
                             .candidate_version = s->candidate_version,
                             .generation = s->o.generation,
                             .damping = s->damping,
                             .value = s->value,
                             .mean_value = s->mean_value,
                             .deviation = s->deviation,
                             .jumps = s->jumps,
                             .has_value = s->has_value,
                             .dealt = dealt,
                             .size = s->range.count,
                             .theta = s->theta,
                             .kept = s->kept,
                             .candidate = s->candidate,
                             .sent = s->sent,
                             .n_shards = s->table.n,
                             .n_workers = n_workers,
                             .owner = s->image,
                             .sequence = s->image + s->table.n,
                             .incarnation = s->image + s->table.n + n_workers};
    uint64_t *owner = s->image, *sequence = owner + s->table.n, *incarnation = sequence + n_workers;
    for (size_t i = 0; i < s->table.n; i++) owner[i] = s->table.owner[i];
    for (size_t k = 0; k < n_workers; k++) {
        const member *m = &s->members[k]; // a push that is in no step yet is to be computed again
        sequence[k] = m->fresh || m->failed ? m->push_sequence : m->seen.sequence;
        incarnation[k] = m->seen.incarnation;
        if (s->sent) s->sent[k] = m->sent ? m->sent : s->theta;
    }
    return image;
}

// Far above what a run comes to, and far below what cannot be counted on.
#define STARTS_MAX (UINT32_MAX / 2)
#define PUSHES_MAX ((uint64_t)1 << 53)

// What no run leaves behind, whatever a checksum says: a server that believed it would wait for pushes that nobody can
// make. NULL: nothing.
static const char *wrong_number(const gp_server_image *image)
{
    const double numbers[] = {image->value, image->mean_value, image->deviation};
    if (image->oldest > image->version) return "an oldest version";
    if (image->candidate_version > image->version) return "a version of the candidate";
    if (image->generation > STARTS_MAX) return "a generation";
    if (image->jumps > image->version) return "a number of jumps";
    if (!(image->damping >= ldexp(1, -GP_MAX_ROLLED_BACK) && image->damping <= 1)) return "a damping";
    if (!gp_all_finite(3, numbers) || image->deviation < 0) return "a value of the bound";
    if (!gp_all_finite(image->size, image->theta) || !gp_all_finite(image->size, image->kept) ||
        !gp_all_finite(image->size, image->candidate))
        return "a parameter";
    return NULL;
}

static advgp_status check_image(const gp_server *s, const gp_server_image *image, advgp_error *err)
{
    if (s->n_live || s->begun)
        return gp_fail(err, ADVGP_EINVAL, "a server goes on from a checkpoint before anybody came");
    if (image->size != s->range.count || image->n_shards != s->table.n)
        return gp_fail(err, ADVGP_EINVAL, "a checkpoint of %zu parameters and %zu shards: here are %zu and %zu",
                       image->size, image->n_shards, s->range.count, s->table.n);
    if (image->n_workers > s->o.workers_max)
        return gp_fail(err, ADVGP_EINVAL, "a checkpoint of a run that had %zu workers: here %zu at most may come",
                       image->n_workers, s->o.workers_max);
    const char *wrong = wrong_number(image);
    if (wrong) return gp_fail(err, ADVGP_EFILE, "a checkpoint with %s that cannot be", wrong);
    for (size_t k = 0; k < image->n_workers; k++)
        if (image->incarnation[k] > STARTS_MAX || image->sequence[k] > PUSHES_MAX ||
            (image->sent && !gp_all_finite(image->size, image->sent[k])))
            return gp_fail(err, ADVGP_EFILE, "a checkpoint with numbers of worker %zu that cannot be", k);
    for (size_t i = 0; image->dealt && i < image->n_shards; i++)
        if (image->owner[i] >= image->n_workers && image->owner[i] != GP_NOBODY)
            return gp_fail(err, ADVGP_EFILE, "a checkpoint that gives shard %zu to a worker that cannot be", i);
    return ADVGP_OK;
}

static advgp_status copy_sent(gp_server *s, const gp_server_image *image, advgp_error *err)
{
    for (size_t k = 0; s->sent && image->sent && k < image->n_workers; k++) {
        member *m = &s->members[k];
        if (!image->incarnation[k]) continue;
        if (!m->sent) m->sent = gp_alloc(image->size, sizeof(double));
        if (!m->sent) return gp_no_memory(err);
        memcpy(m->sent, image->sent[k], image->size * sizeof(double));
    }
    return ADVGP_OK;
}

advgp_status gp_server_restore(gp_server *s, const gp_server_image *image, advgp_error *err)
{
    advgp_status st = check_image(s, image, err);
    if (st == ADVGP_OK) st = copy_sent(s, image, err);
    if (st != ADVGP_OK) return st;
    const size_t bytes = image->size * sizeof(double);
    memcpy(s->theta, image->theta, bytes);
    memcpy(s->kept, image->kept, bytes);
    memcpy(s->candidate, image->candidate, bytes);
    s->version = image->version, s->oldest = image->oldest, s->candidate_version = image->candidate_version;
    s->o.generation = image->generation + 1;
    s->damping = image->damping;
    s->value = image->value, s->mean_value = image->mean_value, s->has_value = image->has_value;
    s->deviation = image->deviation, s->jumps = image->jumps;
    for (size_t i = 0; image->dealt && i < image->n_shards; i++) s->table.owner[i] = (uint32_t)image->owner[i];
    if (image->dealt) gp_server_weigh_rows(s); // without those given up for good
    for (size_t k = 0; k < image->n_workers; k++) {
        s->members[k].restored = s->members[k].sent != NULL;
        s->members[k].seen.sequence = image->sequence[k];
        s->members[k].seen.incarnation = (uint32_t)image->incarnation[k];
    }
    return ADVGP_OK;
}
