// server.c: members, who has which shard, the messages that come, and what to say to whom.
#include "base/alloc.h"
#include "linalg/dense.h"
#include "ps/server_state.h"
#include "ps/statistics.h"

#include <math.h>
#include <string.h>

// ---- construction ---------------------------------------------------------------------------------------------------

void gp_server_free(gp_server *s)
{
    if (!s) return;
    for (size_t k = 0; s->members && k < s->o.workers_max; k++) {
        gp_free(s->members[k].push);
        gp_free(s->members[k].shards);
        gp_free(s->members[k].sent);
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
    gp_free((void *)s->sent);
    gp_free(s->gone);
    gp_free(s->paces);
    gp_free(s);
}

static bool allocate(gp_server *s)
{
    const size_t n = s->range.count, W = s->o.workers_max;
    s->theta = gp_alloc(n, sizeof(double));
    s->collect = gp_alloc(n, sizeof(double));
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
    s->sent = s->o.schedule.filter > 0 ? gp_alloc(W, sizeof *s->sent) : NULL;
    s->n_gone_max = 4 * W + 16;
    s->gone = gp_alloc(s->n_gone_max, sizeof *s->gone);
    s->paces = gp_alloc(W, sizeof *s->paces);
    return s->paces && s->theta && s->collect && (s->sent || !(s->o.schedule.filter > 0)) && s->kept && s->candidate &&
           s->sum && s->members && s->live && s->used && s->notes && s->shards && s->values && s->mask && s->image &&
           s->gone;
}

advgp_status gp_server_new(const gp_server_options *o, gp_server **out, advgp_error *err)
{
    *out = NULL;
    if (!o->n_shards || !o->schedule.workers || o->schedule.workers > o->workers_max)
        return gp_fail(err, ADVGP_EINVAL, "a server of %zu shards for %zu to %zu workers: at least one of each",
                       o->n_shards, o->schedule.workers, o->workers_max);
    if (!(o->schedule.quorum >= 0 && o->schedule.quorum <= 1))
        return gp_fail(err, ADVGP_EINVAL, "a quorum of %g: a share from 0 to 1", o->schedule.quorum);
    gp_server *s = gp_alloc(1, sizeof *s);
    if (!s) return gp_no_memory(err);
    const gp_rule *rule = o->rule;
    s->o = *o;
    s->range = rule->options.range;
    s->push_size = rule->ops->push_size(rule->options.layout, s->range);
    const size_t statistics = gp_statistics_size(rule->options.layout.M);
    s->expected = s->push_size;
    s->buffer = s->push_size > statistics ? s->push_size : statistics;
    s->allowed = UINT64_MAX;
    s->damping = 1;
    s->quorum = o->schedule.quorum;
    if (!allocate(s)) {
        gp_server_free(s);
        return gp_no_memory(err);
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

// ---- sending --------------------------------------------------------------------------------------------------------

void gp_server_tell(const gp_server *s, const gp_ps_event *event)
{
    if (s->o.event) s->o.event(s->o.event_ctx, event);
}

static gp_message message_for(const gp_server *s, gp_message_kind kind, uint32_t worker)
{
    return (gp_message){.kind = kind,
                        .run = {s->o.run[0], s->o.run[1]},
                        .generation = s->o.generation,
                        .worker = worker,
                        .incarnation = worker < s->o.workers_max ? s->members[worker].seen.incarnation : 0,
                        .version = s->version};
}

static void enqueue(gp_server *s, size_t peer, const gp_message *message)
{
    if (s->n_notes && s->n_notes == s->max_notes) s->first_note = (s->first_note + 1) % s->max_notes, s->n_notes--;
    s->notes[(s->first_note + s->n_notes++) % s->max_notes] = (note){peer, *message};
}

static void refuse(gp_server *s, size_t peer, const gp_message *to, gp_refusal reason)
{
    gp_message m = message_for(s, GP_REFUSE, to->worker);
    // So that the worker knows whether it is meant: it may be in another run by now, with the same numbers.
    m.run[0] = to->run[0], m.run[1] = to->run[1];
    m.generation = to->generation, m.incarnation = to->incarnation;
    m.sequence = to->sequence;
    m.token = to->token;
    m.reason = reason;
    s->counts.refused++;
    enqueue(s, peer, &m);
}

static bool is_due(const gp_server *s, const member *m)
{
    return m->seen.live && m->seen.waiting && s->begun && m->seen.has_shards && m->need <= s->version;
}

// Elements that moved by more than C / t since they were last sent to this worker.
static void difference(gp_server *s, member *m, gp_message *answer)
{
    const double least = s->o.schedule.filter / fmax((double)s->version, 1);
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
        gp_server_tell(s, &(gp_ps_event){.kind = GP_EVENT_AGAIN, .worker = worker, .incarnation = m->seen.incarnation});
    m->full = m->answered; // after a second answer nobody knows which one it took: one more full one
    m->answered = true;
    m->given = now;
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
        gp_server_void_push(&s->members[from]);                                       // else its rows would count twice
    if (s->collecting && to < s->o.workers_max) gp_server_void_push(&s->members[to]); // every row is wanted
    gp_server_tell(s, &(gp_ps_event){.kind = GP_EVENT_MOVED, .shard = shard, .from = from, .worker = to});
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
    gp_server_tell(s, &(gp_ps_event){.kind = GP_EVENT_BEGUN});
    if (!dealt) {
        gp_shard_table_deal(&s->table, crew(s), on_moved, s);
        gp_server_weigh_rows(s); // also those that a former run had given up, to the last
    } else {
        gp_shard_table_reassign(&s->table, crew(s), on_moved, s);
        for (uint32_t k = 0; k < s->o.workers_max; k++)
            if (s->live[k] && !gp_shard_table_count(&s->table, k))
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

void gp_server_weigh_rows(gp_server *s)
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
        gp_server_tell(
            s, &(gp_ps_event){.kind = GP_EVENT_MOVED, .shard = (uint32_t)i, .from = worker, .worker = GP_NOBODY});
    }
    gp_server_weigh_rows(s);
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

static advgp_status end_stay(gp_server *s, uint32_t worker, const char *why, bool put_out, advgp_error *err)
{
    if (worker >= s->o.workers_max || !s->live[worker] || s->ended) return ADVGP_OK;
    member *m = &s->members[worker];
    const gp_on_loss on_loss = m->gives_back ? GP_LOSS_REASSIGN : s->o.schedule.on_loss;
    const unsigned flags = m->gives_back ? GP_FLAG_YIELDS : 0;
    m->gives_back = false;
    gp_server_note_stay(s, m, put_out);
    m->seen.live = m->seen.waiting = false;
    gp_server_void_push(m);
    forget_token(s, m);
    s->live[worker] = false;
    s->n_live--;
    s->counts.lost++;
    gp_server_tell(
        s,
        &(gp_ps_event){
            .kind = GP_EVENT_LOST, .worker = worker, .incarnation = m->seen.incarnation, .why = why, .flags = flags});
    if (!s->begun) return ADVGP_OK;
    if (on_loss == GP_LOSS_STOP)
        return gp_fail(err, ADVGP_ECLUSTER, "worker %u was lost at version %llu, and {on-loss} is stop", worker,
                       (unsigned long long)s->version);
    if (on_loss == GP_LOSS_DROP) give_up_rows(s, worker);
    gp_shard_table_reassign(&s->table, crew(s), on_moved, s);
    note_shards(s);
    if (!(s->total > 0)) return gp_fail(err, ADVGP_ECLUSTER, "all rows were lost with their workers");
    return gp_server_try_advance(s, err);
}

static advgp_status lose(gp_server *s, uint32_t worker, const char *why, advgp_error *err)
{
    return end_stay(s, worker, why, false, err);
}

// Its own fault, and it is told so.
static advgp_status put_out(gp_server *s, uint32_t worker, gp_refusal reason, advgp_error *err)
{
    static const char *const why[GP_N_REFUSALS] = {
        [GP_REFUSED_NOT_FINITE] = "has sent numbers that cannot be and is not listened to",
        [GP_REFUSED_WEIGHTS] = "has sent sums of other rows than its own, is put out",
        [GP_REFUSED_ABSURD] = "has sent sums absurd beside the others', is put out",
        [GP_REFUSED_AGAIN] = "answers wrongly again and again and is put out"};
    gp_message m = message_for(s, GP_REFUSE, worker);
    m.reason = reason;
    s->counts.refused++;
    enqueue(s, s->members[worker].seen.peer, &m);
    return end_stay(s, worker, why[reason], true, err);
}

advgp_status gp_server_on_lost(gp_server *s, uint32_t worker, advgp_error *err)
{
    return lose(s, worker, NULL, err);
}

void gp_server_on_hung_up(gp_server *s, uint32_t worker)
{
    if (worker < s->o.workers_max) s->members[worker].hung_up = s->live[worker];
}

// ---- hello ----------------------------------------------------------------------------------------------------------

// Not a place: the one it wishes for is that of another, who lives; and: it asks too soon, as others have come and gone
// there in vain. It will ask again.
static const uint32_t taken = GP_NOBODY - 1, too_soon = GP_NOBODY - 2;

// The place a worker gets: the one it has, the one it wishes for, or the first that nobody has. Who comes for the first
// time takes its wish from whoever is there and silent, as it was started in its stead, unless it yields. Who comes
// back takes what is free first, since another may have been given its place in the meantime.
static uint32_t place_for(const gp_server *s, double now, size_t peer, const gp_message *hello)
{
    const uint32_t wish = hello->worker;
    const bool wishes = wish < s->o.workers_max, yields = hello->flags & GP_FLAG_YIELDS;
    uint32_t own = GP_NOBODY, unused = GP_NOBODY, closed = GP_NOBODY;
    for (uint32_t k = s->o.workers_max; k-- > 0;) {
        const member *m = &s->members[k];
        if (s->live[k] && m->token == hello->token) return k; // it says hello again
        const bool is_open = !gp_server_may_be_deceived(s) || now >= m->closed;
        if (s->live[k] && m->seen.peer == peer) own = is_open ? k : too_soon; // started again behind one connection
        if (!s->live[k]) *(is_open ? &unused : &closed) = k;
    }
    if (own != GP_NOBODY) return own;
    if (wishes && !s->live[wish]) return now >= s->members[wish].closed ? wish : too_soon;
    const bool may_take = wishes && !yields && !gp_server_lives(s, wish, now);
    if (may_take && !hello->incarnation) return wish;
    if (wishes && !yields && !hello->incarnation) return taken;
    if (unused != GP_NOBODY) return unused;
    if (may_take) return wish;
    return closed != GP_NOBODY ? too_soon : GP_NOBODY;
}

static advgp_status make_room(gp_server *s, member *m, advgp_error *err)
{
    if (!m->push) m->push = gp_alloc(s->buffer, sizeof(double));
    if (!m->shards) m->shards = gp_alloc(s->o.n_shards, sizeof *m->shards);
    if (!m->sent && s->sent) m->sent = gp_alloc(s->range.count, sizeof(double));
    if (m->push && m->shards && (m->sent || !s->sent)) return ADVGP_OK;
    return gp_no_memory(err);
}

static advgp_status take_place(gp_server *s, uint32_t k, double now, size_t peer, const gp_message *hello,
                               advgp_error *err)
{
    member *m = &s->members[k];
    advgp_status st = make_room(s, m, err);
    if (st != ADVGP_OK) return st;
    if (s->live[k]) gp_server_note_stay(s, m, false), forget_token(s, m);
    s->n_live += !s->live[k];
    s->live[k] = true;
    gp_server_void_push(m);
    m->seen.live = true, m->seen.waiting = false;
    m->seen.peer = peer, m->seen.heard = now;
    m->seen.incarnation++;
    m->token = hello->token;
    m->full = true, m->answered = false;
    m->paced = false;
    s->counts.joined++;
    gp_server_tell(s, &(gp_ps_event){.kind = GP_EVENT_JOINED, .worker = k, .incarnation = m->seen.incarnation});
    if (!s->begun) {
        if (s->n_live >= s->o.schedule.workers) begin(s);
        return ADVGP_OK;
    }
    gp_shard_table_reassign(&s->table, crew(s), on_moved, s); // where everybody was gone
    if (!gp_shard_table_count(&s->table, k)) gp_shard_table_join(&s->table, k, crew(s), on_moved, s);
    note_shards(s);
    return ADVGP_OK;
}

static advgp_status on_hello(gp_server *s, double now, size_t peer, const gp_message *hello, advgp_error *err)
{
    const bool any_run = hello->run[0] == 0 && hello->run[1] == 0; // it will learn which from the welcome
    const bool this_run = hello->run[0] == s->o.run[0] && hello->run[1] == s->o.run[1];
    const uint32_t k = place_for(s, now, peer, hello);
    if (!any_run && !this_run)
        refuse(s, peer, hello, GP_REFUSED_OTHER_RUN);
    else if (hello->fingerprint != s->o.fingerprint)
        refuse(s, peer, hello, GP_REFUSED_OTHER_DATA);
    else if (is_gone(s, hello->token))
        refuse(s, peer, hello, GP_REFUSED_UNKNOWN); // if it is still there, it says hello by another token
    else if (k == GP_NOBODY || k == taken)
        refuse(s, peer, hello, k == taken ? GP_REFUSED_TAKEN : GP_REFUSED_FULL);
    else if (k != too_soon) {
        member *m = &s->members[k];
        const bool again = s->live[k] && m->token == hello->token;
        advgp_status st = again ? ADVGP_OK : take_place(s, k, now, peer, hello, err);
        if (st != ADVGP_OK) return st;
        m->seen.peer = peer, m->seen.heard = now, m->hung_up = false;
        gp_message welcome = message_for(s, GP_WELCOME, k);
        welcome.token = hello->token;
        welcome.sequence = m->seen.sequence;
        enqueue(s, peer, &welcome);
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
    gp_server_tell(s, &(gp_ps_event){.kind = GP_EVENT_PULL, .worker = pull->worker, .incarnation = pull->incarnation});
}

// NULL: a push to be used. Else why it is not.
static const char *why_dropped(const gp_server *s, const gp_message *push)
{
    if (push->version < s->oldest) return "it was computed before a roll-back or a collection";
    if (s->o.schedule.max_delay != GP_DELAY_ANY && push->version + s->o.schedule.max_delay + 1 < s->version)
        return "it is too old";
    for (size_t i = 0; i < push->n_shards; i++)
        if (s->table.owner[push->shards[i]] != push->worker) return "a shard of it is another worker's now";
    // A step can do with what there is, a sum over all rows cannot.
    if (s->collecting && gp_server_lacks_shards(s, push)) return "it lacks a shard that has come to this worker since";
    return NULL;
}

// In the last act others compute the same rows once more: who is at fault shows.
static advgp_status take_failure(gp_server *s, const gp_message *push, advgp_error *err)
{
    member *m = &s->members[push->worker];
    if (!s->collecting) {
        if (!gp_server_note_failure(s, push->worker)) return ADVGP_OK;
        s->trouble = "a worker could not compute";
        m->failed = true;
        m->push_sequence = push->sequence;
        return ADVGP_OK;
    }
    if (s->put_out_for_failing || !gp_server_may_be_deceived(s) || s->n_live < 2 ||
        s->o.schedule.on_loss != GP_LOSS_REASSIGN)
        return gp_fail(err, ADVGP_ENUMERIC, "worker %u could not compute at the parameters of the last act",
                       push->worker);
    s->put_out_for_failing = true;
    return put_out(s, push->worker, GP_REFUSED_AGAIN, err);
}

// Whose answers stand in the way of the others, after one of them.
static advgp_status put_out_the_worst(gp_server *s, uint32_t pusher, advgp_error *err)
{
    const uint32_t absurd = gp_server_absurd(s), failing = gp_server_failing(s);
    advgp_status st = ADVGP_OK;
    if (absurd != GP_NOBODY) st = put_out(s, absurd, GP_REFUSED_ABSURD, err);
    if (st == ADVGP_OK && failing != GP_NOBODY) st = put_out(s, failing, GP_REFUSED_AGAIN, err);
    if (st == ADVGP_OK && s->live[pusher] && gp_server_is_useless(s, &s->members[pusher]))
        st = put_out(s, pusher, GP_REFUSED_AGAIN, err);
    return st;
}

static advgp_status take_push(gp_server *s, member *m, double now, const gp_message *push, advgp_error *err)
{
    const char *dropped = why_dropped(s, push);
    const bool failed = push->flags & GP_FLAG_FAILED;
    m->seen.sequence = push->sequence + 1;
    m->answered = false;
    s->counts.dropped += dropped != NULL;
    gp_server_note_pace(s, m, now);
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
        m->good++;
        m->has_size = true, m->size = gp_server_size_of(push);
    }
    m->useless = dropped ? m->useless + 1 : 0;
    if (!failed) gp_server_note_computed(s, push->worker);
    gp_server_tell(s, &(gp_ps_event){.kind = GP_EVENT_PUSH, .worker = push->worker, .push = push, .dropped = dropped});
    if (failed && !dropped) {
        const advgp_status st = take_failure(s, push, err);
        if (st != ADVGP_OK) return st;
    }
    const advgp_status st = put_out_the_worst(s, push->worker, err);
    return st == ADVGP_OK ? gp_server_try_advance(s, err) : st;
}

static advgp_status on_push(gp_server *s, member *m, double now, size_t peer, const gp_message *push, advgp_error *err)
{
    if (gp_server_is_repeated(m, push)) {
        if (push->sequence + 1 == m->seen.sequence)
            answer_again(s, m, now);
        else
            s->counts.duplicates++;
        return ADVGP_OK;
    }
    if (push->sequence > m->seen.sequence) {
        refuse(s, peer, push, GP_REFUSED_UNKNOWN);
        return ADVGP_OK;
    }
    const gp_refusal fault = gp_server_fault_of(s, push);
    if (fault != GP_NOT_REFUSED) return put_out(s, push->worker, fault, err);
    return take_push(s, m, now, push, err);
}

// ---- being told -----------------------------------------------------------------------------------------------------

// A connection that was mended is another peer: who comes by it proves by its token that it is the same. Nobody else
// knows that number.
static bool is_sender(const member *m, size_t peer, const gp_message *message)
{
    return m->seen.peer == peer || m->token == message->token;
}

// The live member a message is of; NULL and a refusal otherwise.
static member *member_of(gp_server *s, size_t peer, const gp_message *message)
{
    const uint32_t k = message->worker;
    const bool known = k < s->o.workers_max && s->live[k] && message->generation == s->o.generation &&
                       message->run[0] == s->o.run[0] && message->run[1] == s->o.run[1];
    if (known && gp_server_is_of_this_life(&s->members[k], message) && is_sender(&s->members[k], peer, message))
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
        enqueue(s, peer, &bye);
        return ADVGP_OK;
    }
    if (message->kind == GP_HELLO) return on_hello(s, now, peer, message, err);
    member *m = member_of(s, peer, message);
    if (!m) return ADVGP_OK;
    m->seen.peer = peer, m->seen.heard = now, m->hung_up = false;
    switch (message->kind) {
    case GP_PULL:
        on_pull(s, m, now, message);
        break;
    case GP_PUSH:
        return on_push(s, m, now, peer, message, err);
    case GP_BYE:
        m->gives_back = message->flags & GP_FLAG_YIELDS;
        return lose(s, message->worker, m->gives_back ? "gives its place back" : "has left", err);
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
        enqueue(s, s->members[k].seen.peer, &bye);
    }
}
