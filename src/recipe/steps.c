// steps.c: versions of the parameter server until the schedule ends, patience runs out, time is up or someone asks.
#include "base/clock.h"
#include "linalg/interrupt.h"
#include "recipe/conductor.h"

#include <string.h>

// At an evaluation version the score of the one before takes effect, and this one goes to the evaluator. Workers do not
// wait for that, unless they are a whole interval ahead of it.
static advgp_status at_evaluation(gp_training *t, gp_stop_reason *stopped, advgp_error *err)
{
    const size_t version = t->next_eval;
    advgp_status st = ADVGP_OK;
    if (t->state.evaluating) {
        st = gp_training_take_score(t, stopped, err);
        if (*stopped && !t->conductor->ends(t, *stopped)) *stopped = GP_NOT_STOPPED;
    }
    if (st != ADVGP_OK || *stopped) return st;
    if (t->conductor->time_is_up(t)) {
        st = gp_training_evaluate(t, stopped, err);
        if (!*stopped) *stopped = GP_STOPPED_TIME;
        return st;
    }
    if (version >= t->steps) return gp_training_evaluate(t, stopped, err);
    gp_training_ask_score(t, gp_server_theta(t->run->server), version);
    t->next_eval = version + t->every < t->steps ? version + t->every : t->steps;
    return t->conductor->allow(t, t->next_eval, err);
}

// Versions until the schedule ends, patience runs out, time is up or someone asks; then theta is the best that was
// evaluated. Evaluations come at fixed versions, so that a resumed run makes the same decisions.
advgp_status gp_training_versions(gp_training *t, advgp_error *err)
{
    gp_learner *l = t->learner;
    gp_server *server = t->run->server;
    advgp_status st = gp_training_look_at_line(t, err);
    gp_stop_reason stopped = gp_training_is_over(t);
    t->run_start = t->last_save = gp_clock_wall();
    const double cpu = gp_clock_cpu();
    t->first_step = (size_t)gp_server_version(server);
    t->act = (gp_act){
        .server = server, .first = t->first_step, .last = t->steps, .rows_a_version = gp_training_rows_a_version(t)};
    // After the one that was evaluated last, not after the version: a checkpoint may be of an evaluation version that
    // still waits for the score of the one before.
    t->next_eval = gp_run_next_eval(&t->state, t->state.evaluated_version);
    if (st != ADVGP_OK) return st;
    if (t->state.evaluating) gp_training_ask_score(t, t->evaluated, t->state.evaluated_version); // as at the checkpoint
    if (!stopped) st = t->conductor->allow(t, t->next_eval, err);
    if (st == ADVGP_OK) st = gp_run_start(t->run, err);
    while (st == ADVGP_OK && !stopped) {
        if (gp_server_version(server) == t->next_eval && t->conductor->evaluates(t))
            st = at_evaluation(t, &stopped, err);
        if (st == ADVGP_OK && !stopped) st = t->conductor->between_turns(t, &stopped, err);
        if (st == ADVGP_OK && !stopped) {
            gp_interrupt scope; // for a long step of the server
            gp_interrupt_open(&scope, t->conductor->stop, t);
            st = t->run->ops->turn(t->run, 0.2, err);
            if (gp_interrupt_close(&scope) && st == ADVGP_OK && !gp_training_stop_asked(t))
                st = t->conductor->allow(t, t->next_eval, err); // who asked thought better of it: the step is made
        }
        if (st == ADVGP_OK && t->conductor->at_checkpoint(t)) return st;
    }
    if (st == ADVGP_ECLUSTER) gp_training_save(t); // too few workers are left: another time, with others
    if (st != ADVGP_OK) return st;
    if (!t->result->interrupted) gp_training_save(t); // whatever ends the acts that follow, the steps stay made
    memcpy(l->theta, l->best, l->layout.size * sizeof(double));
    t->result->stopped = stopped;
    t->result->versions = (size_t)gp_server_version(server);
    t->result->rows = gp_training_rows_seen(t);
    gp_training_end_steps(t, cpu);
    return stopped == GP_STOPPED_LINE ? gp_training_note_line(t, err) : st;
}
