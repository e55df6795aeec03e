// range_state.h: all that a server needs to go on with a range of the parameters, as a message carries it. In a run
// over several servers the lead gives each the state of its range before an interval and gets it back after.
#pragma once
#include "ps/message.h"
#include "ps/server_copy.h"

typedef struct gp_range_state {
    gp_server_copy copy; // its values travel beside the text
    uint64_t rows;       // that the server has taken since it began
    uint64_t live;       // workers that it had in the end
} gp_range_state;
void gp_range_state_fini(gp_range_state *state);

// All but the values, as a JSON text, for free(); NULL: no memory.
char *gp_range_state_text(const gp_range_state *state);
// From values and text of a message, as hostile. *out is to be ended in any case.
advgp_status gp_range_state_read(const double *values, size_t n_values, const char *text, size_t n_text,
                                 gp_range_state *out, advgp_error *err);
