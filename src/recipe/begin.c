// begin.c: every default is known: a learner, the server with its rule and its workers, the evaluator beside it, and
// what a checkpoint knows of the run.
#include "base/alloc.h"
#include "base/clock.h"
#include "recipe/conductor.h"
#include "recipe/plan.h"

#include <math.h>

static void on_evaluated(void *ctx)
{
    gp_run *run = ctx;
    if (run->ops->wake) run->ops->wake(run);
}

static advgp_status new_run(gp_training *t, advgp_error *err)
{
    const gp_learner *l = t->learner;
    gp_run_options o = gp_training_run_options(t, l);
    o.delays = t->options->delays, o.n_delays = t->options->n_delays;
    o.split = true;
    for (const gp_host *h = t->host; h && !o.event; h = h->next) o.event = h->ps, o.event_ctx = h->ctx;
    const advgp_status st = t->conductor->new_run(t, &o, &t->run, err);
    if (st != ADVGP_OK) return st;
    const gp_evaluator_options evaluator = {.spec = &l->spec,
                                            .shards = t->shards,
                                            .schema = t->schema,
                                            .max_rows = GP_EVALUATION_ROWS,
                                            .size = l->layout.size,
                                            .done = on_evaluated,
                                            .ctx = t->run};
    t->evaluated = gp_alloc(l->layout.size, sizeof(double));
    if (!t->evaluated) return gp_no_memory(err);
    return gp_evaluator_new(&evaluator, &t->evaluator, err);
}

advgp_status gp_training_begin_run(gp_training *t, const char *checkpoint, advgp_error *err)
{
    t->state = (gp_run_state){.best = INFINITY,
                              .undecided = t->undecided,
                              .components = t->components,
                              .inducing = t->m,
                              .batch = t->batch,
                              .steps = t->steps,
                              .every = t->every,
                              .workers = t->workers,
                              .seed = t->options->schedule.seed,
                              .n_rows = t->n_train};
    uint64_t id = 0;
    advgp_status st = gp_training_identify(t, err);
    if (st == ADVGP_OK) st = new_run(t, err);
    if (st == ADVGP_OK && checkpoint) {
        const gp_run_parts parts = {t->run->server, t->run->rule, t->learner->best, t->evaluated};
        st = gp_checkpoint_load(checkpoint, &parts, &t->state, &id, err);
    }
    if (st != ADVGP_OK) return st;
    const gp_train_plan plan = {.m = t->m,
                                .components = t->learner->spec.n_components,
                                .workers_max = gp_run_members(t->run),
                                .eval_every = t->every,
                                .schedule = gp_training_run_options(t, t->learner).schedule,
                                .version = (size_t)gp_server_version(t->run->server),
                                .checkpoint = id,
                                .evaluated = t->state.evaluated_version,
                                .evaluating = t->state.evaluating};
    GP_TELL(t->host, begin, &plan);
    return ADVGP_OK;
}

void gp_training_end_run(gp_training *t)
{
    gp_evaluator_free(t->evaluator); // first: its last word wakes the run
    gp_run_free(t->run);
    gp_free(t->evaluated);
    t->evaluator = NULL, t->run = NULL, t->evaluated = NULL;
}

static advgp_status differs(const gp_training *t, const char *what, size_t was, size_t is, advgp_error *err)
{
    return gp_fail(err, ADVGP_EINVAL, "%s is of a run with %zu %s, this one has %zu: use the same options",
                   t->options->resume, was, what, is);
}

// In the same words of a run that goes on, which holds no trial again.
static void plan_shape(gp_training *t, size_t components)
{
    gp_planned *plan = &t->result->plan.components;
    const char *why = gp_training_why_no_trial(t), *what = gp_trial_what(GP_TRIAL_COMPONENTS);
    if (why)
        gp_plan_settle(plan, components, "%s", why), plan->origin = GP_ORIGIN_RULE;
    else
        gp_plan_settle(plan, components, "%s: a trial on %s decided", what,
                       gp_training_held_out_decides(t) ? "validation rows" : "the bound");
}

// Of a run that goes on, of one that is replayed, or as the trial decides.
static advgp_status settle_shape(gp_training *t, advgp_error *err)
{
    const gp_train_options *o = t->options;
    gp_run_shape shape = {0};
    advgp_status st = o->resume ? gp_checkpoint_shape(o->resume, &shape, err) : ADVGP_OK;
    if (st == ADVGP_OK && shape.components && o->components && shape.components != o->components)
        return differs(t, "components", shape.components, o->components, err);
    if (st == ADVGP_OK && shape.components && shape.inducing != t->m && !(o->m_open && shape.inducing < t->m))
        return differs(t, "inducing inputs", shape.inducing, t->m, err);
    if (st == ADVGP_OK && !shape.components) t->conductor->shape(t, &shape);
    if (st == ADVGP_OK && !shape.components) st = gp_training_choose_shape(t, &shape, err);
    t->components = shape.components;
    if (st == ADVGP_OK && !o->components) plan_shape(t, shape.components);
    if (shape.inducing && shape.inducing < t->m) {
        t->m = shape.inducing;
        gp_plan_settle(&t->result->plan.inducing, t->m, "the usual number: most of the target is noise");
    }
    return st;
}

advgp_status gp_training_begin(gp_training *t, advgp_error *err)
{
    const double start = gp_clock_wall();
    advgp_status st = settle_shape(t, err);
    t->result->pilot_seconds = gp_clock_wall() - start;
    if (st == ADVGP_OK) st = gp_training_new_learner(t, t->m, t->components, &t->learner, err);
    const size_t evaluations = t->options->evaluations ? t->options->evaluations : GP_EVALUATIONS;
    t->every = t->steps > evaluations ? t->steps / evaluations : 1;
    return st == ADVGP_OK ? gp_training_begin_run(t, t->options->resume, err) : st;
}
