// report_test.c: text that stays text, numbers as people write them, figures that are those of evaluate, samples in
// which every row has the same chance, a page that says when memory ends, and pages of any number there is.
#include "answer/answer.h"
#include "answer/evaluate.h"
#include "api/make_report.h"
#include "api/whole_training.h"
#include "data/encoding.h"
#include "fixture.h"
#include "load/options_test.h"
#include "report/decode.h"
#include "report/html.h"
#include "report/report.h"

#include <math.h>

enum { N = 1200 };
static const char model_file[] = "model.safetensors", log_file[] = "run.jsonl";
static gp_model *model;
static char rows_path[256], model_path[256], forged_path[256];

// ---- text -----------------------------------------------------------------------------------------------------------

static const char *html_of(const char *text)
{
    static gp_buffer out;
    gp_buffer_fini(&out);
    gp_html_text(&out, text);
    return out.p ? out.p : "";
}

static void text_cannot_become_an_element(void **state)
{
    (void)state;
    assert_string_equal(html_of("<script>alert(1)</script>"), "&lt;script&gt;alert(1)&lt;/script&gt;");
    assert_string_equal(html_of("a \"b\" 'c' & d"), "a &quot;b&quot; &#39;c&#39; &amp; d");
    assert_string_equal(html_of("tab\there"), "tab\\there");
    assert_null(strstr(html_of("\xff\xfe<"), "<"));
    assert_string_equal(html_of(""), "");
    gp_buffer none = {0};
    gp_html_text(&none, NULL);
    assert_int_equal(none.n, 0);
}

static void json_cannot_end_its_script(void **state)
{
    (void)state;
    gp_buffer out = {0};
    json_t *value = json_pack("{s:s, s:s}", "</script><script>", "</script>&<!--\u2028\u2029", "n", "\u00e9");
    gp_html_json(&out, value);
    assert_null(strpbrk(out.p, "<>&"));
    assert_null(strstr(out.p, "\u2028"));
    json_t *back = json_loads(out.p, 0, NULL); // and it says the same
    assert_true(json_equal(value, back));
    json_decref(back);
    json_decref(value);
    gp_buffer_fini(&out);

    json_t *name = gp_chart_text("it's \\ \"x\"\u2028\n");
    assert_null(strpbrk(json_string_value(name), "\\\n"));
    assert_null(strstr(json_string_value(name), "\u2028"));
    json_decref(name);
}

static void numbers_are_written_for_people(void **state)
{
    (void)state;
    const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},
                 {3, "3"},
                 {12.5, "12.5"},
                 {0.0821449, "0.08214"},
                 {-0.00001, "-1e-05"},
                 {1234, "1234"},
                 {999.96, "1000"},
                 {10000, "10,000"},
                 {1920, "1920"},
                 {-18452.4, "\u221218,452"},
                 {1234567, "1,234,567"},
                 {3e12, "3e+12"},
                 {NAN, "\u2013"},
                 {-0.0, "0"},
                 {145.63, "145.6"},
                 {INFINITY, "\u2013"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(gp_number_of(cases[i].value).p, cases[i].text);
    assert_string_equal(gp_count_of(1000).p, "1,000");
    assert_string_equal(gp_count_of(999).p, "999");
    assert_string_equal(gp_percent_of(0.8975).p, "89.8\u00a0%");
}

// ---- a model --------------------------------------------------------------------------------------------------------

