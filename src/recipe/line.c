// line.c: a run that says no more of held-out rows than linear regression ends early: what it has found is the line,
// which the process has inside as its trend.
#include "recipe/training.h"
#include "score/linear_fit.h"

#include <math.h>

// Of rows and columns that are looked at: a line needs no more, and must not be felt beside the steps.
enum { FIT_ROWS = 100000, SCORED_ROWS = 20000, COLUMNS_MAX = 500 };
// When to judge: in as many versions pilots rank shapes; of a long schedule after a fifth.
enum { VERSIONS_MIN = 200, SHARE = 5 };
// Nats a row that the process must be ahead, 0.2 % of the error; a few hundred held-out rows could not tell so much
// from chance, and a table that has no more is trained in seconds.
static const double gain = 0.002;
enum { JUDGES_MIN = 1000 };

typedef struct scoring {
    const gp_linear *line;
    const gp_schema *schema;
    gp_score score;
} scoring;

static advgp_status score_rows(void *ctx, gp_batch rows, advgp_error *err)
{
    (void)err;
    scoring *s = ctx;
    for (size_t i = 0; i < rows.X.rows; i++)
        gp_score_add(&s->score, s->schema, rows.w ? rows.w[i] : 1, rows.y[i],
                     gp_linear_predict(s->line, rows.X.p + i * rows.X.ld), s->line->variance);
    return ADVGP_OK;
}

// A function of rows and options alone, so that resuming and replay come to the same.
advgp_status gp_training_look_at_line(gp_training *t, advgp_error *err)
{
    const gp_train_options *o = t->options;
    gp_linear line = {0};
    t->line_mnlp = NAN;
    if (o->trend != GP_TREND_LINEAR || o->patience == SIZE_MAX || t->shards->d > COLUMNS_MAX ||
        t->steps <= VERSIONS_MIN || gp_shards_rows(t->shards, GP_STOP) < JUDGES_MIN)
        return ADVGP_OK;
    scoring s = {.line = &line, .schema = t->schema};
    advgp_status st = gp_linear_line_some(&t->reader, FIT_ROWS, &line, err);
    if (st == ADVGP_OK) st = gp_reader_visit(&t->reader, GP_STOP, SCORED_ROWS, score_rows, &s, err);
    if (st == ADVGP_OK) t->line_mnlp = gp_score_mnlp(&s.score);
    gp_linear_fini(&line);
    return st == ADVGP_ENUMERIC ? ADVGP_OK : st; // without a line there is nothing to beat
}

bool gp_training_is_line(const gp_training *t)
{
    const size_t share = t->steps / SHARE, least = share > VERSIONS_MIN ? share : VERSIONS_MIN;
    return isfinite(t->line_mnlp) && !t->state.evaluating && t->state.evaluated_version >= least &&
           !(t->state.best < t->line_mnlp - gain);
}

advgp_status gp_training_note_line(gp_training *t, advgp_error *err)
{
    return gp_notes_add(t->notes, err, 1,
                        "after %zu of %zu steps held-out rows are predicted no better than by linear regression: the "
                        "run ends early, with the line as the trend of the process%s ({patience} inf goes on)",
                        t->result->versions, t->steps, gp_training_wants_cells(t) ? " and without cells" : "");
}
