// open_model.c: see open_model.h.
#include "load/open_model.h"
#include "shards/packed.h"
#include "store/file_guess.h"

#include <string.h>

static advgp_status refuse_table(const gp_options *o, advgp_status st, advgp_error *err)
{
    const char *first = o->operands[0], *verb = o->verb->name;
    for (size_t i = 1; i < o->n_operands; i++)
        if (gp_guess_file(o->operands[i]) == GP_GUESS_MODEL)
            return gp_fail(err, st,
                           "%.200s is a table, not a model: the model comes first, as in advgp %s %.200s %s%.200s",
                           first, verb, o->operands[i], strcmp(verb, "report") ? "" : "{data} ", first);
    return gp_fail(err, st, "%.200s is a table, not a model: the first argument of advgp %s is a file that train wrote",
                   first, verb);
}

advgp_status gp_open_model(const gp_options *o, gp_model **out, advgp_error *err)
{
    const char *first = o->operands[0];
    const gp_trust untrusted = strcmp(o->verb->name, "inspect") == 0 ? GP_SEEN : GP_BOUNDED; // it predicts nothing
    const advgp_status st = gp_model_load_as(first, gp_options_flag(o, "trust") ? GP_TRUSTED : untrusted, out, err);
    if (st != ADVGP_EFILE) return st;
    return gp_packed_is(first) || gp_guess_file(first) == GP_GUESS_TABLE ? refuse_table(o, st, err) : st;
}
