// planned.h: the choices of a plan (plan.h), as data.
#pragma once
#include <stddef.h>

typedef enum gp_origin { GP_ORIGIN_NONE, GP_ORIGIN_RULE, GP_ORIGIN_ASKED, GP_ORIGIN_TRIAL } gp_origin;

// One choice; origin NONE: this training has no such thing.
typedef struct gp_planned {
    size_t n; // where it is a count
    gp_origin origin;
    char value[48]; // in words
    char why[200];
} gp_planned;

//  X(member, what people read), in the order of a training
#define GP_PLAN_LIST(X)                      \
    X(method, "method")                      \
    X(ranks, "columns by rank")              \
    X(directions, "sums of columns")         \
    X(logarithm, "logarithm of the target")  \
    X(kernel, "kernel")                      \
    X(components, "components")              \
    X(inducing, "inducing points")           \
    X(workers, "workers")                    \
    X(batch, "rows of a step")               \
    X(steps, "steps")                        \
    X(cells, "cells")                        \
    X(noise, "noise")                        \
    X(residuals, "residuals of an interval") \
    X(calibration, "calibration")            \
    X(memory, "memory")                      \
    X(time, "CPU time")

typedef struct gp_plan {
#define X(member, label) gp_planned member;
    GP_PLAN_LIST(X)
#undef X
} gp_plan;
