// server_pace.c: how long each worker takes from its parameters to its push, and how many of them are about equally
// fast. A quorum that follows the pace is a share of those: it does not wait for sleepers, however many they are.
#include "base/sort.h"
#include "ps/server_state.h"

#include <math.h>

// Of the newest push in the mean: one hiccup is forgotten after some pushes, a lasting change is known after one or
// two.
static const double newest = 0.25;
static const double nearly = 0.8, least_pace = 1e-9;

void gp_server_note_pace(gp_server *s, member *m, double now)
{
    const double took = fmax(0, now - m->given);
    if (s->collecting) return; // all rows, not a batch
    m->pace = m->paced ? m->pace + newest * (took - m->pace) : took;
    m->paced = true;
}

// With the j fastest a version takes as long as the j-th of them. The most that bring nearly as many pushes a second as
// can be: equal workers are all counted, though some have been quicker of late.
static size_t count_fast(const double *sorted, size_t n)
{
    double best = 0;
    for (size_t j = 1; j <= n; j++) best = fmax(best, (double)j / fmax(sorted[j - 1], least_pace));
    size_t j = n;
    while (j > 1 && (double)j / fmax(sorted[j - 1], least_pace) < nearly * best) j--;
    return j;
}

void gp_server_set_quorum(gp_server *s)
{
    if (!s->o.schedule.follow_pace) return;
    size_t n = 0;
    for (size_t k = 0; k < s->o.workers_max; k++) {
        const member *m = &s->members[k];
        if (m->seen.live && m->seen.has_shards && m->paced) s->paces[n++] = m->pace;
    }
    if (!n) return;
    gp_sort(s->paces, n);
    s->quorum = s->o.schedule.quorum * (double)count_fast(s->paces, n) / (double)n;
}
