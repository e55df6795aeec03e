// serve.c: one interval of a server of a range.
#include "cluster/serve.h"
#include "base/clock.h"

#include <string.h>

enum { MISSED_BEATS = 5 }; // signs of life; the next one may be on its way

static uint64_t rows_taken(const gp_run *run)
{
    uint64_t rows = 0;
    for (uint32_t k = 0; k < gp_run_members(run); k++) rows += gp_server_member(run->server, k).rows;
    return rows;
}

// Who has died is live until it is lost, but is not to be waited for in the next interval.
static uint64_t workers_there(const gp_run *run, double heartbeat)
{
    uint64_t n = 0;
    const double since = gp_clock_wall() - MISSED_BEATS * heartbeat;
    for (uint32_t k = 0; k < gp_run_members(run); k++) {
        const gp_member m = gp_server_member(run->server, k);
        n += m.live && m.heard >= since;
    }
    return n;
}

advgp_status gp_serve(const gp_serve_options *o, gp_portion *result, advgp_error *err)
{
    const gp_job_service *service = &o->job->service;
    gp_portion begin;
    gp_run *run = NULL;
    *result = (gp_portion){0};
    advgp_status st = gp_portion_read(o->values, o->n_values, o->job->portion, strlen(o->job->portion), &begin, err);
    if (st == ADVGP_OK) {
        const gp_run_options ro = {.spec = &o->job->claims.spec,
                                   .theta = begin.image.theta,
                                   .range = begin.range,
                                   .shards = o->shards,
                                   .rule = o->job->rule,
                                   .workers = service->workers,
                                   .batch = o->job->batch,
                                   .max_delay = service->max_delay,
                                   .quorum = service->quorum,
                                   .filter = service->filter,
                                   .on_loss = service->on_loss,
                                   .steps = service->steps,
                                   .id = {o->run[0], o->run[1]},
                                   .cluster = o->cluster};
        st = gp_cluster_run_new(&ro, &run, err);
    }
    if (st == ADVGP_OK) st = gp_portions_restore(&begin, 1, run->server, run->rule, err);
    if (st == ADVGP_OK) st = gp_server_allow(run->server, service->until, err);
    if (st == ADVGP_OK) st = gp_run_start(run, err);
    while (st == ADVGP_OK && gp_server_version(run->server) < service->until) {
        st = run->ops->turn(run, 0.25, err);
        if (st == ADVGP_OK && o->stop(o->ctx)) st = gp_fail(err, ADVGP_ESTOPPED, "the interval was given up");
    }
    if (st == ADVGP_OK) st = gp_portion_look(run->server, run->rule, begin.range, begin.range, result, err);
    if (st == ADVGP_OK) result->rows = rows_taken(run), result->live = workers_there(run, o->job->heartbeat);
    gp_run_free(run); // tells the workers
    gp_portion_fini(&begin);
    return st;
}
