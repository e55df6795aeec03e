// pslog.h: what the server saw and did as lines of the run log, and back: enough to compute an asynchronous run again.
#pragma once
#include "ps/server.h"

#include <jansson.h>

// The name of the line and its fields; NULL fields: no memory.
const char *gp_pslog_name(gp_ps_event_kind kind);
json_t *gp_pslog_fields(const gp_ps_event *event);

// A line read back. What a kind does not have is 0.
typedef struct gp_pslog_line {
    gp_ps_event_kind kind;
    uint32_t worker, incarnation;
    uint64_t sequence, version;
    bool filtered, failed, dropped, rolled_back, held;
    unsigned flags;
    uint64_t rows;
    uint64_t shards; // a hash of the shards of a push
} gp_pslog_line;
uint64_t gp_pslog_shards(size_t n, const uint32_t *shards); // the hash that a push of these has
// *is_ours: false for the lines of others (eval, done, ...). EFILE names the field that is missing or cannot be.
advgp_status gp_pslog_read(const json_t *line, gp_pslog_line *out, bool *is_ours, advgp_error *err);
