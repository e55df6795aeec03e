// learner.c: where parameters start, how they are scored, and the finish (docs/math.md 4).
#include "learn/learner.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "learn/map_choice.h"
#include "linalg/factor.h"
#include "linalg/interrupt.h"
#include "ps/statistics.h"

#include <math.h>
#include <string.h>

// The recipe, by measurement on flights, taxi and the UCI sets: amplitude and noise to start from, and the spread that
// tells components apart.
static const double start_a0 = 0.5, start_sigma = 0.97, component_spread = 0.75;
static const double start_rho = 2; // rvm: nearly all of what the bound allows, and not yet flat

// ---- construction ---------------------------------------------------------------------------------------------------

static void start_theta(gp_learner *l, const gp_learner_options *o)
{
    gp_rng rng = gp_rng_seeded(o->seed, 0x5747);
    double *theta = l->theta;
    const size_t d = o->d;
    size_t next = 0;
    theta[0] = log(start_sigma);
    for (size_t b = 0; b < l->f->n_components; b++) {
        const gp_component *c = &l->f->components[b];
        double *p = theta + c->param;
        p[0] = log(start_a0 / sqrt((double)l->f->n_components)); // the sum of amplitudes is the same for any number
        for (size_t k = 0; k < d; k++)
            p[1 + k] = -2 * log(o->length_scale) +
                       (l->f->n_components > 1 ? component_spread * gp_rng_normal(&rng) : 0);
        for (size_t j = 0; j < c->m; j++, next++)
            memcpy(p + 1 + d + j * d, o->inducing.p + (next % o->inducing.rows) * o->inducing.ld, d * sizeof *p);
        for (size_t j = 0; c->map->has_rho && j < c->m; j++) p[1 + d + c->m * d + j] = start_rho;
    }
    if (l->spec.trend != GP_TREND_NONE) theta[l->f->trend_param] = log(0.5);
    if (l->spec.trend == GP_TREND_LINEAR) theta[l->f->trend_param + 1] = log(0.5);
    gp_theta_start_q(l->layout, theta);
}

static advgp_status make_parts(gp_learner *l, const gp_learner_options *o, advgp_error *err)
{
    const gp_map_choice choice = gp_map_choice_within((gp_map_choice){o->map, o->rank, o->groups}, o->m, o->components);
    const size_t J = o->components, q = gp_map_choice_groups(choice, o->m, J);
    l->groups = gp_alloc(J * q, sizeof *l->groups);
    if (!l->groups) return gp_no_memory(err);
    for (size_t b = 0; b < J; b++)
        l->components[b] = (gp_component_spec){o->kernel, o->map,
                                               gp_map_choice_shape(choice, o->m, J, b, l->groups + b * q)};
    l->spec = (gp_feature_spec){
        .d = o->d, .n_components = J, .components = l->components, .trend = o->trend, .jitter = 1e-6};
    advgp_status st = gp_features_new(&l->spec, &l->f, err);
    if (st == ADVGP_OK) st = gp_qw_new(l->f->M, &l->qw, err);
    if (st != ADVGP_OK) return st;
    l->layout = gp_theta_layout_of(l->f);
    const size_t size = l->layout.size;
    l->theta = gp_alloc(size, sizeof(double));
    l->best = gp_alloc(size, sizeof(double));
    const size_t M = l->layout.M;
    l->stats.A = gp_mat_of(gp_alloc(M * M, sizeof(double)), M, M);
    l->stats.b = gp_alloc(M, sizeof(double));
    if (!l->theta || !l->best || !l->stats.A.p || !l->stats.b) return gp_no_memory(err);
    return ADVGP_OK;
}

advgp_status gp_learner_new(const gp_learner_options *o, gp_learner **out, advgp_error *err)
{
    *out = NULL;
    if (!o->components || o->components > GP_COMPONENTS_MAX || o->components > o->m)
        return gp_fail(err, ADVGP_EINVAL,
                       "%zu components of %zu inducing inputs: 1 to %d, and no more than inducing inputs",
                       o->components, o->m, GP_COMPONENTS_MAX);
    gp_learner *l = gp_alloc(1, sizeof *l);
    if (!l) return gp_no_memory(err);
    advgp_status st = make_parts(l, o, err);
    if (st != ADVGP_OK) {
        gp_learner_free(l);
        return st;
    }
    start_theta(l, o);
    memcpy(l->best, l->theta, l->layout.size * sizeof(double));
    *out = l;
    return ADVGP_OK;
}

void gp_learner_free(gp_learner *l)
{
    if (!l) return;
    gp_free(l->theta);
    gp_free(l->best);
    gp_free(l->stats.A.p);
    gp_free(l->stats.b);
    gp_qw_free(l->qw);
    gp_features_free(l->f);
    gp_free(l->groups);
    gp_free(l);
}

// ---- score ----------------------------------------------------------------------------------------------------------

advgp_status gp_score_part(const gp_feature_spec *spec, const double *theta, gp_reader *reader, gp_part part,
                           size_t max_rows, const gp_schema *schema, gp_score *score, advgp_error *err)
{
    gp_predictor *predictor = NULL;
    advgp_status st = gp_predictor_new(spec, theta, &predictor, err);
    if (st == ADVGP_OK) st = gp_score_rows(predictor, reader, part, max_rows, schema, score, err);
    gp_predictor_free(predictor);
    return st;
}

void gp_learner_copy(const gp_learner *l, gp_model *model)
{
    const size_t M = l->layout.M;
    const gp_stats *stats = &l->stats;
    memcpy(model->theta, l->theta, l->layout.size * sizeof(double));
    memcpy(model->stats.A.p, stats->A.p, M * M * sizeof(double));
    memcpy(model->stats.b, stats->b, M * sizeof(double));
    model->stats.yy = stats->yy, model->stats.n = stats->n, model->stats.residual = stats->residual;
}

// ---- finish ---------------------------------------------------------------------------------------------------------

advgp_status gp_learner_finish(gp_learner *l, const double *statistics, bool hurry, int (*stop)(void *ctx), void *ctx,
                               double *neg_elbo, advgp_error *err)
{
    const gp_theta_layout layout = l->layout;
    gp_statistics_unpack(statistics, &l->stats);
    advgp_status st = ADVGP_OK;
    gp_interrupt scope;
    gp_interrupt_open(&scope, stop, ctx);
    if (!hurry || layout.M <= GP_EIGEN_LONG) st = gp_qw_best_noise(l->qw, &l->stats, &l->theta[0], NULL, err);
    (void)gp_interrupt_close(&scope);
    if (st == ADVGP_OK)
        st = gp_qw_optimal(l->qw, &l->stats, l->theta[0], l->theta + layout.n_rest, l->theta + layout.U, neg_elbo, err);
    return st;
}