static int prepare(void **state)
{
    if (enter_folder(state) != 0) return 1;
    gp_rng rng = gp_rng_seeded(11, 0);
    gp_buffer text = {0};
    gp_buffer_add(&text, "x,kind,day,on,y\n");
    for (size_t i = 0; i < N; i++) {
        const double x = 6 * gp_rng_uniform(&rng);
        const size_t kind = gp_rng_below(&rng, 3), day = 1 + gp_rng_below(&rng, 28);
        gp_buffer_add(&text, "%.6f,k%zu,2021-%02zu-%02zu,%s,%.6f\n", x, kind, 1 + i % 12, day, i % 2 ? "true" : "false",
                      sin(x) + (double)kind + 0.2 * gp_rng_normal(&rng));
    }
    write_file("rows.csv", text.p, text.n);
    gp_buffer_fini(&text);
    snprintf(rows_path, sizeof rows_path, "%s", in_folder("rows.csv"));
    snprintf(model_path, sizeof model_path, "%s", in_folder(model_file));
    const char *const operands[] = {rows_path};
    const char *const train[][2] = {{"target", "y"},     {"method", "advgp"},   {"inducing", "15"},
                                    {"components", "1"}, {"epochs", "3"},       {"cells", "none"},
                                    {"workers", "1"},    {"noise", "constant"}, {"output", model_file},
                                    {"log", log_file},   {NULL, NULL}};
    gp_options *o = options_of("train", operands, 1, train);
    ASSERT_OK(gp_training(&(gp_training_job){.options = o}, NULL, err));
    gp_options_free(o);
    ASSERT_OK(gp_model_load(model_path, &model, err));
    return 0;
}

static int leave(void **state)
{
    gp_model_free(model);
    (void)html_of("");
    return leave_folder(state);
}

static void rows_come_back_as_they_were(void **state)
{
    (void)state;
    const gp_schema *s = model->schema;
    const char *const operands[] = {model_path, rows_path}, *const none[][2] = {{NULL, NULL}};
    gp_options *o = options_of("evaluate", operands, 2, none);
    gp_model_data data;
    gp_answers *in = NULL;
    gp_answer_block b;
    ASSERT_OK(gp_model_data_init(o, NULL, &data, err));
    ASSERT_OK(gp_answers_open(model, (gp_answer_input){.files = &data.files}, GP_ENCODE_EVALUATE, false, &in, err));
    ASSERT_OK(gp_answers_next(in, &b, err));
    assert_int_equal(s->n_inputs, 4);
    for (size_t i = 0; i < 50; i++)
        for (size_t k = 0; k < s->n_inputs; k++) {
            const gp_input *input = &s->inputs[k];
            const gp_values *values = &b.chunk->columns[gp_source_find(gp_answers_source(in), input->name)];
            const double value = gp_decode(s, input, b.rows.X + i * b.rows.d);
            gp_buffer text = {0};
            gp_decode_text(input, value, &text);
            if (values->text) { // a category, or a date as the file has it
                assert_int_equal(text.n, values->text[i].n);
                assert_memory_equal(text.p, values->text[i].p, text.n);
            } else {
                CHECK(fabs(value - values->number[i]) <= 1e-6 * (1 + fabs(value)), input->name, "%.17g is %.17g", value,
                      values->number[i]);
            }
            if (input->encoding == &gp_encoding_time) assert_memory_equal(text.p, "2021-", 5);
            gp_buffer_fini(&text);
        }
    gp_answers_close(in);
    gp_model_data_fini(&data);
    gp_options_free(o);
}

// ---- findings -------------------------------------------------------------------------------------------------------

