// events.c: a heap.
#include "sim/events.h"
#include "base/alloc.h"

#include <math.h>

static bool sooner(const gp_event *a, const gp_event *b)
{
    return a->time < b->time || (a->time == b->time && a->serial < b->serial);
}

static void swap(gp_event *a, gp_event *b)
{
    const gp_event t = *a;
    *a = *b;
    *b = t;
}

bool gp_events_plan(gp_events *e, double time, int what, size_t who, uint64_t life)
{
    if (!gp_grow(&e->heap, &e->room, e->n, e->n + 1, sizeof *e->heap)) return false;
    size_t i = e->n++;
    e->heap[i] = (gp_event){time, e->serial++, what, who, life};
    for (; i && sooner(&e->heap[i], &e->heap[(i - 1) / 2]); i = (i - 1) / 2) swap(&e->heap[i], &e->heap[(i - 1) / 2]);
    return true;
}

double gp_events_time(const gp_events *e)
{
    return e->n ? e->heap[0].time : INFINITY;
}

gp_event gp_events_next(gp_events *e)
{
    const gp_event first = e->heap[0];
    e->heap[0] = e->heap[--e->n];
    for (size_t i = 0;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < e->n; child++)
            if (sooner(&e->heap[child], &e->heap[least])) least = child;
        if (least == i) return first;
        swap(&e->heap[i], &e->heap[least]);
        i = least;
    }
}

void gp_events_fini(gp_events *e)
{
    gp_free(e->heap);
    *e = (gp_events){0};
}
