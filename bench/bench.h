// bench.h: what every benchmark does when something fails: it says so and ends, since a number would mean nothing.
#pragma once
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>

static inline void must(advgp_status st, const advgp_error *err)
{
    if (st == ADVGP_OK) return;
    fprintf(stderr, BENCH_NAME ": %s: %s\n", advgp_status_name(st), err->text);
    exit(1);
}

static inline double *doubles(size_t n) // zeros
{
    double *p = calloc(n, sizeof *p);
    if (p) return p;
    fprintf(stderr, BENCH_NAME ": no memory\n");
    exit(1);
}
