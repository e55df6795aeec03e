// schedule.h: the settings of a run. Whoever needs one of them holds the whole struct by value, so that a setting goes
// from the options to whoever honours it without a line of its own on the way, between processes too.
#pragma once
#include "base/text.h"
#include "ps/rule.h"

#include <jansson.h>

typedef enum gp_on_loss { GP_LOSS_REASSIGN, GP_LOSS_DROP, GP_LOSS_STOP } gp_on_loss;

#define GP_DELAY_ANY SIZE_MAX

enum { GP_WORKERS_MAX = 4096 }; // of a run: the one limit, wherever workers are counted

typedef struct gp_schedule {
    const gp_rule_ops *rule;        // as asked for, NULL: natural
    double natural_rate, adam_rate; // first steps of the natural rule; as asked for, 0: the usual ones
    size_t workers;                 // a run begins with these; as asked for, 0: 1
    size_t batch;                   // rows of a push; as asked for: of a step, by all workers; 0: by the number of rows
    bool mixed;                     // gradients of batches in mixed precision, where the rule needs no more (pass.h)
    size_t steps;       // versions in all: steps shrink linearly towards it; 0: they do not; as asked for, 0: by epochs
    size_t max_delay;   // tau, in versions; GP_DELAY_ANY: no bound
    double quorum;      // of the live workers; as asked for, negative: the rule's own, which follows their pace
    bool follow_pace;   // it is of those live workers alone that are about equally fast, as measured (server_pace.c)
    bool theorem_steps; // divided by 1 + age, as the paper's Theorem 4.1 has them, whatever the rule's own power
    double filter;      // C: an element is sent if it moved by more than C / version; 0: parameters are sent whole
    gp_on_loss on_loss;
    uint64_t seed;
} gp_schedule;

// What was asked for, with rule, rates and quorum as a run has them.
gp_schedule gp_schedule_settled(gp_schedule asked);
gp_schedule gp_schedule_synchronous(gp_schedule s);       // by the natural rule, and nothing is old or left out
double gp_schedule_age_power(const gp_schedule *settled); // gp_rule_options.age_power

json_t *gp_schedule_json(const gp_schedule *settled); // NULL: no memory
// NULL, or the name of the first field that no settled schedule has so.
const char *gp_schedule_read(const json_t *o, gp_schedule *out);
// Adds what two runs must share for one to go on from the other's checkpoint, but for the counts of gp_run_state.
void gp_schedule_identify(const gp_schedule *asked, gp_buffer *text);
