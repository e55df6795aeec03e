// work_split.c: one protocol machine a server, one computation for all.
#include "cluster/work_split.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "cluster/job.h"

#include <math.h>
#include <string.h>

static const double look_up = 0.25; // seconds

typedef struct head {  // of the worker, towards one server
    gp_worker *worker; // NULL: not yet, since the first server decides which worker it is
    gp_message_limits limits;
    uint32_t incarnation;
    bool beats;
} head;

typedef struct split {
    const gp_split_life *life;
    head *heads; // [n_servers]
    char *bytes;
    double *theta, *push; // of the whole
    gp_work_done done;    // what the push is of
    size_t next;          // whose range is being filled
    double heard, idle;
    uint64_t pushes;
} split;

static advgp_status say(split *s, size_t i, const gp_message *m, advgp_error *err)
{
    const gp_split_server *to = &s->life->servers[i];
    gp_message_encode(m, s->bytes);
    return to->endpoint->transport->send(to->endpoint, to->peer, s->bytes, gp_message_size(m), err);
}

static advgp_status say_all(split *s, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    gp_message m;
    for (size_t i = 0; i < s->life->n_servers && s->heads[i].worker; i++)
        while (st == ADVGP_OK && gp_worker_next(s->heads[i].worker, gp_clock_wall(), &m)) st = say(s, i, &m, err);
    return st;
}

static advgp_status make_head(split *s, size_t i, uint32_t wish, advgp_error *err)
{
    const gp_split_life *l = s->life;
    const size_t count = l->servers[i].range.count;
    gp_worker_options o = l->life.worker;
    o.size = count, o.push_size = 1 + count;
    o.wish = wish;
    o.yields &= i == 0;              // what it is at the first server, it is at all
    o.heartbeat = l->life.heartbeat; // beside what the endpoints say: several servers may share one
    s->heads[i].limits = (gp_message_limits){.values = count, .masked = count, .shards = o.n_shards};
    return gp_worker_new(&o, &s->heads[i].worker, err);
}

// The first server has given it a number: with that it goes to the others.
static advgp_status note_places(split *s, advgp_error *err)
{
    const gp_split_life *l = s->life;
    advgp_status st = ADVGP_OK;
    gp_message sign;
    if (!gp_worker_sign(s->heads[0].worker, &sign)) return ADVGP_OK;
    for (size_t i = 1; st == ADVGP_OK && i < l->n_servers; i++)
        if (!s->heads[i].worker) st = make_head(s, i, sign.worker, err);
    for (size_t i = 0; st == ADVGP_OK && i < l->n_servers; i++) {
        head *h = &s->heads[i];
        gp_endpoint *e = l->servers[i].endpoint;
        if (!gp_worker_sign(h->worker, &sign) || (h->beats && h->incarnation == sign.incarnation)) continue;
        h->beats = true, h->incarnation = sign.incarnation;
        if (i == 0 && l->life.watch && l->life.watch->welcome)
            l->life.watch->welcome(l->life.watch->ctx, sign.worker, sign.incarnation);
        if (!e->transport->beat) continue;
        gp_message_encode(&sign, s->bytes);
        st = e->transport->beat(e, l->life.heartbeat, s->bytes, gp_message_size(&sign), err);
    }
    return st;
}

static advgp_status hear(split *s, gp_endpoint *e, size_t peer, const void *bytes, size_t n, advgp_error *err)
{
    const gp_split_life *l = s->life;
    gp_message m;
    advgp_status st = ADVGP_OK;
    const gp_message_limits words = {.text = GP_JOB_TEXT_MAX};
    if (e == l->life.endpoint && peer == 0) { // over MPI
        if (l->control && gp_message_decode(bytes, n, &words, &m, NULL) == ADVGP_OK) l->control(l->life.watch->ctx, &m);
        return ADVGP_OK;
    }
    for (size_t i = 0; i < l->n_servers; i++) {
        head *h = &s->heads[i];
        if (l->servers[i].endpoint != e || l->servers[i].peer != peer || !h->worker) continue;
        s->heard = gp_clock_wall();
        if (gp_message_decode(bytes, n, &h->limits, &m, NULL) == ADVGP_OK)
            st = gp_worker_on_message(h->worker, s->heard, &m, err);
    }
    return st == ADVGP_OK ? note_places(s, err) : st;
}

static bool ended(const split *s, size_t i)
{
    return s->heads[i].worker && gp_worker_state_of(s->heads[i].worker) == GP_WORKER_ENDED;
}

static bool ready(const split *s, size_t i)
{
    return s->heads[i].worker && gp_worker_state_of(s->heads[i].worker) == GP_WORKER_READY;
}

static advgp_status listen_to(split *s, size_t i, double seconds, bool *heard, advgp_error *err)
{
    gp_endpoint *e = s->life->servers[i].endpoint;
    size_t peer, n;
    const void *bytes;
    const advgp_status st = e->transport->receive(e, seconds, &peer, &bytes, &n, err);
    if (st != ADVGP_OK || !bytes) return st;
    *heard = true;
    return hear(s, e, peer, bytes, n, err);
}