static void figures_are_those_of_evaluate(void **state)
{
    (void)state;
    const char *const operands[] = {model_path, rows_path}, *const none[][2] = {{NULL, NULL}};
    gp_options *o = options_of("evaluate", operands, 2, none);
    gp_evaluation e;
    ASSERT_OK(gp_evaluate(model, o, NULL, NULL, &e, err));

    gp_model_data data;
    gp_answers *in = NULL;
    gp_answer_block b;
    gp_linear line = {0};
    bool has_line = false;
    gp_findings f;
    double worst = 0, shares = 0;
    ASSERT_OK(gp_model_data_init(o, NULL, &data, err));
    ASSERT_OK(gp_answers_open(model, (gp_answer_input){.files = &data.files}, GP_ENCODE_EVALUATE, false, &in, err));
    ASSERT_OK(gp_linear_of_model(model, &line, &has_line, err));
    assert_true(has_line);
    ASSERT_OK(gp_findings_init(&f, model, &line, false, (size_t[]){0, GP_NO_ROW}, 5, err));
    for (;;) {
        ASSERT_OK(gp_answers_next(in, &b, err));
        if (!b.chunk) break;
        for (size_t i = 0; i < b.rows.n; i++) {
            gp_findings_add(&f, b.rows.source_row[i], b.rows.w[i], b.rows.X + i * b.rows.d, b.rows.y[i], b.mean[i],
                            b.var_y[i]);
            worst = fmax(worst, fabs(gp_schema_target(model->schema, b.rows.y[i]) -
                                     gp_predicted_mean(model->schema, b.mean[i], b.var_y[i])));
        }
    }
    gp_findings_end(&f, GP_SCORED_TEST);
    assert_memory_equal(&f.all, &e.all, sizeof f.all);

    // The baselines are the same predictors: a distribution is never better than half of its mean absolute error.
    assert_true(f.linear.crps > f.all.crps && f.mean.crps > f.linear.crps);
    assert_true(f.linear.inside > 0.8 && f.mean.inside > 0.8);
    CHECK_CLOSE(f.all.baseline_linear * f.all.baseline_linear - f.all.rmse * f.all.rmse, f.linear.gain / N, 1e-9,
                "gain");
    for (size_t i = 0; i < GP_PIT_BINS; i++) shares += f.pit[i];
    CHECK_CLOSE(1.0, shares, 1e-12, "PIT");
    // The worst rows: the largest errors there are, in order, each once.
    assert_int_equal(f.n_worst, GP_WORST_ROWS);
    CHECK_CLOSE(worst, fabs(f.worst[0].y - f.worst[0].mean), 1e-12, "the largest error");
    for (size_t i = 1; i < f.n_worst; i++) {
        assert_true(fabs(f.worst[i - 1].y - f.worst[i - 1].mean) >= fabs(f.worst[i].y - f.worst[i].mean));
        for (size_t k = 0; k < i; k++) assert_int_not_equal(f.worst[i].number, f.worst[k].number);
    }
    size_t beyond = 0;
    for (size_t i = 0; i < f.n_sample; i++)
        beyond += fabs(f.sample[i].y - f.sample[i].mean) >
                  fabs(f.worst[GP_WORST_ROWS - 1].y - f.worst[GP_WORST_ROWS - 1].mean);
    assert_int_equal(f.n_sample, N);
    assert_true(beyond < GP_WORST_ROWS);
    gp_findings_fini(&f);
    gp_linear_fini(&line);
    gp_answers_close(in);
    gp_model_data_fini(&data);
    gp_evaluation_fini(&e);
    gp_options_free(o);
}

static void every_row_has_the_same_chance_of_being_drawn(void **state)
{
    (void)state;
    enum { ROWS = 100000, PARTS = 10 };
    gp_findings f;
    size_t drawn[PARTS] = {0}, typical[PARTS] = {0};
    double *x = gp_alloc(model->schema->d, sizeof *x);
    ASSERT_OK(gp_findings_init(&f, model, NULL, false, (size_t[]){GP_NO_ROW, GP_NO_ROW}, 3, err));
    for (size_t i = 0; i < ROWS; i++) {
        x[0] = (double)i;
        gp_findings_add(&f, i, 1, x, 0.1, 0, 1);
    }
    gp_findings_end(&f, GP_SCORED_TEST);
    assert_int_equal(f.n_sample, GP_SAMPLED_ROWS);
    assert_int_equal(f.n_typical, GP_TYPICAL_ROWS);
    for (size_t i = 0; i < f.n_sample; i++) drawn[f.sample[i].number * PARTS / ROWS]++;
    for (size_t i = 0; i < f.n_typical; i++) typical[(size_t)f.typical[i * model->schema->d] * PARTS / ROWS]++;
    for (size_t i = 0; i < PARTS; i++) { // 2000 and 10 are expected; five standard deviations
        CHECK(drawn[i] > 1790 && drawn[i] < 2210, "sample", "%zu of part %zu", drawn[i], i);
        CHECK(typical[i] < 26, "typical", "%zu of part %zu", typical[i], i);
    }
    size_t early = 0; // the order is of chance, too
    for (size_t i = 0; i < 1000; i++) early += f.sample[i].number < ROWS / 2;
    CHECK(early > 420 && early < 580, "order", "%zu of the first half", early);
    gp_free(x);
    gp_findings_fini(&f);
}

