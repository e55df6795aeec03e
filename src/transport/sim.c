// sim.c: messages under way as a heap by time of arrival; their bytes in slots that are kept and used again.
#include "transport/sim.h"
#include "base/alloc.h"
#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef struct packet {
    double arrival;
    uint64_t serial; // among those that arrive together, the order of sending
    size_t from, to, length, room;
    char *bytes;
    struct packet *next; // in an inbox, or among the unused
} packet;

typedef struct sim {
    gp_endpoint base;
    gp_net *net;
    size_t self;
    gp_link link;
    bool cut, woken, closed;
    double out_free, in_free;        // when its line is free again
    double last_up, last_down;       // a worker's: arrival of the last message in order, each way
    packet *first, *last, *received; // inbox; what the caller is reading
} sim;

struct gp_net {
    size_t n, message_max; // n endpoints
    size_t open;
    double now;
    uint64_t serial;
    gp_rng rng;
    sim *endpoints;
    packet *packets, *unused;
    size_t n_packets;
    packet **heap; // under way, the next one first
    size_t n_heap;
    gp_net_counts counts;
};

// ---- the heap -------------------------------------------------------------------------------------------------------

static bool before(const packet *a, const packet *b)
{
    return a->arrival < b->arrival || (a->arrival == b->arrival && a->serial < b->serial);
}

static void sift_up(gp_net *net, size_t i)
{
    for (; i && before(net->heap[i], net->heap[(i - 1) / 2]); i = (i - 1) / 2) {
        packet *p = net->heap[i];
        net->heap[i] = net->heap[(i - 1) / 2];
        net->heap[(i - 1) / 2] = p;
    }
}

static void sift_down(gp_net *net, size_t i)
{
    for (;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < net->n_heap; child++)
            if (before(net->heap[child], net->heap[least])) least = child;
        if (least == i) return;
        packet *p = net->heap[i];
        net->heap[i] = net->heap[least];
        net->heap[least] = p;
        i = least;
    }
}

static packet *pop(gp_net *net)
{
    packet *p = net->heap[0];
    net->heap[0] = net->heap[--net->n_heap];
    sift_down(net, 0);
    return p;
}

// ---- packets --------------------------------------------------------------------------------------------------------

static void discard(gp_net *net, packet *p)
{
    p->next = net->unused;
    net->unused = p;
}

// NULL: none is left, or no memory. The message is lost then, as in a router that has no room.
static packet *packet_of(gp_net *net, const void *bytes, size_t n)
{
    packet *p = net->unused;
    if (!p) return NULL;
    if (p->room < n || !p->bytes) {
        gp_free(p->bytes);
        p->bytes = gp_alloc(1, n);
        p->room = p->bytes ? n : 0;
        if (!p->bytes) return NULL;
    }
    net->unused = p->next;
    if (n) memcpy(p->bytes, bytes, n);
    p->length = n;
    p->next = NULL;
    return p;
}

static void launch(gp_net *net, size_t from, size_t to, const void *bytes, size_t n, double arrival)
{
    packet *p = packet_of(net, bytes, n);
    if (!p) {
        net->counts.overflowed++;
        return;
    }
    p->from = from, p->to = to, p->arrival = arrival, p->serial = net->serial++;
    net->heap[net->n_heap] = p;
    sift_up(net, net->n_heap++);
}

static void deliver(gp_net *net, packet *p)
{
    sim *to = &net->endpoints[p->to];
    if (to->closed || to->cut) {
        discard(net, p);
        return;
    }
    if (to->last)
        to->last->next = p;
    else
        to->first = p;
    to->last = p;
}

// ---- sending --------------------------------------------------------------------------------------------------------

static double seconds_for(const gp_link *link, double bytes)
{
    return link->bandwidth > 0 ? bytes / link->bandwidth : 0;
}

static bool happens(gp_net *net, double probability)
{
    return probability > 0 && gp_rng_uniform(&net->rng) < probability;
}

