// schedule_test.c: settings survive the way through JSON, what no run has is refused, and checkpoints of before are
// still known.
#include "fixture.h"
#include "ps/schedule.h"

static const gp_schedule all = {.rule = &gp_rule_prox,
                                .natural_rate = 0.3,
                                .adam_rate = 0.05,
                                .workers = 7,
                                .batch = 512,
                                .mixed = true,
                                .steps = 900,
                                .max_delay = GP_DELAY_ANY,
                                .quorum = 0.25,
                                .follow_pace = true,
                                .theorem_steps = true,
                                .filter = 1e-3,
                                .on_loss = GP_LOSS_DROP,
                                .seed = UINT64_MAX - 5};

static void settings_survive_the_way(void **state)
{
    (void)state;
    gp_schedule got;
    json_t *o = gp_schedule_json(&all);
    assert_null(gp_schedule_read(o, &got));
    assert_ptr_equal(got.rule, all.rule);
    assert_true(got.natural_rate == all.natural_rate && got.adam_rate == all.adam_rate);
    assert_true(got.workers == all.workers && got.batch == all.batch && got.steps == all.steps);
    assert_true(got.max_delay == GP_DELAY_ANY && got.seed == all.seed && got.on_loss == all.on_loss);
    assert_true(got.quorum == all.quorum && got.filter == all.filter);
    assert_true(got.mixed && got.follow_pace && got.theorem_steps);
    json_decref(o);
}

static void every_field_is_asked_for_and_has_its_bounds(void **state)
{
    (void)state;
    json_t *o = gp_schedule_json(&all);
    const char *name;
    json_t *value;
    json_object_foreach(o, name, value)
    {
        gp_schedule got;
        json_t *lacks = json_copy(o);
        json_object_del(lacks, name);
        assert_string_equal(gp_schedule_read(lacks, &got), name);
        json_object_set_new(lacks, name, json_string("no such rule, no number"));
        assert_string_equal(gp_schedule_read(lacks, &got), name);
        json_decref(lacks);
    }
    static const struct {
        const char *name;
        double value;
    } bad[] = {{"quorum", 1.5}, {"quorum", -0.5}, {"filter", -1}, {"adam_rate", -1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        gp_schedule got;
        json_t *other = json_copy(o);
        json_object_set_new(other, bad[i].name, json_real(bad[i].value));
        assert_string_equal(gp_schedule_read(other, &got), bad[i].name);
        json_decref(other);
    }
    static const struct {
        const char *name;
        json_int_t value;
    } out[] = {{"workers", GP_WORKERS_MAX + 1}, {"workers", -1}, {"batch", 0}, {"on_loss", 3}, {"on_loss", -1}};
    for (size_t i = 0; i < sizeof out / sizeof *out; i++) {
        gp_schedule got;
        json_t *other = json_copy(o);
        json_object_set_new(other, out[i].name, json_integer(out[i].value));
        assert_string_equal(gp_schedule_read(other, &got), out[i].name);
        json_decref(other);
    }
    json_decref(o);
}

static void what_is_open_is_settled(void **state)
{
    (void)state;
    const gp_schedule usual = gp_schedule_settled((gp_schedule){.quorum = -1});
    assert_true(usual.rule == &gp_rule_natural && usual.quorum == gp_rule_natural.quorum && usual.follow_pace);
    assert_true(usual.natural_rate == 0.2 && usual.adam_rate == 0.1);
    const gp_schedule same = gp_schedule_settled(all);
    assert_true(same.rule == &gp_rule_prox && same.quorum == 0.25 && same.natural_rate == 0.3);
    assert_true(gp_schedule_age_power(&usual) == gp_rule_natural.age_power && gp_schedule_age_power(&all) == 1);
}

// To the letter: checkpoints are known by a hash of it.
static void checkpoints_are_known_by_the_same_text(void **state)
{
    (void)state;
    gp_buffer text = {0};
    gp_schedule_identify(&all, &text);
    assert_string_equal(text.p, " prox 18446744073709551615 0x1p-2 0x1.0624dd2f1a9fcp-10 theorem mixed");
    gp_buffer_fini(&text);
    const gp_schedule usual = {.quorum = -1, .seed = 4, .workers = 2};
    gp_schedule_identify(&usual, &text);
    assert_string_equal(text.p, " natural 0 0x1.8p-1 0x0p+0");
    gp_buffer_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_survive_the_way),
        cmocka_unit_test(every_field_is_asked_for_and_has_its_bounds),
        cmocka_unit_test(what_is_open_is_settled),
        cmocka_unit_test(checkpoints_are_known_by_the_same_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
