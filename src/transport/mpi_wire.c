// mpi_wire.c: MPI as a wire of a courier, whose thread makes all calls of MPI from Init to Finalize. It is the module
// libadvgp_mpi.so, which mpi.c loads: nothing else of advgp needs MPI's libraries.
//
// Nothing here waits for a peer's goodwill. A message to a peer is a synchronous send that is looked at now and then:
// it completes when the peer has taken it, and until then the next ones wait in line, so that what a peer that does not
// read costs is bounded here, there and inside MPI. A receive begins when a message is there. Whoever dies in the
// middle leaves one send and one receive that never complete; their memory is MPI's for ever.
#define _GNU_SOURCE // sem_clockwait
#include "transport/mpi_wire.h"
#include "base/clock.h"
#include "base/whole.h"

#include <math.h>
#include <mpi.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static atomic_bool must_exit_hard;
static _Atomic double finalized_by; // when MPI_Finalize should have come back; 0: it was not called

static gp_mpi_host host; // whoever has loaded us

static bool mpi_must_exit_hard(void)
{
    return atomic_load(&must_exit_hard);
}

static bool is_hopeless(void)
{
    const double by = atomic_load(&finalized_by);
    return by > 0 && gp_clock_wall() > by;
}

enum { LINE_MESSAGES = 8, SPARE_BUFFERS = 16, SPINS = 50, PIECE_MAX = 1 << 30 };
static const double first_sleep = 5e-6, last_words = 1;

// Everything of one peer is matched in the order in which it was sent, whatever its tag.
enum tag {
    WHOLE = 1, // a message
    LENGTH,    // of a message that follows in pieces: 8 bytes
    PIECE,
    GOODBYE, // a worker's: its endpoint is closed
    ALIVE,   // the server's, to workers that wait for its decision
    DECISION // the server's: a decision, 8 bytes
};
enum decision { NONE, END, LEAVE };

typedef struct mpi_buffer {
    struct mpi_buffer *next;
    size_t room, n;
    size_t done;     // of the n bytes: sent, or come
    uint64_t length; // n, as it travels ahead of pieces
    bool announced;
    enum tag tag;
    double payload[]; // aligned
} mpi_buffer;

typedef struct line {
    // To the peer.
    mpi_buffer *first, **last; // MPI has the first one, or a piece of it, while `sending`
    size_t n_waiting;
    bool sending;
    size_t step;  // bytes that MPI has
    double since; // when it got them
    bool dead;    // MPI refuses to send to it
    // From the peer.
    bool receiving, ready; // ready: `in` is complete and was not handed out
    enum tag tag;          // of what is being received,
    size_t arriving;       // and its bytes
    mpi_buffer *in;
    uint64_t word; // where short messages go
    double heard;
    bool left;    // has said goodbye
    bool ignored; // sent what nobody has agreed to
} line;

typedef struct mpi_wire {
    gp_wire base;
    gp_mpi_options o;
    gp_launch launch;
    gp_ranks place;
    size_t rank, size;
    bool begun, opened; // MPI_Init was done; all of open
    bool broken;        // a call failed that concerns no peer
    line *lines;        // [size]
    mpi_buffer *spare;  // the smallest first
    size_t n_spare;
    mpi_buffer *held; // was handed out
    // Requests under way: 2 x peer for a send, and one more for a receive.
    MPI_Request *requests; // [2 x size]
    size_t *whose;
    MPI_Status *statuses;
    int *indices;
    int n_requests;
    size_t *ready; // [size], a ring: peers from which a message is complete
    size_t ready_first, n_ready;
    // A message whose peer has another one under way; nobody else's is looked for until that one is complete. It will
    // be: a peer sends nothing before MPI has told it that the former message was taken.
    bool waits;
    MPI_Message waiting;
    MPI_Status waiting_status;
    enum decision decision; // as the server has told, or tells
    double alive_next;
    // Waiting.
    unsigned idle;
    sem_t bell;
    atomic_bool poked, lost;
} mpi_wire;

// ---- buffers --------------------------------------------------------------------------------------------------------

static mpi_buffer *mpi_buffer_take(mpi_wire *w, size_t n)
{
    mpi_buffer **at = &w->spare;
    while (*at && (*at)->room < n) at = &(*at)->next;
    mpi_buffer *c = *at;
    if (c) {
        *at = c->next;
        w->n_spare--;
    } else {
        if (n > SIZE_MAX - sizeof *c || !(c = host.alloc(1, sizeof *c + n))) return NULL;
        c->room = n;
    }
    *c = (mpi_buffer){.room = c->room, .n = n, .length = n};
    return c;
}

