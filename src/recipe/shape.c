// shape.c: the trial of the shape: one component or a sum of four. Both are fitted to the same sample, and validation
// rows judge. What the better one says of the noise decides whether more inducing points than usual pay.
#include "base/alloc.h"
#include "base/least.h"
#include "learn/map_choice.h"
#include "recipe/plan.h"
#include "recipe/small_fit.h"
#include "recipe/training.h"
#include "score/score.h"

#include <math.h>
#include <stdio.h>

enum { NUMBERS_MAX = 1 << 23 }; // of the sample

static advgp_status take_sample(const gp_training *t, gp_shards **out, advgp_error *err)
{
    const size_t d = t->shards->d, fit = NUMBERS_MAX / (d + 1);
    const size_t n = gp_least(t->n_train, gp_least(GP_SHAPE_ROWS, fit > GP_WHOLE_ROWS_MAX ? fit : GP_WHOLE_ROWS_MAX));
    gp_reader sample = {0};
    gp_batch rows;
    advgp_status st = gp_reader_new(t->shards, n, &sample, err);
    if (st == ADVGP_OK) st = gp_reader_ring(&sample, (gp_ring){0}, 0, n, &rows, err); // shards are shuffled
    if (st == ADVGP_OK) {
        const gp_rows all = {.n = n, .d = d, .X = rows.X.p, .y = rows.y, .w = rows.w};
        st = gp_memory_shards_of(&all, rows.w != NULL, t->options->schedule.seed, out, err);
    }
    gp_reader_fini(&sample);
    return st;
}

static void add_row(void *ctx, double w, const double *x, double y, double mean, double var_y)
{
    (void)x;
    gp_paired_add(ctx, w, gp_gaussian_crps(y, mean, sqrt(var_y)));
}

typedef struct fitted {
    double neg_elbo, ln_sigma;
} fitted;

// A short fit, and what it says of validation rows where there are enough to judge.
static advgp_status fit_shape(gp_training *t, const gp_shards *sample, const char *what, size_t components,
                              gp_paired *crps, fitted *out, advgp_error *err)
{
    const gp_train_options *o = t->options;
    const size_t n = gp_shards_rows(sample, GP_TRAIN);
    const gp_small_fit fit = {.shards = sample,
                              .schema = t->schema,
                              .kernel = o->kernel,
                              .trend = o->trend,
                              .m = gp_least(t->m, GP_SHAPE_INDUCING),
                              .components = components,
                              .inducing = t->inducing,
                              .steps = GP_PILOT_STEPS,
                              .batch = gp_least(n, GP_PILOT_BATCH),
                              .seed = o->schedule.seed,
                              .stop = gp_training_stop,
                              .stop_ctx = t};
    gp_learner *learner = NULL;
    gp_predictor *predictor = NULL;
    gp_training_phase(t, what, (gp_act){0});
    advgp_status st = gp_small_fit_run(&fit, &learner, &out->neg_elbo, err);
    if (st == ADVGP_OK && learner) {
        out->ln_sigma = learner->theta[0];
        if (gp_training_held_out_decides(t)) {
            st = gp_predictor_new(&learner->spec, learner->theta, &predictor, err);
            if (st == ADVGP_OK)
                st = gp_predict_rows(predictor, &t->reader, GP_STOP, GP_JUDGING_ROWS, add_row, crps, err);
        }
    }
    gp_predictor_free(predictor);
    gp_learner_free(learner);
    return st;
}

// The sum is the incumbent: it gains more from the rest of the run than one component does.
static advgp_status try_one(gp_training *t, const gp_shards *sample, size_t *components, double *ln_sigma,
                            advgp_error *err)
{
    gp_paired crps;
    fitted sum = {0}, one = {0};
    advgp_status st = gp_paired_init(&crps, GP_JUDGING_ROWS, err);
    if (st == ADVGP_OK)
        st = fit_shape(t, sample, "trial: a sum of four components", GP_SHAPE_COMPONENTS, &crps, &sum, err);
    gp_paired_turn(&crps);
    if (st == ADVGP_OK && !gp_training_stop_asked(t))
        st = fit_shape(t, sample, "trial: one component", 1, &crps, &one, err);
    if (st == ADVGP_OK && !gp_training_stop_asked(t)) {
        const bool judged = gp_training_held_out_decides(t);
        gp_verdict verdict = judged ? gp_judge(GP_TRIAL_COMPONENTS, &crps, NULL) : gp_verdict_none();
        if (!judged) verdict.taken = one.neg_elbo < sum.neg_elbo; // by the bound, which needs no validation rows
        *components = verdict.taken ? 1 : GP_SHAPE_COMPONENTS;
        *ln_sigma = verdict.taken ? one.ln_sigma : sum.ln_sigma;
        char text[100], said[200];
        snprintf(said, sizeof said, "trial: %s: %s; %s", gp_trial_what(GP_TRIAL_COMPONENTS),
                 judged ? gp_verdict_text(&verdict, text, sizeof text) : "by the bound",
                 verdict.taken ? "it is taken" : "the sum stays");
        gp_training_phase(t, said, (gp_act){0});
    }
    gp_paired_fini(&crps);
    return st;
}

const char *gp_training_why_no_trial(const gp_training *t)
{
    if (t->undecided) return "the training was interrupted before a trial could decide";
    if (gp_trial_is_off(GP_TRIAL_COMPONENTS)) return "the trial is switched off";
    if (t->m < GP_SHAPE_INDUCING_MIN) return "too few inducing points to be divided";
    return gp_map_choice_check(gp_training_map(t->options), t->m, GP_SHAPE_COMPONENTS, NULL) == ADVGP_OK
               ? NULL
               : "the map does not divide these inducing points";
}

advgp_status gp_training_choose_shape(gp_training *t, gp_run_shape *out, advgp_error *err)
{
    double ln_sigma = 0;
    gp_shards *sample = NULL;
    *out = (gp_run_shape){.components = 1, .inducing = gp_least(t->m, t->options->m)};
    if (gp_trial_is_off(GP_TRIAL_COMPONENTS)) out->components = GP_SHAPE_COMPONENTS, out->inducing = t->m;
    if (gp_training_why_no_trial(t)) return ADVGP_OK;
    advgp_status st = take_sample(t, &sample, err);
    if (st == ADVGP_OK) st = try_one(t, sample, &out->components, &ln_sigma, err);
    gp_shards_free(sample);
    // Then the comparison is void; what there is becomes a model, and resuming begins again.
    t->undecided = gp_training_stop_asked(t);
    t->facts.noise = exp(2 * ln_sigma);
    if (!gp_training_mostly_noise(ln_sigma) && !t->undecided) out->inducing = t->m;
    return st;
}
