// server_step.c: from pushes to versions: when the server may advance, the sum of the pushes, the check of the
// bound, roll-back; and the sums that are collected without a step.
#include "linalg/dense.h"
#include "linalg/interrupt.h"
#include "ps/server_state.h"
#include "ps/statistics.h"

#include <math.h>
#include <string.h>

// The schedule falls linearly to this share of the first step, not to 0: the paper's Theorem 4.1 asks for no more than
// a bound on the step, and a step of 0 would be a version that costs a pass and changes nothing. To 0.01 % instead
// makes no difference (docs/math.md 4).
static const double schedule_end = 0.01;
// Of the bound as the pushes see it: how slowly its mean and spread follow, and what is far from the mean.
static const double value_memory = 0.9, jump_deviations = 6;

// ---- advancing ------------------------------------------------------------------------------------------------------

void gp_server_void_push(member *m)
{
    m->has_push = m->fresh = m->failed = false;
    m->need = 0;
}

static bool may_advance(const gp_server *s)
{
    size_t n = 0, fresh = 0;
    if (!s->begun || s->ended || s->collected) return false;
    if (s->trouble) return true;
    for (size_t k = 0; k < s->o.workers_max; k++) {
        const member *m = &s->members[k];
        if (!m->seen.live || !m->seen.has_shards) continue;
        if (!m->has_push || gp_server_is_too_old(s, m->push_version)) return false;
        n++;
        // Late pushes take part but do not hurry the next step: else steps follow each other so closely that every
        // push is a version old when it counts, and that costs more than waiting does (docs/math.md 5).
        fresh += m->fresh && (!s->o.rule->ops->fresh_only || m->push_version == s->version);
    }
    const double quorum = s->collecting ? 1 : s->quorum, needed = fmax(1, ceil(quorum * (double)n - 1e-9));
    return n > 0 && (double)fresh >= needed;
}

// How much a push counts in the sum of a step, beside its rows.
static double weight_of(const gp_server *s, const member *m)
{
    const double power = s->o.rule->ops->age_weight;
    return power > 0 ? pow(1 + (double)(s->version - m->push_version), -power) : 1;
}

// The sum of the pushes that count, each N_k / B_k times, stretched to all rows; in the order of workers.
static size_t sum_pushes(gp_server *s, double *age)
{
    const bool fresh_only = s->o.rule->ops->fresh_only;
    size_t n = 0;
    double rows = 0, weights = 0;
    *age = 0;
    for (uint32_t k = 0; k < s->o.workers_max; k++) {
        const member *m = &s->members[k];
        if (!m->seen.live || !m->seen.has_shards || !m->has_push || (fresh_only && !m->fresh)) continue;
        s->used[n++] = (gp_used_push){k, m->push_sequence, m->push_version};
        const double weight = weight_of(s, m);
        rows += weight * m->shard_weight;
        weights += weight;
        *age += weight * (double)(s->version - m->push_version);
    }
    *age /= weights;
    memset(s->sum, 0, s->expected * sizeof(double));
    for (size_t i = 0; i < n; i++) {
        const member *m = &s->members[s->used[i].worker];
        const double scale = weight_of(s, m) * m->shard_weight / m->batch_weight * (s->total / rows);
        for (size_t j = 0; j < s->expected; j++) s->sum[j] += scale * m->push[j];
    }
    return n;
}