// Of too many spare ones the smallest goes: large ones are dear to make.
static void mpi_buffer_done(mpi_wire *w, mpi_buffer *c)
{
    if (!c) return;
    mpi_buffer **at = &w->spare;
    while (*at && (*at)->room < c->room) at = &(*at)->next;
    c->next = *at;
    *at = c;
    if (++w->n_spare <= SPARE_BUFFERS) return;
    mpi_buffer *smallest = w->spare;
    w->spare = smallest->next;
    w->n_spare--;
    host.free(smallest);
}

// ---- sending --------------------------------------------------------------------------------------------------------

static void watch(mpi_wire *w, MPI_Request request, size_t whose)
{
    w->requests[w->n_requests] = request;
    w->whose[w->n_requests++] = whose;
}

// All that waits and is not MPI's.
static void drop_waiting(mpi_wire *w, line *l)
{
    mpi_buffer **at = l->sending ? &l->first->next : &l->first;
    while (*at) {
        mpi_buffer *c = *at;
        *at = c->next;
        mpi_buffer_done(w, c);
    }
    l->last = at;
    l->n_waiting = l->sending;
}

static void post(mpi_wire *w, size_t peer)
{
    line *l = &w->lines[peer];
    mpi_buffer *c = l->first;
    if (!c || l->sending) return;
    const void *from = c->payload;
    enum tag tag = c->tag;
    l->step = c->n;
    if (c->n > w->o.piece && !c->announced) {
        from = &c->length, tag = LENGTH;
        l->step = sizeof c->length;
    } else if (c->n > w->o.piece) {
        from = (const char *)c->payload + c->done, tag = PIECE;
        l->step = c->n - c->done < w->o.piece ? c->n - c->done : w->o.piece;
    }
    MPI_Request request;
    l->since = gp_clock_wall();
    if (MPI_Issend(from, (int)l->step, MPI_BYTE, (int)peer, tag, MPI_COMM_WORLD, &request) == MPI_SUCCESS) {
        l->sending = true;
        watch(w, request, 2 * peer);
    } else {
        l->dead = true;
        drop_waiting(w, l);
    }
}

static void sent(mpi_wire *w, size_t peer, bool well)
{
    line *l = &w->lines[peer];
    mpi_buffer *c = l->first;
    l->sending = false;
    if (!well) {
        l->dead = true;
        drop_waiting(w, l);
        return;
    }
    if (c->n > w->o.piece && !c->announced)
        c->announced = true;
    else
        c->done += l->step;
    if (c->done == c->n) {
        l->first = c->next;
        if (!l->first) l->last = &l->first;
        l->n_waiting--;
        mpi_buffer_done(w, c);
    }
    post(w, peer);
}

static bool is_stuck(const mpi_wire *w, const line *l)
{
    return l->dead || (l->sending && gp_clock_wall() - l->since > w->o.stuck_after);
}

static bool enqueue(mpi_wire *w, size_t peer, enum tag tag, const void *bytes, size_t n)
{
    line *l = &w->lines[peer];
    mpi_buffer *c = mpi_buffer_take(w, n);
    if (!c) return false;
    if (n) memcpy(c->payload, bytes, n);
    c->tag = tag;
    *l->last = c;
    l->last = &c->next;
    l->n_waiting++;
    post(w, peer);
    return true;
}

static advgp_status mpi_send(gp_wire *wire, size_t peer, const void *bytes, size_t n, advgp_error *err)
{
    (void)err;
    mpi_wire *w = (mpi_wire *)wire;
    line *l = &w->lines[peer];
    if (is_stuck(w, l))
        drop_waiting(w, l);
    else if (l->n_waiting < LINE_MESSAGES)
        enqueue(w, peer, WHOLE, bytes, n); // without memory it is lost
    return ADVGP_OK;
}

// ---- receiving ------------------------------------------------------------------------------------------------------

static void scrap(mpi_wire *w, line *l)
{
    mpi_buffer_done(w, l->in);
    l->in = NULL;
}

static void make_ready(mpi_wire *w, size_t peer)
{
    w->lines[peer].ready = true;
    w->ready[(w->ready_first + w->n_ready++) % w->size] = peer;
}

