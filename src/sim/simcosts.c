// simcosts.c: short measurements of the very functions that workers and server call.
#include "sim/simcosts.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "linalg/dense.h"
#include "ps/message.h"
#include "run/computer.h"

#include <math.h>
#include <string.h>

enum { FEW_ROWS = 64, MANY_ROWS = 1024, REPEATS = 7 };
static const double least_seconds = 2e-3; // of one measurement: well above what the clock can tell

typedef struct bench {
    const gp_shards *shards;
    const gp_feature_spec *spec;
    const gp_rule_ops *rule;
    gp_features *f;
    gp_theta_layout layout;
    size_t push_size, batch;
    gp_row_computer *computer;
    gp_rule *state;
    double *start, *theta, *push, *sum; // [layout.size] twice, [push_size] twice
    char *bytes, *wire;                 // a message, and its copy on the way
    uint32_t *list;                     // all shards
    uint64_t sequence;
    gp_message message;
    gp_message_limits limits;
    advgp_error *err;
} bench;

// ---- what is timed --------------------------------------------------------------------------------------------------

static advgp_status one_push(bench *b)
{
    gp_work_done done;
    const gp_work work = {
        .sequence = b->sequence++, .theta = b->start, .n_shards = b->shards->n_train, .shards = b->list};
    const gp_computer c = gp_row_computer_of(b->computer);
    return c.compute(c.ctx, &work, b->push, &done, b->err);
}

// One way of a push and one of parameters, as the server has to do with them: the transport's copy, the checks, its own
// copy; and the same backwards.
static advgp_status two_messages(bench *b)
{
    const size_t n = gp_message_size(&b->message);
    gp_message got;
    memcpy(b->wire, b->bytes, n);
    const advgp_status st = gp_message_decode(b->wire, n, &b->limits, &got, b->err);
    if (st != ADVGP_OK) return st;
    if (!gp_all_finite(got.n_values, got.values)) return gp_fail(b->err, ADVGP_ENUMERIC, "a push that is not finite");
    memcpy(b->sum, got.values, got.n_values * sizeof(double));
    gp_message_encode(&b->message, b->bytes);
    memcpy(b->wire, b->bytes, n);
    return ADVGP_OK;
}

static advgp_status one_sum(bench *b)
{
    for (size_t i = 0; i < b->push_size; i++) b->sum[i] += 1e-9 * b->push[i];
    return ADVGP_OK;
}

static advgp_status one_step(bench *b)
{
    const gp_step_terms terms = {.n = gp_shards_weight(b->shards, GP_TRAIN), .shrink = 1e-3, .age = 0};
    memcpy(b->theta, b->start, b->layout.size * sizeof(double));
    const advgp_status st = b->rule->step(b->state, b->push, &terms, b->theta, b->err);
    return st == ADVGP_OK ? gp_features_can_set(b->f, b->theta, b->err) : st;
}

// ---- timing ---------------------------------------------------------------------------------------------------------

static advgp_status time_of(bench *b, advgp_status (*what)(bench *), double *seconds)
{
    size_t times = 1;
    *seconds = INFINITY;
    for (int r = 0; r < REPEATS;) {
        const double start = gp_clock_cpu();
        for (size_t i = 0; i < times; i++) {
            const advgp_status st = what(b);
            if (st != ADVGP_OK) return st;
        }
        const double took = gp_clock_cpu() - start;
        if (took < least_seconds && r == 0 && times < 1000000) { // also the warm-up
            times *= 2;
            continue;
        }
        *seconds = fmin(*seconds, took / (double)times);
        r++;
    }
    return ADVGP_OK;
}

static advgp_status time_gradient(bench *b, size_t rows, double *seconds)
{
    const gp_row_computer_options o = {.shards = b->shards,
                                       .spec = b->spec,
                                       .schedule.rule = b->rule,
                                       .range = gp_range_all(b->layout),
                                       .schedule.batch = rows,
                                       .schedule.mixed = true};
    gp_row_computer_free(b->computer);
    b->computer = NULL;
    const advgp_status st = gp_row_computer_new(&o, &b->computer, b->err);
    return st == ADVGP_OK ? time_of(b, one_push, seconds) : st;
}

