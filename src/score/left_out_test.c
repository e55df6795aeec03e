// left_out_test.c: a row left out in closed form against the posterior of the other rows, hyper-parameters as they are:
// mean and variance are the same but for rounding. (Of the exact process: model/exact_test.c. What hyper-parameters
// have learned from the row is not undone: method/method_exact.c fits them anew where rows are few.)
#include "fixture.h"
#include "model/qw.h"
#include "score/left_out.h"
#include "shards/shards.h"

enum { N = 30 };

typedef struct told {
    const problem *p;
    size_t rows;
    double mean[N], var_y[N], w[N]; // by row of the problem
} told;

static void note(void *ctx, double w, const double *x, double y, double mean, double var_y)
{
    told *t = ctx;
    size_t i = 0;
    while (i < N && (memcmp(t->p->X + i * t->p->d, x, t->p->d * sizeof *x) != 0 || t->p->y[i] != y)) i++;
    assert_true(i < N);
    t->mean[i] = mean, t->var_y[i] = var_y, t->w[i] = w;
    t->rows++;
}

// theta with the optimal q(w) of rows with these weights.
static void solve(const problem *p, const double *w, double *theta)
{
    advgp_error err = {0};
    gp_qw *qw = NULL;
    const engine e = engine_new(p, 0);
    memcpy(theta, p->theta, p->layout.size * sizeof *theta);
    CHECK_OK(gp_qw_new(p->layout.M, &qw, &err), p->label);
    CHECK_OK(gp_pass_run(e.pass, theta, GP_PASS_STATS, (gp_batch){.X = p->rows.X, .y = p->y, .w = w}, NULL, NULL, &err),
             p->label);
    CHECK_OK(
        gp_qw_optimal(qw, gp_pass_stats(e.pass), theta[0], theta + p->layout.n_rest, theta + p->layout.U, NULL, &err),
        p->label);
    gp_qw_free(qw);
    engine_free(e);
}

static gp_predictor *predictor_of(const problem *p, const double *w)
{
    advgp_error err = {0};
    gp_predictor *predictor = NULL;
    double *theta = doubles(p->layout.size);
    solve(p, w, theta);
    CHECK_OK(gp_predictor_new(&p->spec, theta, &predictor, &err), p->label);
    free(theta);
    return predictor;
}

static gp_shards *shards_of(const problem *p)
{
    advgp_error err = {0};
    gp_memory_builder *builder = NULL;
    unsigned char parts[N] = {0};
    CHECK_OK(gp_memory_builder_new(p->d, 3, true, true, 1, &builder, &err), p->label);
    const gp_rows rows = {.n = N, .d = p->d, .X = p->X, .y = p->y, .w = p->w, .part = parts};
    CHECK_OK(gp_memory_builder_add(builder, &rows, &err), p->label);
    gp_shards *shards = NULL;
    CHECK_OK(gp_memory_shards_take(builder, &shards, &err), p->label);
    return shards;
}

// Every row of positive weight in turn.
static void compare(const problem *p, const told *t)
{
    advgp_error err = {0};
    double w[N], mean, var_y;
    for (size_t i = 0; i < N; i++) {
        if (p->w[i] == 0) continue;
        memcpy(w, p->w, sizeof w);
        w[i] = 0;
        gp_predictor *others = predictor_of(p, w);
        gp_predict_work *work = NULL;
        CHECK_OK(gp_predict_work_new(others, 0, &work, &err), p->label);
        CHECK_OK(gp_predict(others, work, gp_cmat_of(p->X + i * p->d, 1, p->d), &mean, NULL, &var_y, &err), p->label);
        CHECK_CLOSE(mean, t->mean[i], 1e-8, p->label);
        CHECK_CLOSE(var_y, t->var_y[i], 1e-8, p->label);
        CHECK_CLOSE(p->w[i], t->w[i], 1e-15, p->label);
        gp_predict_work_free(work);
        gp_predictor_free(others);
    }
}

static void a_row_left_out_is_the_posterior_of_the_others(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        problem p;
        advgp_error err = {0};
        problem_init(&p, seed,
                     (problem_options){.n = N, .d = 2, .n_components = 2, .trend = GP_TREND_LINEAR, .weighted = true});
        gp_shards *shards = shards_of(&p);
        gp_predictor *all = predictor_of(&p, p.w);
        gp_reader reader = {0};
        told t = {.p = &p};
        size_t kept = 0;
        for (size_t i = 0; i < N; i++) kept += p.w[i] > 0;
        assert_true(kept < N);
        CHECK_OK(gp_reader_new(shards, 7, &reader, &err), p.label);
        CHECK_OK(gp_left_out_rows(all, &reader, 0, note, &t, &err), p.label);
        assert_int_equal(t.rows, kept);
        compare(&p, &t);
        gp_reader_fini(&reader);
        gp_predictor_free(all);
        gp_shards_free(shards);
        problem_fini(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_row_left_out_is_the_posterior_of_the_others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
