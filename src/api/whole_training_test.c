// whole_training_test.c: what the program does with options, done by another caller: a training with its log, the same
// run again from that log, its figures from evaluate, and a comparison. Nothing is printed.
#include "answer/evaluate.h"
#include "api/comparison.h"
#include "api/logged_run.h"
#include "api/record.h"
#include "api/whole_training.h"
#include "base/rng.h"
#include "base/text.h"
#include "load/options_test.h"

#include <math.h>

static void write_rows(const char *name, size_t n, uint64_t seed)
{
    gp_buffer text = {0};
    gp_rng rng = gp_rng_seeded(seed, 0);
    gp_buffer_add(&text, "x,z,y\n");
    for (size_t i = 0; i < n; i++) {
        const double x = 6 * gp_rng_uniform(&rng), z = gp_rng_uniform(&rng);
        gp_buffer_add(&text, "%.6f,%.6f,%.6f\n", x, z, sin(x) + z + 0.1 * gp_rng_uniform(&rng));
    }
    write_file(name, text.p, text.n);
    gp_buffer_fini(&text);
}

static char table[256], test[256]; // paths

typedef struct seen {
    size_t begins, evals, sentences, notes;
    size_t of_linear; // notes that linear regression is as good
    gp_train_result result;
} seen;

static void on_report(void *ctx, const char *text)
{
    seen *s = ctx;
    s->sentences++;
    s->notes += strncmp(text, "note: ", 6) == 0;
    s->of_linear += strstr(text, "linear regression is as good") != NULL;
}

static void on_begin(void *ctx, const gp_train_plan *plan)
{
    seen *s = ctx;
    s->begins += plan->m == 8;
}

static void on_eval(void *ctx, const gp_train_eval *eval)
{
    seen *s = ctx;
    s->evals += eval->version > 0;
}

static advgp_status on_made(void *ctx, const gp_training_made *made, advgp_error *err)
{
    seen *s = ctx;
    (void)err;
    assert_int_equal(access(made->path, R_OK), 0); // before anybody hears of it
    s->result = *made->result;
    return ADVGP_OK;
}

static int stop_at_once(void *ctx)
{
    (void)ctx;
    return 1;
}

static gp_options *training_options(const char *model)
{
    const char *const operands[] = {table};
    const char *const pairs[][2] = {{"target", "y"},      {"output", model}, {"inducing", "8"}, {"components", "1"},
                                    {"epochs", "5"},      {"batch", "100"},  {"workers", "1"},  {"log", "run.jsonl"},
                                    {"test", "test.csv"}, {NULL, NULL}};
    return options_of("train", operands, 1, pairs);
}

