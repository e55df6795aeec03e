// server_copy.h: a server and its rule at one moment, as a copy that outlives them: the checkpoint of a simulated
// server, or a range of the parameters on its way to another process (cluster/range_state.h). The single numbers of an
// image have one list here, by which files and messages write them down.
#pragma once
#include "ps/rule.h"
#include "ps/server.h"

// Counts stand in the order that checkpoint files have.
#define GP_IMAGE_COUNTS(X)                  \
    X(VERSION, version)                     \
    X(OLDEST, oldest)                       \
    X(CANDIDATE_VERSION, candidate_version) \
    X(GENERATION, generation)               \
    X(HAS_VALUE, has_value)                 \
    X(JUMPS, jumps)                         \
    X(DEALT, dealt)
#define GP_IMAGE_REALS(X)     \
    X(DAMPING, damping)       \
    X(VALUE, value)           \
    X(MEAN_VALUE, mean_value) \
    X(DEVIATION, deviation)
enum {
#define X(NAME, name) GP_IMAGE_##NAME,
    GP_IMAGE_COUNTS(X) GP_IMAGE_N_COUNTS
#undef X
};
enum {
#define X(NAME, name) GP_IMAGE_##NAME,
    GP_IMAGE_REALS(X) GP_IMAGE_N_REALS
#undef X
};
extern const char *const gp_image_count_names[GP_IMAGE_N_COUNTS], *const gp_image_real_names[GP_IMAGE_N_REALS];
void gp_image_get(const gp_server_image *image, uint64_t counts[GP_IMAGE_N_COUNTS], double reals[GP_IMAGE_N_REALS]);
void gp_image_set(gp_server_image *image, const uint64_t counts[GP_IMAGE_N_COUNTS],
                  const double reals[GP_IMAGE_N_REALS]);

typedef struct gp_server_copy {
    gp_range range;        // of all parameters
    gp_server_image image; // points into what follows
    size_t n_values;
    double *values;    // theta, kept, candidate, each of range.count; then the rule's arrays
    size_t n_arrays;   // of the rule
    uint64_t *numbers; // owner, sequence, incarnation
    uint64_t counter;  // the rule's
    double *sent;      // what the workers have, where the server filters
    const double **sent_rows;
} gp_server_copy;
void gp_server_copy_fini(gp_server_copy *copy);

// Room for the image's arrays, whose numbers it tells, and for n_values. For whoever fills it from elsewhere; *copy
// starts zeroed but for range, image and n_values.
advgp_status gp_server_copy_make_room(gp_server_copy *copy, advgp_error *err);
// The part `range` of what server and rule keep. One that is not the whole has no `sent`: whoever goes on from it says
// all anew. The rule must be element-wise for it. *out is to be ended in any case.
advgp_status gp_server_copy_take(gp_server *server, gp_rule *rule, gp_range range, gp_server_copy *out,
                                 advgp_error *err);
// Into a server to which nobody has come, and its rule, which keep just the ranges of these n copies, in their order,
// one after the other. EINVAL: they are not of the same version, rule or ranges.
advgp_status gp_server_copies_restore(const gp_server_copy *copies, size_t n, gp_server *server, gp_rule *rule,
                                      advgp_error *err);