static advgp_status measure_gradient(bench *b, gp_sim_costs *costs)
{
    const size_t n = gp_shards_rows(b->shards, GP_TRAIN), many = n < MANY_ROWS ? n : MANY_ROWS;
    const size_t few = many > FEW_ROWS ? FEW_ROWS : many > 1 ? many / 2 : 0;
    double a = 0, z = 0;
    if (!few) return gp_fail(b->err, ADVGP_EDATA, "one row is not enough to measure what a row costs");
    advgp_status st = time_gradient(b, few, &a);
    if (st == ADVGP_OK) st = time_gradient(b, many, &z);
    costs->row = fmax(0, (z - a) / (double)(many - few));
    costs->push = fmax(0, a - (double)few * costs->row);
    return st;
}

static advgp_status measure_messages(bench *b, gp_sim_costs *costs)
{
    double small = 0, large = 0;
    b->message = (gp_message){.kind = GP_PUSH, .n_values = 1, .values = b->push, .n_shards = 1, .shards = b->list};
    const double small_bytes = (double)gp_message_size(&b->message);
    gp_message_encode(&b->message, b->bytes);
    advgp_status st = time_of(b, two_messages, &small);
    b->message.n_values = b->push_size;
    const double large_bytes = (double)gp_message_size(&b->message);
    gp_message_encode(&b->message, b->bytes);
    if (st == ADVGP_OK) st = time_of(b, two_messages, &large);
    costs->byte = large_bytes > small_bytes ? fmax(0, (large - small) / (2 * (large_bytes - small_bytes))) : 0;
    costs->message = small / 2;
    return st;
}

static advgp_status open_bench(bench *b, const double *theta)
{
    advgp_status st = gp_features_new(b->spec, &b->f, b->err);
    if (st != ADVGP_OK) return st;
    b->layout = gp_theta_layout_of(b->f);
    const gp_rule_options ro = {.layout = b->layout,
                                .range = gp_range_all(b->layout),
                                .natural_rate = 0.2,
                                .adam_rate = 0.1,
                                .decay = 0.9,
                                .epsilon = 1e-4};
    st = b->rule->make(&ro, &b->state, b->err);
    if (st != ADVGP_OK) return st;
    b->push_size = b->rule->push_size(b->layout, gp_range_all(b->layout));
    const size_t room = gp_row_computer_push_size(b->layout, b->rule, gp_range_all(b->layout));
    b->limits = (gp_message_limits){.values = room, .shards = 1};
    b->start = gp_alloc(b->layout.size, sizeof(double));
    b->theta = gp_alloc(b->layout.size, sizeof(double));
    b->push = gp_alloc(room, sizeof(double));
    b->sum = gp_alloc(room, sizeof(double));
    b->bytes = gp_alloc(1, gp_message_size_max(&b->limits));
    b->wire = gp_alloc(1, gp_message_size_max(&b->limits));
    b->list = gp_alloc(b->shards->n_train, sizeof *b->list);
    if (!b->start || !b->theta || !b->push || !b->sum || !b->bytes || !b->wire || !b->list) return gp_no_memory(b->err);
    memcpy(b->start, theta, b->layout.size * sizeof(double));
    for (size_t k = 0; k < b->shards->n_train; k++) b->list[k] = (uint32_t)k;
    return ADVGP_OK;
}

advgp_status gp_sim_measure(const gp_shards *shards, const gp_feature_spec *spec, const double *theta,
                            const gp_rule_ops *rule, gp_sim_costs *costs, advgp_error *err)
{
    bench b = {.shards = shards, .spec = spec, .rule = rule, .err = err};
    *costs = (gp_sim_costs){0};
    advgp_status st = open_bench(&b, theta);
    if (st == ADVGP_OK) st = measure_gradient(&b, costs);
    if (st == ADVGP_OK) st = time_of(&b, one_step, &costs->step); // with a push of the last gradient
    if (st == ADVGP_OK) st = time_of(&b, one_sum, &costs->sum);
    if (st == ADVGP_OK) st = measure_messages(&b, costs);
    gp_row_computer_free(b.computer);
    gp_rule_free(b.state);
    gp_features_free(b.f);
    gp_free(b.start);
    gp_free(b.theta);
    gp_free(b.push);
    gp_free(b.sum);
    gp_free(b.bytes);
    gp_free(b.wire);
    gp_free(b.list);
    return st == ADVGP_OK ? st : gp_wrap(err, st, "measuring the costs of this machine");
}
