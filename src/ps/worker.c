// worker.c: one request outstanding, repeated until it is answered; a push takes the place of the next pull.
#include "ps/worker.h"
#include "base/alloc.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const double resend_growth = 1.5, resend_most = 15;

struct gp_worker {
    gp_worker_options o;
    gp_worker_state state;
    uint32_t id, incarnation, generation;
    uint64_t run[2];
    uint64_t sequence, version;
    unsigned flags; // of the parameters
    uint64_t max_rows;
    double *theta, *push;
    uint32_t *shards;
    size_t n_shards;
    uint64_t token;     // changes with every new hello
    gp_message request; // not answered yet; its arrays are ours
    bool to_send;
    double sent, patience; // when, and how long until it is sent again
    double last_word;      // when anything was said
    uint64_t resends;
    gp_refusal refused;
};

void gp_worker_free(gp_worker *w)
{
    if (!w) return;
    gp_free(w->theta);
    gp_free(w->push);
    gp_free(w->shards);
    gp_free(w);
}

static gp_message message_of(const gp_worker *w, gp_message_kind kind)
{
    return (gp_message){.kind = kind,
                        .run = {w->run[0], w->run[1]},
                        .generation = w->generation,
                        .worker = w->id,
                        .incarnation = w->incarnation,
                        .sequence = w->sequence,
                        .version = w->version,
                        .token = w->token}; // by which it is known, whatever connection it comes by
}

static void ask(gp_worker *w, gp_message request)
{
    w->request = request;
    w->to_send = true;
    w->patience = w->o.resend;
}

static void send_hello(gp_worker *w)
{
    w->state = GP_WORKER_HELLO;
    gp_message hello = message_of(w, GP_HELLO);
    if (w->id == GP_ANY_WORKER) hello.worker = w->o.wish;
    if (w->o.yields) hello.flags |= GP_FLAG_YIELDS;
    hello.fingerprint = w->o.fingerprint;
    ask(w, hello);
}

advgp_status gp_worker_new(const gp_worker_options *o, gp_worker **out, advgp_error *err)
{
    *out = NULL;
    gp_worker *w = gp_alloc(1, sizeof *w);
    if (!w) return gp_no_memory(err);
    w->o = *o;
    w->id = GP_ANY_WORKER;
    w->run[0] = o->run[0], w->run[1] = o->run[1];
    w->token = o->token;
    w->theta = gp_alloc(o->size, sizeof(double));
    w->push = gp_alloc(o->push_size, sizeof(double));
    w->shards = gp_alloc(o->n_shards, sizeof *w->shards);
    if (!w->theta || !w->push || !w->shards) {
        gp_worker_free(w);
        return gp_no_memory(err);
    }
    send_hello(w);
    *out = w;
    return ADVGP_OK;
}

// ---- being told -----------------------------------------------------------------------------------------------------

static void on_welcome(gp_worker *w, const gp_message *m)
{
    if (w->state != GP_WORKER_HELLO || m->token != w->token) return;
    w->id = m->worker, w->incarnation = m->incarnation, w->generation = m->generation;
    w->run[0] = m->run[0], w->run[1] = m->run[1];
    w->sequence = m->sequence;
    w->version = 0;
    w->n_shards = 0; // not known until parameters come
    w->state = GP_WORKER_PULL;
    ask(w, message_of(w, GP_PULL));
}

static bool fits(const gp_worker *w, const gp_message *m)
{
    const bool full = m->flags & GP_FLAG_FULL;
    if (!m->n_shards || m->n_shards > w->o.n_shards) return false;
    for (size_t i = 0; i < m->n_shards; i++)
        if (m->shards[i] >= w->o.n_shards) return false;
    if (full) return m->n_values == w->o.size;
    if (m->n_masked != w->o.size) return false;
    size_t set = 0;
    for (size_t i = 0; i < gp_mask_words(m->n_masked); i++) set += (size_t)__builtin_popcountll(m->mask[i]);
    const unsigned tail = w->o.size % 64;
    if (tail && m->mask[w->o.size / 64] >> tail) return false; // bits beyond the last element
    return set == m->n_values;
}

static void on_parameters(gp_worker *w, const gp_message *m)
{
    if (w->state != GP_WORKER_PULL || m->worker != w->id || m->sequence != w->sequence ||
        m->generation != w->generation || m->incarnation != w->incarnation || !fits(w, m))
        return;
    if (m->flags & GP_FLAG_FULL) {
        memcpy(w->theta, m->values, w->o.size * sizeof(double));
    } else {
        for (size_t i = 0, next = 0; i < w->o.size; i++)
            if (m->mask[i / 64] >> (i % 64) & 1) w->theta[i] = m->values[next++];
    }
    w->flags = m->flags;
    w->max_rows = m->rows;
    w->version = m->version;
    w->n_shards = m->n_shards;
    memcpy(w->shards, m->shards, m->n_shards * sizeof *w->shards);
    w->state = GP_WORKER_READY;
    w->to_send = false;
}

// A worker that was given no run takes what it is told.
static bool of_this_run(const gp_worker *w, const gp_message *m)
{
    return (!w->run[0] && !w->run[1]) || (m->run[0] == w->run[0] && m->run[1] == w->run[1]);
}