// The line of the sender, the way, the line of the receiver; the two lines work at the same time.
static double arrival_of(gp_net *net, sim *from, sim *to, const gp_link *way, double departure, double bytes)
{
    const double start = fmax(departure, from->out_free);
    from->out_free = start + seconds_for(&from->link, bytes);
    double arrival = from->out_free + way->latency;
    if (way->jitter > 0) arrival += way->jitter * gp_rng_uniform(&net->rng);
    if (to->link.bandwidth > 0) to->in_free = arrival = fmax(arrival, to->in_free + seconds_for(&to->link, bytes));
    return arrival;
}

advgp_status gp_net_send(gp_endpoint *endpoint, size_t peer, const void *bytes, size_t n, double departure,
                         double wire_bytes, advgp_error *err)
{
    sim *e = (sim *)endpoint;
    gp_net *net = e->net;
    if (n > net->message_max)
        return gp_fail(err, ADVGP_EINVAL, "a message of %zu bytes: this transport was opened for %zu", n,
                       net->message_max);
    if (e->self ? peer != 0 : peer < 1 || peer >= net->n)
        return gp_fail(err, ADVGP_EINVAL, "there is no peer %zu to send to", peer);
    sim *to = &net->endpoints[peer], *worker = e->self ? e : to;
    const gp_link *way = &worker->link;
    double *last = e->self ? &worker->last_up : &worker->last_down;
    net->counts.sent++;
    *(e->self ? &net->counts.bytes_up : &net->counts.bytes_down) += wire_bytes;
    double arrival = arrival_of(net, e, to, way, fmax(departure, net->now), wire_bytes);
    const double late = 10 * (way->latency + way->jitter);
    if (e->cut || to->cut || to->closed || happens(net, way->loss)) {
        net->counts.lost++;
        return ADVGP_OK;
    }
    if (happens(net, way->duplication)) {
        net->counts.duplicated++;
        launch(net, e->self, peer, bytes, n, arrival + late * gp_rng_uniform(&net->rng));
    }
    if (happens(net, way->reorder)) {
        net->counts.reordered++;
        arrival += late * gp_rng_uniform(&net->rng);
    } else {
        *last = arrival = fmax(arrival, *last);
    }
    launch(net, e->self, peer, bytes, n, arrival);
    return ADVGP_OK;
}

static advgp_status sim_send(gp_endpoint *endpoint, size_t peer, const void *bytes, size_t n, advgp_error *err)
{
    return gp_net_send(endpoint, peer, bytes, n, 0, (double)n, err);
}

// ---- receiving ------------------------------------------------------------------------------------------------------

bool gp_net_take(gp_endpoint *endpoint, size_t *peer, const void **bytes, size_t *n)
{
    sim *e = (sim *)endpoint;
    packet *p = e->first;
    if (e->received) discard(e->net, e->received);
    e->received = NULL;
    if (!p) return false;
    e->first = p->next;
    if (!e->first) e->last = NULL;
    e->received = p;
    *peer = p->from, *bytes = p->bytes, *n = p->length;
    return true;
}

static advgp_status sim_receive(gp_endpoint *endpoint, double seconds, size_t *peer, const void **bytes, size_t *n,
                                advgp_error *err)
{
    (void)err;
    sim *e = (sim *)endpoint;
    gp_net *net = e->net;
    const double until = net->now + (seconds > 0 ? seconds : 0);
    gp_net_advance(net, net->now);
    for (;;) {
        if (gp_net_take(endpoint, peer, bytes, n)) return ADVGP_OK;
        if (e->woken || gp_net_next(net) > until) break;
        gp_net_advance(net, gp_net_next(net));
    }
    if (!e->woken && isfinite(until)) gp_net_advance(net, until);
    e->woken = false;
    *peer = 0, *bytes = NULL, *n = 0;
    return ADVGP_OK;
}

static void sim_wake(gp_endpoint *endpoint)
{
    ((sim *)endpoint)->woken = true;
}

// ---- the clock and the faults ---------------------------------------------------------------------------------------

gp_net *gp_sim_net(gp_endpoint *endpoint)
{
    return ((sim *)endpoint)->net;
}

