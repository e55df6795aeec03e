// events.h: what is to happen in a simulation, in the order of time; at one time in the order of planning.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gp_event {
    double time;
    uint64_t serial;
    int what;
    size_t who;
    uint64_t life; // of the one it is meant for
} gp_event;

typedef struct gp_events { // all zero: none
    gp_event *heap;
    size_t n, room;
    uint64_t serial;
} gp_events;

bool gp_events_plan(gp_events *events, double time, int what, size_t who, uint64_t life); // false: no memory
double gp_events_time(const gp_events *events);                                           // of the next; INFINITY: none
gp_event gp_events_next(gp_events *events);                                               // there must be one
void gp_events_fini(gp_events *events);
