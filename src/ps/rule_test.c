// rule_test.c: the rules are the step functions of optim/ and model/, fed from a push.
#include "fixture.h"
#include "model/qw.h"
#include "ps/rule.h"

typedef struct rig {
    problem p;
    engine e;
    gp_theta_layout l;
    double *grad, *push, *theta;
    double sum_g;
} rig;

static void rig_init(rig *r, uint64_t seed)
{
    problem_init(&r->p, seed, (problem_options){.n = 60, .d = 2, .n_components = 1 + seed % 2, .m = 5});
    r->e = engine_new(&r->p, 0);
    r->l = r->p.layout;
    r->grad = doubles(r->l.size), r->theta = doubles(r->l.size);
    r->push = doubles(2 * r->l.size + r->l.M * r->l.M + 8);
    memcpy(r->theta, r->p.theta, r->l.size * sizeof(double));
}

static void rig_fini(rig *r)
{
    free(r->grad), free(r->push), free(r->theta);
    engine_free(r->e);
    problem_fini(&r->p);
}

static void make_push(rig *r, const gp_rule_ops *ops, gp_range range, const double *theta)
{
    r->sum_g = run_pass(r->e, theta, r->p.rows, r->grad, r->p.label);
    ops->fill(r->l, range, gp_pass_stats(r->e.pass), r->sum_g, r->grad, r->push);
    CHECK_BITS(1, &r->sum_g, r->push, "a push begins with the sum of g");
}

static gp_rule_options options_of(const rig *r, gp_range range)
{
    return (gp_rule_options){.layout = r->l,
                             .range = range,
                             .age_power = 0.5,
                             .natural_rate = 0.4,
                             .adam_rate = 0.05,
                             .unit = r->e.f->unit,
                             .decay = 0.9,
                             .epsilon = 1e-4};
}

static gp_rule *rule_of(const rig *r, const gp_rule_ops *ops, gp_range range)
{
    advgp_error err = {0};
    gp_rule *rule;
    const gp_rule_options o = options_of(r, range);
    CHECK_OK(ops->make(&o, &rule, &err), r->p.label);
    return rule;
}

static void natural_is_a_natural_step_and_adam(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        advgp_error err = {0};
        rig r;
        rig_init(&r, seed);
        gp_rule *rule = rule_of(&r, &gp_rule_natural, gp_range_all(r.l));
        gp_qw *qw;
        gp_adam adam = {.beta1 = 0.9,
                        .beta2 = 0.999,
                        .epsilon = 1e-8,
                        .unit = r.e.f->unit,
                        .m = doubles(r.l.n_rest),
                        .v = doubles(r.l.n_rest)};
        double *plain = doubles(r.l.size);
        memcpy(plain, r.theta, r.l.size * sizeof(double));
        CHECK_OK(gp_qw_new(r.l.M, &qw, &err), r.p.label);
        for (int step = 0; step < 6; step++) {
            const double damping = step < 4 ? 1 : ldexp(1, 24 - 8 * step); // roll-backs, ever more of them
            const gp_step_terms terms = {
                .n = (double)r.p.n, .shrink = (1 - 0.1 * step) * damping, .damping = damping, .age = step};
            const double shrink = terms.shrink / sqrt(1 + terms.age);
            make_push(&r, &gp_rule_natural, gp_range_all(r.l), plain);
            CHECK_OK(gp_qw_natural(qw, gp_pass_stats(r.e.pass), 1, plain[0], 0.4 * shrink, plain + r.l.n_rest,
                                   plain + r.l.U, &err),
                     r.p.label);
            for (size_t i = 0; i < r.l.n_rest; i++) r.grad[i] /= (double)r.p.n;
            adam.rate = 0.05 * shrink;
            gp_step_adam(&adam, r.l.n_rest, r.grad, plain);
            CHECK_OK(rule->ops->step(rule, r.push, &terms, r.theta, &err), r.p.label);
            CHECK_BITS(r.l.size, plain, r.theta, r.p.label);
        }
        free(adam.m), free(adam.v), free(plain);
        gp_qw_free(qw);
        gp_rule_free(rule);
        rig_fini(&r);
    }
}