// ---- the page -------------------------------------------------------------------------------------------------------

static void without_memory_there_is_no_page_and_nothing_is_lost(void **state)
{
    (void)state;
    const char *const operands[] = {model_path};
    const char *const with[][2] = {{"data", "rows.csv"}, {NULL, NULL}};
    gp_options *o = options_of("report", operands, 1, with);
    gp_report_made made;
    gp_buffer page = {0};
    ASSERT_OK(gp_make_report(o, NULL, &page, &made, err));
    assert_int_equal(made.rows, N);
    assert_int_equal(made.bytes, page.n);
    assert_non_null(strstr(page.p, "</html>"));
    gp_buffer_fini(&page);
    advgp_status st = ADVGP_ENOMEM;
    size_t refused = 0;
    for (long calls = 0; st != ADVGP_OK; calls = calls * 3 / 2 + 1) { // every call would take minutes
        const long live = gp_alloc_count().live;
        page = (gp_buffer){0};
        gp_alloc_fail_after(calls);
        st = gp_make_report(o, NULL, &page, &made, NULL);
        gp_alloc_fail_after(-1);
        gp_buffer_fini(&page);
        refused += st == ADVGP_ENOMEM;
        CHECK(st == ADVGP_OK || st == ADVGP_ENOMEM, "status", "%s after %ld calls", advgp_status_name(st), calls);
        assert_int_equal(gp_alloc_count().live, live);
    }
    assert_true(refused > 10);
    gp_options_free(o);
}

// Numbers that a table may hold, or that a forged model may answer.
static const double hostile[] = {9e307,
                                 -9e307,
                                 1.7976931348623157e308,
                                 -1.7976931348623157e308,
                                 1e200,
                                 5e-324,
                                 -0.0,
                                 1e19,
                                 -1e19,
                                 2147483648.0,
                                 INFINITY,
                                 -INFINITY,
                                 NAN};
enum { N_HOSTILE = sizeof hostile / sizeof *hostile, N_WRITTEN = N_HOSTILE - 3 }; // a file has no infinity

static double one_of(gp_rng *rng, size_t n, double otherwise)
{
    return gp_rng_uniform(rng) < 0.1 ? hostile[gp_rng_below(rng, n)] : otherwise;
}

static void sections_survive_any_number(void **state)
{
    (void)state;
    double *x = gp_alloc(model->schema->d, sizeof *x);
    gp_input_relevance relevance;
    ASSERT_OK(gp_input_relevance_init(&relevance, model, err));
    for (size_t seed = 0; seed < 60; seed++) {
        gp_rng rng = gp_rng_seeded(seed, 0);
        gp_findings f;
        ASSERT_OK(gp_findings_init(&f, model, NULL, false, (size_t[]){0, 1}, seed, err));
        for (size_t i = 0; i < 5 + 10 * seed; i++) {
            for (size_t k = 0; k < model->schema->d; k++) x[k] = one_of(&rng, N_HOSTILE, gp_rng_normal(&rng));
            gp_findings_add(&f, i, 1, x, one_of(&rng, seed % 2 ? N_HOSTILE : N_WRITTEN, gp_rng_normal(&rng)),
                            one_of(&rng, N_HOSTILE, 0), fabs(one_of(&rng, N_HOSTILE, 1)));
        }
        gp_findings_end(&f, GP_SCORED_TEST);
        gp_buffer page = {0};
        const gp_report r = {.model = model,
                             .relevance = &relevance,
                             .findings = &f,
                             .assessment = &f.all,
                             .rows = "rows",
                             .n_rows = f.n_sample};
        ASSERT_OK(gp_section_quality(&r, &page, err));
        ASSERT_OK(gp_section_intervals(&r, &page, err));
        ASSERT_OK(gp_section_errors(&r, &page, err));
        assert_false(page.failed);
        gp_buffer_fini(&page);
        gp_findings_fini(&f);
    }
    gp_input_relevance_fini(&relevance);
    gp_free(x);
}

