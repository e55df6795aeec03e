// facts.h: what a plan rests on: measured before anything is decided, and never changed. Only the noise is measured
// later, by the trial of the shape; what depends on it is settled then.
#pragma once
#include "recipe/train.h"

typedef struct gp_facts {
    const char *method;        // as it was asked for: "auto", "advgp", ...
    size_t rows, columns;      // training rows; encoded columns
    size_t validation_rows;    // held out, to rank and to stop by
    size_t calibration_rows;   // held out, for the intervals
    size_t shards;             // of the training rows
    size_t cluster_workers;    // in processes of their own; 0: no cluster
    size_t workers_of_resumed; // of the checkpoint that a run goes on from; 0: none
    double noise;              // share of the target's variance; NaN: not measured yet
    double memory;             // bytes of this machine
} gp_facts;

// Of these rows on this machine.
gp_facts gp_facts_measure(const gp_shards *shards, const gp_train_options *options);
