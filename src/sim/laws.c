// laws.c: the watch over a server.
#include "sim/laws.h"
#include "base/alloc.h"
#include "linalg/dense.h"

#include <math.h>
#include <string.h>

static const double absurd_times = 1e9; // a row of it is so much larger than any of the others'

typedef struct place {
    uint32_t incarnation;
    bool has_push, has_used;
    uint64_t sequence, version; // of the newest push that was taken
    uint64_t used;              // sequence of the push that was used last
    double size;                // of its largest value, a row
    bool *shards;               // [n_shards], of the newest push
} place;

struct gp_watch {
    size_t n_shards, workers_max, max_delay, n_parameters;
    bool fresh_only, reassigned;
    bool collected; // just now; `shards` has what of
    uint64_t version;
    uint64_t checked; // version whose parameters were looked at
    gp_law law;
    place *places;
    double *weight; // [n_shards]
    bool *shards;   // [n_shards x (workers_max + 1)]: of the places, and those of one step
};

const char *gp_law_name(gp_law law)
{
    static const char *const names[] = {"NONE",
#define X(name, text) #name,
                                        GP_LAWS(X)
#undef X
    };
    return law < GP_N_LAWS ? names[law] : "?";
}

const char *gp_law_text(gp_law law)
{
    static const char *const texts[] = {"all laws hold",
#define X(name, text) text,
                                        GP_LAWS(X)
#undef X
    };
    return law < GP_N_LAWS ? texts[law] : "?";
}

void gp_watch_free(gp_watch *watch)
{
    if (!watch) return;
    gp_free(watch->places);
    gp_free(watch->weight);
    gp_free(watch->shards);
    gp_free(watch);
}

advgp_status gp_watch_new(const gp_server_options *o, size_t n_parameters, bool fresh_only, gp_watch **out,
                          advgp_error *err)
{
    *out = NULL;
    gp_watch *w = gp_alloc(1, sizeof *w);
    if (!w) return gp_no_memory(err);
    *w = (gp_watch){.n_shards = o->n_shards,
                    .workers_max = o->workers_max,
                    .max_delay = o->schedule.max_delay,
                    .n_parameters = n_parameters,
                    .fresh_only = fresh_only,
                    .reassigned = o->schedule.on_loss == GP_LOSS_REASSIGN,
                    .checked = UINT64_MAX,
                    .places = gp_alloc(o->workers_max, sizeof *w->places),
                    .weight = gp_alloc(o->n_shards, sizeof *w->weight),
                    .shards = gp_alloc(o->n_shards * (o->workers_max + 1), sizeof *w->shards)};
    if (!w->places || !w->weight || !w->shards) {
        gp_watch_free(w);
        return gp_no_memory(err);
    }
    for (size_t k = 0; k < w->workers_max; k++) w->places[k].shards = w->shards + (k + 1) * w->n_shards;
    memcpy(w->weight, o->shard_weight, o->n_shards * sizeof *w->weight);
    *out = w;
    return ADVGP_OK;
}

void gp_watch_restart(gp_watch *w, uint64_t version)
{
    w->version = version;
    w->checked = UINT64_MAX;
    for (size_t k = 0; k < w->workers_max; k++) w->places[k] = (place){.shards = w->places[k].shards};
}

void gp_watch_broken(gp_watch *w, gp_law law)
{
    if (w->law == GP_LAW_NONE) w->law = law;
}

gp_law gp_watch_law(const gp_watch *w)
{
    return w->law;
}

