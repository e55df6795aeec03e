// explanation_test.c: the parts of a mean add up to it, none may be left out, and the nearest inducing inputs are the
// nearest: for weights, with cells, and for the exact process.
#include "fixture.h"
#include "model/cells.h"
#include "model/exact.h"
#include "model/explanation.h"

typedef struct subject {
    problem p;
    gp_cells *cells;
    gp_predictor *predictor;
    gp_predict_work *work;
    gp_explanation *explanation;
} subject;

static void subject_init(subject *s, uint64_t seed)
{
    gp_rng rng = gp_rng_seeded(seed, 77);
    *s = (subject){0};
    problem_init(&s->p, seed,
                 (problem_options){.n = 12,
                                   .d = 1 + gp_rng_below(&rng, 4),
                                   .n_components = 1 + gp_rng_below(&rng, 3),
                                   .map = gp_maps[seed % 4],
                                   .trend = (gp_trend)(seed % 3)});
}

static void ready(subject *s)
{
    advgp_error err = {0};
    CHECK_OK(gp_predict_work_new(s->predictor, 0, &s->work, &err), s->p.label);
    CHECK_OK(gp_explanation_new(s->predictor, 1000, &s->explanation, &err), s->p.label);
}

static void subject_fini(subject *s)
{
    gp_explanation_free(s->explanation);
    gp_predict_work_free(s->work);
    gp_predictor_free(s->predictor);
    gp_cells_free(s->cells);
    problem_fini(&s->p);
}

static void weights(subject *s)
{
    advgp_error err = {0};
    CHECK_OK(gp_predictor_new(&s->p.spec, s->p.theta, &s->predictor, &err), s->p.label);
    ready(s);
}

// Their posterior is random, too: what it says must add up, whatever it says.
static void with_cells(subject *s)
{
    advgp_error err = {0};
    problem *p = &s->p;
    size_t m[3];
    for (size_t c = 0; c < 3; c++) m[c] = 1 + gp_rng_below(&p->rng, 4);
    const gp_cells_shape shape = {.n = 3,
                                  .d = p->d,
                                  .M_g = p->layout.M,
                                  .kernel = &gp_kernel_matern52,
                                  .trend = (gp_trend)gp_rng_below(&p->rng, 3),
                                  .m = m};
    CHECK_OK(gp_cells_new(&shape, &s->cells, &err), p->label);
    gp_cells *c = s->cells;
    for (size_t k = 0; k < p->d; k++) c->scale[k] = exp(gp_rng_normal(&p->rng));
    for (size_t i = 0; i < 3 * p->d; i++) c->centres[i] = gp_rng_normal(&p->rng);
    for (size_t i = 0; i < c->n_theta; i++) c->theta[i] = 0.5 * gp_rng_normal(&p->rng);
    for (size_t i = 0; i < c->n_mu; i++) c->mu[i] = gp_rng_normal(&p->rng);
    for (size_t i = 0; i < c->n_U; i++) c->U[i] = 0.1 * gp_rng_normal(&p->rng);
    for (size_t i = 0; i < c->n_W; i++) c->W[i] = 0.1 * gp_rng_normal(&p->rng);
    CHECK_OK(gp_cells_predictor_new(&p->spec, p->theta, c, &s->predictor, &err), p->label);
    ready(s);
}

static void exact(subject *s)
{
    advgp_error err = {0};
    const problem *p = &s->p;
    double hyper[8] = {-0.5}, alpha[12];
    for (size_t i = 0; i < p->n; i++) alpha[i] = gp_rng_normal(&s->p.rng);
    for (size_t i = 1; i < 8; i++) hyper[i] = 0.3 * gp_rng_normal(&s->p.rng);
    const gp_exact_fit fit = {
        .kernel = &gp_kernel_matern32, .trend = p->spec.trend, .X = p->rows.X, .hyper = hyper, .alpha = alpha};
    CHECK_OK(gp_exact_predictor_new(&fit, &s->predictor, &err), p->label);
    ready(s);
}

static size_t count(const subject *s, gp_term_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < s->explanation->n_terms; i++) n += s->explanation->terms[i].kind == kind;
    return n;
}

