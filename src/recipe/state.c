// state.c: the whole state of a run into its checkpoint.
#include "base/alloc.h"
#include "base/clock.h"
#include "recipe/training.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

advgp_status gp_training_identify(gp_training *t, advgp_error *err)
{
    const gp_train_options *o = t->options;
    char *schema = gp_schema_to_json(t->schema), settings[240];
    if (!schema) return gp_no_memory(err);
    snprintf(settings, sizeof settings, "%.40s %.40s %zu %zu %d %a %zu %.20s %zu %a %a%s%s", o->kernel->name,
             o->map->name, o->rank, o->groups, (int)o->trend, o->step, o->patience, gp_training_rule(t)->name,
             o->max_delay, gp_training_quorum(t), o->filter, o->theorem_steps ? " theorem" : "",
             o->mixed ? " mixed" : "");
    t->state.data = XXH3_64bits(schema, strlen(schema));
    t->state.settings = XXH3_64bits(settings, strlen(settings));
    gp_free(schema);
    return ADVGP_OK;
}

// The whole state. What the server has to say is sent first: with a filter, the copies of the workers are those of
// answers that were given, and a replay must know which.
advgp_status gp_training_write_state(gp_training *t, const char *path, uint64_t *id, advgp_error *err)
{
    const gp_learner *l = t->learner;
    const size_t bytes = l->layout.size * sizeof(double);
    const gp_run_parts parts = {t->run->server, t->run->rule, l->best, t->evaluated};
    advgp_status st = t->run->ops->send ? t->run->ops->send(t->run, err) : ADVGP_OK;
    if (st != ADVGP_OK) return st;
    if (t->state.evaluating)
        memcpy(t->evaluated, gp_evaluator_theta(t->evaluator), bytes);
    else
        memset(t->evaluated, 0, bytes); // the same state, the same bytes
    return gp_checkpoint_save(path, &parts, &t->state, id, err);
}

void gp_training_save(gp_training *t)
{
    gp_train_result *r = t->result;
    advgp_error why = {0};
    uint64_t id = 0;
    t->last_save = gp_clock_wall();
    if (!t->options->checkpoint) return;
    const advgp_status st = gp_training_write_state(t, t->options->checkpoint, &id, &why);
    memcpy(r->unsaved, why.text, sizeof r->unsaved);
    if (t->events->checkpoint)
        t->events->checkpoint(t->events->ctx, t->options->checkpoint, (size_t)gp_server_version(t->run->server), id,
                              st == ADVGP_OK ? NULL : r->unsaved);
}
