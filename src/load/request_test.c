// request_test.c: the one map from option keys to a training request: every key reaches its number, words of families
// their members, what contradicts itself is refused by key.
#include "load/options_test.h"
#include "load/request.h"
#include "store/form.h"

static gp_options *train_with(const char *key, const char *value)
{
    gp_options *o = NULL;
    ASSERT_OK(gp_options_new("train", &o, err));
    if (key) ASSERT_OK(gp_options_set(o, key, value, err));
    return o;
}

static gp_train_options request_with(const char *key, const char *value)
{
    gp_options *o = train_with(key, value);
    const gp_train_options t = gp_request_train(o);
    gp_options_free(o);
    return t;
}

static void every_number_arrives(void **state)
{
    (void)state;
    assert_int_equal(request_with("inducing", "37").m, 37);
    assert_int_equal(request_with("components", "3").components, 3);
    assert_int_equal(request_with("components", "auto").components, 0);
    assert_int_equal(request_with("rank", "9").rank, 9);
    assert_int_equal(request_with("rank", "full").rank, 0);
    assert_int_equal(request_with("groups", "5").groups, 5);
    assert_int_equal(request_with("start-rows", "4321").start_rows, 4321);
    assert_int_equal(request_with("batch", "512").schedule.batch, 512);
    assert_true(request_with("epochs", "11").epochs == 11);
    assert_true(request_with("step", "0.25").schedule.natural_rate == 0.25);
    assert_true(request_with("time", "60").seconds == 60 && request_with("time", "inf").seconds == 0);
    assert_int_equal(request_with("patience", "4").patience, 4);
    assert_true(request_with("precision", "mixed").schedule.mixed);
    assert_false(request_with("precision", "double").schedule.mixed);
    assert_false(request_with("optimizer", "prox").schedule.mixed);
    assert_int_equal(request_with("patience", "inf").patience, SIZE_MAX);
    assert_int_equal(request_with("seed", "77").schedule.seed, 77);
    assert_int_equal(request_with("max-delay", "8").schedule.max_delay, 8);
    assert_true(request_with("max-delay", "inf").schedule.max_delay == GP_DELAY_ANY);
    assert_true(request_with("quorum", "0.5").schedule.quorum == 0.5 &&
                request_with("quorum", "auto").schedule.quorum == -1);
    assert_true(request_with("filter", "0.125").schedule.filter == 0.125);
    assert_true(request_with("checkpoint-every", "7").checkpoint_seconds == 7);
    const gp_train_options asked = request_with("workers", "3"), any = request_with("workers", "auto");
    assert_true(asked.schedule.workers == 3 && asked.workers_asked && any.schedule.workers >= 1 && !any.workers_asked);
}

static void words_are_the_members_of_their_families(void **state)
{
    (void)state;
    for (size_t i = 0; gp_kernels[i]; i++)
        assert_ptr_equal(request_with("kernel", gp_kernels[i]->name).kernel, gp_kernels[i]);
    for (size_t i = 0; gp_maps[i]; i++) assert_ptr_equal(request_with("map", gp_maps[i]->name).map, gp_maps[i]);
    for (size_t i = 0; gp_rules[i]; i++)
        assert_ptr_equal(request_with("optimizer", gp_rules[i]->name).schedule.rule, gp_rules[i]);
    for (size_t i = 0; gp_methods[i]; i++) {
        gp_options *o = train_with("method", gp_methods[i]->name);
        assert_ptr_equal(gp_request_method(o), gp_methods[i]);
        gp_options_free(o);
    }
    for (gp_trend t = GP_TREND_NONE; t <= GP_TREND_LINEAR; t++)
        assert_int_equal(request_with("trend", gp_trend_name(t)).trend, t);
    assert_int_equal(request_with("start", "random").start, GP_START_RANDOM);
    assert_int_equal(request_with("start", "greedy").start, GP_START_GREEDY);
    assert_int_equal(request_with("start", "kmeans").start, GP_START_KMEANS);
    assert_int_equal(request_with("on-loss", "reassign").schedule.on_loss, GP_LOSS_REASSIGN);
    assert_int_equal(request_with("on-loss", "drop").schedule.on_loss, GP_LOSS_DROP);
    assert_int_equal(request_with("on-loss", "stop").schedule.on_loss, GP_LOSS_STOP);
}