// What the pushes say of the parameters they were computed from: fine, or a reason to go back.
static const char *check_value(gp_server *s, size_t n_used)
{
    const size_t bytes = s->range.count * sizeof(double);
    s->value = s->sum[0] / s->total;
    if (!isfinite(s->value)) return "the bound is not finite";
    const double off = s->has_value ? s->value - s->mean_value : 0;
    const bool jumped = s->o.jump > 0 && off > fmax(s->o.jump, jump_deviations * s->deviation);
    const double counts = fmin(fabs(off), 3 * fmax(s->o.jump, s->deviation)); // one value must not blind it to the next
    s->deviation = value_memory * s->deviation + (1 - value_memory) * counts;
    if (jumped) return ++s->jumps > s->o.jump_patience ? "the bound jumped" : NULL; // no proof of anything yet
    s->jumps = 0;
    s->mean_value = s->has_value ? value_memory * s->mean_value + (1 - value_memory) * s->value : s->value;
    s->has_value = true;
    bool proven = true;
    for (size_t i = 0; i < n_used; i++) proven &= s->used[i].version >= s->candidate_version;
    if (proven) {
        memcpy(s->kept, s->candidate, bytes);
        s->candidate_version = UINT64_MAX; // the parameters after this step are next
    }
    return NULL;
}

// Of a server, what check_value changes: it is set back where a step is not made after all. (Of `kept` it needs not:
// the candidate has been proven.)
typedef struct bound_state {
    double value, mean_value, deviation;
    uint64_t jumps, candidate_version;
    bool has_value;
} bound_state;

static bound_state bound_of(const gp_server *s)
{
    return (bound_state){s->value, s->mean_value, s->deviation, s->jumps, s->candidate_version, s->has_value};
}

static void restore_bound(gp_server *s, bound_state b)
{
    s->value = b.value, s->mean_value = b.mean_value, s->deviation = b.deviation;
    s->jumps = b.jumps, s->candidate_version = b.candidate_version, s->has_value = b.has_value;
}

// The check comes after the rule's own memory has moved on: it is waited for.
static advgp_status check(gp_server *s, const double *before, advgp_error *err)
{
    gp_interrupt scope;
    if (!s->o.check) return ADVGP_OK;
    gp_interrupt_open(&scope, NULL, NULL);
    const advgp_status st = s->o.check(s->o.check_ctx, before, s->theta, err);
    (void)gp_interrupt_close(&scope);
    return st;
}

static const char given_up[] = "someone ended it";

static const char *try_step(gp_server *s, size_t n_used, double age, double shrink, advgp_error *err)
{
    const bound_state bound_before = bound_of(s);
    const char *bad = check_value(s, n_used);
    if (bad) return bad;
    const gp_step_terms terms = {.n = s->total, .shrink = shrink, .damping = s->damping, .age = age};
    double *before = s->values; // free between two answers
    memcpy(before, s->theta, s->range.count * sizeof(double));
    const advgp_status st = s->o.rule->ops->step(s->o.rule, s->sum, &terms, s->theta, err);
    if (st == ADVGP_ESTOPPED) {
        memcpy(s->theta, before, s->range.count * sizeof(double));
        restore_bound(s, bound_before);
        return given_up;
    }
    if (st != ADVGP_OK) return "the step failed";
    if (!gp_all_finite(s->range.count, s->theta)) return "a parameter is not finite";
    return check(s, before, err) == ADVGP_OK ? NULL : "no step can start from there";
}

static void go_back(gp_server *s)
{
    const size_t bytes = s->range.count * sizeof(double);
    memcpy(s->theta, s->kept, bytes);
    memcpy(s->candidate, s->kept, bytes);
    s->candidate_version = s->version + 1;
    s->oldest = s->version + 1;
    s->damping /= 2;
    s->has_value = false;
    s->deviation = 0, s->jumps = 0;
    s->counts.rolled_back++;
    s->o.rule->ops->forget(s->o.rule);
    for (size_t k = 0; k < s->o.workers_max; k++) gp_server_void_push(&s->members[k]);
}

