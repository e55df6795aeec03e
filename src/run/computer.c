// computer.c: the batch of a push is a stretch of the ring of the worker's shards that follows from the sequence number
// alone: that is what makes a run repeat, and a replay exact.
#include "run/computer.h"
#include "base/alloc.h"
#include "model/pass.h"
#include "ps/statistics.h"

#include <xxhash.h>

enum { PIECE_ROWS = 4096 };            // read at once; larger batches come in pieces
static const double batch_loss = 1e-8; // a batch is noisier than that by far

struct gp_row_computer {
    gp_row_computer_options o;
    gp_features *f;
    gp_pass *pass;
    gp_theta_layout layout;
    double *grad;
    gp_reader reader;
    // Rows read ahead: of this stretch of this ring, if there are any.
    gp_batch ahead;
    bool has_ahead;
    uint64_t ahead_ring;
    size_t ahead_first;
};

size_t gp_row_computer_push_size(gp_theta_layout layout, const gp_rule_ops *rule, gp_range range)
{
    const size_t of_rule = rule->push_size(layout, range), of_statistics = gp_statistics_size(layout.M);
    return of_rule > of_statistics ? of_rule : of_statistics;
}

void gp_row_computer_free(gp_row_computer *c)
{
    if (!c) return;
    gp_reader_fini(&c->reader);
    gp_free(c->grad);
    gp_pass_free(c->pass);
    gp_features_free(c->f);
    gp_free(c);
}

advgp_status gp_row_computer_new(const gp_row_computer_options *o, gp_row_computer **out, advgp_error *err)
{
    *out = NULL;
    gp_row_computer *c = gp_alloc(1, sizeof *c);
    if (!c) return gp_no_memory(err);
    c->o = *o;
    advgp_status st = gp_features_new(o->spec, &c->f, err);
    if (st == ADVGP_OK) st = gp_pass_new(c->f, 0, &c->pass, err);
    if (st == ADVGP_OK) {
        c->layout = gp_theta_layout_of(c->f);
        c->grad = gp_alloc(c->layout.size, sizeof(double));
        if (!c->grad) st = gp_no_memory(err);
    }
    if (st == ADVGP_OK)
        st = gp_reader_new(o->shards, o->schedule.batch < PIECE_ROWS ? o->schedule.batch : PIECE_ROWS, &c->reader, err);
    if (st != ADVGP_OK) {
        gp_row_computer_free(c);
        return st;
    }
    *out = c;
    return ADVGP_OK;
}

// ---- which rows -----------------------------------------------------------------------------------------------------

typedef struct stretch {
    gp_ring ring;
    size_t first, n;
} stretch;

static stretch stretch_of(const gp_row_computer *c, const gp_work *work)
{
    const gp_ring ring = {work->shards, work->n_shards};
    const size_t total = gp_ring_rows(c->o.shards, ring);
    const bool all = work->flags & GP_FLAG_ALL_ROWS;
    size_t n = all ? (size_t)work->max_rows : c->o.schedule.batch;
    if (n == 0 || n > total) n = total;
    const size_t first = all || !total ? 0 : (size_t)(work->sequence % total * (c->o.schedule.batch % total) % total);
    return (stretch){ring, first, n};
}

static uint64_t ring_id(gp_ring ring)
{
    return XXH3_64bits(ring.shards, ring.n_shards * sizeof *ring.shards);
}

static void fetch(void *ctx, const gp_work *work)
{
    gp_row_computer *c = ctx;
    const stretch s = stretch_of(c, work);
    const uint64_t id = ring_id(s.ring);
    if (c->has_ahead && c->ahead_ring == id && c->ahead_first == s.first) return;
    c->has_ahead = gp_reader_ring(&c->reader, s.ring, s.first, s.n, &c->ahead, NULL) == ADVGP_OK;
    c->ahead_ring = id, c->ahead_first = s.first;
}

static void count(const gp_row_computer *c, size_t rows)
{
    if (c->o.rows_passed) atomic_fetch_add_explicit(c->o.rows_passed, rows, memory_order_relaxed);
}

static advgp_status add_rows(gp_row_computer *c, stretch s, advgp_error *err)
{
    size_t done = 0;
    if (c->has_ahead && c->ahead_first == s.first && c->ahead.X.rows <= s.n && c->ahead_ring == ring_id(s.ring)) {
        done = c->ahead.X.rows;
        const advgp_status st = gp_pass_add(c->pass, c->ahead, err);
        if (st != ADVGP_OK) return st;
        count(c, done);
    }
    c->has_ahead = false; // the buffer is needed
    while (done < s.n) {
        gp_batch rows;
        advgp_status st = gp_reader_ring(&c->reader, s.ring, s.first + done, s.n - done, &rows, err);
        if (st == ADVGP_OK) st = gp_pass_add(c->pass, rows, err);
        if (st != ADVGP_OK) return st;
        done += rows.X.rows;
        count(c, rows.X.rows);
    }
    return ADVGP_OK;
}

// ---- the pass -------------------------------------------------------------------------------------------------------

static advgp_status pass_over(gp_row_computer *c, const gp_work *work, stretch s, bool mixed, double *sum_g,
                              advgp_error *err)
{
    const bool statistics = work->flags & GP_FLAG_STATISTICS;
    gp_pass_set_max_loss(c->pass, work->flags & GP_FLAG_ALL_ROWS ? GP_PASS_MAX_LOSS : batch_loss);
    gp_pass_set_mixed(c->pass, mixed);
    advgp_status st = gp_pass_begin(c->pass, work->theta, statistics ? GP_PASS_STATS : c->o.schedule.rule->pass, err);
    if (st == ADVGP_OK) st = add_rows(c, s, err);
    return st == ADVGP_OK ? gp_pass_end(c->pass, sum_g, statistics ? NULL : c->grad, err) : st;
}

static advgp_status compute(void *ctx, const gp_work *work, double *push, gp_work_done *done, advgp_error *err)
{
    gp_row_computer *c = ctx;
    const stretch s = stretch_of(c, work);
    const bool statistics = work->flags & GP_FLAG_STATISTICS;
    const gp_schedule *o = &c->o.schedule;
    const bool mixed = o->mixed && !(work->flags & GP_FLAG_ALL_ROWS); // all rows: their sum is taken at its word
    double sum_g = 0;
    advgp_status st = pass_over(c, work, s, mixed, &sum_g, err);
    if (st == ADVGP_ENUMERIC && mixed)
        st = pass_over(c, work, s, false, &sum_g, err); // beyond a float: weights of 1e40
    if (st != ADVGP_OK) return st;
    const gp_stats *stats = gp_pass_stats(c->pass);
    if (statistics)
        gp_statistics_pack(stats, sum_g, push);
    else
        o->rule->fill(c->layout, c->o.range, stats, sum_g, c->grad, push);
    *done = (gp_work_done){
        .shard_weight = gp_ring_weight(c->o.shards, s.ring),
        .batch_weight = stats->n > 0 ? stats->n : 1, // rows of no weight: sums of 0, however often they count
        .rows = s.n,
        .n_values = statistics ? gp_statistics_size(c->layout.M) : o->rule->push_size(c->layout, c->o.range)};
    return ADVGP_OK;
}

gp_computer gp_row_computer_of(gp_row_computer *c)
{
    return (gp_computer){.ctx = c, .compute = compute, .fetch = fetch};
}
