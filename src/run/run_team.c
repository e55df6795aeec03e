// run_team.c: the workers are threads of this process. The server's own work is done by whoever takes turns, and that
// of an only worker with little to do as well: it waits for the server whenever the server does not wait for it, and a
// thread that is woken on an idle core costs a sixth of a millisecond, which is a tenth of a small table's step.
#include "base/alloc.h"
#include "base/clock.h"
#include "linalg/interrupt.h"
#include "run/run.h"
#include "run/send.h"
#include "run/work.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct team team;

typedef struct worker_thread {
    team *team;
    pthread_t thread;
    bool started;
    gp_row_computer *computer;
    gp_worker_life_options life;
    atomic_bool ended; // status and error may be read
    advgp_status status;
    advgp_error error;
} worker_thread;

struct team {
    gp_run base;
    gp_endpoint **endpoints; // [1 + workers], the server's first; a worker closes its own
    worker_thread *threads;  // [workers]
    gp_worker_life *here;    // the only worker's, which has no thread then; or NULL
    gp_sender sender;
    gp_message_limits limits;
    atomic_bool over; // nobody waits for what is being computed
};

static gp_endpoint *server_end(team *t)
{
    return t->endpoints[0];
}

// ---- a worker -------------------------------------------------------------------------------------------------------

static int is_over(void *ctx)
{
    return atomic_load(&((team *)ctx)->over);
}

static void *work(void *arg)
{
    worker_thread *m = arg;
    gp_interrupt scope;
    gp_interrupt_open(&scope, is_over, m->team);
    m->status = gp_worker_live(&m->life, &m->error);
    (void)gp_interrupt_close(&scope);
    atomic_store(&m->ended, true);
    gp_endpoint *server = server_end(m->team);
    server->transport->wake(server);
    return NULL;
}

// ---- the server's turns ---------------------------------------------------------------------------------------------

static advgp_status send_all(team *t, advgp_error *err)
{
    gp_message m;
    size_t peer;
    gp_endpoint *e = server_end(t);
    advgp_status st = ADVGP_OK;
    while (st == ADVGP_OK && gp_server_next(t->base.server, gp_clock_wall(), &peer, &m)) {
        st = gp_sender_send(&t->sender, e, peer, &m, err);
    }
    return st;
}

static advgp_status failure(team *t, advgp_error *err)
{
    for (size_t k = 0; k < t->base.o.schedule.workers; k++) {
        worker_thread *m = &t->threads[k];
        if (!atomic_load(&m->ended) || m->status == ADVGP_OK) continue;
        if (err) *err = m->error;
        return m->status;
    }
    return ADVGP_OK;
}

// The turn of a worker without a thread. It is not interrupted, since it has little to do; but who has no time does not
// wait for it.
static void work_here(team *t)
{
    worker_thread *m = &t->threads[0];
    if (!t->here || atomic_load(&m->ended)) return;
    gp_interrupt scope;
    gp_interrupt_open(&scope, NULL, NULL);
    m->status = gp_worker_life_turn(t->here, 0, &m->error);
    (void)gp_interrupt_close(&scope);
    if (m->status != ADVGP_OK) gp_worker_life_leave(t->here, &m->error);
    atomic_store(&m->ended, m->status != ADVGP_OK || gp_worker_life_is_over(t->here));
}

static advgp_status team_turn(gp_run *run, double seconds, advgp_error *err)
{
    team *t = (team *)run;
    gp_endpoint *e = server_end(t);
    size_t peer, n;
    const void *bytes;
    gp_message m;
    advgp_status st = send_all(t, err); // what a call from outside left to say
    if (st == ADVGP_OK && seconds > 0) work_here(t);
    if (st == ADVGP_OK) st = e->transport->receive(e, seconds, &peer, &bytes, &n, err);
    if (st == ADVGP_OK && bytes) {
        st = gp_message_decode(bytes, n, &t->limits, &m, err); // from our own threads: it is sound
        if (st == ADVGP_OK && m.kind != GP_BYE) st = gp_server_on_message(run->server, gp_clock_wall(), peer, &m, err);
        if (st == ADVGP_OK) st = send_all(t, err);
    }
    // What ended a worker explains whatever else has gone wrong since.
    const advgp_status of_worker = failure(t, err);
    return of_worker == ADVGP_OK ? st : of_worker;
}

static advgp_status team_send(gp_run *run, advgp_error *err)
{
    return send_all((team *)run, err);
}

static void team_wake(gp_run *run)
{
    gp_endpoint *e = server_end((team *)run);
    e->transport->wake(e);
}

static bool all_ended(team *t)
{
    for (size_t k = 0; k < t->base.o.schedule.workers; k++)
        if (t->threads[k].started && !atomic_load(&t->threads[k].ended)) return false;
    return true;
}

