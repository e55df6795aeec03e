// fuzz_pslog.c: any bytes as the log of a run whose events of the server are read back, as a replay does.
#include "base/alloc.h"
#include "fuzz.h"
#include "run/pslog.h"
#include "store/runlog.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const long live = gp_alloc_count().live;
    gp_runlog_reader *reader;
    advgp_error err = {0};
    advgp_status st = gp_runlog_open(fuzz_file(bytes, n), &reader, &err);
    while (st == ADVGP_OK) {
        json_t *event;
        gp_pslog_line line;
        bool ours = false;
        st = gp_runlog_next(reader, &event, &err);
        if (!event) break;
        st = gp_pslog_read(event, &line, &ours, &err);
        json_decref(event);
        if (st != ADVGP_OK) FUZZ_CHECK(ours);
        if (st == ADVGP_OK && ours) {
            FUZZ_CHECK(gp_pslog_name(line.kind) != NULL);
            FUZZ_CHECK(line.worker <= 65535 && line.flags <= 255);
            FUZZ_CHECK(line.version <= INT64_MAX && line.sequence <= INT64_MAX && line.rows <= INT64_MAX);
        }
    }
    FUZZ_CHECK(st == ADVGP_OK || (st == ADVGP_EFILE && err.text[0]));
    gp_runlog_reader_close(reader);
    FUZZ_CHECK(gp_alloc_count().live == live);
    return 0;
}
