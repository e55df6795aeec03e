// basis_rotation_test.c: q(w) carried to turned features says the same about the function, and the gradient of a map
// that follows is that of the bound with q(w) carried along.
#include "fixture.h"
#include "model/basis_rotation.h"
#include "model/predict.h"

static void init(problem *p, uint64_t seed, const gp_map *map, bool full_rank, gp_trend trend)
{
    problem_init(p, seed,
                 (problem_options){.n = 30,
                                   .d = 2,
                                   .n_components = 1 + seed % 2,
                                   .m = 5,
                                   .kernel = gp_kernels[seed % 3],
                                   .map = map,
                                   .trend = trend,
                                   .full_rank = full_rank});
    for (size_t b = 0; b < p->spec.n_components; b++) p->components[b].shape.follows = true;
}

static void nothing_is_carried_where_nothing_turns(void **state)
{
    (void)state;
    static const gp_map *const still[] = {&gp_map_cholesky, &gp_map_rvm};
    for (size_t i = 0; i < 2; i++) {
        problem p;
        advgp_error err = {0};
        gp_features *f = NULL;
        gp_basis_rotation *t = NULL;
        init(&p, 1, still[i], true, GP_TREND_LINEAR);
        CHECK_OK(gp_features_new(&p.spec, &f, &err), p.label);
        CHECK_OK(gp_basis_rotation_new(f, &t, &err), p.label);
        assert_null(t);
        gp_basis_rotation_keep(t, f);
        CHECK_OK(gp_basis_rotation_carry(t, f, p.theta, &err), p.label);
        gp_basis_rotation_free(t);
        gp_features_free(f);
        problem_fini(&p);
    }
}

// Order and signs of eigenvectors are a matter of the inducing inputs' numbers too: with two inducing inputs swapped
// the features are the same function of x, and so must be the carried q(w)'s predictions.
static void predictions_survive_a_turn(void **state)
{
    (void)state;
    static const gp_map *const maps[] = {&gp_map_nystrom, &gp_map_ensemble};
    for (uint64_t seed = 0; seed < 20; seed++) {
        problem p;
        advgp_error err = {0};
        gp_features *f = NULL;
        gp_basis_rotation *t = NULL;
        init(&p, seed, maps[seed / 2 % 2], true, (gp_trend)(seed % 3));
        double mean[2][30], var[2][30];
        CHECK_OK(gp_features_new(&p.spec, &f, &err), p.label);
        CHECK_OK(gp_features_set(f, p.theta, &err), p.label);
        CHECK_OK(gp_basis_rotation_new(f, &t, &err), p.label);
        assert_non_null(t);
        gp_basis_rotation_keep(t, f);
        // A turn by hand: new vectors are old ones, two swapped and one with the other sign.
        gp_component *c = &f->components[0];
        double *T = doubles(c->m * c->M);
        memcpy(T, c->T.p, c->m * c->M * sizeof *T);
        const size_t other = !c->shape.n_groups || c->shape.group_m[0] > 1; // groups never mix: maybe there is no pair
        for (size_t i = 0; i < c->m; i++) {
            c->T.p[i * c->M] = -T[i * c->M + other];
            c->T.p[i * c->M + other] = other ? T[i * c->M] : -T[i * c->M];
        }
        const double *old_theta = p.theta;
        double *theta = doubles(p.layout.size);
        memcpy(theta, old_theta, p.layout.size * sizeof *theta);
        CHECK_OK(gp_basis_rotation_carry(t, f, theta, &err), p.label);
        const double *given[2] = {T, c->T.p};
        for (int k = 0; k < 2; k++) {
            gp_predictor *predictor = NULL;
            gp_predict_work *work = NULL;
            gp_feature_spec spec = p.spec;
            double *all = doubles(2 * c->m * c->M + 64 * 64);
            size_t at = 0;
            for (size_t b = 0; b < f->n_components; b++) {
                const gp_component *one = &f->components[b];
                memcpy(all + at, b ? one->T.p : given[k], one->m * one->M * sizeof *all);
                at += one->m * one->M;
            }
            spec.maps = all;
            CHECK_OK(gp_predictor_new(&spec, k ? theta : old_theta, &predictor, &err), p.label);
            CHECK_OK(gp_predict_work_new(predictor, 0, &work, &err), p.label);
            CHECK_OK(gp_predict(predictor, work, p.rows.X, mean[k], var[k], NULL, &err), p.label);
            gp_predict_work_free(work);
            gp_predictor_free(predictor);
            free(all);
        }
        CHECK_ARRAY(30, mean[0], mean[1], 1e-11, p.label);
        CHECK_ARRAY(30, var[0], var[1], 1e-11, p.label);
        free(T), free(theta);
        gp_basis_rotation_free(t);
        gp_features_free(f);
        problem_fini(&p);
    }
}