static void what_a_method_does_not_hear_is_refused_by_key(void **state)
{
    (void)state;
    gp_options *o = train_with("method", "linear");
    ASSERT_OK(gp_request_check(o, err)); // defaults are nobody's wish
    ASSERT_OK(gp_options_set(o, "inducing", "20", err));
    ASSERT_FAILS(gp_request_check(o, err), ADVGP_EINVAL, "{inducing} has no meaning for {method} linear");
    gp_options_free(o);
    o = train_with("optimizer", "prox");
    ASSERT_OK(gp_options_set(o, "step", "0.1", err));
    ASSERT_FAILS(gp_request_check(o, err), ADVGP_EINVAL, "{step}");
    gp_options_free(o);
}

static void workers_that_sleep(void **state)
{
    (void)state;
    double *delays = NULL;
    size_t n = 0;
    gp_options *o = train_with("delay-worker", "2:0.5");
    ASSERT_OK(gp_request_delays(o, 3, &delays, &n, err));
    assert_true(n == 3 && delays[0] == 0 && delays[1] == 0 && delays[2] == 0.5);
    gp_free(delays);
    ASSERT_FAILS(gp_request_delays(o, 2, &delays, &n, err), ADVGP_EINVAL, "{delay-worker} names worker 2");
    gp_options_free(o);
}

// What nobody said is as in the model that a training starts from; what somebody said must be.
static void a_start_decides_what_nobody_said(void **state)
{
    (void)state;
    gp_component_spec components[] = {{.kernel = &gp_kernel_matern32, .map = &gp_map_cholesky, .shape = {.m = 6}},
                                      {.kernel = &gp_kernel_matern32, .map = &gp_map_cholesky, .shape = {.m = 5}}};
    gp_schema schema = {.n_directions = 2};
    gp_model model = {.spec = {.n_components = 2, .trend = GP_TREND_CONSTANT}, .schema = &schema};
    snprintf(model.method, sizeof model.method, "advgp");
    model.components = components;
    gp_options *o = train_with("start", "old.safetensors");
    assert_string_equal(gp_request_start(o), "old.safetensors");
    gp_train_options t = gp_request_train(o);
    ASSERT_OK(gp_request_adopt(o, &model, &t, err));
    assert_true(t.m == 11 && t.components == 2 && t.kernel == &gp_kernel_matern32 && t.trend == GP_TREND_CONSTANT);
    ASSERT_OK(gp_options_set(o, "inducing", "12", err));
    t = gp_request_train(o);
    ASSERT_FAILS(gp_request_adopt(o, &model, &t, err), ADVGP_EINVAL, "{inducing} 12: the model of {start}");
    gp_options_free(o);
    static const struct {
        const char *value;
        size_t has;
        const char *words; // NULL: it fits
    } directions[] = {{"auto", 2, NULL}, {"2", 2, NULL},
                      {"none", 0, NULL}, {"none", 2, "{directions} none: the model of {start} old.safetensors has 2"},
                      {"3", 2, "has 2"}, {"1", 0, "has none"}};
    for (size_t i = 0; i < sizeof directions / sizeof *directions; i++) {
        o = train_with("start", "old.safetensors");
        ASSERT_OK(gp_options_set(o, "directions", directions[i].value, err));
        schema.n_directions = directions[i].has;
        t = gp_request_train(o);
        if (directions[i].words)
            ASSERT_FAILS(gp_request_adopt(o, &model, &t, err), ADVGP_EINVAL, directions[i].words);
        else
            ASSERT_OK(gp_request_adopt(o, &model, &t, err));
        gp_options_free(o);
    }
    o = train_with("start", "greedy");
    assert_null(gp_request_start(o));
    gp_options_free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_arrives),
        cmocka_unit_test(words_are_the_members_of_their_families),
        cmocka_unit_test(what_a_method_does_not_hear_is_refused_by_key),
        cmocka_unit_test(workers_that_sleep),
        cmocka_unit_test(a_start_decides_what_nobody_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
