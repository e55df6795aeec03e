// entry.h: how a process takes part in a training of several: what it is, where the others are, and with which keys,
// from options and from what the launcher says.
#pragma once
#include "base/option.h"
#include "cluster/cluster.h"

typedef struct gp_entry gp_entry;

// *out NULL: --transport inproc, it is alone. Else it is a lead or a worker; a lead listens from here on.
advgp_status gp_entry_open(const gp_options *train, gp_entry **out, advgp_error *err);
bool gp_entry_is_worker(const gp_entry *entry);
// The lead's: workers of the run, and the rows they are to open.
gp_cluster *gp_entry_cluster(gp_entry *entry);
size_t gp_entry_workers(const gp_entry *entry); // that are expected
advgp_status gp_entry_data(gp_entry *entry, const gp_shards *shards, size_t m, advgp_error *err);
// The worker's life, until the lead has ended.
advgp_status gp_entry_work(gp_entry *entry, advgp_error *err);
// The lead tells everybody that it is over; why: what went wrong, or NULL. NULL is fine.
void gp_entry_close(gp_entry *entry, const char *why);

// `advgp work`: always a worker.
advgp_status gp_entry_open_worker(const gp_options *work, gp_entry **out, advgp_error *err);