static void came(mpi_wire *w, size_t peer, bool well)
{
    line *l = &w->lines[peer];
    l->receiving = false;
    l->heard = gp_clock_wall();
    if (!well) {
        if (l->tag == WHOLE || l->tag == PIECE) scrap(w, l);
        l->word = UINT64_MAX; // pieces that follow belong to nothing
        return;
    }
    switch (l->tag) {
    case WHOLE:
        make_ready(w, peer);
        break;
    case LENGTH: // the first piece makes room for all
        scrap(w, l);
        break;
    case PIECE:
        l->in->done += l->arriving;
        if (l->in->done == l->in->n) make_ready(w, peer);
        break;
    case GOODBYE:
        l->left = true;
        break;
    case DECISION:
        w->decision = l->word == END ? END : LEAVE;
        break;
    case ALIVE:
        break;
    }
}

static bool is_agreed(const mpi_wire *w, const line *l, int tag, size_t n)
{
    switch (tag) {
    case WHOLE:
        return n <= w->o.message_max;
    case PIECE:
        return l->word <= w->o.message_max && n <= (l->in ? l->in->n - l->in->done : l->word);
    case LENGTH:
    case DECISION:
        return n == sizeof l->word;
    default:
        return (tag == GOODBYE || tag == ALIVE) && n == 0;
    }
}

// Where the n bytes of a message with this tag go; NULL: no memory.
static void *room_for(mpi_wire *w, line *l, int tag, size_t n)
{
    if (tag != WHOLE && tag != PIECE) return &l->word;
    if (tag == WHOLE) scrap(w, l);
    if (!l->in) l->in = mpi_buffer_take(w, tag == WHOLE ? n : (size_t)l->word);
    return l->in ? (char *)l->in->payload + l->in->done : NULL;
}

// A message that was not agreed to stays where it is, and as its sender waits for it to be taken, it is the last one
// from there. To receive it into too little room, and so be rid of it, is no way: Open MPI 4.1 writes past the end.
static advgp_status begin_receive(mpi_wire *w, MPI_Message *message, const MPI_Status *status, advgp_error *err)
{
    const size_t peer = (size_t)status->MPI_SOURCE;
    line *l = &w->lines[peer];
    int n = 0, complete = 0;
    MPI_Get_count(status, MPI_BYTE, &n);
    const bool is_heard = w->o.among || (peer == 0) != (w->rank == 0);
    if (!is_heard || n < 0 || !is_agreed(w, l, status->MPI_TAG, (size_t)n)) {
        l->ignored = true;
        return ADVGP_OK;
    }
    void *to = room_for(w, l, status->MPI_TAG, (size_t)n);
    if (!to) {
        w->broken = true;
        return gp_no_memory(err);
    }
    l->tag = (enum tag)status->MPI_TAG;
    l->arriving = (size_t)n;
    l->receiving = true;
    MPI_Request request;
    int error = MPI_Imrecv(to, n, MPI_BYTE, message, &request);
    if (error == MPI_SUCCESS) error = MPI_Test(&request, &complete, MPI_STATUS_IGNORE);
    if (complete || error != MPI_SUCCESS)
        came(w, peer, error == MPI_SUCCESS);
    else
        watch(w, request, 2 * peer + 1);
    return ADVGP_OK;
}

static bool is_busy(const line *l)
{
    return l->receiving || l->ready;
}