static advgp_status advance(gp_server *s, advgp_error *err)
{
    advgp_error why = {0};
    double age = 0;
    const double left = s->o.schedule.steps ? fmax(schedule_end, 1 - (double)s->version / (double)s->o.schedule.steps)
                                            : 1;
    const double shrink = s->damping * left;
    const char *bad = s->trouble;
    const size_t n_used = bad ? 0 : sum_pushes(s, &age);
    if (!bad) bad = try_step(s, n_used, age, shrink, &why);
    if (bad == given_up) { // as if the last push had not come yet
        s->held = true;
        return ADVGP_OK;
    }
    if (bad) {
        go_back(s);
    } else {
        for (size_t i = 0; i < n_used; i++) s->members[s->used[i].worker].fresh = false;
        if (s->candidate_version == UINT64_MAX) {
            memcpy(s->candidate, s->theta, s->range.count * sizeof(double));
            s->candidate_version = s->version + 1;
        }
    }
    const bool held = s->held;
    s->version++;
    s->held = false;
    s->trouble = NULL;
    gp_server_set_quorum(s);
    gp_server_tell(s, &(gp_ps_event){.kind = GP_EVENT_ADVANCE,
                                     .version = s->version,
                                     .n_used = n_used,
                                     .used = s->used,
                                     .age = age,
                                     .shrink = shrink,
                                     .value = s->value,
                                     .rolled_back = bad,
                                     .quorum = s->quorum,
                                     .held = held});
    if (s->damping < ldexp(1, -GP_MAX_ROLLED_BACK))
        return gp_fail(err, ADVGP_ENUMERIC, "%d steps had to be taken back, the last because %s%s%s",
                       GP_MAX_ROLLED_BACK, bad ? bad : "of its length", why.text[0] ? ": " : "", why.text);
    return ADVGP_OK;
}

advgp_status gp_server_try_advance(gp_server *s, advgp_error *err)
{
    if (!may_advance(s)) {
        s->held = false; // should it have been: what it was to be made of is gone
        return ADVGP_OK;
    }
    if (s->collecting) {
        double age;
        const size_t n_used = sum_pushes(s, &age);
        s->collected = true;
        gp_server_tell(
            s, &(gp_ps_event){.kind = GP_EVENT_COLLECTED, .version = s->version, .n_used = n_used, .used = s->used});
        return ADVGP_OK;
    }
    if (s->version < s->allowed) return advance(s, err);
    s->held = true;
    return ADVGP_OK;
}

advgp_status gp_server_allow(gp_server *s, uint64_t version, advgp_error *err)
{
    s->allowed = version;
    return s->held ? gp_server_try_advance(s, err) : ADVGP_OK;
}

// ---- collecting -----------------------------------------------------------------------------------------------------

void gp_server_collect(gp_server *s, const double *theta, unsigned flags, uint64_t max_rows)
{
    size_t n = 0;
    for (size_t k = 0; k < s->o.workers_max; k++) n += s->live[k] && s->members[k].seen.has_shards;
    if (!n) n = s->o.schedule.workers; // they are still to come
    if (!s->collecting) s->steps_version = s->version, s->steps_oldest = s->oldest;
    memcpy(s->collect, theta, s->range.count * sizeof(double));
    s->collecting = true, s->collected = false, s->held = false;
    s->put_out_for_failing = false;
    s->trouble = NULL;
    s->wanted = flags & (GP_FLAG_ALL_ROWS | GP_FLAG_STATISTICS);
    s->wanted_rows = max_rows ? (max_rows + n - 1) / n : 0;
    s->expected = flags & GP_FLAG_STATISTICS ? gp_statistics_size(s->o.rule->options.layout.M) : s->push_size;
    s->version++;
    s->oldest = s->version;
    for (size_t k = 0; k < s->o.workers_max; k++) {
        gp_server_void_push(&s->members[k]);
        s->members[k].full = true;
        s->members[k].has_size = false; // sums of another kind follow
    }
    gp_server_tell(
        s, &(gp_ps_event){.kind = GP_EVENT_COLLECT, .version = s->version, .flags = s->wanted, .rows = s->wanted_rows});
}

const double *gp_server_collected(const gp_server *s)
{
    return s->collected ? s->sum : NULL;
}