static void on_push(gp_watch *w, const gp_message *push)
{
    place *p = &w->places[push->worker];
    if (push->incarnation != p->incarnation) gp_watch_broken(w, GP_LAW_STALE);
    if (p->has_push && push->sequence <= p->sequence) gp_watch_broken(w, GP_LAW_TWICE);
    p->sequence = push->sequence;
    p->version = push->version;
    p->has_push = true;
    memset(p->shards, 0, w->n_shards * sizeof *p->shards);
    p->size = 0;
    if (push->flags & GP_FLAG_FAILED) return;
    double weight = 0;
    for (size_t i = 0; i < push->n_shards; i++) {
        p->shards[push->shards[i]] = true;
        weight += w->weight[push->shards[i]];
    }
    if (!(fabs(push->shard_weight - weight) <= 1e-6 * weight)) gp_watch_broken(w, GP_LAW_WEIGHTS);
    for (size_t i = 0; i < push->n_values; i++) p->size = fmax(p->size, fabs(push->values[i]) / push->batch_weight);
}

static void check_sizes(gp_watch *w, const gp_ps_event *event)
{
    double largest = 0, next = 0;
    for (size_t i = 0; i < event->n_used; i++) {
        const double size = w->places[event->used[i].worker].size;
        next = fmax(next, fmin(size, largest));
        largest = fmax(largest, size);
    }
    if (event->n_used > 1 && largest > absurd_times * fmax(next, 1)) gp_watch_broken(w, GP_LAW_ABSURD);
}

static void on_used(gp_watch *w, const gp_used_push *used, bool *rows)
{
    place *p = &w->places[used->worker];
    if (w->max_delay != GP_DELAY_ANY && used->version + w->max_delay < w->version) gp_watch_broken(w, GP_LAW_DELAY);
    if (!p->has_push || used->sequence > p->sequence || (w->fresh_only && p->has_used && used->sequence <= p->used))
        gp_watch_broken(w, GP_LAW_TWICE);
    p->used = used->sequence;
    p->has_used = true;
    if (used->sequence != p->sequence) return; // the newest one was no gradient
    for (size_t i = 0; i < w->n_shards; i++) {
        if (p->shards[i] && rows[i]) gp_watch_broken(w, GP_LAW_ROWS);
        rows[i] |= p->shards[i];
    }
}

void gp_watch_event(gp_watch *w, const gp_ps_event *event)
{
    switch (event->kind) {
    case GP_EVENT_JOINED:
        w->places[event->worker].incarnation = event->incarnation;
        break;
    case GP_EVENT_PUSH:
        if (!event->dropped) on_push(w, event->push);
        break;
    case GP_EVENT_ADVANCE:
        memset(w->shards, 0, w->n_shards * sizeof *w->shards);
        for (size_t i = 0; i < event->n_used; i++) on_used(w, &event->used[i], w->shards);
        check_sizes(w, event);
        if (event->version != ++w->version) gp_watch_broken(w, GP_LAW_VERSION);
        break;
    case GP_EVENT_COLLECT:
        w->version = event->version;
        break;
    case GP_EVENT_COLLECTED:
        memset(w->shards, 0, w->n_shards * sizeof *w->shards);
        for (size_t i = 0; i < event->n_used; i++) on_used(w, &event->used[i], w->shards);
        check_sizes(w, event);
        w->collected = true;
        break;
    default:
        break;
    }
}

void gp_watch_server(gp_watch *w, const gp_server *server)
{
    const gp_shard_table *table = gp_server_shards(server);
    if (gp_server_version(server) != w->version) gp_watch_broken(w, GP_LAW_VERSION);
    for (size_t i = 0; gp_server_begun(server) && gp_server_live(server) && i < table->n; i++) {
        const uint32_t owner = table->owner[i];
        if (owner == GP_NOBODY ? w->reassigned : owner >= w->workers_max || !gp_server_member(server, owner).live)
            gp_watch_broken(w, GP_LAW_SHARD);
    }
    for (size_t i = 0; w->collected && i < table->n; i++)
        if (table->owner[i] != GP_NOBODY && !w->shards[i]) gp_watch_broken(w, GP_LAW_ALL);
    w->collected = false;
    if (w->checked == w->version) return;
    w->checked = w->version;
    if (!gp_all_finite(w->n_parameters, gp_server_theta(server))) gp_watch_broken(w, GP_LAW_FINITE);
}
