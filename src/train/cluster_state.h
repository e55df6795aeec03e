// cluster_state.h: what the lead's cluster (cluster.c) and the runs over it (run_cluster.c, run_split.c) share, and
// nobody else includes.
#pragma once
#include "train/cluster.h"

enum { GP_CLUSTER_NAME = 80, GP_CLUSTER_TEXT = 512 };
static const double gp_cluster_turn_seconds = 0.25;
static const double gp_cluster_told_after = 4, gp_cluster_told_again = 10; // seconds of waiting: for whom

typedef struct acquaintance {
    char name[GP_CLUSTER_NAME]; // as it calls itself; empty: it has not asked
    bool gone;                  // said farewell, or was lost
    unsigned malformed;
} acquaintance;

struct gp_cluster {
    gp_cluster_options o;
    const char *data;
    uint64_t fingerprint;
    acquaintance *peers; // [n_peers]
    size_t n_peers;
    uint64_t runs;
    gp_cluster_counts counts;
};

__attribute__((format(printf, 2, 3))) void gp_cluster_tell(const gp_cluster *c, const char *format, ...);
// NULL: no memory, and the peer is a stranger this time.
acquaintance *gp_cluster_peer(gp_cluster *c, size_t peer);
const char *gp_cluster_name(const gp_cluster *c, size_t peer);
void gp_cluster_note_name(acquaintance *a, const gp_message *ask);