// The same from a file: whole pages of tables whose targets are at the ends of what a double can say.
static void tables_at_the_ends_of_numbers_have_a_page(void **state)
{
    (void)state;
    const char *const operands[] = {model_path};
    const char *const with[][2] = {{"data", "hostile.csv"}, {NULL, NULL}};
    gp_options *o = options_of("report", operands, 1, with);
    for (size_t seed = 0; seed < 4; seed++) {
        gp_rng rng = gp_rng_seeded(seed, 1);
        gp_buffer text = {0}, page = {0};
        gp_report_made made;
        gp_buffer_add(&text, "x,kind,day,on,y\n");
        for (size_t i = 0; i < 600; i++)
            gp_buffer_add(&text, "%.17g,k%zu,%04zu-01-01,true,%.17g\n", gp_rng_uniform(&rng), i % 4, (size_t)2021,
                          seed < 2 && i % 30 == 0 ? (i % 60 ? 9e307 : -9e307) : one_of(&rng, N_WRITTEN, 1));
        write_file("hostile.csv", text.p, text.n);
        ASSERT_OK(gp_make_report(o, NULL, &page, &made, err));
        assert_non_null(strstr(page.p, "</html>"));
        gp_buffer_fini(&text);
        gp_buffer_fini(&page);
    }
    gp_options_free(o);
}

// ... or sentences, where the model is forged: golden rows and checksums are made anew.
static void forged_models_have_a_page_or_a_sentence(void **state)
{
    (void)state;
    snprintf(forged_path, sizeof forged_path, "%s", in_folder("forged.safetensors"));
    const char *const operands[] = {forged_path};
    const char *const with[][2] = {{"data", "rows.csv"}, {NULL, NULL}};
    gp_options *o = options_of("report", operands, 1, with);
    gp_rng rng = gp_rng_seeded(14, 0);
    size_t n_pages = 0;
    for (size_t i = 0; i < (getenv("ADVGP_LONG") ? 1000 : 60); i++) {
        gp_model *forged = NULL;
        gp_buffer page = {0};
        gp_report_made made;
        advgp_error why = {0};
        ASSERT_OK(gp_model_load(model_path, &forged, err));
        gp_calibration *c = &forged->calibration;
        double *const places[] = {&forged->schema->y_mean,
                                  &forged->schema->y_scale,
                                  forged->schema->x_mean,
                                  forged->schema->x_scale,
                                  &forged->stats.n,
                                  &forged->stats.yy,
                                  &forged->baseline_mean,
                                  &forged->baseline_linear,
                                  c->tails,
                                  c->tails + 1,
                                  c->q + 1,
                                  c->q + GP_CALIBRATION_LEVELS - 2,
                                  forged->theta,
                                  forged->theta + 1 + i % 5,
                                  forged->theta + forged->layout.n_rest};
        for (size_t k = 0; k < 1 + i % 2; k++)
            *places[gp_rng_below(&rng, sizeof places / sizeof *places)] = hostile[gp_rng_below(&rng, N_HOSTILE)];
        if (i % 7 == 0) c->q[GP_CALIBRATION_LEVELS - 2] = c->tails[0] = 1.7e308;
        const advgp_status written = gp_model_save(forged, forged_path, &why);
        gp_model_free(forged);
        if (written != ADVGP_OK) continue;
        const advgp_status st = gp_make_report(o, NULL, &page, &made, &why);
        CHECK(st == ADVGP_OK || ((st == ADVGP_EFILE || st == ADVGP_EDATA || st == ADVGP_ENUMERIC) && why.text[0]),
              "forged model", "%zu: %s", i, advgp_status_name(st));
        if (st == ADVGP_OK) assert_non_null(strstr(page.p, "</html>"));
        n_pages += st == ADVGP_OK;
        gp_buffer_fini(&page);
    }
    assert_true(n_pages > 5);
    gp_options_free(o);
}