// Which terms a model has follows from its shape; each says something, so that none can be missing from the sum.
static void check_row(subject *s, size_t i)
{
    advgp_error err = {0};
    const problem *p = &s->p;
    const gp_features *f = gp_predictor_features(s->predictor);
    const gp_explanation *e = s->explanation;
    const double *x = p->X + i * p->d;
    double mean, var_f, var_y, sum = 0, line = 0;
    CHECK_OK(gp_predict(s->predictor, s->work, gp_cmat_of(x, 1, p->d), &mean, &var_f, &var_y, &err), p->label);
    CHECK_OK(gp_explain(s->predictor, s->work, x, s->explanation, &err), p->label);
    for (size_t k = 0; k < e->n_terms; k++) sum += e->terms[k].mean;
    CHECK(fabs(sum - mean) <= 1e-10 * (1 + fabs(mean)), p->label, "the parts add up to %.17g, the mean is %.17g", sum,
          mean);
    for (size_t k = 0; k < e->n_terms; k++)
        CHECK(fabs(e->terms[k].mean) > 1e-8, p->label, "term %zu of %zu says nothing", k, e->n_terms);
    for (size_t k = 0; k < p->d; k++) line += e->line[k];
    for (size_t k = 0; k < e->n_terms; k++)
        if (e->terms[k].kind == GP_TERM_LINE) CHECK_CLOSE(e->terms[k].mean, line, 1e-12, p->label);
    assert_int_equal(count(s, GP_TERM_COMPONENT), f ? f->n_components : 1);
    assert_int_equal(count(s, GP_TERM_CONSTANT), p->spec.trend != GP_TREND_NONE);
    assert_int_equal(count(s, GP_TERM_LINE), p->spec.trend == GP_TREND_LINEAR);
    assert_int_equal(count(s, GP_TERM_CELL), s->cells != NULL);
    assert_int_equal(count(s, GP_TERM_CELL_TREND), s->cells && s->cells->shape.trend != GP_TREND_NONE);
    CHECK(!s->cells == !(e->n_terms && e->terms[e->n_terms - 1].kind == GP_TERM_CELL), p->label, "the cell is last");
    if (f && !s->cells) CHECK_CLOSE(f->a0sq_sum, e->prior, 1e-14, p->label);
    CHECK(f || p->spec.trend != GP_TREND_NONE || var_f <= e->prior, p->label, "%g of %g is left", var_f, e->prior);
}

// All of them fit, so the list must have every one, once, in order.
static void check_near(const subject *s)
{
    const gp_explanation *e = s->explanation;
    const gp_features *f = gp_predictor_features(s->predictor);
    size_t expected = f ? 0 : s->p.n;
    for (size_t b = 0; f && b < f->n_components; b++) expected += f->components[b].m;
    for (size_t k = 0; k < e->n_terms; k++)
        if (e->terms[k].kind == GP_TERM_CELL) expected += s->cells->m[e->terms[k].number];
    assert_int_equal(e->n_near, expected);
    for (size_t k = 0; k < e->n_near; k++) {
        const gp_neighbour *n = &e->near[k];
        CHECK(!k || n->distance >= n[-1].distance, s->p.label, "neighbour %zu is nearer than the one before", k);
        CHECK(n->correlation <= 1 + 1e-12 && n->correlation >= 0, s->p.label, "correlation %g", n->correlation);
        for (size_t j = 0; j < k; j++) CHECK(e->near[j].z != n->z, s->p.label, "twice the same");
    }
}

static void parts_add_up_to_the_mean(void **state)
{
    (void)state;
    static void (*const kinds[])(subject *) = {weights, with_cells, exact};
    for (uint64_t seed = 1; seed <= 45; seed++) {
        subject s;
        subject_init(&s, seed);
        kinds[seed / 3 % 3](&s);
        for (size_t i = 0; i < s.p.n; i++) {
            check_row(&s, i);
            check_near(&s);
        }
        subject_fini(&s);
    }
}

static void the_nearest_come_first_where_few_are_asked_for(void **state)
{
    (void)state;
    advgp_error err = {0};
    subject s;
    subject_init(&s, 5); // with a line, which knows no end
    exact(&s);
    gp_explanation *few = NULL, *none = NULL;
    CHECK_OK(gp_explanation_new(s.predictor, 3, &few, &err), s.p.label);
    CHECK_OK(gp_explanation_new(s.predictor, 0, &none, &err), s.p.label);
    CHECK_OK(gp_explain(s.predictor, s.work, s.p.X, few, &err), s.p.label);
    CHECK_OK(gp_explain(s.predictor, s.work, s.p.X, none, &err), s.p.label);
    CHECK_OK(gp_explain(s.predictor, s.work, s.p.X, s.explanation, &err), s.p.label);
    assert_int_equal(none->n_near, 0);
    assert_int_equal(few->n_near, 3);
    for (size_t k = 0; k < 3; k++) assert_int_equal(few->near[k].number, s.explanation->near[k].number);
    assert_int_equal(few->near[0].number, 0); // the row itself, at no distance
    CHECK_CLOSE(0, few->near[0].distance, 1e-15, s.p.label);
    CHECK_CLOSE(1, few->near[0].correlation, 1e-12, s.p.label);
    gp_explanation_free(few);
    gp_explanation_free(none);
    s.p.X[0] = NAN;
    CHECK_FAILS(ADVGP_EDATA, gp_explain(s.predictor, s.work, s.p.X, s.explanation, &err), "not finite");
    s.p.X[0] = DBL_MAX;
    CHECK_FAILS(ADVGP_ENUMERIC, gp_explain(s.predictor, s.work, s.p.X, s.explanation, &err), "too large");
    subject_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_add_up_to_the_mean),
        cmocka_unit_test(the_nearest_come_first_where_few_are_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
