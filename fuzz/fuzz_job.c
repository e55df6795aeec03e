// fuzz_job.c: any bytes as what a lead tells its workers of a job, and as the state of a range of the parameters that
// travels between it and a server; what is accepted says the same when it is told again.
#include "base/alloc.h"
#include "cluster/job.h"
#include "cluster/range_state.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static void as_job(const char *text, size_t n)
{
    gp_job job, again;
    advgp_error err = {0};
    const advgp_status st = gp_job_from_text(text, n, &job, &err);
    FUZZ_CHECK(st == ADVGP_OK || err.text[0]);
    if (st == ADVGP_OK) {
        char *told = gp_job_to_text(&job);
        FUZZ_CHECK(told);
        FUZZ_CHECK(gp_job_from_text(told, strlen(told), &again, &err) == ADVGP_OK);
        const gp_schedule *a = &again.schedule, *b = &job.schedule;
        FUZZ_CHECK(a->rule == b->rule && a->batch == b->batch && a->max_delay == b->max_delay && a->seed == b->seed);
        FUZZ_CHECK(again.fingerprint == job.fingerprint && again.n_servers == job.n_servers &&
                   again.serves == job.serves && again.n_delays == job.n_delays);
        gp_job_fini(&again);
        free(told);
    }
    gp_job_fini(&job);
}

static void as_range_state(const char *text, size_t n)
{
    static const double values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    gp_range_state state, again;
    advgp_error err = {0};
    const advgp_status st = gp_range_state_read(values, sizeof values / sizeof *values, text, n, &state, &err);
    FUZZ_CHECK(st == ADVGP_OK || err.text[0]);
    if (st == ADVGP_OK) {
        char *told = gp_range_state_text(&state);
        FUZZ_CHECK(told);
        FUZZ_CHECK(gp_range_state_read(state.copy.values, state.copy.n_values, told, strlen(told), &again, &err) ==
                   ADVGP_OK);
        FUZZ_CHECK(again.copy.range.first == state.copy.range.first &&
                   again.copy.image.version == state.copy.image.version);
        gp_range_state_fini(&again);
        free(told);
    }
    gp_range_state_fini(&state);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const long live = gp_alloc_count().live;
    as_job((const char *)bytes, n);
    as_range_state((const char *)bytes, n);
    FUZZ_CHECK(gp_alloc_count().live == live);
    return 0;
}
