// server.c: members, pushes, the advance rule, roll-back, and what to say to whom.
#include "ps/server.h"
#include "base/alloc.h"
#include "linalg/dense.h"
#include "ps/statistics.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { MAX_ROLLED_BACK = 20 }; // halvings before the run is given up
// Of the bound as the pushes see it: how slowly its mean and spread follow, and what is far from the mean.
static const double value_memory = 0.9, jump_deviations = 6;

typedef struct member {
    gp_member seen; // what others may look at
    uint64_t token;
    // The newest push. Fresh: not in an advance yet.
    bool has_push, fresh;
    bool failed; // it could not compute, and the roll-back that follows is still to come
    uint64_t push_version, push_sequence;
    double shard_weight, batch_weight;
    size_t n_shards;
    uint32_t *shards; // [n_shards of the run]
    double *push;     // [buffer]
    // Its request.
    uint64_t need; // waits for this version or a later one
    bool answered; // at least once: a repetition gets a full answer
    bool full;     // the next answer must not be a difference
    double asked;  // when
    double *sent;  // [count]: its copy of the parameters; NULL without a filter
    bool restored; // its copy is of before a restart: it gets that, brought up to date, and not the parameters
} member;

// Welcomes, refusals and farewells that wait to be sent. When there are too many the oldest is forgotten: whoever
// wants an answer asks again.
typedef struct note {
    size_t peer;
    gp_message message;
} note;

struct gp_server {
    gp_server_options o;
    gp_range range;
    size_t push_size; // values of a push as the rule has it
    size_t expected;  // values of a push as things are
    size_t buffer;    // values of the largest push
    bool collecting, collected;
    unsigned wanted;      // flags of what is collected
    uint64_t wanted_rows; // of each worker
    uint64_t version, allowed;
    uint64_t oldest; // pushes of versions before this are void: there was a roll-back
    bool begun, ended, held;
    const char *trouble; // a worker could not compute: a roll-back is due
    double *theta;
    double *collect;                      // parameters of a collection
    uint64_t steps_version, steps_oldest; // while something is collected: where the steps are
    double *sent;                         // [workers_max x count] with a filter, else NULL
    // Roll-back: the newest parameters that pushes have shown to be good, and the next candidate.
    double *kept, *candidate;
    uint64_t candidate_version;
    double damping, value, mean_value, deviation;
    uint64_t jumps; // in a row
    bool has_value;
    double *sum; // [buffer]
    gp_shard_table table;
    double total; // weight of all rows that are not given up
    member *members;
    bool *live; // [workers_max]
    size_t n_live;
    gp_used_push *used;
    note *notes;
    size_t first_note, n_notes, max_notes;
    uint64_t *gone; // [n_gone_max] tokens that had a place and lost it, the newest ones
    size_t n_gone, n_gone_max;
    size_t turn;      // where to look next for an answer that is due
    uint32_t *shards; // [n_shards], of the answer being given
    double *values;   // [count], the same
    uint64_t *mask;
    gp_server_counts counts;
    uint64_t *image; // [n_shards + 2 workers_max], what gp_server_look shows of members and shards
};

// ---- construction ---------------------------------------------------------------------------------------------------

void gp_server_free(gp_server *s)
{
    if (!s) return;
    for (size_t k = 0; s->members && k < s->o.workers_max; k++) {
        gp_free(s->members[k].push);
        gp_free(s->members[k].shards);
    }
    gp_shard_table_fini(&s->table);
    gp_free(s->theta);
    gp_free(s->kept);
    gp_free(s->candidate);
    gp_free(s->sum);
    gp_free(s->members);
    gp_free(s->live);
    gp_free(s->used);
    gp_free(s->notes);
    gp_free(s->shards);
    gp_free(s->values);
    gp_free(s->mask);
    gp_free(s->image);
    gp_free(s->collect);
    gp_free(s->sent);
    gp_free(s->gone);
    gp_free(s);
}

static bool allocate(gp_server *s)
{
    const size_t n = s->range.count, W = s->o.workers_max;
    s->theta = gp_alloc(n, sizeof(double));
    s->collect = gp_alloc(n, sizeof(double));
    s->sent = s->o.filter > 0 ? gp_alloc(W * n, sizeof(double)) : NULL;
    s->kept = gp_alloc(n, sizeof(double));
    s->candidate = gp_alloc(n, sizeof(double));
    s->sum = gp_alloc(s->buffer, sizeof(double));
    s->members = gp_alloc(W, sizeof *s->members);
    s->live = gp_alloc(W, sizeof *s->live);
    s->used = gp_alloc(W, sizeof *s->used);
    s->max_notes = 2 * W + 64;
    s->notes = gp_alloc(s->max_notes, sizeof *s->notes);
    s->shards = gp_alloc(s->o.n_shards, sizeof *s->shards);
    s->values = gp_alloc(n, sizeof(double));
    s->mask = gp_alloc(gp_mask_words(n), sizeof *s->mask);
    s->image = gp_alloc(s->o.n_shards + 2 * W, sizeof *s->image);
    s->n_gone_max = 4 * W + 16;
    s->gone = gp_alloc(s->n_gone_max, sizeof *s->gone);
    return s->theta && s->collect && (s->sent || !(s->o.filter > 0)) && s->kept && s->candidate && s->sum &&
           s->members && s->live && s->used && s->notes && s->shards && s->values && s->mask && s->image && s->gone;
}