// Takes up what MPI has completed, and one message that is there. *news: anything at all.
static advgp_status look(mpi_wire *w, bool *news, advgp_error *err)
{
    *news = false;
    if (w->n_requests) {
        int n = 0;
        const int error = MPI_Testsome(w->n_requests, w->requests, &n, w->indices, w->statuses);
        if (n == MPI_UNDEFINED) n = 0;
        const bool in_status = error == MPI_ERR_IN_STATUS;
        if (error != MPI_SUCCESS && !in_status) {
            w->broken = true;
            return gp_fail(err, ADVGP_ECLUSTER, "MPI does not tell any more what was sent (error %d)", error);
        }
        *news = n > 0;
        // What they were is kept in `indices`, as finishing one may start others.
        for (int i = 0; i < n; i++) {
            const int at = w->indices[i];
            w->requests[at] = MPI_REQUEST_NULL;
            w->indices[i] = (int)w->whose[at];
        }
        int kept = 0;
        for (int i = 0; n && i < w->n_requests; i++)
            if (w->requests[i] != MPI_REQUEST_NULL) w->requests[kept] = w->requests[i], w->whose[kept++] = w->whose[i];
        if (n) w->n_requests = kept;
        for (int i = 0; i < n; i++) {
            const size_t whose = (size_t)w->indices[i];
            const bool well = !in_status || w->statuses[i].MPI_ERROR == MPI_SUCCESS;
            if (whose % 2)
                came(w, whose / 2, well);
            else
                sent(w, whose / 2, well);
        }
    }
    if (!w->waits) {
        int there = 0;
        const int error = MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &w->waiting,
                                      &w->waiting_status);
        if (error != MPI_SUCCESS) {
            w->broken = true;
            return gp_fail(err, ADVGP_ECLUSTER, "MPI cannot receive any more (error %d)", error);
        }
        w->waits = there;
    }
    if (w->waits && !is_busy(&w->lines[w->waiting_status.MPI_SOURCE])) {
        w->waits = false;
        *news = true;
        return begin_receive(w, &w->waiting, &w->waiting_status, err);
    }
    return ADVGP_OK;
}

// Workers whose endpoints are closed wait for the server's decision as long as they hear of it. Who has heard it takes
// nothing any more.
static void comfort_those_who_left(mpi_wire *w)
{
    const double now = gp_clock_wall();
    if (w->rank != 0 || w->decision != NONE || now < w->alive_next) return;
    w->alive_next = now + w->o.silence / 8;
    for (size_t k = 1; k < w->size; k++)
        if (w->lines[k].left && !w->lines[k].first && !w->lines[k].dead) enqueue(w, k, ALIVE, NULL, 0);
}

static mpi_buffer *hand_out(mpi_wire *w, size_t *peer)
{
    if (!w->n_ready) return NULL;
    *peer = w->ready[w->ready_first];
    w->ready_first = (w->ready_first + 1) % w->size;
    w->n_ready--;
    line *l = &w->lines[*peer];
    mpi_buffer *c = l->in;
    l->in = NULL, l->ready = false;
    return c;
}

// Spins a little, then sleeps twice as long each time; a poke ends a sleep.
static void pause_at_most(mpi_wire *w, double seconds)
{
    if (w->idle++ < SPINS) return;
    const double step = fmin(w->o.sleep_max, ldexp(first_sleep, (int)gp_whole(w->idle - SPINS, 0, 30)));
    const double sleep = fmin(step, seconds);
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)gp_whole(sleep * 1e9, 0, INT64_C(1000000000) << 20);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    sem_clockwait(&w->bell, CLOCK_MONOTONIC, &until);
}

static advgp_status mpi_receive(gp_wire *wire, double seconds, size_t *peer, const void **bytes, size_t *n,
                                advgp_error *err)
{
    mpi_wire *w = (mpi_wire *)wire;
    const double until = gp_clock_wall() + seconds;
    mpi_buffer_done(w, w->held);
    w->held = NULL;
    *peer = 0, *bytes = NULL, *n = 0;
    for (;;) {
        bool news;
        const advgp_status st = look(w, &news, err);
        if (st != ADVGP_OK) return st;
        if (news) w->idle = 0;
        w->held = hand_out(w, peer);
        if (w->held) {
            *bytes = w->held->payload, *n = w->held->n;
            return ADVGP_OK;
        }
        comfort_those_who_left(w);
        if (atomic_exchange(&w->poked, false)) {
            while (sem_trywait(&w->bell) == 0) {} // rung by pokes that found nobody asleep
            w->idle = 0;
            return ADVGP_OK;
        }
        const double left = until - gp_clock_wall();
        if (!(left > 0)) return ADVGP_OK;
        if (!news) pause_at_most(w, left);
    }
}

static void mpi_poke(gp_wire *wire)
{
    mpi_wire *w = (mpi_wire *)wire;
    if (!atomic_exchange(&w->poked, true)) sem_post(&w->bell);
}

// ---- opening --------------------------------------------------------------------------------------------------------

// "Open MPI v4.1.4" of all that it says of itself. It may be asked before MPI is begun.
static const char *version(void)
{
    static char name[64];
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int n = 0;
    MPI_Get_library_version(text, &n);
    text[strcspn(text, ",\n")] = 0;
    snprintf(name, sizeof name, "%.60s", text);
    for (char *c = name; *c; c++)
        if (*c == '\t') *c = ' ';
    return name;
}