static void prox_split_over_servers_gives_the_bits_of_one(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++)
        for (size_t n_servers = 2; n_servers <= 3; n_servers++) {
            advgp_error err = {0};
            rig r;
            rig_init(&r, seed);
            gp_rule *whole = rule_of(&r, &gp_rule_prox, gp_range_all(r.l)), *part[3];
            gp_range range[3];
            double *parts = doubles(r.l.size);
            memcpy(parts, r.theta, r.l.size * sizeof(double));
            for (size_t i = 0; i < n_servers; i++) {
                range[i].first = i * r.l.size / n_servers;
                range[i].count = (i + 1) * r.l.size / n_servers - range[i].first;
                part[i] = rule_of(&r, &gp_rule_prox, range[i]);
            }
            for (int step = 0; step < 4; step++) {
                const gp_step_terms terms = {.n = (double)r.p.n, .shrink = 0.9, .damping = 1, .age = step % 2};
                make_push(&r, &gp_rule_prox, gp_range_all(r.l), r.theta);
                CHECK_OK(whole->ops->step(whole, r.push, &terms, r.theta, &err), r.p.label);
                // One pass, a push to each server, a step on each.
                make_push(&r, &gp_rule_prox, gp_range_all(r.l), parts);
                for (size_t i = 0; i < n_servers; i++) {
                    assert_int_equal(gp_rule_prox.push_size(r.l, range[i]), 1 + range[i].count);
                    gp_rule_prox.fill(r.l, range[i], gp_pass_stats(r.e.pass), r.sum_g, r.grad, r.push);
                    CHECK_OK(part[i]->ops->step(part[i], r.push, &terms, parts + range[i].first, &err), r.p.label);
                }
                CHECK_BITS(r.l.size, r.theta, parts, r.p.label);
            }
            for (size_t i = 0; i < n_servers; i++) gp_rule_free(part[i]);
            free(parts);
            gp_rule_free(whole);
            rig_fini(&r);
        }
}

static void take_steps(rig *r, gp_rule *rule, double *theta, int from, int to)
{
    advgp_error err = {0};
    for (int i = from; i < to; i++) {
        const gp_step_terms terms = {.n = (double)r->p.n, .shrink = 1.0 / (1 + i), .damping = 1, .age = 0.25 * i};
        make_push(r, rule->ops, rule->options.range, theta);
        CHECK_OK(rule->ops->step(rule, r->push, &terms, theta, &err), r->p.label);
    }
}

static void every_rule_goes_on_from_its_state_bit_for_bit(void **state)
{
    (void)state;
    for (const gp_rule_ops *const *ops = gp_rules; *ops; ops++) {
        rig r;
        rig_init(&r, 3);
        gp_rule *rule = rule_of(&r, *ops, gp_range_all(r.l)), *again = rule_of(&r, *ops, gp_range_all(r.l));
        double *theta = doubles(r.l.size);
        take_steps(&r, rule, r.theta, 0, 5);
        memcpy(theta, r.theta, r.l.size * sizeof(double));
        const gp_rule_state a = rule->ops->state(rule), b = again->ops->state(again);
        assert_true(a.n_arrays == b.n_arrays && a.n_arrays <= 4 && !a.counter == !b.counter);
        for (size_t i = 0; i < a.n_arrays; i++) {
            assert_string_equal(a.arrays[i].name, b.arrays[i].name);
            memcpy(b.arrays[i].values, a.arrays[i].values, a.arrays[i].n * sizeof(double));
        }
        if (a.counter) *b.counter = *a.counter;
        take_steps(&r, rule, r.theta, 5, 9);
        take_steps(&r, again, theta, 5, 9);
        CHECK_BITS(r.l.size, r.theta, theta, (*ops)->name);
        rule->ops->forget(rule); // and a roll-back leaves something that can be stepped
        take_steps(&r, rule, r.theta, 9, 11);
        CHECK(gp_all_finite(r.l.size, r.theta), (*ops)->name, "not finite after a roll-back");
        gp_rule_free(rule), gp_rule_free(again);
        free(theta);
        rig_fini(&r);
    }
}

