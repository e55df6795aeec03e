// alloc.c: aligned, zeroed allocation with the counters and switches that tests use.
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 }; // a cache line, and the widest vector of any CPU we run on

static atomic_long calls, live, bytes_given, refused;
static atomic_long passes_left = -1; // negative: unlimited
static atomic_bool frozen;
static _Thread_local double refused_bytes;

static bool refuse_this_call(void)
{
    if (atomic_load(&frozen)) return true;
    long left = atomic_load(&passes_left);
    while (left > 0)
        if (atomic_compare_exchange_weak(&passes_left, &left, left - 1)) return false;
    return left == 0;
}

static size_t round_up(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static bool too_large(size_t n, size_t size)
{
    return size && n > (SIZE_MAX / 2 - ALIGNMENT) / size;
}

static void *refuse(size_t n, size_t size)
{
    refused_bytes = (double)n * (double)size;
    return NULL;
}

void *gp_alloc(size_t n, size_t size)
{
    atomic_fetch_add(&calls, 1);
    if (refuse_this_call()) {
        atomic_fetch_add(&refused, 1);
        return refuse(n, size);
    }
    if (too_large(n, size)) return refuse(n, size);
    size_t bytes = n * size;
    bytes = round_up(bytes > 0 ? bytes : 1);
    void *p = aligned_alloc(ALIGNMENT, bytes);
    if (!p) return refuse(n, size);
    atomic_fetch_add(&live, 1);
    atomic_fetch_add(&bytes_given, (long)bytes);
    return memset(p, 0, bytes);
}

double gp_alloc_refused(void)
{
    double bytes = refused_bytes;
    refused_bytes = 0;
    return bytes;
}

void gp_free(void *p)
{
    if (!p) return;
    atomic_fetch_sub(&live, 1);
    free(p);
}

bool gp_grow(void *array, size_t *room, size_t n, size_t wanted, size_t size)
{
    enum { FIRST = 8 };
    void *old; // by its bytes: a pointer to anything is not a pointer to void
    if (wanted <= *room) return true;
    size_t more = *room > SIZE_MAX / 4 ? wanted : 2 * *room + FIRST;
    if (more < wanted) more = wanted;
    void *larger = gp_alloc(more, size);
    if (!larger) return false;
    memcpy(&old, array, sizeof old);
    if (n) memcpy(larger, old, n * size);
    gp_free(old);
    memcpy(array, &larger, sizeof larger);
    *room = more;
    return true;
}

void *gp_arena_bytes(gp_arena *arena, size_t n, size_t size)
{
    if (too_large(n, size) || round_up(n * size) > SIZE_MAX / 2 - arena->used) {
        arena->overflowed = true;
        return NULL;
    }
    void *piece = arena->base ? arena->base + arena->used : NULL;
    arena->used += round_up(n * size);
    return piece;
}

double *gp_arena_doubles(gp_arena *arena, size_t n)
{
    return gp_arena_bytes(arena, n, sizeof(double));
}

bool gp_arena_take(gp_arena *arena)
{
    char *block = arena->overflowed ? NULL : gp_alloc(1, arena->used);
    *arena = (gp_arena){.base = block};
    return block != NULL;
}

gp_alloc_counts gp_alloc_count(void)
{
    return (gp_alloc_counts){.calls = atomic_load(&calls),
                             .live = atomic_load(&live),
                             .bytes = atomic_load(&bytes_given),
                             .refused = atomic_load(&refused)};
}

void gp_alloc_fail_after(long n)
{
    atomic_store(&passes_left, n);
}

void gp_alloc_freeze(bool on)
{
    atomic_store(&frozen, on);
}