advgp_status gp_server_new(const gp_server_options *o, gp_server **out, advgp_error *err)
{
    *out = NULL;
    if (!o->n_shards || !o->workers || o->workers > o->workers_max)
        return gp_fail(err, ADVGP_EINVAL, "a server of %zu shards for %zu to %zu workers: at least one of each",
                       o->n_shards, o->workers, o->workers_max);
    if (!(o->quorum >= 0 && o->quorum <= 1))
        return gp_fail(err, ADVGP_EINVAL, "a quorum of %g: a share from 0 to 1", o->quorum);
    gp_server *s = gp_alloc(1, sizeof *s);
    if (!s) return gp_fail(err, ADVGP_ENOMEM, "no memory for a server");
    const gp_rule *rule = o->rule;
    s->o = *o;
    s->range = rule->options.range;
    s->push_size = rule->ops->push_size(rule->options.layout, s->range);
    const size_t statistics = gp_statistics_size(rule->options.layout.M);
    s->expected = s->push_size;
    s->buffer = s->push_size > statistics ? s->push_size : statistics;
    s->allowed = UINT64_MAX;
    s->damping = 1;
    if (!allocate(s)) {
        gp_server_free(s);
        return gp_fail(err, ADVGP_ENOMEM, "no memory for a server of %zu parameters", rule->options.range.count);
    }
    const advgp_status st = gp_shard_table_init(&s->table, o->n_shards, o->shard_weight, err);
    if (st != ADVGP_OK) {
        gp_server_free(s);
        return st;
    }
    const size_t bytes = s->range.count * sizeof(double);
    memcpy(s->theta, o->theta, bytes);
    memcpy(s->kept, o->theta, bytes);
    memcpy(s->candidate, o->theta, bytes);
    for (size_t i = 0; i < o->n_shards; i++) s->total += o->shard_weight[i];
    s->o.theta = s->o.shard_weight = NULL;
    *out = s;
    return ADVGP_OK;
}

// ---- saying ---------------------------------------------------------------------------------------------------------

static void tell(const gp_server *s, const gp_ps_event *event)
{
    if (s->o.event) s->o.event(s->o.event_ctx, event);
}

static gp_message message_for(const gp_server *s, gp_message_kind kind, uint32_t worker)
{
    return (gp_message){.kind = kind,
                        .run = {s->o.run[0], s->o.run[1]},
                        .epoch = s->o.epoch,
                        .worker = worker,
                        .incarnation = worker < s->o.workers_max ? s->members[worker].seen.incarnation : 0,
                        .version = s->version};
}

static void say(gp_server *s, size_t peer, const gp_message *message)
{
    if (s->n_notes && s->n_notes == s->max_notes) s->first_note = (s->first_note + 1) % s->max_notes, s->n_notes--;
    s->notes[(s->first_note + s->n_notes++) % s->max_notes] = (note){peer, *message};
}

static void refuse(gp_server *s, size_t peer, const gp_message *to, gp_refusal reason)
{
    gp_message m = message_for(s, GP_REFUSE, to->worker);
    m.epoch = to->epoch, m.incarnation = to->incarnation; // so that the worker knows whether it is meant
    m.sequence = to->sequence;
    m.token = to->token;
    m.reason = reason;
    s->counts.refused++;
    say(s, peer, &m);
}

static bool is_due(const gp_server *s, const member *m)
{
    return m->seen.live && m->seen.waiting && s->begun && m->seen.has_shards && m->need <= s->version;
}

// Elements that moved by more than C / t since they were last sent to this worker.
static void difference(gp_server *s, member *m, gp_message *answer)
{
    const double least = s->o.filter / fmax((double)s->version, 1);
    const size_t n = s->range.count;
    memset(s->mask, 0, gp_mask_words(n) * sizeof *s->mask);
    size_t sent = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(s->theta[i] - m->sent[i]) > least)) continue;
        m->sent[i] = s->theta[i];
        s->values[sent++] = s->theta[i];
        s->mask[i / 64] |= UINT64_C(1) << (i % 64);
    }
    answer->n_values = sent, answer->values = s->values;
    answer->n_masked = n, answer->mask = s->mask;
}