static void a_caller_trains_replays_and_evaluates(void **state)
{
    (void)state;
    seen s = {0};
    uint64_t bits = 0, again = 0;
    const gp_host host = {.ctx = &s, .report = on_report, .begin = on_begin, .eval = on_eval, .made = on_made};
    gp_options *train = training_options("a.safetensors");
    ASSERT_OK(gp_training(&(gp_training_job){.options = train, .host = &host}, &bits, err));
    gp_options_free(train);
    assert_true(s.begins == 1 && s.evals > 0 && s.sentences > 0 && bits != 0);
    assert_int_equal(access(in_folder("a.safetensors.checkpoint"), F_OK), -1); // it has come to its end

    // Its log gives the same bits.
    const char *const log[] = {in_folder("run.jsonl")};
    const char *const output[][2] = {{"output", "b.safetensors"}, {NULL, NULL}};
    gp_options *replay = options_of("replay", log, 1, output), *logged = NULL;
    gp_logged_run *run = NULL;
    const gp_replay_feed *feed = NULL;
    ASSERT_OK(gp_logged_run_open(log[0], &host, &run, err));
    ASSERT_OK(gp_logged_run_options(run, replay, &logged, err));
    assert_int_equal(gp_options_int(logged, "inducing"), 8);
    assert_null(gp_options_text(logged, "log")); // the log is not written over
    assert_false(gp_logged_run_was_elsewhere(run));
    ASSERT_OK(gp_logged_run_feed(run, gp_options_text(replay, "output"), &feed, err));
    ASSERT_OK(gp_training(&(gp_training_job){.options = logged, .replay = feed}, &again, err));
    json_t *id = gp_record_id(again);
    assert_string_equal(gp_logged_run_bits(run), json_string_value(id));
    assert_true(again == bits);
    json_decref(id);
    gp_options_free(logged);
    gp_logged_run_close(run);

    // evaluate has the figures that train had of the same rows.
    const char *const both[] = {in_folder("a.safetensors"), test};
    const char *const none[][2] = {{NULL, NULL}};
    gp_options *evaluate = options_of("evaluate", both, 2, none);
    gp_model *model = NULL;
    gp_evaluation e;
    const gp_assessment *b = &s.result.assessment;
    ASSERT_OK(gp_model_load(both[0], &model, err));
    ASSERT_OK(gp_evaluate(model, evaluate, NULL, NULL, &e, err));
    const gp_assessment a = e.all;
    assert_true(fabs(a.crps - b->crps) < 1e-9 && fabs(a.winkler - b->winkler) < 1e-9 && a.crps > 0);
    assert_true(fabs(a.mnlp_calibrated - b->mnlp_calibrated) < 1e-9 && a.n_tenths == b->n_tenths);
    assert_int_equal(a.n_scored, b->n_scored);
    assert_true(b->scored == GP_SCORED_TEST && fabs(a.rmse - b->rmse) < 1e-9 && fabs(a.mnlp - b->mnlp) < 1e-9);
    assert_true(fabs(a.mae - b->mae) < 1e-9 && fabs(a.r2 - b->r2) < 1e-9 && a.r2 > 0.9);
    assert_true(fabs(a.baseline_mean - b->baseline_mean) < 1e-9);
    assert_true(fabs(a.baseline_linear - b->baseline_linear) < 1e-6); // from the model's statistics
    for (size_t l = 0; l < GP_LEVELS; l++) {
        assert_true(fabs(a.coverage[l] - b->coverage[l]) < 1e-9 && fabs(a.width[l] - b->width[l]) < 1e-9);
        assert_true(fabs(a.coverage_gaussian[l] - b->coverage_gaussian[l]) < 1e-9);
        assert_true(a.width[l] > (l ? a.width[l - 1] : 0));
    }
    gp_evaluation_fini(&e);
    gp_model_free(model);
    gp_options_free(evaluate);

    // A file that has changed is not replayed, and no other log is one.
    write_rows("train.csv", 301, 1);
    ASSERT_OK(gp_logged_run_open(log[0], &host, &run, err));
    ASSERT_FAILS(gp_logged_run_options(run, replay, &logged, err), ADVGP_EDATA, "is not the file it was");
    gp_options_free(logged);
    gp_logged_run_close(run);
    ASSERT_FAILS(gp_logged_run_open(write_text("no.jsonl", "{\"advgp\": 1}\n"), &host, &run, err), ADVGP_EFILE,
                 "no.jsonl");
    gp_options_free(replay);
}

static void an_exact_process_knows_the_line_of_its_rows(void **state)
{
    (void)state;
    seen s = {0};
    const char *const operands[] = {table}, *const both[] = {in_folder("exact.safetensors"), test};
    const char *const pairs[][2] = {
        {"target", "y"}, {"method", "exact"}, {"output", "exact.safetensors"}, {"test", "test.csv"}, {NULL, NULL}};
    const char *const none[][2] = {{NULL, NULL}};
    gp_options *train = options_of("train", operands, 1, pairs), *evaluate = options_of("evaluate", both, 2, none);
    const gp_host host = {.ctx = &s, .made = on_made};
    ASSERT_OK(gp_training(&(gp_training_job){.options = train, .host = &host}, NULL, err));
    gp_model *model = NULL;
    gp_evaluation e;
    ASSERT_OK(gp_model_load(both[0], &model, err));
    ASSERT_OK(gp_evaluate(model, evaluate, NULL, NULL, &e, err));
    const double of_training = s.result.assessment.baseline_linear;
    if (!(fabs(e.all.baseline_linear - of_training) < 1e-6 * of_training))
        fail_msg("linear regression: %.9g by its rows, %.9g by the model", of_training, e.all.baseline_linear);
    gp_evaluation_fini(&e);
    gp_model_free(model);
    gp_options_free(train);
    gp_options_free(evaluate);
}

