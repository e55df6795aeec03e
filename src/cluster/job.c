// job.c: a job to JSON and back.
#include "cluster/job.h"
#include "base/alloc.h"
#include "base/text.h"
#include "store/form.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS_MAX = 1 << 30 };

void gp_job_fini(gp_job *job)
{
    gp_spec_claims_fini(&job->claims);
    gp_free(job->own_data);
    gp_free(job->own_delays);
    gp_free(job->own_servers);
    gp_free(job->own_range_state);
    *job = (gp_job){0};
}

static json_t *delays_json(const gp_job *job)
{
    json_t *list = json_array();
    for (size_t k = 0; k < job->n_delays; k++) json_array_append_new(list, json_real(job->delays[k]));
    return list;
}

static json_t *servers_json(const gp_job *job)
{
    json_t *list = json_array();
    for (size_t s = 0; s < job->n_servers; s++) {
        const gp_job_server *x = &job->servers[s];
        json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:I}", "address", x->address, "key", x->key, "first",
                                              (json_int_t)x->range.first, "count", (json_int_t)x->range.count));
    }
    return list;
}

static json_t *service_json(const gp_job *job)
{
    const gp_job_service *x = &job->service;
    return json_pack("{s:I, s:I, s:f, s:f, s:f, s:b, s:I, s:s}", "workers_min", (json_int_t)x->workers_min,
                     "workers_max", (json_int_t)x->workers_max, "wait", x->wait, "lost_after", x->lost_after,
                     "stuck_after", x->stuck_after, "known", x->known, "until", (json_int_t)x->until, "range_state",
                     job->range_state);
}

char *gp_job_to_text(const gp_job *job)
{
    const gp_feature_spec *spec = &job->claims.spec;
    char fingerprint[20];
    snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, job->fingerprint);
    json_t *o = json_pack("{s:I, s:s, s:o, s:s, s:s, s:f, s:o, s:b}", "d", (json_int_t)spec->d, "trend",
                          gp_trend_name(spec->trend), "schedule", gp_schedule_json(&job->schedule), "data", job->data,
                          "fingerprint", fingerprint, "heartbeat", job->heartbeat, "delays", delays_json(job),
                          "follows", spec->n_components && spec->components[0].shape.follows);
    if (o && job->n_servers) json_object_set_new(o, "servers", servers_json(job));
    if (o && job->serves) json_object_set_new(o, "service", service_json(job));
    char *text = o && gp_spec_describe(spec, o) ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(o);
    return text;
}

static advgp_status read_delays(const json_t *list, gp_job *job, advgp_error *err)
{
    const size_t n = json_array_size(list);
    if (!json_is_array(list) || n > GP_WORKERS_MAX) return gp_metadata_bad(err, "its delays");
    job->delays = job->own_delays = gp_alloc(n, sizeof *job->delays);
    if (!job->delays) return gp_no_memory(err);
    for (; job->n_delays < n; job->n_delays++) {
        const double seconds = json_number_value(json_array_get(list, job->n_delays));
        if (!(seconds >= 0 && seconds <= 86400)) return gp_metadata_bad(err, "its delays");
        job->own_delays[job->n_delays] = seconds;
    }
    return ADVGP_OK;
}

static advgp_status read_rest(const json_t *o, gp_job *job, advgp_error *err)
{
    const char *data = json_string_value(json_object_get(o, "data")),
               *fingerprint = json_string_value(json_object_get(o, "fingerprint")),
               *bad = gp_schedule_read(json_object_get(o, "schedule"), &job->schedule);
    char *end;
    if (bad) return gp_metadata_bad(err, bad);
    if (!data || !*data) return gp_metadata_bad(err, "its data");
    if (!fingerprint || strlen(fingerprint) != 16) return gp_metadata_bad(err, "its fingerprint");
    job->fingerprint = strtoull(fingerprint, &end, 16);
    if (*end) return gp_metadata_bad(err, "its fingerprint");
    job->heartbeat = json_number_value(json_object_get(o, "heartbeat"));
    if (!(job->heartbeat > 0 && job->heartbeat <= 3600)) return gp_metadata_bad(err, "its heartbeat");
    job->data = job->own_data = gp_text_copy(data, strlen(data));
    if (!job->data) return gp_no_memory(err);
    if (json_is_true(json_object_get(o, "follows")))
        for (size_t b = 0; b < job->claims.spec.n_components; b++) job->claims.components[b].shape.follows = true;
    return read_delays(json_object_get(o, "delays"), job, err);
}

static advgp_status read_servers(const json_t *list, gp_job *job, advgp_error *err)
{
    const size_t n = json_array_size(list);
    if (!list) return ADVGP_OK;
    if (!n || n > GP_SERVERS_MAX) return gp_metadata_bad(err, "its servers");
    job->servers = job->own_servers = gp_alloc(n, sizeof *job->servers);
    if (!job->servers) return gp_no_memory(err);
    for (size_t next = 0; job->n_servers < n; job->n_servers++) {
        gp_job_server *to = &job->own_servers[job->n_servers];
        const json_t *o = json_array_get(list, job->n_servers);
        const char *address = json_string_value(json_object_get(o, "address")),
                   *key = json_string_value(json_object_get(o, "key"));
        if (!address || !key || strlen(address) >= sizeof to->address || strlen(key) >= sizeof to->key ||
            !gp_metadata_size(json_object_get(o, "first"), PARAMETERS_MAX, &to->range.first) ||
            !gp_metadata_size(json_object_get(o, "count"), PARAMETERS_MAX, &to->range.count) || !to->range.count ||
            to->range.first != next)
            return gp_metadata_bad(err, "its servers");
        memcpy(to->address, address, strlen(address));
        memcpy(to->key, key, strlen(key));
        next += to->range.count;
    }
    return ADVGP_OK;
}

static advgp_status read_service(const json_t *o, gp_job *job, advgp_error *err)
{
    gp_job_service *x = &job->service;
    const char *range_state = json_string_value(json_object_get(o, "range_state"));
    size_t until;
    if (!o) return ADVGP_OK;
    job->serves = true;
    x->wait = json_number_value(json_object_get(o, "wait"));
    x->lost_after = json_number_value(json_object_get(o, "lost_after"));
    x->stuck_after = json_number_value(json_object_get(o, "stuck_after"));
    if (!gp_metadata_size(json_object_get(o, "workers_min"), GP_WORKERS_MAX, &x->workers_min) ||
        !gp_metadata_size(json_object_get(o, "workers_max"), GP_WORKERS_MAX, &x->workers_max) ||
        !gp_metadata_size(json_object_get(o, "until"), PARAMETERS_MAX, &until) || !range_state ||
        !job->schedule.workers || job->schedule.workers > x->workers_max || !(x->wait > 0) || !(x->lost_after > 0) ||
        !(x->stuck_after > 0))
        return gp_metadata_bad(err, "its service");
    x->until = until;
    x->known = json_is_true(json_object_get(o, "known"));
    job->range_state = job->own_range_state = gp_text_copy(range_state, strlen(range_state));
    return job->range_state ? ADVGP_OK : gp_no_memory(err);
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
    if (st == ADVGP_OK) st = read_servers(json_object_get(o, "servers"), out, err);
    if (st == ADVGP_OK) st = read_service(json_object_get(o, "service"), out, err);
    json_decref(o);
    return st == ADVGP_OK ? st : gp_wrap(err, st, "the lead's job");
}
