// participant.h: how a process takes part in a training of several: what it is, where the others are, and with which
// keys, from options and from what the launcher says.
#pragma once
#include "base/host.h"
#include "cluster/cluster.h"
#include "options/option.h"

typedef struct gp_participant gp_participant;

// *out NULL: --transport inproc, it is alone. Else it is a lead or a worker; a lead listens from here on.
// Options and host are borrowed until it is closed.
advgp_status gp_participant_open(const gp_options *train, const gp_host *host, gp_participant **out, advgp_error *err);
bool gp_participant_is_worker(const gp_participant *p);
// The lead's: workers of the run, and the rows they are to open.
gp_cluster *gp_participant_cluster(gp_participant *p);
size_t gp_participant_workers(const gp_participant *p); // that are expected
advgp_status gp_participant_data(gp_participant *p, const gp_shards *shards, size_t m, advgp_error *err);
// The worker's life, until the lead has ended.
advgp_status gp_participant_work(gp_participant *p, advgp_error *err);
// The lead tells everybody that it is over; why: what went wrong, or NULL. NULL is fine.
void gp_participant_close(gp_participant *p, const char *why);

// `advgp work`: always a worker.
advgp_status gp_participant_open_worker(const gp_options *work, const gp_host *host, gp_participant **out,
                                        advgp_error *err);