static void a_range_that_a_rule_cannot_have_is_refused(void **state)
{
    (void)state;
    advgp_error err = {0};
    rig r;
    gp_rule *rule;
    rig_init(&r, 1);
    gp_rule_options o = options_of(&r, (gp_range){1, r.l.size - 1});
    CHECK_FAILS(ADVGP_EINVAL, gp_rule_natural.make(&o, &rule, &err), "natural on a part");
    o.range.count = r.l.size;
    CHECK_FAILS(ADVGP_EINVAL, gp_rule_prox.make(&o, &rule, &err), "beyond the end");
    o.range.count = 0;
    CHECK_FAILS(ADVGP_EINVAL, gp_rule_prox.make(&o, &rule, &err), "nothing");
    rig_fini(&r);
}

static void rules_are_made_and_stepped_within_their_memory(void **state)
{
    (void)state;
    for (const gp_rule_ops *const *ops = gp_rules; *ops; ops++) {
        rig r;
        rig_init(&r, 2);
        const long live = gp_alloc_count().live;
        gp_rule *rule = NULL;
        const gp_rule_options o = options_of(&r, gp_range_all(r.l));
        advgp_status st = ADVGP_ENOMEM;
        for (long calls = 0; st != ADVGP_OK; calls++) {
            advgp_error err = {0};
            gp_alloc_fail_after(calls);
            st = (*ops)->make(&o, &rule, &err);
            gp_alloc_fail_after(-1);
            assert_true(st == ADVGP_OK || (st == ADVGP_ENOMEM && !rule && err.text[0]));
            if (st != ADVGP_OK) assert_int_equal(gp_alloc_count().live, live);
        }
        const long calls = gp_alloc_count().calls;
        take_steps(&r, rule, r.theta, 0, 3);
        assert_int_equal(gp_alloc_count().calls, calls);
        gp_rule_free(rule);
        assert_ptr_equal(gp_rule_named((*ops)->name), *ops);
        assert_true((*ops)->summary[0] != 0);
        rig_fini(&r);
    }
    gp_rule_free(NULL);
    assert_null(gp_rule_named("guess"));
}

// The first step of Adam is its rate in every parameter, whatever the gradient's size: in the logarithm of an amplitude
// and in that of a length-scale, which is -ln eta / 2, by the same.
static void length_scales_and_amplitudes_take_equal_steps(void **state)
{
    (void)state;
    advgp_error err = {0};
    rig r;
    rig_init(&r, 3);
    gp_rule *rule = rule_of(&r, &gp_rule_natural, gp_range_all(r.l));
    const gp_step_terms terms = {.n = (double)r.p.n, .shrink = 1, .damping = 1};
    double *before = doubles(r.l.size);
    memcpy(before, r.theta, r.l.size * sizeof(double));
    make_push(&r, &gp_rule_natural, gp_range_all(r.l), r.theta);
    CHECK_OK(rule->ops->step(rule, r.push, &terms, r.theta, &err), r.p.label);
    for (size_t b = 0; b < r.e.f->n_components; b++) {
        const size_t at = r.e.f->components[b].param;
        CHECK_CLOSE(0.05, fabs(r.theta[at] - before[at]), 1e-4, "ln a0");
        for (size_t k = 0; k < r.e.f->d; k++)
            CHECK_CLOSE(0.05, fabs(r.theta[at + 1 + k] - before[at + 1 + k]) / 2, 1e-4, "ln of a length-scale");
    }
    free(before);
    gp_rule_free(rule);
    rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(natural_is_a_natural_step_and_adam),
        cmocka_unit_test(length_scales_and_amplitudes_take_equal_steps),
        cmocka_unit_test(prox_split_over_servers_gives_the_bits_of_one),
        cmocka_unit_test(every_rule_goes_on_from_its_state_bit_for_bit),
        cmocka_unit_test(a_range_that_a_rule_cannot_have_is_refused),
        cmocka_unit_test(rules_are_made_and_stepped_within_their_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
