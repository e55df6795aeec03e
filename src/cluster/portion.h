// portion.h: a range of the parameters with all that a server needs to go on from it, as a message carries it: for runs
// over several servers, which get their portion from the lead before an interval and give it back after.
#pragma once
#include "ps/message.h"
#include "ps/rule.h"
#include "ps/server.h"

typedef struct gp_portion {
    gp_range range;        // of all parameters
    gp_server_image image; // points into what follows
    double *values;        // theta, kept, candidate, then the rule's arrays, each of range.count
    size_t n_arrays;       // of the rule
    uint64_t *numbers;     // owner, sequence, incarnation
    uint64_t rows;         // that the server has taken since it began
    uint64_t live;         // workers that it had in the end
} gp_portion;
void gp_portion_fini(gp_portion *portion);

size_t gp_portion_values(const gp_portion *portion); // how many there are

// Of a server and its rule, which keep `own`: the part `range` of it, which lies inside.
advgp_status gp_portion_look(gp_server *server, gp_rule *rule, gp_range own, gp_range range, gp_portion *out,
                             advgp_error *err);
// The rest of it as a JSON text, for free(); NULL: no memory.
char *gp_portion_text(const gp_portion *portion);
// From values and text of a message, as hostile. *out is to be ended in any case.
advgp_status gp_portion_read(const double *values, size_t n_values, const char *text, size_t n_text, gp_portion *out,
                             advgp_error *err);
// Into a server to which nobody has come, and its rule, which keep just these ranges, in their order, one after the
// other. EINVAL: they are not of the same version.
advgp_status gp_portions_restore(const gp_portion *portions, size_t n, gp_server *server, gp_rule *rule,
                                 advgp_error *err);
