// job.h: what a worker in another process must know of a run to compute for it: a text that travels in one message. The
// lead writes it, a worker reads it as hostile.
#pragma once
#include "ps/server.h"
#include "store/spec_json.h"

enum { GP_JOB_TEXT_MAX = 1 << 20 }; // bytes
enum { GP_SERVERS_MAX = 256 };      // processes that keep a range each

// One of several servers, as a worker reaches it.
typedef struct gp_job_server {
    char address[128], key[64]; // key: its public one; empty: none
    gp_range range;             // of the parameters that it keeps
} gp_job_server;

// What a process is told that is to serve a range.
typedef struct gp_job_service {
    size_t workers_min, workers_max;
    double wait, lost_after, stuck_after;
    bool known;     // its workers were in a run before
    uint64_t until; // the version it ends with
} gp_job_service;

typedef struct gp_job {
    gp_spec_claims claims; // claims.spec: the features
    gp_schedule schedule;
    const char *data;     // folder of the packed shards, as the lead names it
    uint64_t fingerprint; // of these
    double heartbeat;     // seconds between two signs of life
    const double *delays; // [n_delays]: seconds that worker k sleeps before a push
    size_t n_delays;
    const gp_job_server *servers; // [n_servers]; none: the lead is the server
    size_t n_servers;
    bool serves; // the job is to serve: service and range_state count
    gp_job_service service;
    const char *range_state; // text of what it begins with (range_state.h); the values travel beside
    // What a job that was read owns; in one to be written all is borrowed.
    char *own_data, *own_range_state;
    double *own_delays;
    gp_job_server *own_servers;
} gp_job;

// A JSON text, for free(); NULL: no memory. Of the claims only the spec is looked at.
char *gp_job_to_text(const gp_job *job);
// EFILE: what is wrong with it. The job is to be ended in any case.
advgp_status gp_job_from_text(const char *text, size_t n, gp_job *out, advgp_error *err);
void gp_job_fini(gp_job *job);