// Value of the data term at x with q(w) carried from where it was fitted.
static double carried_value(engine e, const problem *p, gp_basis_rotation *t, gp_features *f, const double *x,
                            double *theta)
{
    advgp_error err = {0};
    memcpy(theta, p->theta, p->layout.size * sizeof *theta);
    memcpy(theta, x, p->layout.n_rest * sizeof *theta);
    CHECK_OK(gp_features_set(f, p->theta, &err), p->label);
    gp_basis_rotation_keep(t, f);
    CHECK_OK(gp_features_set(f, theta, &err), p->label);
    CHECK_OK(gp_basis_rotation_carry(t, f, theta, &err), p->label);
    return run_pass(e, theta, p->rows, NULL, p->label);
}

static void the_gradient_is_taken_along_with_q(void **state)
{
    (void)state;
    static const gp_map *const maps[] = {&gp_map_nystrom, &gp_map_ensemble};
    for (uint64_t seed = 0; seed < 24; seed++) {
        problem p;
        advgp_error err = {0};
        gp_features *f = NULL;
        gp_basis_rotation *t = NULL;
        init(&p, 300 + seed, maps[seed % 2], seed % 3 == 0, (gp_trend)(seed / 3 % 3));
        engine e = engine_new(&p, 0);
        double *grad = doubles(p.layout.size), *x = doubles(p.layout.n_rest), *theta = doubles(p.layout.size);
        (void)run_pass(e, p.theta, p.rows, grad, p.label);
        CHECK_OK(gp_features_new(&p.spec, &f, &err), p.label);
        CHECK_OK(gp_basis_rotation_new(f, &t, &err), p.label);
        double largest = 1;
        for (size_t i = 0; i < p.layout.n_rest; i++) largest = fmax(largest, fabs(grad[i]));
        for (size_t i = 0; i < p.layout.n_rest; i++) {
            const double h = 1e-5;
            memcpy(x, p.theta, p.layout.n_rest * sizeof *x);
            x[i] = p.theta[i] + h;
            const double up = carried_value(e, &p, t, f, x, theta);
            x[i] = p.theta[i] - h;
            const double down = carried_value(e, &p, t, f, x, theta);
            CHECK(fabs((up - down) / (2 * h) - grad[i]) <= 2e-5 * largest, p.label, "parameter %zu: %g, not %g", i,
                  grad[i], (up - down) / (2 * h));
        }
        free(grad), free(x), free(theta);
        gp_basis_rotation_free(t);
        gp_features_free(f);
        engine_free(e);
        problem_fini(&p);
    }
}

static void a_q_that_cannot_be_carried_stays(void **state)
{
    (void)state;
    problem p;
    advgp_error err = {0};
    gp_features *f = NULL;
    gp_basis_rotation *t = NULL;
    init(&p, 9, &gp_map_nystrom, true, GP_TREND_NONE);
    CHECK_OK(gp_features_new(&p.spec, &f, &err), p.label);
    CHECK_OK(gp_features_set(f, p.theta, &err), p.label);
    CHECK_OK(gp_basis_rotation_new(f, &t, &err), p.label);
    gp_basis_rotation_keep(t, f);
    p.theta[p.layout.U] = 0;
    const double mu = p.theta[p.layout.n_rest];
    CHECK_FAILS(ADVGP_ENUMERIC, gp_basis_rotation_carry(t, f, p.theta, &err), "a singular U");
    assert_true(p.theta[p.layout.n_rest] == mu);
    gp_basis_rotation_free(t);
    gp_features_free(f);
    CHECK_OK(gp_features_new(&p.spec, &f, &err), p.label);
    gp_alloc_fail_after(0);
    const advgp_status st = gp_basis_rotation_new(f, &t, &err);
    gp_alloc_fail_after(-1);
    assert_int_equal(st, ADVGP_ENOMEM);
    gp_features_free(f);
    problem_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_carried_where_nothing_turns),
        cmocka_unit_test(predictions_survive_a_turn),
        cmocka_unit_test(the_gradient_is_taken_along_with_q),
        cmocka_unit_test(a_q_that_cannot_be_carried_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