void gp_net_set_link(gp_net *net, size_t endpoint, gp_link link)
{
    assert(endpoint < net->n);
    net->endpoints[endpoint].link = link;
}

double gp_net_now(const gp_net *net)
{
    return net->now;
}

double gp_net_next(const gp_net *net)
{
    return net->n_heap ? fmax(net->heap[0]->arrival, net->now) : INFINITY;
}

void gp_net_advance(gp_net *net, double time)
{
    while (net->n_heap && net->heap[0]->arrival <= time) deliver(net, pop(net));
    net->now = fmax(net->now, time);
}

size_t gp_net_step(gp_net *net)
{
    packet *p = pop(net);
    const size_t to = p->to;
    net->now = fmax(net->now, p->arrival);
    deliver(net, p);
    return to;
}

bool gp_net_has(const gp_net *net, size_t endpoint)
{
    return net->endpoints[endpoint].first != NULL;
}

void gp_net_clear(gp_net *net, size_t endpoint)
{
    sim *e = &net->endpoints[endpoint];
    for (packet *p = e->first, *next; p; p = next) {
        next = p->next;
        discard(net, p);
    }
    e->first = e->last = NULL;
    e->last_up = e->last_down = 0; // its successor has other connections
}

void gp_net_cut(gp_net *net, size_t endpoint, bool cut)
{
    net->endpoints[endpoint].cut = cut;
    if (!cut) return;
    size_t kept = 0;
    for (size_t i = 0; i < net->n_heap; i++) {
        packet *p = net->heap[i];
        if (p->from == endpoint || p->to == endpoint)
            discard(net, p);
        else
            net->heap[kept++] = p;
    }
    net->n_heap = 0;
    for (size_t i = 0; i < kept; i++) sift_up(net, net->n_heap++);
}

gp_net_counts gp_net_count(const gp_net *net)
{
    return net->counts;
}

// ---- opening and closing --------------------------------------------------------------------------------------------

static void net_free(gp_net *net)
{
    if (!net) return;
    for (size_t i = 0; net->packets && i < net->n_packets; i++) gp_free(net->packets[i].bytes);
    gp_free(net->packets);
    gp_free(net->heap);
    gp_free(net->endpoints);
    gp_free(net);
}

static void sim_close(gp_endpoint *endpoint)
{
    sim *e = (sim *)endpoint;
    if (!e) return;
    e->closed = true;
    if (--e->net->open == 0) net_free(e->net);
}

advgp_status gp_sim_open(size_t n_workers, size_t message_max, uint64_t seed, gp_endpoint **endpoints, advgp_error *err)
{
    for (size_t i = 0; i <= n_workers; i++) endpoints[i] = NULL;
    gp_net *net = gp_alloc(1, sizeof *net);
    if (!net) return gp_no_memory(err);
    net->n = net->open = n_workers + 1;
    net->message_max = message_max;
    net->rng = gp_rng_seeded(seed, 0x6e6574);
    net->n_packets = 16 * net->n + 48;
    net->endpoints = gp_alloc(net->n, sizeof *net->endpoints);
    net->packets = gp_alloc(net->n_packets, sizeof *net->packets);
    net->heap = gp_alloc(net->n_packets, sizeof *net->heap);
    if (!net->endpoints || !net->packets || !net->heap) {
        net_free(net);
        return gp_no_memory(err);
    }
    for (size_t i = net->n_packets; i-- > 0;) discard(net, &net->packets[i]);
    for (size_t i = 0; i < net->n; i++) {
        net->endpoints[i] = (sim){.base.transport = &gp_transport_sim, .net = net, .self = i};
        endpoints[i] = &net->endpoints[i].base;
    }
    return ADVGP_OK;
}

const gp_transport gp_transport_sim = {.name = "sim",
                                       .summary = "a network in virtual time, for tests and predictions",
                                       .simulated = true,
                                       .available = true,
                                       .send = sim_send,
                                       .receive = sim_receive,
                                       .wake = sim_wake,
                                       .close = sim_close};
