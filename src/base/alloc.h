// alloc.h: the only door to the heap, and the way one block is cut into the arrays of a workspace.
// Tests make the door fail at any call, count what is live, and close it during a training step.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// Zeroed and aligned to 64 bytes; NULL when memory is exhausted or n * size overflows. n * size = 0 gives a valid
// pointer.
void *gp_alloc(size_t n, size_t size);
void gp_free(void *p); // NULL is fine
// A growing array: makes sure that there is room for `wanted` elements of that size, at least doubling *room where
// there is not. `array` is the address of the pointer; the first n elements are kept, what is new is zeroed. False
// without memory: everything is as it was.
bool gp_grow(void *array, size_t *room, size_t n, size_t wanted, size_t size);

// The bytes that this thread was refused last, for the sentence that says so (gp_no_memory); 0 if none were since it
// was asked before.
double gp_alloc_refused(void);

// Cutting: a plan function is run twice over the same arena, first with base = NULL, where it only adds up `used`, then
// with the block of that size, where it hands out the pieces. So sizes are written once. Every piece starts on a cache
// line.
typedef struct gp_arena {
    char *base;
    size_t used;     // bytes so far
    bool overflowed; // a size did not fit into size_t: the plan must be refused
} gp_arena;
void *gp_arena_bytes(gp_arena *arena, size_t n, size_t size); // NULL while measuring
double *gp_arena_doubles(gp_arena *arena, size_t n);
// Between the two: takes the block that the measuring run asked for. False when memory is exhausted. gp_free(base)
// returns it.
bool gp_arena_take(gp_arena *arena);

// For tests. Counters cover all threads.
typedef struct gp_alloc_counts {
    long calls;   // since the process started
    long live;    // blocks not yet freed
    long bytes;   // that were given, since the process started
    long refused; // by fail_after or freeze
} gp_alloc_counts;
gp_alloc_counts gp_alloc_count(void);
void gp_alloc_fail_after(long calls); // let that many calls pass, refuse all later ones; negative: never refuse
void gp_alloc_freeze(bool frozen);    // refuse every call until thawed
