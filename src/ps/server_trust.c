// server_trust.c: what a worker is believed. A worker whose key is good may still be broken, or lie: what it pushes is
// compared with what the server knows of its shards and with what the others push, and who wastes the others' time is
// put out, for a while that doubles. Threads of the server's own process are believed.
#include "linalg/dense.h"
#include "ps/server_state.h"
#include "ps/statistics.h"

#include <math.h>

// Failures in a row that may be the parameters' fault; dropped pushes in a row that may be the network's (a roll-back
// drops one, and a run is given up after 20); stays after which a pause is the longest.
enum { FAILURES = 2, USELESS = 32, STAYS = 8 };
// Weights are added up in another order than the server's. Shares of --lost-after: a silence that lets another have the
// place, and the first pause after a stay that brought nothing.
static const double weight_tolerance = 1e-6, silent_share = 0.5, pause_share = 1.0 / 64;
// A row's share of a sum differs between shards, by outliers even much; a sum that is so much larger than any other
// leaves nothing of them in double precision.
static const double absurd_times = 1e9;

bool gp_server_may_be_deceived(const gp_server *s)
{
    return s->o.lost_after > 0;
}

bool gp_server_lives(const gp_server *s, uint32_t worker, double now)
{
    const bool silent = gp_server_may_be_deceived(s) &&
                        now - s->members[worker].seen.heard > silent_share * s->o.lost_after;
    return s->live[worker] && !silent && !s->members[worker].hung_up;
}

// ---- one push -------------------------------------------------------------------------------------------------------

static bool is_near(double a, double b)
{
    return fabs(a - b) <= weight_tolerance * fmax(fabs(a), fabs(b));
}

static bool is_sound(const gp_server *s, const gp_message *push)
{
    if (push->version > s->version || push->n_shards > s->o.n_shards || !push->n_shards) return false;
    for (size_t i = 0; i < push->n_shards; i++)
        if (push->shards[i] >= s->o.n_shards || (i && push->shards[i] <= push->shards[i - 1])) return false;
    if (push->flags & GP_FLAG_FAILED) return true;
    const unsigned kind = push->flags & (GP_FLAG_ALL_ROWS | GP_FLAG_STATISTICS);
    if (s->collecting && push->version >= s->oldest && kind != s->wanted) return false; // something else was asked for
    const size_t n_values = kind & GP_FLAG_STATISTICS ? gp_statistics_size(s->o.rule->options.layout.M) : s->push_size;
    return push->n_values == n_values && push->batch_weight > 0 && push->shard_weight >= 0 &&
           isfinite(push->shard_weight / push->batch_weight) && gp_all_finite(push->n_values, push->values);
}

// The server knows the weight of every shard. A batch weighs no more than its shards, and where all rows were asked
// for, the same; of rows without weight it counts as 1 (and its sums are 0).
static bool has_weights_of_its_shards(const gp_server *s, const gp_message *push)
{
    double weight = 0;
    for (size_t i = 0; i < push->n_shards; i++) weight += s->table.weight[push->shards[i]];
    if (!is_near(push->shard_weight, weight)) return false;
    const bool every_row = s->collecting && push->version >= s->oldest && (s->wanted & GP_FLAG_ALL_ROWS) &&
                           !s->wanted_rows;
    const bool none = push->batch_weight == 1 && (!every_row || !(weight > 0));
    if (!none &&
        !(every_row ? is_near(push->batch_weight, weight) : push->batch_weight <= weight * (1 + weight_tolerance)))
        return false;
    return !every_row || !(s->wanted & GP_FLAG_STATISTICS) ||
           is_near(gp_statistics_rows(s->o.rule->options.layout.M, push->values), weight);
}

gp_refusal gp_server_fault_of(const gp_server *s, const gp_message *push)
{
    if (!is_sound(s, push)) return GP_REFUSED_NOT_FINITE;
    if (!(push->flags & GP_FLAG_FAILED) && !has_weights_of_its_shards(s, push)) return GP_REFUSED_WEIGHTS;
    return GP_NOT_REFUSED;
}

// ---- beside the others ----------------------------------------------------------------------------------------------

double gp_server_size_of(const gp_message *push)
{
    double largest = 0;
    for (size_t i = 0; i < push->n_values; i++) largest = fmax(largest, fabs(push->values[i]));
    return largest / push->batch_weight;
}

uint32_t gp_server_absurd(const gp_server *s)
{
    uint32_t who = GP_NOBODY;
    double largest = -1, next = -1;
    if (!gp_server_may_be_deceived(s)) return GP_NOBODY;
    for (uint32_t k = 0; k < s->o.workers_max; k++) {
        const member *m = &s->members[k];
        if (!s->live[k] || !m->has_size) continue;
        if (m->size > largest)
            next = largest, largest = m->size, who = k;
        else
            next = fmax(next, m->size);
    }
    return next >= 0 && largest > absurd_times * fmax(next, 1) ? who : GP_NOBODY; // targets are of size 1
}

// ---- who cannot compute ---------------------------------------------------------------------------------------------

static bool keeps_failing(const member *m)
{
    return m->failures > FAILURES;
}

bool gp_server_note_failure(gp_server *s, uint32_t worker)
{
    member *m = &s->members[worker];
    if (!gp_server_may_be_deceived(s)) return true;
    if (!m->failures++)
        for (size_t k = 0; k < s->o.workers_max; k++) s->members[k].computed = false;
    if (!keeps_failing(m)) return true;
    for (size_t k = 0; k < s->o.workers_max; k++) {
        const member *other = &s->members[k];
        if (k != worker && s->live[k] && other->seen.has_shards && !keeps_failing(other)) return false;
    }
    return true; // they all do: it is the parameters
}

void gp_server_note_computed(gp_server *s, uint32_t worker)
{
    s->members[worker].failures = 0;
    s->members[worker].computed = true;
}

uint32_t gp_server_failing(const gp_server *s)
{
    bool others_can = false;
    uint32_t who = GP_NOBODY;
    for (uint32_t k = 0; k < s->o.workers_max; k++) {
        const member *m = &s->members[k];
        if (!s->live[k]) continue;
        if (keeps_failing(m)) who = k;
        others_can |= m->computed && !m->failures;
    }
    return others_can ? who : GP_NOBODY;
}

bool gp_server_is_useless(const gp_server *s, const member *m)
{
    return gp_server_may_be_deceived(s) && m->useless >= USELESS;
}

// ---- coming and going -----------------------------------------------------------------------------------------------

void gp_server_note_stay(gp_server *s, member *m, bool put_out)
{
    if (put_out)
        m->vain += 2; // also if it was of use before
    else
        m->vain = m->good ? 0 : m->vain + 1;
    m->good = 0;
    m->failures = m->useless = 0, m->computed = m->has_size = false;
    if (!gp_server_may_be_deceived(s) || !m->vain) return;
    const unsigned doublings = m->vain < STAYS ? m->vain - 1 : STAYS - 1;
    m->closed = m->seen.heard + pause_share * s->o.lost_after * ldexp(1, (int)doublings);
}