// Everybody is told BYE, also who the server does not know (yet): whoever waits hears it now, who computes after that.
static void team_stop(gp_run *run)
{
    team *t = (team *)run;
    if (t->threads && t->endpoints && t->endpoints[0]) {
        gp_endpoint *e = server_end(t);
        gp_server_end(run->server);
        atomic_store(&t->over, true);
        const gp_message bye = {.kind = GP_BYE, .run = {run->o.id[0], run->o.id[1]}};
        for (size_t k = 0; k < run->o.schedule.workers; k++) (void)gp_sender_send(&t->sender, e, 1 + k, &bye, NULL);
        while (!all_ended(t)) (void)team_turn(run, 0.1, NULL);
    }
    for (size_t k = 0; t->threads && k < run->o.schedule.workers; k++) {
        worker_thread *m = &t->threads[k];
        if (m->started) pthread_join(m->thread, NULL);
        gp_row_computer_free(m->computer);
    }
    gp_worker_life_free(t->here);
    for (size_t k = 0; t->endpoints && k <= run->o.schedule.workers; k++)
        if (t->endpoints[k]) t->endpoints[k]->transport->close(t->endpoints[k]);
    gp_free(t->threads);
    gp_free(t->endpoints);
    gp_sender_fini(&t->sender);
}

// What one worker does between two looks at the clock, at most a pass over all rows and the algebra around it, is over
// in about a second.
static bool is_little(const gp_run *run)
{
    static const double most = 4e9, algebra = 5, of_row = 5000, of_exp = 20; // multiplications, or as long as they take
    const double M = (double)run->layout.M, d = (double)run->o.shards->d;
    const double rows = (double)gp_shards_rows(run->o.shards, GP_TRAIN);
    return run->o.schedule.workers == 1 && !run->o.n_delays &&
           rows * (of_row + M * (M + d + of_exp)) + algebra * M * M * M <= most;
}

static advgp_status team_start(gp_run *run, advgp_error *err)
{
    team *t = (team *)run;
    if (is_little(run)) return gp_worker_life_new(&t->threads[0].life, &t->here, err);
    for (size_t k = 0; k < run->o.schedule.workers; k++) {
        worker_thread *m = &t->threads[k];
        m->started = pthread_create(&m->thread, NULL, work, m) == 0;
        if (!m->started)
            return gp_fail(err, ADVGP_ENOMEM, "worker thread %zu of %zu cannot be started: use fewer {workers}", k + 1,
                           run->o.schedule.workers);
    }
    return ADVGP_OK;
}

static const gp_run_ops team_ops = {
    .start = team_start, .turn = team_turn, .wake = team_wake, .send = team_send, .stop = team_stop};

// ---- construction ---------------------------------------------------------------------------------------------------

static advgp_status make_worker_thread(team *t, size_t k, advgp_error *err)
{
    const gp_run *run = &t->base;
    const gp_row_computer_options o = {.shards = run->o.shards,
                                       .rows_passed = run->o.rows_passed,
                                       .spec = run->o.spec,
                                       .schedule = run->o.schedule,
                                       .range = gp_range_all(run->layout)};
    worker_thread *m = &t->threads[k];
    m->team = t;
    const advgp_status st = gp_row_computer_new(&o, &m->computer, err);
    if (st != ADVGP_OK) return st;
    m->life = (gp_worker_life_options){
        .endpoint = t->endpoints[1 + k],
        .computer = gp_row_computer_of(m->computer),
        .delays = run->o.delays,
        .n_delays = run->o.n_delays,
        .worker = {.size = run->layout.size,
                   .push_size = gp_row_computer_push_size(run->layout, run->o.schedule.rule, gp_range_all(run->layout)),
                   .n_shards = run->o.shards->n_train,
                   .wish = (uint32_t)k,
                   .run = {run->o.id[0], run->o.id[1]},
                   .token = 1 + k}};
    return ADVGP_OK;
}

advgp_status gp_run_team_new(const gp_run_options *o, gp_run **out, advgp_error *err)
{
    *out = NULL;
    team *t = gp_alloc(1, sizeof *t);
    if (!t) return gp_no_memory(err);
    advgp_status st = gp_run_init(&t->base, &team_ops, o, err);
    if (st == ADVGP_OK) {
        const size_t size = t->base.layout.size,
                     push = gp_row_computer_push_size(t->base.layout, o->schedule.rule, gp_range_all(t->base.layout));
        t->limits = (gp_message_limits){.values = push > size ? push : size,
                                        .masked = size,
                                        .shards = o->shards->n_train,
                                        .text = sizeof err->text}; // what a worker fails with is in its farewell
        const size_t bytes = gp_message_size_max(&t->limits);
        t->threads = gp_alloc(o->schedule.workers, sizeof *t->threads);
        t->endpoints = gp_alloc(1 + o->schedule.workers, sizeof *t->endpoints);
        st = t->threads && t->endpoints ? gp_sender_reserve(&t->sender, bytes, err) : gp_no_memory(err);
        if (st == ADVGP_OK) st = gp_inproc_open(o->schedule.workers, bytes, t->endpoints, err);
    }
    for (size_t k = 0; st == ADVGP_OK && k < o->schedule.workers; k++) st = make_worker_thread(t, k, err);
    if (st != ADVGP_OK) {
        gp_run_free(&t->base);
        return st;
    }
    *out = &t->base;
    return ADVGP_OK;
}
