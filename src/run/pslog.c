// pslog.c: events to JSON and back.
#include "run/pslog.h"
#include "base/text.h"
#include "store/runlog.h"

#include <string.h>
#include <xxhash.h>

static const char *const names[] = {[GP_EVENT_JOINED] = "peer_joined", [GP_EVENT_LOST] = "peer_lost",
                                    [GP_EVENT_MOVED] = "shard_moved",  [GP_EVENT_BEGUN] = "begun",
                                    [GP_EVENT_PUSH] = "push",          [GP_EVENT_ADVANCE] = "advance",
                                    [GP_EVENT_PULL] = "pull",          [GP_EVENT_AGAIN] = "answered_again",
                                    [GP_EVENT_COLLECT] = "collect",    [GP_EVENT_COLLECTED] = "collected"};
enum { N_NAMES = sizeof names / sizeof *names };

const char *gp_pslog_name(gp_ps_event_kind kind)
{
    return names[kind];
}

// "0-31,40": shards are many and mostly neighbours.
static json_t *shard_list(size_t n, const uint32_t *shards)
{
    gp_buffer text = {0};
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end + 1 < n && shards[end + 1] == shards[end] + 1) end++;
        gp_buffer_add(&text, end > i ? "%s%u-%u" : "%s%u", i ? "," : "", shards[i], shards[end]);
        i = end + 1;
    }
    json_t *list = json_string(text.p ? text.p : "");
    gp_buffer_fini(&text);
    return list;
}

static json_t *used_list(size_t n, const gp_used_push *used)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < n; i++)
        json_array_append_new(list, json_pack("[I, I, I]", (json_int_t)used[i].worker, (json_int_t)used[i].sequence,
                                              (json_int_t)used[i].version));
    return list;
}

static json_t *push_fields(const gp_ps_event *e)
{
    const gp_message *p = e->push;
    json_t *fields = json_pack("{s:I, s:I, s:I, s:I, s:I, s:o}", "worker", (json_int_t)p->worker, "incarnation",
                               (json_int_t)p->incarnation, "sequence", (json_int_t)p->sequence, "version",
                               (json_int_t)p->version, "rows", (json_int_t)p->rows, "shards",
                               shard_list(p->n_shards, p->shards));
    if (fields && e->dropped) json_object_set_new(fields, "dropped", json_string(e->dropped));
    if (fields && !(p->flags & GP_FLAG_FULL)) json_object_set_new(fields, "filtered", json_true());
    if (fields && p->flags & GP_FLAG_FAILED) json_object_set_new(fields, "failed", json_true());
    return fields;
}

json_t *gp_pslog_fields(const gp_ps_event *e)
{
    switch (e->kind) {
    case GP_EVENT_JOINED:
    case GP_EVENT_LOST:
    case GP_EVENT_PULL:
    case GP_EVENT_AGAIN:
        return json_pack("{s:I, s:I}", "worker", (json_int_t)e->worker, "incarnation", (json_int_t)e->incarnation);
    case GP_EVENT_MOVED:
        return json_pack("{s:I, s:o, s:o}", "shard", (json_int_t)e->shard, "from",
                         e->from == GP_NOBODY ? json_null() : json_integer(e->from), "to",
                         e->worker == GP_NOBODY ? json_null() : json_integer(e->worker));
    case GP_EVENT_BEGUN:
        return json_object();
    case GP_EVENT_PUSH:
        return push_fields(e);
    case GP_EVENT_ADVANCE: {
        json_t *fields = json_pack("{s:I, s:o, s:f, s:f, s:o, s:f}", "version", (json_int_t)e->version, "used",
                                   used_list(e->n_used, e->used), "age", e->age, "step", e->shrink, "value",
                                   gp_json_real(e->value), "quorum", e->quorum);
        if (fields && e->held) json_object_set_new(fields, "held", json_true());
        if (fields && e->rolled_back) json_object_set_new(fields, "rolled_back", json_string(e->rolled_back));
        return fields;
    }
    case GP_EVENT_COLLECT:
        return json_pack("{s:I, s:I, s:I}", "version", (json_int_t)e->version, "flags", (json_int_t)e->flags, "rows",
                         (json_int_t)e->rows);
    case GP_EVENT_COLLECTED:
        return json_pack("{s:I, s:o}", "version", (json_int_t)e->version, "used", used_list(e->n_used, e->used));
    }
    return NULL;
}