// Whatever has come is heard. If nothing has, it waits for one that is still to answer: all are needed before there is
// anything to compute.
static advgp_status listen(split *s, double seconds, advgp_error *err)
{
    const size_t n = s->life->n_servers;
    advgp_status st = ADVGP_OK;
    bool heard = false;
    size_t missing = n;
    for (size_t i = 0; st == ADVGP_OK && i < n; i++) {
        st = listen_to(s, i, 0, &heard, err);
        if (missing == n && s->heads[i].worker && !ended(s, i) && !ready(s, i)) missing = i;
    }
    if (st == ADVGP_OK && !heard && missing < n) st = listen_to(s, missing, seconds, &heard, err);
    for (size_t i = 0; i < n; i++)
        if (s->heads[i].worker) gp_worker_on_tick(s->heads[i].worker, gp_clock_wall());
    return st;
}

// ---- computing ------------------------------------------------------------------------------------------------------

// What a server gets of the push that was computed for all: its value, and the elements of its range.
static advgp_status fill(void *ctx, const gp_work *work, double *push, gp_work_done *done, advgp_error *err)
{
    split *s = ctx;
    const gp_range range = s->life->servers[s->next].range;
    (void)work, (void)err;
    push[0] = s->push[0];
    memcpy(push + 1, s->push + 1 + range.first, range.count * sizeof(double));
    *done = s->done;
    done->n_values = 1 + range.count;
    return ADVGP_OK;
}

static advgp_status fail_all(void *ctx, const gp_work *work, double *push, gp_work_done *done, advgp_error *err)
{
    (void)ctx, (void)work, (void)push, (void)done;
    return gp_fail(err, ADVGP_ENUMERIC, "no gradient at these parameters");
}

static advgp_status compute(split *s, advgp_error *err)
{
    const gp_split_life *l = s->life;
    gp_work work = {0};
    for (size_t i = l->n_servers; i-- > 0;) {
        const gp_range range = l->servers[i].range;
        const gp_work part = gp_worker_work(s->heads[i].worker);
        memcpy(s->theta + range.first, part.theta, range.count * sizeof(double));
        if (ready(s, i)) work = part; // in the end of the first that is not over: it says which rows
    }
    work.theta = s->theta;
    s->done = (gp_work_done){0};
    advgp_status st = l->life.computer.compute(l->life.computer.ctx, &work, s->push, &s->done, err);
    if (st != ADVGP_OK && st != ADVGP_ENUMERIC) return st;
    const gp_computer each = {.ctx = s, .compute = st == ADVGP_OK ? fill : fail_all};
    st = ADVGP_OK;
    for (s->next = 0; st == ADVGP_OK && s->next < l->n_servers; s->next++)
        if (ready(s, s->next)) st = gp_worker_compute(s->heads[s->next].worker, &each, err);
    s->pushes++;
    const double delay = work.worker < l->life.n_delays ? l->life.delays[work.worker] : 0,
                 until = gp_clock_wall() + delay;
    for (double left = delay; st == ADVGP_OK && left > 0; left = until - gp_clock_wall())
        st = listen(s, fmin(left, look_up), err);
    s->heard = fmax(s->heard, gp_clock_wall());
    s->idle = gp_clock_wall();
    return st;
}

static advgp_status live(split *s, advgp_error *err)
{
    const size_t n = s->life->n_servers;
    advgp_status st = make_head(s, 0, s->life->life.worker.wish, err);
    while (st == ADVGP_OK) {
        size_t over = 0, can = 0;
        for (size_t i = 0; i < n; i++) over += ended(s, i), can += ready(s, i);
        if (over == n) return ADVGP_OK;
        st = say_all(s, err);
        if (st == ADVGP_OK) st = can > 0 && can + over == n ? compute(s, err) : listen(s, look_up, err);
        if (st == ADVGP_OK) st = say_all(s, err);
        if (st == ADVGP_OK) st = gp_worker_look_around(&s->life->life, s->heard, s->idle, err);
    }
    return st;
}

advgp_status gp_split_live(const gp_split_life *life, gp_worker_end *end, advgp_error *err)
{
    const double now = gp_clock_wall();
    const gp_message_limits largest = {
        .values = life->life.worker.push_size, .shards = life->life.worker.n_shards, .text = sizeof err->text};
    split s = {.life = life, .heard = now, .idle = now};
    s.heads = gp_alloc(life->n_servers, sizeof *s.heads);
    s.bytes = gp_alloc(gp_message_size_max(&largest), 1);
    s.theta = gp_alloc(life->life.worker.size, sizeof(double));
    s.push = gp_alloc(life->life.worker.push_size, sizeof(double));
    advgp_status st = s.heads && s.bytes && s.theta && s.push
                          ? live(&s, err)
                          : gp_fail(err, ADVGP_ENOMEM, "no memory for a worker of %zu servers", life->n_servers);
    *end = (gp_worker_end){.pushes = s.pushes};
    for (size_t i = 0; s.heads && i < life->n_servers; i++) {
        gp_endpoint *e = life->servers[i].endpoint;
        gp_worker *w = s.heads[i].worker;
        gp_message bye;
        if (!w) continue;
        end->resends += gp_worker_resends(w);
        if (gp_worker_refused(w)) end->refused = gp_worker_refused(w);
        if (e->transport->beat) (void)e->transport->beat(e, 0, NULL, 0, NULL);
        if (st != ADVGP_OK && gp_worker_leave(w, &bye)) {
            if (!gp_worker_refused(w)) gp_worker_say_why(&bye, st, err);
            (void)say(&s, i, &bye, NULL);
        }
        gp_worker_free(w);
    }
    gp_free(s.heads);
    gp_free(s.bytes);
    gp_free(s.theta);
    gp_free(s.push);
    return st;
}
