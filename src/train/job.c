// job.c: a job to JSON and back.
#include "train/job.h"
#include "base/alloc.h"
#include "base/text.h"
#include "store/form.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_MAX = 1 << 30, DELAYS_MAX = 4096 };

void gp_job_fini(gp_job *job)
{
    gp_spec_claims_fini(&job->claims);
    gp_free(job->data);
    gp_free(job->delays);
    *job = (gp_job){0};
}

static json_t *delays_json(const gp_job *job)
{
    json_t *list = json_array();
    for (size_t k = 0; k < job->n_delays; k++) json_array_append_new(list, json_real(job->delays[k]));
    return list;
}

char *gp_job_to_text(const gp_job *job)
{
    const gp_feature_spec *spec = &job->claims.spec;
    char fingerprint[20];
    snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, job->fingerprint);
    json_t *o = json_pack("{s:I, s:s, s:s, s:I, s:s, s:s, s:f, s:o, s:b}", "d", (json_int_t)spec->d, "trend",
                          gp_trend_name(spec->trend), "rule", job->rule->name, "batch", (json_int_t)job->batch, "data",
                          job->data, "fingerprint", fingerprint, "heartbeat", job->heartbeat, "delays",
                          delays_json(job), "follows", spec->n_components && spec->components[0].shape.follows);
    char *text = o && gp_spec_describe(spec, o) ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(o);
    return text;
}

static advgp_status read_delays(const json_t *list, gp_job *job, advgp_error *err)
{
    const size_t n = json_array_size(list);
    if (!json_is_array(list) || n > DELAYS_MAX) return gp_metadata_bad(err, "its delays");
    job->delays = gp_alloc(n, sizeof *job->delays);
    if (!job->delays) return gp_fail(err, ADVGP_ENOMEM, "no memory for %zu delays", n);
    for (; job->n_delays < n; job->n_delays++) {
        const double seconds = json_number_value(json_array_get(list, job->n_delays));
        if (!(seconds >= 0 && seconds <= 86400)) return gp_metadata_bad(err, "its delays");
        job->delays[job->n_delays] = seconds;
    }
    return ADVGP_OK;
}

static advgp_status read_rest(const json_t *o, gp_job *job, advgp_error *err)
{
    const char *rule = json_string_value(json_object_get(o, "rule")),
               *data = json_string_value(json_object_get(o, "data")),
               *fingerprint = json_string_value(json_object_get(o, "fingerprint"));
    char *end;
    job->rule = rule ? gp_rule_named(rule) : NULL;
    if (!job->rule) return gp_metadata_bad(err, "its rule");
    if (!gp_metadata_size(json_object_get(o, "batch"), BATCH_MAX, &job->batch) || !job->batch)
        return gp_metadata_bad(err, "its batch");
    if (!data || !*data) return gp_metadata_bad(err, "its data");
    if (!fingerprint || strlen(fingerprint) != 16) return gp_metadata_bad(err, "its fingerprint");
    job->fingerprint = strtoull(fingerprint, &end, 16);
    if (*end) return gp_metadata_bad(err, "its fingerprint");
    job->heartbeat = json_number_value(json_object_get(o, "heartbeat"));
    if (!(job->heartbeat > 0 && job->heartbeat <= 3600)) return gp_metadata_bad(err, "its heartbeat");
    job->data = gp_text_copy(data, strlen(data));
    if (!job->data) return gp_fail(err, ADVGP_ENOMEM, "no memory for a job");
    if (json_is_true(json_object_get(o, "follows")))
        for (size_t b = 0; b < job->claims.spec.n_components; b++) job->claims.components[b].shape.follows = true;
    return read_delays(json_object_get(o, "delays"), job, err);
}

advgp_status gp_job_from_text(const char *text, size_t n, gp_job *out, advgp_error *err)
{
    json_error_t where;
    *out = (gp_job){0};
    json_t *o = json_loadb(text, n, JSON_REJECT_DUPLICATES, &where);
    if (!json_is_object(o)) {
        json_decref(o);
        return gp_fail(err, ADVGP_EFILE, "what the lead says of its job is no JSON object");
    }
    advgp_status st = gp_spec_claim(o, &out->claims, err);
    if (st == ADVGP_OK) st = read_rest(o, out, err);
    json_decref(o);
    return st == ADVGP_OK ? st : gp_wrap(err, st, "the lead's job");
}
