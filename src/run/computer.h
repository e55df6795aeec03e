// computer.h: what a worker does with its rows: the next batch of its shards, or all of them, through one pass, into
// the values of a push.
#pragma once
#include "ps/schedule.h"
#include "ps/worker.h"
#include "shards/reader.h"

#include <stdatomic.h>

typedef struct gp_row_computer gp_row_computer;

typedef struct gp_row_computer_options {
    const gp_shards *shards; // borrowed; so is what spec points to
    const gp_feature_spec *spec;
    gp_schedule schedule; // its rule, batch and precision
    gp_range range;
    atomic_size_t *rows_passed; // raised by the rows that are summed; may be NULL
} gp_row_computer_options;

advgp_status gp_row_computer_new(const gp_row_computer_options *options, gp_row_computer **out, advgp_error *err);
void gp_row_computer_free(gp_row_computer *computer);
// As a worker wants it. One thread at a time; no allocation in compute and fetch.
gp_computer gp_row_computer_of(gp_row_computer *computer);
size_t gp_row_computer_push_size(gp_theta_layout layout, const gp_rule_ops *rule, gp_range range); // the most values