static advgp_status on_refuse(gp_worker *w, const gp_message *m, advgp_error *err)
{
    // A hello is known by its token, all else by who said it. What was said before a new hello is of no account.
    const bool mine = w->state == GP_WORKER_HELLO ? m->token == w->token
                                                  : m->worker == w->id && m->incarnation == w->incarnation &&
                                                        m->generation == w->generation && of_this_run(w, m);
    if (!mine) return ADVGP_OK;
    if (m->reason == GP_REFUSED_UNKNOWN) { // the server was started again, or gave this worker up
        w->token = w->token * UINT64_C(6364136223846793005) + 1442695040888963407; // another number of its own
        send_hello(w);
        return ADVGP_OK;
    }
    w->state = GP_WORKER_ENDED;
    w->refused = m->reason;
    w->to_send = false;
    return gp_fail(err, ADVGP_ECLUSTER, "worker %d was refused: %s", w->id == GP_ANY_WORKER ? -1 : (int)w->id,
                   gp_refusal_text(m->reason));
}

advgp_status gp_worker_on_message(gp_worker *w, double now, const gp_message *m, advgp_error *err)
{
    (void)now;
    if (w->state == GP_WORKER_ENDED) return ADVGP_OK;
    switch (m->kind) {
    case GP_WELCOME:
        on_welcome(w, m);
        break;
    case GP_PARAMETERS:
        on_parameters(w, m);
        break;
    case GP_REFUSE:
        return on_refuse(w, m, err);
    case GP_BYE:
        if (!of_this_run(w, m)) break;
        w->state = GP_WORKER_ENDED;
        w->to_send = false;
        break;
    default:
        break;
    }
    return ADVGP_OK;
}

void gp_worker_on_tick(gp_worker *w, double now)
{
    const bool waits = w->state == GP_WORKER_HELLO || w->state == GP_WORKER_PULL;
    if (!waits || w->to_send || !(w->o.resend > 0) || now - w->sent < w->patience) return;
    w->to_send = true;
    w->patience = fmin(w->patience * resend_growth, resend_most * w->o.resend);
    w->resends++;
}

bool gp_worker_next(gp_worker *w, double now, gp_message *m)
{
    if (w->to_send) {
        *m = w->request;
        w->to_send = false;
        w->sent = w->last_word = now;
        return true;
    }
    if (!(w->o.heartbeat > 0) || now - w->last_word < w->o.heartbeat || !gp_worker_sign(w, m)) return false;
    w->last_word = now;
    return true;
}

bool gp_worker_sign(const gp_worker *w, gp_message *m)
{
    if (w->state != GP_WORKER_PULL && w->state != GP_WORKER_READY) return false;
    *m = message_of(w, GP_HEARTBEAT);
    m->sequence = m->version = 0; // the same for its whole incarnation
    return true;
}

bool gp_worker_leave(gp_worker *w, gp_message *m)
{
    const bool known = w->id != GP_ANY_WORKER;
    *m = message_of(w, GP_BYE);
    w->state = GP_WORKER_ENDED;
    w->to_send = false;
    return known;
}

// ---- doing ----------------------------------------------------------------------------------------------------------

gp_work gp_worker_work(const gp_worker *w)
{
    return (gp_work){.worker = w->id,
                     .sequence = w->sequence,
                     .version = w->version,
                     .theta = w->theta,
                     .flags = w->flags,
                     .max_rows = w->max_rows,
                     .n_shards = w->n_shards,
                     .shards = w->shards};
}

advgp_status gp_worker_compute(gp_worker *w, const gp_computer *computer, advgp_error *err)
{
    assert(w->state == GP_WORKER_READY);
    const gp_work work = gp_worker_work(w);
    gp_work_done done = {0};
    const advgp_status st = computer->compute(computer->ctx, &work, w->push, &done, err);
    if (st != ADVGP_OK && st != ADVGP_ENUMERIC) return st;
    gp_message push = message_of(w, GP_PUSH);
    push.flags = w->flags | (st == ADVGP_ENUMERIC ? GP_FLAG_FAILED : 0u);
    push.shard_weight = done.shard_weight, push.batch_weight = done.batch_weight, push.rows = done.rows;
    push.n_shards = w->n_shards, push.shards = w->shards;
    if (st == ADVGP_OK) push.n_values = done.n_values, push.values = w->push;
    w->state = GP_WORKER_PULL; // a push asks for the next parameters
    w->sequence++;
    ask(w, push);
    return ADVGP_OK;
}

bool gp_worker_upcoming(const gp_worker *w, gp_work *work)
{
    if (w->state != GP_WORKER_PULL || !w->n_shards) return false;
    *work = (gp_work){.worker = w->id, .sequence = w->sequence, .n_shards = w->n_shards, .shards = w->shards};
    return true;
}

gp_worker_state gp_worker_state_of(const gp_worker *w)
{
    return w->state;
}

bool gp_worker_sums_all(const gp_worker *w)
{
    return w->flags & GP_FLAG_ALL_ROWS;
}

uint32_t gp_worker_id(const gp_worker *w)
{
    return w->id;
}

gp_refusal gp_worker_refused(const gp_worker *w)
{
    return w->refused;
}

uint64_t gp_worker_resends(const gp_worker *w)
{
    return w->resends;
}
