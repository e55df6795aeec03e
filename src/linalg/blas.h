// blas.h: OpenBLAS as a guest of this process: it starts no threads, and maps its buffers when it is told to.
//
// Every thread that is inside BLAS holds a buffer of 128 MB of address space, which OpenBLAS maps the first time so
// many threads are inside at once, and keeps. Where the map is refused (ulimit -v, ulimit -d, strict overcommit) it
// asks again for ever: a program that hangs, deaf to signals. So whoever is about to compute reserves first, and fails
// with a sentence; dense.h and factor.h can then go on failing never.
#pragma once
#include "advgp.h"

#include <stdbool.h>
#include <stddef.h>

// From now on `callers` threads in all, the calling one among them, can be inside BLAS at once. May be called at any
// time, by any thread, with more than before or less.
advgp_status gp_blas_reserve(size_t callers, advgp_error *err);
// The same for as many of them as there is room for, which it returns.
size_t gp_blas_reserve_some(size_t callers);
// Would so many find room? Takes none.
bool gp_blas_has_room(size_t callers);

// As a guest of somebody else's program: from the first that enters to the last that leaves OpenBLAS has one thread,
// and afterwards as many as before.
void gp_blas_enter(void);
void gp_blas_leave(void);

const char *gp_blas_name(void); // library, version and the CPU core it was tuned for
