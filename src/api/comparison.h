// comparison.h: several methods on the same rows, with the same scales, split and start, in one table and one log.
#pragma once
#include "load/host.h"
#include "options/option.h"
#include "recipe/train.h"

#include <jansson.h>

typedef struct gp_comparison gp_comparison;

// What is told of a run while it goes on; any may be NULL.
typedef struct gp_compare_events {
    void *ctx;
    void (*eval)(void *ctx, const char *run, const gp_train_eval *eval); // run: "svigp, m = 50"
} gp_compare_events;

// By the options of `compare`, which are checked here; nothing is read yet. Options and host are borrowed.
advgp_status gp_comparison_new(const gp_options *compare, const gp_host *host, const gp_compare_events *events,
                               gp_comparison **out, advgp_error *err);
void gp_comparison_free(gp_comparison *c); // NULL is fine

// All runs. A method that cannot do these rows is a row of the table with its reason; only where none can is it an
// error. After any other error, too, the table has what was finished before.
advgp_status gp_comparison_run(gp_comparison *c, advgp_error *err);
// Whether every line of the log was written.
advgp_status gp_comparison_logged(const gp_comparison *c, advgp_error *err);

const json_t *gp_comparison_rows(const gp_comparison *c);             // of the table, in the order of the runs
const gp_train_result *gp_comparison_first(const gp_comparison *c);   // the first with figures; NULL: none
json_t *gp_comparison_json(const gp_comparison *c, bool interrupted); // the whole table
