// choose_encoding.h: what a table is encoded by where options leave it open: pilots on a sample of its rows decide,
// between the first pass and the second.
#pragma once
#include "base/host.h"
#include "data/schema.h"
#include "options/option.h"
#include "recipe/encoding_pilot.h"
#include "recipe/plan.h"
#include "store/modelfile.h"

typedef struct gp_encoding_choice {
    gp_verdict logarithm, ranks, directions;
    size_t n_ranks;  // columns of long tails
    double *weights; // [n_directions x d]: of directions that pilots found
    size_t n_directions, d;
    gp_model *start;      // a run goes on from it: its directions are taken; NULL: from none, or it has none
    const char *why_open; // why nothing was tried of what options leave open; NULL: there was nothing to try
    bool asked;           // somebody wants directions
    const char *why_none; // somebody wants directions, and there are none; else NULL
    bool no_room;         // for the threads of pilots: nothing was asked
} gp_encoding_choice;
void gp_encoding_choice_fini(gp_encoding_choice *choice);

// A schema was fitted with target and inputs as they are. Sets in options what pays: the logarithm of the target
// (`log-target` auto), ranks of inputs (`warp` auto). If something does, the schema is to be fitted once more. And in
// the choice, for fini: the directions that it gets then. The source is left rewound.
advgp_status gp_choose_encoding(const gp_options *o, gp_source *source, const gp_schema *schema, const gp_split *split,
                                const gp_host *host, gp_schema_options *options, gp_encoding_choice *choice,
                                advgp_error *err);
// The schema, fitted as was chosen, gets its directions. Notes: what was taken, why, and how to overrule it; nothing
// where all stays as it is. The plan gets all of it.
advgp_status gp_encoding_settle(const gp_encoding_choice *choice, const gp_options *o, gp_schema *schema, gp_plan *plan,
                                gp_notes *notes, advgp_error *err);