static bool allocate(mpi_wire *w)
{
    w->lines = host.alloc(w->size, sizeof *w->lines);
    w->requests = host.alloc(2 * w->size, sizeof(MPI_Request)); // an opaque type, in Open MPI a pointer
    w->whose = host.alloc(2 * w->size, sizeof *w->whose);
    w->statuses = host.alloc(2 * w->size, sizeof *w->statuses);
    w->indices = host.alloc(2 * w->size, sizeof *w->indices);
    w->ready = host.alloc(w->size, sizeof *w->ready);
    for (size_t k = 0; w->lines && k < w->size; k++) w->lines[k].last = &w->lines[k].first;
    return w->lines && w->requests && w->whose && w->statuses && w->indices && w->ready;
}

static advgp_status mpi_open(gp_wire *wire, advgp_error *err)
{
    mpi_wire *w = (mpi_wire *)wire;
    int before = 0, threads = MPI_THREAD_SINGLE, rank = 0, size = 0, n = 0;
    MPI_Initialized(&before);
    if (before) return gp_fail(err, ADVGP_EINVAL, "MPI was begun in this process before: it can be opened once");
    const int error = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &threads);
    if (error != MPI_SUCCESS) return gp_fail(err, ADVGP_ECLUSTER, "MPI cannot be started (MPI_Init: error %d)", error);
    w->begun = true;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char name[MPI_MAX_PROCESSOR_NAME + 1] = "";
    MPI_Get_processor_name(name, &n);
    snprintf(w->place.host, sizeof w->place.host, "%.255s", name);
    w->place.rank = w->rank = (size_t)rank;
    w->place.size = w->size = (size_t)size;
    const advgp_status st = host.check_after(&w->launch, rank, size, version(), err);
    if (st != ADVGP_OK) return st;
    if (threads < MPI_THREAD_FUNNELED)
        return gp_fail(err, ADVGP_EINVAL, "%s was built without threads: use one that has MPI_THREAD_FUNNELED",
                       version());
    if (!allocate(w)) return gp_no_memory(err);
    w->opened = true;
    return ADVGP_OK;
}

// ---- closing --------------------------------------------------------------------------------------------------------

// One look and a short sleep; what comes is thrown away. False: MPI does not work any more.
static bool linger(mpi_wire *w)
{
    bool news;
    size_t peer;
    if (look(w, &news, NULL) != ADVGP_OK) return false;
    mpi_buffer_done(w, hand_out(w, &peer));
    comfort_those_who_left(w);
    if (news)
        w->idle = 0;
    else
        pause_at_most(w, w->o.sleep_max);
    return true;
}

static bool is_all_sent(const mpi_wire *w)
{
    for (size_t k = 0; k < w->size; k++)
        if (w->lines[k].first) return false;
    return true;
}

static bool flush(mpi_wire *w, double seconds)
{
    const double until = gp_clock_wall() + seconds;
    while (!is_all_sent(w) && gp_clock_wall() < until)
        if (!linger(w)) return false;
    return is_all_sent(w);
}

// A time since when peers could have been heard. Who was away itself (stopped, the machine asleep) begins anew.
typedef struct silence_timer {
    double since, last;
} silence_timer;

static silence_timer silence_timer_start(void)
{
    const double now = gp_clock_wall();
    return (silence_timer){now, now};
}

static bool watch_silence(mpi_wire *w, silence_timer *v)
{
    if (!linger(w)) return false;
    const double now = gp_clock_wall();
    if (now - v->last > w->o.silence / 4) v->since = now;
    v->last = now;
    return true;
}

static bool is_silent(const mpi_wire *w, size_t peer, const silence_timer *v)
{
    return v->last - fmax(v->since, w->lines[peer].heard) > w->o.silence;
}

// Has said goodbye, and does not take any more that the server lives.
static bool is_dead_since(const mpi_wire *w, const line *l, const silence_timer *v)
{
    return l->left && l->sending && v->last - fmax(v->since, l->since) > w->o.silence;
}

// True: every worker has said goodbye, and waits.
static bool await_goodbyes(mpi_wire *w)
{
    const double start = gp_clock_wall();
    for (silence_timer v = silence_timer_start();;) {
        const bool late = gp_clock_wall() - start > w->o.patience;
        size_t open = 0, gone = 0;
        for (size_t k = 1; k < w->size; k++) {
            const line *l = &w->lines[k];
            const bool is_gone = l->dead || l->ignored || is_dead_since(w, l, &v) ||
                                 (!l->left && (late || is_silent(w, k, &v)));
            gone += is_gone;
            open += !is_gone && (!l->left || l->sending); // also who may not have taken the last sign of life
        }
        if (!open) return !gone;
        if (!watch_silence(w, &v)) return false;
    }
}

