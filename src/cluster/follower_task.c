// follower_task.c: a task that the lead gave between two runs: it is kept until it is done, and what came of it until
// it has arrived.
#include "base/alloc.h"
#include "base/text.h"
#include "cluster/follower_state.h"

#include <math.h>
#include <string.h>

static const double heartbeat_most = 3600; // seconds

void gp_follower_forget_outcome(gp_follower *f)
{
    gp_free(f->outcome);
    f->outcome = NULL, f->n_outcome = 0;
    f->brings = f->failed = false;
}

// Without memory it is as if it had not come: it will be asked for again.
void gp_follower_take_task(gp_follower *f, const gp_message *m)
{
    if (!(m->heartbeat > 0 && m->heartbeat <= heartbeat_most)) return;
    gp_parcel task = {.text = gp_text_copy(m->text, m->n_text),
                      .n_text = m->n_text,
                      .values = gp_alloc(m->n_values, sizeof(double)),
                      .n_values = m->n_values};
    if (!task.text || !task.values) {
        gp_parcel_fini(&task);
        return;
    }
    if (m->n_values) memcpy(task.values, m->values, m->n_values * sizeof(double));
    gp_follower_forget_outcome(f);
    f->task = task;
    f->task_number = m->sequence;
    f->task_unwanted = false;
    memcpy(f->task_run, m->run, sizeof f->task_run);
    memcpy(f->run, m->run, sizeof f->run);
    f->heartbeat = m->heartbeat;
    f->state = GP_FOLLOWER_TASKED;
    f->sign_revision++;
}

const gp_parcel *gp_follower_task(const gp_follower *f)
{
    return &f->task;
}

bool gp_follower_task_wanted(const gp_follower *f)
{
    return f->state == GP_FOLLOWER_TASKED && !f->task_unwanted;
}

void gp_follower_task_done(gp_follower *f, double now, const double *values, size_t n)
{
    f->now = now;
    f->heard = fmax(f->heard, now); // nobody was listening
    gp_parcel_fini(&f->task);
    if (f->state != GP_FOLLOWER_TASKED) return; // it was told to end meanwhile
    if (!f->task_unwanted) {
        f->outcome = values ? gp_alloc(n, sizeof *values) : NULL;
        f->failed = !f->outcome;
        f->brings = true;
        if (f->outcome) memcpy(f->outcome, values, n * sizeof *values), f->n_outcome = n, f->done.tasks++;
    }
    gp_follower_ask(f, 0);
}