// One inducing input and no trend follow no line; eight and a trend do better than it.
static void who_does_not_beat_the_line_is_told_so(void **state)
{
    (void)state;
    for (size_t good = 0; good < 2; good++) {
        seen s = {0};
        const gp_host host = {.ctx = &s, .report = on_report};
        gp_options *train = training_options(good ? "good.safetensors" : "bad.safetensors");
        ASSERT_OK(gp_options_set(train, "log", in_folder(good ? "good.jsonl" : "bad.jsonl"), err));
        if (!good) ASSERT_OK(gp_options_set(train, "inducing", "1", err));
        if (!good) ASSERT_OK(gp_options_set(train, "trend", "none", err));
        ASSERT_OK(gp_training(&(gp_training_job){.options = train, .host = &host}, NULL, err));
        assert_int_equal(s.of_linear, !good);
        gp_options_free(train);
    }
}

static void a_host_that_stops_gets_a_model_and_the_way_on(void **state)
{
    (void)state;
    const gp_host host = {.stop = stop_at_once};
    gp_options *train = training_options("c.safetensors");
    ASSERT_OK(gp_options_set(train, "log", in_folder("c.jsonl"), err));
    ASSERT_FAILS(gp_training(&(gp_training_job){.options = train, .host = &host}, NULL, err), ADVGP_ESTOPPED, "");
    gp_options_free(train);
}

static void a_comparison_has_a_row_for_each_method(void **state)
{
    (void)state;
    seen s = {0};
    gp_comparison *c = NULL;
    const gp_host host = {.ctx = &s, .report = on_report};
    const char *const operands[] = {table};
    const char *const pairs[][2] = {{"target", "y"}, {"methods", "linear,mean"}, {NULL, NULL}};
    gp_options *o = options_of("compare", operands, 1, pairs);
    ASSERT_OK(gp_comparison_new(o, &host, &(gp_compare_events){0}, &c, err));
    ASSERT_OK(gp_comparison_run(c, err));
    ASSERT_OK(gp_comparison_logged(c, err));
    const json_t *rows = gp_comparison_rows(c);
    assert_int_equal(json_array_size(rows), 2);
    assert_non_null(gp_comparison_first(c));
    assert_true(json_real_value(json_object_get(json_array_get(rows, 0), "rmse")) <
                json_real_value(json_object_get(json_array_get(rows, 1), "rmse")));
    gp_comparison_free(c);
    ASSERT_OK(gp_options_set(o, "methods", "linear,magic", err));
    ASSERT_FAILS(gp_comparison_new(o, &host, &(gp_compare_events){0}, &c, err), ADVGP_EINVAL,
                 "{methods}: there is no 'magic'");
    gp_options_free(o);
}

static int prepare(void **state)
{
    if (enter_folder(state) != 0) return 1;
    write_rows("train.csv", 300, 1);
    write_rows("test.csv", 120, 2);
    snprintf(table, sizeof table, "%s", in_folder("train.csv"));
    snprintf(test, sizeof test, "%s", in_folder("test.csv"));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_caller_trains_replays_and_evaluates),
        cmocka_unit_test(an_exact_process_knows_the_line_of_its_rows),
        cmocka_unit_test(who_does_not_beat_the_line_is_told_so),
        cmocka_unit_test(a_host_that_stops_gets_a_model_and_the_way_on),
        cmocka_unit_test(a_comparison_has_a_row_for_each_method),
    };
    return cmocka_run_group_tests(tests, prepare, leave_folder);
}