// True: all have agreed to end MPI.
static bool part_as_server(mpi_wire *w)
{
    const bool all = !atomic_load(&w->lost) && await_goodbyes(w);
    w->decision = all ? END : LEAVE;
    const uint64_t decision = w->decision;
    bool told = true;
    for (size_t k = 1; k < w->size; k++) {
        if (w->lines[k].dead) continue;
        if (is_stuck(w, &w->lines[k])) drop_waiting(w, &w->lines[k]);
        told = enqueue(w, k, DECISION, &decision, sizeof decision) && told;
    }
    return flush(w, all ? w->o.silence : last_words) && all && told;
}

static bool part_as_worker(mpi_wire *w)
{
    if (atomic_load(&w->lost) || w->decision == LEAVE) return false;
    // What other ranks have not taken now they might find in MPI_Finalize: they may hear the decision first.
    if (w->o.among && !flush(w, w->o.silence)) return false;
    if (!enqueue(w, 0, GOODBYE, NULL, 0)) return false;
    silence_timer v = silence_timer_start();
    while (w->decision == NONE && !w->lines[0].dead && !is_silent(w, 0, &v))
        if (!watch_silence(w, &v)) return false;
    return w->decision == END && flush(w, w->o.silence);
}

// What MPI still has stays allocated.
static void free_lines(mpi_wire *w)
{
    bool all = true;
    for (size_t k = 0; w->lines && k < w->size; k++) {
        line *l = &w->lines[k];
        drop_waiting(w, l);
        if (!l->receiving) scrap(w, l);
        all = all && !l->sending && !l->receiving;
    }
    if (all) host.free(w->lines);
}

static void mpi_close(gp_wire *wire)
{
    mpi_wire *w = (mpi_wire *)wire;
    bool end = w->begun && w->size == 1; // a world of one, which open has refused
    if (w->opened && !w->broken) end = w->rank == 0 ? part_as_server(w) : part_as_worker(w);
    if (w->begun) atomic_store(&must_exit_hard, true);
    if (end) { // and should another die now that has agreed to it, nobody waits for ever
        atomic_store(&finalized_by, gp_clock_wall() + 2 * w->o.silence);
        MPI_Finalize();
        atomic_store(&finalized_by, 0);
        atomic_store(&must_exit_hard, false);
    }
    mpi_buffer_done(w, w->held);
    free_lines(w);
    while (w->spare) {
        mpi_buffer *c = w->spare;
        w->spare = c->next;
        host.free(c);
    }
    host.free(w->requests), host.free(w->whose), host.free(w->statuses), host.free(w->indices), host.free(w->ready);
    sem_destroy(&w->bell);
    host.free(w);
}

// ---- the module -----------------------------------------------------------------------------------------------------

static gp_wire_ops ops = {
    .open = mpi_open, .send = mpi_send, .receive = mpi_receive, .poke = mpi_poke, .close = mpi_close};

static gp_wire *mpi_wire_new(const gp_mpi_options *o, const gp_launch *launch, const gp_mpi_host *loader)
{
    host = *loader;
    mpi_wire *w = host.alloc(1, sizeof *w);
    if (!w) return NULL;
    ops.transport = host.transport;
    w->base.ops = &ops;
    w->o = *o;
    if (w->o.piece > PIECE_MAX) w->o.piece = PIECE_MAX;
    w->launch = *launch;
    sem_init(&w->bell, 0, 0);
    return &w->base;
}

static const gp_ranks *mpi_place(const gp_wire *wire)
{
    return &((const mpi_wire *)wire)->place;
}

static void mpi_lost(gp_wire *wire)
{
    atomic_store(&((mpi_wire *)wire)->lost, true);
}

__attribute__((visibility("default"))) const gp_mpi_module advgp_mpi_module = {.built_with = advgp_version,
                                                                               .library = version,
                                                                               .wire_new = mpi_wire_new,
                                                                               .place = mpi_place,
                                                                               .lost = mpi_lost,
                                                                               .is_hopeless = is_hopeless,
                                                                               .must_exit_hard = mpi_must_exit_hard};
