// job.h: what a worker in another process must know of a run to compute for it: a text that travels in one message. The
// lead writes it, a worker reads it as hostile.
#pragma once
#include "ps/rule.h"
#include "store/spec_json.h"

enum { GP_JOB_TEXT_MAX = 1 << 20 }; // bytes

typedef struct gp_job {
    gp_spec_claims claims; // claims.spec: the features
    const gp_rule_ops *rule;
    size_t batch;         // rows of a push
    char *data;           // folder of the packed shards, as the lead names it
    uint64_t fingerprint; // of these
    double heartbeat;     // seconds between two signs of life
    double *delays;       // [n_delays]: seconds that worker k sleeps before a push
    size_t n_delays;
} gp_job;

// A JSON text for gp_free's sister free(); NULL: no memory. Of the claims only the spec is looked at.
char *gp_job_to_text(const gp_job *job);
// EFILE: what is wrong with it. The job is to be ended in any case.
advgp_status gp_job_from_text(const char *text, size_t n, gp_job *out, advgp_error *err);
void gp_job_fini(gp_job *job);
