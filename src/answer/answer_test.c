// answer_test.c: a model's answers about the rows of a source: one a row, in order, the same from a file as from a
// packed folder; what the source lacks is named.
#include "answer/answer.h"
#include "api/whole_training.h"
#include "base/text.h"
#include "load/load.h"
#include "load/options_test.h"

#include <math.h>

enum { N = 300 };

static char table[256], other[256], packed[256]; // paths
static gp_model *model;

static double target_of(size_t i)
{
    return 1 + 2 * (double)(i * 7 % N);
}

static void write_rows(const char *name, const char *columns)
{
    gp_buffer text = {0};
    gp_buffer_add(&text, "%s\n", columns);
    for (size_t i = 0; i < N; i++) gp_buffer_add(&text, "%zu,%zu,%.1f\n", i % 5, i * 7 % N, target_of(i));
    write_file(name, text.p, text.n);
    gp_buffer_fini(&text);
}

// A line, which linear regression knows exactly.
static int prepare(void **state)
{
    if (enter_folder(state) != 0) return 1;
    write_rows("rows.csv", "z,x,y");
    write_rows("other.csv", "z,w,y");
    snprintf(table, sizeof table, "%s", in_folder("rows.csv"));
    snprintf(other, sizeof other, "%s", in_folder("other.csv"));
    snprintf(packed, sizeof packed, "%s", in_folder("packed"));
    const char *const operands[] = {table};
    const char *const train[][2] = {
        {"target", "y"}, {"method", "linear"}, {"output", "line.safetensors"}, {NULL, NULL}};
    gp_options *o = options_of("train", operands, 1, train);
    ASSERT_OK(gp_training(&(gp_training_job){.options = o}, NULL, err));
    gp_options_free(o);
    ASSERT_OK(gp_model_load(in_folder("line.safetensors"), &model, err));
    return 0;
}

static int leave(void **state)
{
    gp_model_free(model);
    return leave_folder(state);
}

// All answers, in the target's own units.
static size_t means_of(const char *path, gp_encode_mode mode, bool mean_only, double *means)
{
    const char *const operands[] = {in_folder("line.safetensors"), path};
    const char *const none[][2] = {{NULL, NULL}};
    gp_options *o = options_of("predict", operands, 2, none);
    gp_model_data data;
    gp_answers *a = NULL;
    gp_answer_block block = {0};
    size_t n = 0;
    ASSERT_OK(gp_model_data_init(o, NULL, &data, err));
    ASSERT_OK(gp_answers_open(model, (gp_answer_input){.files = &data.files}, mode, mean_only, &a, err));
    do {
        ASSERT_OK(gp_answers_next(a, &block, err));
        if (!block.chunk) break;
        assert_true(mean_only ? !block.var_y : block.var_y != NULL);
        for (size_t i = 0; i < block.rows.n; i++, n++) {
            assert_true(n < N && isfinite(block.mean[i]) && (mean_only || block.var_y[i] >= block.var_f[i]));
            means[n] = model->schema->y_mean + model->schema->y_scale * block.mean[i];
        }
    } while (true);
    ASSERT_OK(gp_answers_notes(a, err));
    gp_answers_close(a);
    gp_model_data_fini(&data);
    gp_options_free(o);
    return n;
}

static void a_row_for_a_row_in_order(void **state)
{
    (void)state;
    double means[N], alone[N];
    assert_int_equal(means_of(table, GP_ENCODE_PREDICT, false, means), N);
    for (size_t i = 0; i < N; i++) assert_true(fabs(means[i] - target_of(i)) < 1e-6 * N);
    assert_int_equal(means_of(table, GP_ENCODE_PREDICT, true, alone), N);
    assert_memory_equal(means, alone, sizeof means);
}

static void a_packed_folder_has_the_answers_of_its_table(void **state)
{
    (void)state;
    const char *const operands[] = {table};
    const char *const pairs[][2] = {{"target", "y"}, {"values", "float64"}, {NULL, NULL}};
    gp_options *pack = options_of("pack", operands, 1, pairs);
    gp_notes notes = {0};
    size_t n = 0;
    ASSERT_OK(gp_options_set(pack, "output", packed, err));
    ASSERT_OK(gp_load_pack(pack, NULL, &notes, &n, err));
    double from_file[N], from_pack[N], sum[2] = {0};
    assert_int_equal(means_of(table, GP_ENCODE_EVALUATE, false, from_file), N);
    assert_int_equal(means_of(packed, GP_ENCODE_EVALUATE, false, from_pack), N);
    for (size_t i = 0; i < N; i++) sum[0] += from_file[i], sum[1] += from_pack[i]; // in another order
    assert_true(fabs(sum[0] - sum[1]) < 1e-6 * fabs(sum[0]));
    gp_notes_fini(&notes);
    gp_options_free(pack);
}

static void a_column_that_is_not_there_is_named(void **state)
{
    (void)state;
    const char *const paths[] = {other};
    const gp_file_options files = {.paths = paths, .n_paths = 1};
    gp_answers *a = NULL;
    ASSERT_FAILS(gp_answers_open(model, (gp_answer_input){.files = &files}, GP_ENCODE_PREDICT, false, &a, err),
                 ADVGP_EDATA, "'x'");
    gp_answers_close(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_for_a_row_in_order),
        cmocka_unit_test(a_packed_folder_has_the_answers_of_its_table),
        cmocka_unit_test(a_column_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, prepare, leave);
}
