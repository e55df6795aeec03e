// fuzz_runlog.c: any bytes as the log of a run.
#include "base/alloc.h"
#include "fuzz.h"
#include "store/runlog.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    long live = gp_alloc_count().live;
    gp_runlog_reader *reader;
    advgp_error err = {0};
    advgp_status st = gp_runlog_open(fuzz_file(bytes, n), &reader, &err);
    FUZZ_CHECK((st == ADVGP_OK) == (reader != NULL));
    while (st == ADVGP_OK) {
        json_t *event;
        st = gp_runlog_next(reader, &event, &err);
        if (!event) break;
        FUZZ_CHECK(json_is_string(json_object_get(event, "event")));
        json_decref(event);
    }
    FUZZ_CHECK(st == ADVGP_OK || (st == ADVGP_EFILE && err.text[0]));
    gp_runlog_reader_close(reader);
    FUZZ_CHECK(gp_alloc_count().live == live);
    return 0;
}
