// state.c: the whole state of a run into its checkpoint.
#include "base/alloc.h"
#include "base/clock.h"
#include "recipe/training.h"

#include <string.h>
#include <xxhash.h>

advgp_status gp_training_identify(gp_training *t, advgp_error *err)
{
    const gp_train_options *o = t->options;
    char *schema = gp_schema_to_json(t->schema);
    gp_buffer settings = {0};
    gp_buffer_add(&settings, "%.40s %.40s %zu %zu %d %a %zu", o->kernel->name, o->map->name, o->rank, o->groups,
                  (int)o->trend, o->schedule.natural_rate, o->patience);
    gp_schedule_identify(&o->schedule, &settings);
    const bool known = schema && !settings.failed;
    if (known) {
        t->state.data = XXH3_64bits(schema, strlen(schema));
        t->state.settings = XXH3_64bits(settings.p, settings.n);
    }
    gp_free(schema);
    gp_buffer_fini(&settings);
    return known ? ADVGP_OK : gp_no_memory(err);
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