static void give_parameters(gp_server *s, uint32_t worker, double now, gp_message *answer)
{
    member *m = &s->members[worker];
    *answer = message_for(s, GP_PARAMETERS, worker);
    answer->sequence = m->seen.sequence;
    answer->flags = s->wanted, answer->rows = s->wanted_rows;
    answer->n_shards = gp_shard_table_list(&s->table, worker, s->shards);
    answer->shards = s->shards;
    if (m->sent && !s->collecting && (!m->full || m->restored)) difference(s, m, answer);
    if (!m->sent || m->full || s->collecting) {
        const bool copy = m->restored && !s->collecting;
        if (m->sent && !copy && !s->collecting) memcpy(m->sent, s->theta, s->range.count * sizeof(double));
        answer->flags |= GP_FLAG_FULL;
        answer->n_values = s->range.count, answer->n_masked = 0;
        answer->values = s->collecting ? s->collect : copy ? m->sent : s->theta;
    }
    if (!s->collecting) m->restored = false;
    if (m->answered)
        tell(s, &(gp_ps_event){.kind = GP_EVENT_AGAIN, .worker = worker, .incarnation = m->seen.incarnation});
    m->full = m->answered; // after a second answer nobody knows which one it took: one more full one
    m->answered = true;
    m->seen.waiting = false;
    m->seen.waited += fmax(0, now - m->asked);
}

bool gp_server_next(gp_server *s, double now, size_t *peer, gp_message *message)
{
    if (s->n_notes) {
        const note *n = &s->notes[s->first_note];
        *peer = n->peer;
        *message = n->message;
        s->first_note = (s->first_note + 1) % s->max_notes;
        s->n_notes--;
        return true;
    }
    if (s->ended) return false;
    for (size_t i = 0; i < s->o.workers_max; i++) {
        const size_t k = (s->turn + i) % s->o.workers_max;
        if (!is_due(s, &s->members[k])) continue;
        s->turn = k + 1;
        *peer = s->members[k].seen.peer;
        give_parameters(s, (uint32_t)k, now, message);
        return true;
    }
    return false;
}

// ---- advancing ------------------------------------------------------------------------------------------------------

// A push that must not be used any more: the worker gets parameters at once, it may be waiting for a version that
// only its own push could bring.
static void void_push(member *m)
{
    m->has_push = m->fresh = m->failed = false;
    m->need = 0;
}

static bool too_old(const gp_server *s, uint64_t push_version)
{
    if (s->o.max_delay == GP_DELAY_ANY) return false;
    const uint64_t allowance = s->o.max_delay + (s->o.bug == GP_BUG_DELAY_OFF_BY_ONE);
    return push_version + allowance < s->version;
}