// A log with one of its bytes, or of its numbers, forged.
static void forge_log(gp_buffer *out, const char *text, size_t n, gp_rng *rng)
{
    static const char *const words[] = {"null", "-1", "1e308", "-1e308", "1e999", "18446744073709551616", "\"x\"",
                                        "[]",   "{}", "true",  "0",      "[[1]]", "9223372036854775807"};
    size_t at = gp_rng_below(rng, n), end;
    if (gp_rng_below(rng, 4) == 0) { // a byte
        gp_buffer_bytes(out, text, n);
        out->p[at] = (char)gp_rng_below(rng, 256);
        return;
    }
    while (at < n && !(text[at] == ':' || text[at] == '[' || text[at] == ',')) at++; // what stands behind it
    for (end = at + (at < n); end < n && !strchr(",]}\n", text[end]); end++) {}
    gp_buffer_bytes(out, text, at + (at < n));
    gp_buffer_add(out, "%s", words[gp_rng_below(rng, sizeof words / sizeof *words)]);
    gp_buffer_bytes(out, text + end, n - end);
}

static void forged_logs_have_a_page_or_a_sentence(void **state)
{
    (void)state;
    snprintf(forged_path, sizeof forged_path, "%s", in_folder("forged.jsonl"));
    const char *const operands[] = {model_path, forged_path}, *const none[][2] = {{NULL, NULL}};
    gp_options *o = options_of("report", operands, 2, none);
    static char text[1 << 20];
    FILE *log = fopen(in_folder(log_file), "rb");
    assert_non_null(log);
    const size_t n = fread(text, 1, sizeof text, log);
    fclose(log);
    assert_true(n > 1000 && n < sizeof text);
    gp_rng rng = gp_rng_seeded(19, 0);
    size_t n_pages = 0, n_refused = 0;
    for (size_t i = 0; i < (getenv("ADVGP_LONG") ? 1109 : 150); i++) {
        gp_buffer forged = {0}, page = {0};
        gp_report_made made;
        advgp_error why = {0};
        forge_log(&forged, text, n, &rng);
        write_file("forged.jsonl", forged.p, forged.n);
        const advgp_status st = gp_make_report(o, NULL, &page, &made, &why);
        CHECK(st == ADVGP_OK || (st == ADVGP_EFILE && why.text[0]), "forged log", "%zu: %s %s", i,
              advgp_status_name(st), why.text);
        if (st == ADVGP_OK) assert_non_null(strstr(page.p, "</html>"));
        n_pages += st == ADVGP_OK;
        n_refused += st != ADVGP_OK;
        gp_buffer_fini(&forged);
        gp_buffer_fini(&page);
    }
    assert_true(n_pages > 5 && n_refused > 5);
    gp_options_free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_survive_any_number),
        cmocka_unit_test(tables_at_the_ends_of_numbers_have_a_page),
        cmocka_unit_test(forged_models_have_a_page_or_a_sentence),
        cmocka_unit_test(forged_logs_have_a_page_or_a_sentence),
        cmocka_unit_test(text_cannot_become_an_element),
        cmocka_unit_test(json_cannot_end_its_script),
        cmocka_unit_test(numbers_are_written_for_people),
        cmocka_unit_test(rows_come_back_as_they_were),
        cmocka_unit_test(figures_are_those_of_evaluate),
        cmocka_unit_test(every_row_has_the_same_chance_of_being_drawn),
        cmocka_unit_test(without_memory_there_is_no_page_and_nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, prepare, leave);
}