static uint64_t hash_of(const json_t *list)
{
    return XXH3_64bits(json_string_value(list), json_string_length(list));
}

uint64_t gp_pslog_shards(size_t n, const uint32_t *shards)
{
    json_t *list = shard_list(n, shards);
    const uint64_t hash = hash_of(list);
    json_decref(list);
    return hash;
}

// ---- back -----------------------------------------------------------------------------------------------------------

static advgp_status read_integer(const json_t *line, const char *key, json_int_t max, json_int_t *out, advgp_error *err)
{
    const json_t *value = json_object_get(line, key);
    *out = json_integer_value(value);
    if (json_is_integer(value) && *out >= 0 && *out <= max) return ADVGP_OK;
    return gp_fail(err, ADVGP_EFILE, "a line of the log has no '%s' that can be", key);
}

advgp_status gp_pslog_read(const json_t *line, gp_pslog_line *out, bool *is_ours, advgp_error *err)
{
    const char *name = json_string_value(json_object_get(line, "event"));
    *out = (gp_pslog_line){0};
    *is_ours = false;
    for (size_t i = 0; name && i < N_NAMES; i++)
        if (!strcmp(names[i], name)) *is_ours = true, out->kind = (gp_ps_event_kind)i;
    if (!*is_ours) return ADVGP_OK;
    json_int_t worker = 0, incarnation = 0, sequence = 0, version = 0, flags = 0, rows = 0;
    const gp_ps_event_kind k = out->kind;
    const bool peer = k == GP_EVENT_JOINED || k == GP_EVENT_LOST || k == GP_EVENT_PULL || k == GP_EVENT_AGAIN ||
                      k == GP_EVENT_PUSH;
    const bool versioned = k == GP_EVENT_PUSH || k == GP_EVENT_ADVANCE || k == GP_EVENT_COLLECT ||
                           k == GP_EVENT_COLLECTED;
    advgp_status st = ADVGP_OK;
    if (peer) st = read_integer(line, "worker", 65535, &worker, err);
    if (st == ADVGP_OK && peer) st = read_integer(line, "incarnation", UINT32_MAX, &incarnation, err);
    if (st == ADVGP_OK && k == GP_EVENT_PUSH) st = read_integer(line, "sequence", INT64_MAX, &sequence, err);
    if (st == ADVGP_OK && versioned) st = read_integer(line, "version", INT64_MAX, &version, err);
    const json_t *shards = json_object_get(line, "shards");
    if (st == ADVGP_OK && k == GP_EVENT_PUSH && !json_is_string(shards))
        st = gp_fail(err, ADVGP_EFILE, "a line of the log has no 'shards' that can be");
    if (st == ADVGP_OK && k == GP_EVENT_PUSH) out->shards = hash_of(shards);
    if (st == ADVGP_OK && k == GP_EVENT_COLLECT) st = read_integer(line, "flags", 255, &flags, err);
    if (st == ADVGP_OK && k == GP_EVENT_COLLECT) st = read_integer(line, "rows", INT64_MAX, &rows, err);
    out->worker = (uint32_t)worker, out->incarnation = (uint32_t)incarnation;
    out->sequence = (uint64_t)sequence, out->version = (uint64_t)version;
    out->flags = (unsigned)flags, out->rows = (uint64_t)rows;
    out->filtered = json_is_true(json_object_get(line, "filtered"));
    out->failed = json_is_true(json_object_get(line, "failed"));
    out->held = json_is_true(json_object_get(line, "held"));
    out->dropped = json_object_get(line, "dropped") != NULL;
    out->rolled_back = json_object_get(line, "rolled_back") != NULL;
    return st;
}