static bool may_advance(const gp_server *s)
{
    size_t n = 0, fresh = 0;
    if (!s->begun || s->ended || s->collected) return false;
    if (s->trouble) return true;
    for (size_t k = 0; k < s->o.workers_max; k++) {
        const member *m = &s->members[k];
        if (!m->seen.live || !m->seen.has_shards) continue;
        if (!m->has_push || too_old(s, m->push_version)) return false;
        n++;
        // Late pushes take part but do not hurry the next step: else steps follow each other so closely that every
        // push is a version old when it counts, and that costs more than waiting does (docs/math.md 5).
        fresh += m->fresh && (!s->o.rule->ops->fresh_only || m->push_version == s->version);
    }
    const double quorum = s->collecting ? 1 : s->o.quorum, needed = fmax(1, ceil(quorum * (double)n - 1e-9));
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
static const char *judge_value(gp_server *s, size_t n_used)
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

static const char *try_step(gp_server *s, size_t n_used, double age, double shrink, advgp_error *err)
{
    const char *bad = judge_value(s, n_used);
    if (bad) return bad;
    const gp_step_terms terms = {.n = s->total, .shrink = shrink, .age = age};
    double *before = s->values; // free between two answers
    memcpy(before, s->theta, s->range.count * sizeof(double));
    if (s->o.rule->ops->step(s->o.rule, s->sum, &terms, s->theta, err) != ADVGP_OK) return "the step failed";
    if (!gp_all_finite(s->range.count, s->theta)) return "a parameter is not finite";
    if (s->o.check && s->o.check(s->o.check_ctx, before, s->theta, err) != ADVGP_OK)
        return "no step can start from there";
    return NULL;
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
    for (size_t k = 0; k < s->o.workers_max; k++) void_push(&s->members[k]);
}

static advgp_status advance(gp_server *s, advgp_error *err)
{
    advgp_error why = {0};
    double age = 0;
    const double left = s->o.steps ? fmax(0.01, 1 - (double)s->version / (double)s->o.steps) : 1;
    const double shrink = s->damping * left;
    const char *bad = s->trouble;
    const size_t n_used = bad ? 0 : sum_pushes(s, &age);
    if (!bad) bad = try_step(s, n_used, age, shrink, &why);
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
    tell(s, &(gp_ps_event){.kind = GP_EVENT_ADVANCE,
                           .version = s->version,
                           .n_used = n_used,
                           .used = s->used,
                           .age = age,
                           .shrink = shrink,
                           .value = s->value,
                           .rolled_back = bad,
                           .held = held});
    if (s->damping < ldexp(1, -MAX_ROLLED_BACK))
        return gp_fail(err, ADVGP_ENUMERIC, "%d steps had to be taken back, the last because %s%s%s", MAX_ROLLED_BACK,
                       bad ? bad : "of its length", why.text[0] ? ": " : "", why.text);
    return ADVGP_OK;
}

static advgp_status try_advance(gp_server *s, advgp_error *err)
{
    if (!may_advance(s)) return ADVGP_OK;
    if (s->collecting) {
        double age;
        const size_t n_used = sum_pushes(s, &age);
        s->collected = true;
        tell(s, &(gp_ps_event){.kind = GP_EVENT_COLLECTED, .version = s->version, .n_used = n_used, .used = s->used});
        return ADVGP_OK;
    }
    if (s->version < s->allowed) return advance(s, err);
    s->held = true;
    return ADVGP_OK;
}

advgp_status gp_server_allow(gp_server *s, uint64_t version, advgp_error *err)
{
    s->allowed = version;
    return s->held ? try_advance(s, err) : ADVGP_OK;
}

// ---- collecting -----------------------------------------------------------------------------------------------------

void gp_server_collect(gp_server *s, const double *theta, unsigned flags, uint64_t max_rows)
{
    size_t n = 0;
    for (size_t k = 0; k < s->o.workers_max; k++) n += s->live[k] && s->members[k].seen.has_shards;
    if (!n) n = s->o.workers; // they are still to come
    if (!s->collecting) s->steps_version = s->version, s->steps_oldest = s->oldest;
    memcpy(s->collect, theta, s->range.count * sizeof(double));
    s->collecting = true, s->collected = false, s->held = false;
    s->trouble = NULL;
    s->wanted = flags & (GP_FLAG_ALL_ROWS | GP_FLAG_STATISTICS);
    s->wanted_rows = max_rows ? (max_rows + n - 1) / n : 0;
    s->expected = flags & GP_FLAG_STATISTICS ? gp_statistics_size(s->o.rule->options.layout.M) : s->push_size;
    s->version++;
    s->oldest = s->version;
    for (size_t k = 0; k < s->o.workers_max; k++) {
        void_push(&s->members[k]);
        s->members[k].full = true;
    }
    tell(s,
         &(gp_ps_event){.kind = GP_EVENT_COLLECT, .version = s->version, .flags = s->wanted, .rows = s->wanted_rows});
}

const double *gp_server_collected(const gp_server *s)
{
    return s->collected ? s->sum : NULL;
}

// ---- who has what ---------------------------------------------------------------------------------------------------

static bool uses_shard(const member *m, uint32_t shard)
{
    for (size_t i = 0; i < m->n_shards; i++)
        if (m->shards[i] == shard) return true;
    return false;
}

static void on_moved(void *ctx, uint32_t shard, uint32_t from, uint32_t to)
{
    gp_server *s = ctx;
    if (from < s->o.workers_max && s->members[from].has_push && uses_shard(&s->members[from], shard))
        void_push(&s->members[from]);                                       // else its rows would count twice
    if (s->collecting && to < s->o.workers_max) void_push(&s->members[to]); // every row is wanted
    tell(s, &(gp_ps_event){.kind = GP_EVENT_MOVED, .shard = shard, .from = from, .worker = to});
}

static gp_crew crew(const gp_server *s)
{
    return (gp_crew){s->live, s->o.workers_max};
}

static void note_shards(gp_server *s)
{
    for (uint32_t k = 0; k < s->o.workers_max; k++)
        s->members[k].seen.has_shards = s->live[k] &&
                                        gp_shard_table_weight(&s->table, k) > 0; // empty ones do not count
}

// The run begins, or goes on after a restart: every shard has a live owner, and everybody has some.
static void begin(gp_server *s)
{
    bool dealt = false;
    for (size_t i = 0; i < s->table.n; i++) dealt |= s->table.owner[i] != GP_NOBODY;
    s->begun = true;
    tell(s, &(gp_ps_event){.kind = GP_EVENT_BEGUN});
    if (!dealt) {
        gp_shard_table_deal(&s->table, crew(s), on_moved, s);
    } else {
        gp_shard_table_reassign(&s->table, crew(s), on_moved, s);
        for (uint32_t k = 0; k < s->o.workers_max; k++)
            if (s->live[k] && !gp_shard_table_has(&s->table, k))
                gp_shard_table_join(&s->table, k, crew(s), on_moved, s);
    }
    note_shards(s);
}

advgp_status gp_server_begin(gp_server *s, advgp_error *err)
{
    if (s->begun) return ADVGP_OK;
    if (!s->n_live) return gp_fail(err, ADVGP_ECLUSTER, "no worker has come");
    begin(s);
    return ADVGP_OK;
}

// Added up anew, not subtracted: nothing left is 0, and a server that goes on from a checkpoint has the same bits.
static void weigh_rows(gp_server *s)
{
    s->total = 0;
    for (size_t i = 0; i < s->table.n; i++)
        if (s->table.owner[i] != GP_NOBODY) s->total += s->table.weight[i];
}

static void give_up_rows(gp_server *s, uint32_t worker)
{
    for (size_t i = 0; i < s->table.n; i++) {
        if (s->table.owner[i] != worker) continue;
        s->table.owner[i] = GP_NOBODY;
        tell(s, &(gp_ps_event){.kind = GP_EVENT_MOVED, .shard = (uint32_t)i, .from = worker, .worker = GP_NOBODY});
    }
    weigh_rows(s);
}

// A hello with this token was under way for long: whoever said it has a place by another one, or is no more.
static void forget_token(gp_server *s, const member *m)
{
    s->gone[s->n_gone++ % s->n_gone_max] = m->token;
}

static bool is_gone(const gp_server *s, uint64_t token)
{
    for (size_t i = 0; i < s->n_gone && i < s->n_gone_max; i++)
        if (s->gone[i] == token) return true;
    return false;
}

advgp_status gp_server_on_lost(gp_server *s, uint32_t worker, advgp_error *err)
{
    if (worker >= s->o.workers_max || !s->live[worker] || s->ended) return ADVGP_OK;
    member *m = &s->members[worker];
    m->seen.live = m->seen.waiting = false;
    void_push(m);
    forget_token(s, m);
    s->live[worker] = false;
    s->n_live--;
    s->counts.lost++;
    tell(s, &(gp_ps_event){.kind = GP_EVENT_LOST, .worker = worker, .incarnation = m->seen.incarnation});
    if (!s->begun) return ADVGP_OK;
    if (s->o.on_loss == GP_LOSS_STOP)
        return gp_fail(err, ADVGP_ECLUSTER, "worker %u was lost at version %llu, and --on-loss is stop", worker,
                       (unsigned long long)s->version);
    if (s->o.on_loss == GP_LOSS_DROP) give_up_rows(s, worker);
    if (s->o.bug == GP_BUG_LOST_SHARD)
        for (size_t i = s->table.n; i-- > 0;)
            if (s->table.owner[i] == worker) {
                s->table.owner[i] = GP_NOBODY;
                break;
            }
    gp_shard_table_reassign(&s->table, crew(s), on_moved, s);
    note_shards(s);
    if (!(s->total > 0)) return gp_fail(err, ADVGP_ECLUSTER, "all rows were lost with their workers");
    return try_advance(s, err);
}

// ---- hello ----------------------------------------------------------------------------------------------------------

// The place a worker gets: the one it wishes for, or the first that nobody has. Who comes for the first time takes its
// wish from whoever is there: it was started in its stead. Who comes back takes what is free first, since another may
// have been given its place in the meantime.
static uint32_t place_for(const gp_server *s, const gp_message *hello)
{
    for (uint32_t k = 0; k < s->o.workers_max; k++)
        if (s->live[k] && s->members[k].token == hello->token) return k; // it says hello again
    const bool wishes = hello->worker < s->o.workers_max;
    if (wishes && (!hello->incarnation || !s->live[hello->worker])) return hello->worker;
    for (uint32_t k = 0; k < s->o.workers_max; k++)
        if (!s->live[k]) return k;
    return wishes ? hello->worker : GP_NOBODY;
}

static advgp_status make_room(gp_server *s, member *m, advgp_error *err)
{
    if (!m->push) m->push = gp_alloc(s->buffer, sizeof(double));
    if (!m->shards) m->shards = gp_alloc(s->o.n_shards, sizeof *m->shards);
    if (s->sent) m->sent = s->sent + (size_t)(m - s->members) * s->range.count;
    if (m->push && m->shards) return ADVGP_OK;
    return gp_fail(err, ADVGP_ENOMEM, "no memory for one more worker");
}

static advgp_status take_place(gp_server *s, uint32_t k, double now, size_t peer, const gp_message *hello,
                               advgp_error *err)
{
    member *m = &s->members[k];
    advgp_status st = make_room(s, m, err);
    if (st != ADVGP_OK) return st;
    if (s->live[k]) forget_token(s, m);
    s->n_live += !s->live[k];
    s->live[k] = true;
    void_push(m);
    m->seen.live = true, m->seen.waiting = false;
    m->seen.peer = peer, m->seen.heard = now;
    m->seen.incarnation++;
    m->token = hello->token;
    m->full = true, m->answered = false;
    s->counts.joined++;
    tell(s, &(gp_ps_event){.kind = GP_EVENT_JOINED, .worker = k, .incarnation = m->seen.incarnation});
    if (!s->begun) {
        if (s->n_live >= s->o.workers) begin(s);
        return ADVGP_OK;
    }
    gp_shard_table_reassign(&s->table, crew(s), on_moved, s); // where everybody was gone
    if (!gp_shard_table_has(&s->table, k)) gp_shard_table_join(&s->table, k, crew(s), on_moved, s);
    note_shards(s);
    return ADVGP_OK;
}

static advgp_status on_hello(gp_server *s, double now, size_t peer, const gp_message *hello, advgp_error *err)
{
    const bool any_run = hello->run[0] == 0 && hello->run[1] == 0; // it will learn which from the welcome
    const bool this_run = hello->run[0] == s->o.run[0] && hello->run[1] == s->o.run[1];
    const uint32_t k = place_for(s, hello);
    if (!any_run && !this_run)
        refuse(s, peer, hello, GP_REFUSED_OTHER_RUN);
    else if (hello->fingerprint != s->o.fingerprint)
        refuse(s, peer, hello, GP_REFUSED_OTHER_DATA);
    else if (is_gone(s, hello->token))
        refuse(s, peer, hello, GP_REFUSED_UNKNOWN); // if it is still there, it says hello by another token
    else if (k == GP_NOBODY)
        refuse(s, peer, hello, GP_REFUSED_FULL);
    else {
        member *m = &s->members[k];
        const bool again = s->live[k] && m->token == hello->token;
        advgp_status st = again ? ADVGP_OK : take_place(s, k, now, peer, hello, err);
        if (st != ADVGP_OK) return st;
        m->seen.peer = peer, m->seen.heard = now;
        gp_message welcome = message_for(s, GP_WELCOME, k);
        welcome.token = hello->token;
        welcome.sequence = m->seen.sequence;
        say(s, peer, &welcome);
    }
    return ADVGP_OK;
}

// ---- pull and push --------------------------------------------------------------------------------------------------

static void wait_for(member *m, double now, uint64_t need)
{
    m->seen.waiting = true;
    m->need = need;
    m->asked = now;
}

// The request that was answered already: once more, in full, with what there is now.
static void answer_again(gp_server *s, member *m, double now)
{
    s->counts.duplicates++;
    if (m->seen.waiting) return; // not answered yet
    m->full = true;
    wait_for(m, now, 0);
}

static void on_pull(gp_server *s, member *m, double now, const gp_message *pull)
{
    if (pull->sequence != m->seen.sequence) return; // an old one that was under way for long
    if (m->answered || m->seen.waiting) {
        answer_again(s, m, now);
        return;
    }
    wait_for(m, now, 0);
    tell(s, &(gp_ps_event){.kind = GP_EVENT_PULL, .worker = pull->worker, .incarnation = pull->incarnation});
}

// NULL: a push to be used. Else why it is not.
static const char *why_dropped(const gp_server *s, const gp_message *push)
{
    if (push->version < s->oldest) return "it was computed before a roll-back or a collection";
    if (s->o.max_delay != GP_DELAY_ANY && push->version + s->o.max_delay + 1 < s->version) return "it is too old";
    for (size_t i = 0; i < push->n_shards; i++)
        if (s->table.owner[push->shards[i]] != push->worker) return "a shard of it is another worker's now";
    return NULL;
}

static bool is_sound(const gp_server *s, const gp_message *push)
{
    if (push->version > s->version || push->n_shards > s->o.n_shards || !push->n_shards) return false;
    for (size_t i = 0; i < push->n_shards; i++)
        if (push->shards[i] >= s->o.n_shards) return false;
    if (push->flags & GP_FLAG_FAILED) return true;
    const bool statistics = push->flags & GP_FLAG_STATISTICS;
    const size_t n_values = statistics ? gp_statistics_size(s->o.rule->options.layout.M) : s->push_size;
    return push->n_values == n_values && push->batch_weight > 0 && push->shard_weight >= 0 &&
           isfinite(push->shard_weight / push->batch_weight) && gp_all_finite(push->n_values, push->values);
}

static advgp_status take_push(gp_server *s, member *m, double now, const gp_message *push, advgp_error *err)
{
    const char *dropped = why_dropped(s, push);
    const bool failed = push->flags & GP_FLAG_FAILED;
    m->seen.sequence = push->sequence + 1;
    m->answered = false;
    s->counts.dropped += dropped != NULL;
    wait_for(m, now, dropped ? 0 : push->version + 1);
    if (!dropped && !failed) {
        m->has_push = m->fresh = true;
        m->push_version = m->seen.version = push->version;
        m->push_sequence = push->sequence;
        m->shard_weight = push->shard_weight, m->batch_weight = push->batch_weight;
        m->n_shards = push->n_shards;
        memcpy(m->shards, push->shards, push->n_shards * sizeof *m->shards);
        memcpy(m->push, push->values, push->n_values * sizeof(double));
        m->seen.pushes++;
        m->seen.rows += push->rows;
    }
    tell(s, &(gp_ps_event){.kind = GP_EVENT_PUSH, .worker = push->worker, .push = push, .dropped = dropped});
    if (failed && !dropped && s->collecting)
        return gp_fail(err, ADVGP_ENUMERIC, "worker %u could not compute at the parameters of the last act",
                       push->worker);
    if (failed && !dropped) {
        s->trouble = "a worker could not compute";
        m->failed = true;
        m->push_sequence = push->sequence;
    }
    return try_advance(s, err);
}

static advgp_status on_push(gp_server *s, member *m, double now, size_t peer, const gp_message *push, advgp_error *err)
{
    if (push->sequence + 1 == m->seen.sequence && s->o.bug != GP_BUG_DOUBLE_COUNT) {
        answer_again(s, m, now);
        return ADVGP_OK;
    }
    if (push->sequence < m->seen.sequence && s->o.bug != GP_BUG_DOUBLE_COUNT) {
        s->counts.duplicates++;
        return ADVGP_OK;
    }
    if (push->sequence > m->seen.sequence) {
        refuse(s, peer, push, GP_REFUSED_UNKNOWN);
        return ADVGP_OK;
    }
    if (!is_sound(s, push)) {
        refuse(s, peer, push, GP_REFUSED_NOT_FINITE);
        return gp_server_on_lost(s, push->worker, err);
    }
    return take_push(s, m, now, push, err);
}

// ---- being told -----------------------------------------------------------------------------------------------------

// The live member a message is of; NULL and a refusal otherwise.
static member *member_of(gp_server *s, size_t peer, const gp_message *message)
{
    const uint32_t k = message->worker;
    const bool known = k < s->o.workers_max && s->live[k] && message->epoch == s->o.epoch &&
                       message->run[0] == s->o.run[0] && message->run[1] == s->o.run[1];
    if (known && (message->incarnation == s->members[k].seen.incarnation || s->o.bug == GP_BUG_STALE_AFTER_REJOIN))
        return &s->members[k];
    if (message->kind != GP_BYE && message->kind != GP_REFUSE)
        refuse(s, peer, message,
               known && message->incarnation < s->members[k].seen.incarnation ? GP_REFUSED_REPLACED
                                                                              : GP_REFUSED_UNKNOWN);
    return NULL;
}

advgp_status gp_server_on_message(gp_server *s, double now, size_t peer, const gp_message *message, advgp_error *err)
{
    if (s->ended) {
        if (message->kind == GP_BYE || message->kind == GP_REFUSE) return ADVGP_OK;
        gp_message bye = message_for(s, GP_BYE, message->worker);
        bye.incarnation = message->incarnation;
        bye.token = message->token;
        say(s, peer, &bye);
        return ADVGP_OK;
    }
    if (message->kind == GP_HELLO) return on_hello(s, now, peer, message, err);
    member *m = member_of(s, peer, message);
    if (!m) return ADVGP_OK;
    m->seen.peer = peer, m->seen.heard = now;
    switch (message->kind) {
    case GP_PULL:
        on_pull(s, m, now, message);
        break;
    case GP_PUSH:
        return on_push(s, m, now, peer, message, err);
    case GP_BYE:
        return gp_server_on_lost(s, message->worker, err);
    default:
        break; // a sign of life, or nothing a worker says
    }
    return ADVGP_OK;
}

advgp_status gp_server_on_tick(gp_server *s, double now, advgp_error *err)
{
    for (uint32_t k = 0; s->o.lost_after > 0 && k < s->o.workers_max; k++) {
        if (!s->live[k] || now - s->members[k].seen.heard <= s->o.lost_after) continue;
        advgp_status st = gp_server_on_lost(s, k, err);
        if (st != ADVGP_OK) return st;
    }
    return ADVGP_OK;
}

void gp_server_end(gp_server *s)
{
    if (s->ended) return;
    s->ended = true;
    s->n_notes = 0;
    for (uint32_t k = 0; k < s->o.workers_max; k++) {
        if (!s->live[k]) continue;
        const gp_message bye = message_for(s, GP_BYE, k);
        say(s, s->members[k].seen.peer, &bye);
    }
}

// ---- looking --------------------------------------------------------------------------------------------------------

uint64_t gp_server_version(const gp_server *s)
{
    return s->version;
}

const double *gp_server_theta(const gp_server *s)
{
    return s->theta;
}

double gp_server_value(const gp_server *s)
{
    return s->value;
}

bool gp_server_begun(const gp_server *s)
{
    return s->begun;
}

size_t gp_server_live(const gp_server *s)
{
    return s->n_live;
}

gp_member gp_server_member(const gp_server *s, uint32_t worker)
{
    assert(worker < s->o.workers_max);
    return s->members[worker].seen;
}

const gp_shard_table *gp_server_shards(const gp_server *s)
{
    return &s->table;
}

gp_server_counts gp_server_count(const gp_server *s)
{
    return s->counts;
}

// ---- checkpoint -----------------------------------------------------------------------------------------------------

gp_server_image gp_server_look(gp_server *s)
{
    const size_t W = s->o.workers_max;
    gp_server_image image = {.version = s->collecting ? s->steps_version : s->version,
                             .oldest = s->collecting ? s->steps_oldest : s->oldest,
                             .candidate_version = s->candidate_version,
                             .epoch = s->o.epoch,
                             .damping = s->damping,
                             .value = s->value,
                             .mean_value = s->mean_value,
                             .deviation = s->deviation,
                             .jumps = s->jumps,
                             .has_value = s->has_value,
                             .dealt = s->begun,
                             .size = s->range.count,
                             .theta = s->theta,
                             .kept = s->kept,
                             .candidate = s->candidate,
                             .sent = s->sent,
                             .n_shards = s->table.n,
                             .n_workers = W,
                             .owner = s->image,
                             .sequence = s->image + s->table.n,
                             .incarnation = s->image + s->table.n + W};
    uint64_t *owner = s->image, *sequence = owner + s->table.n, *incarnation = sequence + W;
    for (size_t i = 0; i < s->table.n; i++) owner[i] = s->table.owner[i];
    for (size_t k = 0; k < W; k++) {
        const member *m = &s->members[k]; // a push that is in no step yet is to be computed again
        sequence[k] = m->fresh || m->failed ? m->push_sequence : m->seen.sequence;
        incarnation[k] = m->seen.incarnation;
    }
    return image;
}

static advgp_status check_image(const gp_server *s, const gp_server_image *image, advgp_error *err)
{
    if (s->n_live || s->begun)
        return gp_fail(err, ADVGP_EINVAL, "a server goes on from a checkpoint before anybody came");
    if (image->size != s->range.count || image->n_shards != s->table.n || image->n_workers > s->o.workers_max)
        return gp_fail(err, ADVGP_EINVAL,
                       "a checkpoint of %zu parameters, %zu shards and %zu workers: here are %zu, %zu, %zu",
                       image->size, image->n_shards, image->n_workers, s->range.count, s->table.n, s->o.workers_max);
    const double numbers[] = {image->value, image->mean_value, image->deviation};
    if (!(image->damping > 0 && image->damping <= 1) || !gp_all_finite(3, numbers) ||
        !gp_all_finite(image->size, image->theta) || !gp_all_finite(image->size, image->kept) ||
        !gp_all_finite(image->size, image->candidate) ||
        (image->sent && !gp_all_finite(image->n_workers * image->size, image->sent)))
        return gp_fail(err, ADVGP_EFILE, "a checkpoint with numbers that cannot be");
    for (size_t i = 0; image->dealt && i < image->n_shards; i++)
        if (image->owner[i] >= image->n_workers && image->owner[i] != GP_NOBODY)
            return gp_fail(err, ADVGP_EFILE, "a checkpoint that gives shard %zu to a worker that cannot be", i);
    return ADVGP_OK;
}

advgp_status gp_server_restore(gp_server *s, const gp_server_image *image, advgp_error *err)
{
    const advgp_status st = check_image(s, image, err);
    if (st != ADVGP_OK) return st;
    const size_t bytes = image->size * sizeof(double);
    memcpy(s->theta, image->theta, bytes);
    memcpy(s->kept, image->kept, bytes);
    memcpy(s->candidate, image->candidate, bytes);
    s->version = image->version, s->oldest = image->oldest, s->candidate_version = image->candidate_version;
    s->o.epoch = image->epoch + 1;
    s->damping = image->damping;
    s->value = image->value, s->mean_value = image->mean_value, s->has_value = image->has_value;
    s->deviation = image->deviation, s->jumps = image->jumps;
    for (size_t i = 0; image->dealt && i < image->n_shards; i++) s->table.owner[i] = (uint32_t)image->owner[i];
    if (image->dealt) weigh_rows(s); // without those given up for good
    if (s->sent && image->sent) memcpy(s->sent, image->sent, image->n_workers * bytes);
    for (size_t k = 0; k < image->n_workers; k++) {
        s->members[k].restored = s->sent && image->sent && image->incarnation[k] > 0;
        s->members[k].seen.sequence = image->sequence[k];
        s->members[k].seen.incarnation = (uint32_t)image->incarnation[k];
    }
    return ADVGP_OK;
}
