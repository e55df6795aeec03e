// real_test.c: real tables, where ../shared/data (seen from the project's root) is there; elsewhere each test says that
// it is skipped.
#include "data/encode.h"
#include "data/encoding.h"
#include "data/table_test.h"
#include "files/files.h"
#include "shards/packed.h"

#include <math.h>

static gp_source *open_real(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "../shared/data/%s", name);
    if (access(path, R_OK) != 0) {
        print_message("%s is not here: skipped\n", path);
        skip();
    }
    const char *paths[] = {path};
    gp_source *source = NULL;
    ASSERT_OK(gp_source_files_open(&(gp_file_options){.paths = paths, .n_paths = 1}, NULL, &source, err));
    return source;
}

static gp_schema *fit(gp_source *source, const char *target, gp_split *split, gp_notes *notes)
{
    gp_schema *schema = NULL;
    gp_schema_options o = {.target = target};
    ASSERT_OK(gp_split_parse("0.05", 1, split, err));
    ASSERT_OK(gp_schema_fit(source, &o, split, notes, NULL, NULL, &schema, err));
    return schema;
}

// The same rows as gzipped CSV and as Parquet must give the same schema.
static void flights_are_the_same_in_both_forms(void **state)
{
    (void)state;
    gp_source *csv = open_real("flights2008/test.csv.gz"), *parquet = open_real("flights2008/test.parquet");
    gp_split split;
    gp_schema *a = fit(csv, "delay", &split, NULL), *b = fit(parquet, "delay", &split, NULL);
    assert_int_equal(a->n_rows, 100000);
    assert_int_equal(a->d, 8);
    assert_int_equal(b->d, 8);
    for (size_t j = 0; j < 8; j++) {
        assert_string_equal(a->x_names[j], b->x_names[j]);
        assert_true(a->x_mean[j] == b->x_mean[j] && a->x_scale[j] == b->x_scale[j]);
    }
    assert_true(a->y_mean == b->y_mean);
    assert_true(fabs(a->y_scale - 39.5) < 2);
    gp_schema_free(a);
    gp_schema_free(b);
    gp_source_free(csv);
    gp_source_free(parquet);
}

static void flights_are_packed_without_losing_a_row(void **state)
{
    (void)state;
    gp_source *source = open_real("flights2008/test.parquet");
    gp_split split;
    gp_schema *schema = fit(source, "delay", &split, NULL);
    gp_shards *shards = NULL;
    ASSERT_OK(gp_pack(source, schema, &split, &(gp_pack_options){.dir = in_folder("flights"), .seed = 1}, NULL, NULL,
                      NULL, err));
    ASSERT_OK(gp_packed_open(in_folder("flights"), &shards, NULL, NULL, err));
    assert_int_equal(shards->n_train, 64);
    size_t held = gp_shards_rows(shards, GP_STOP) + gp_shards_rows(shards, GP_CALIBRATE);
    assert_int_equal(gp_shards_rows(shards, GP_TRAIN) + held, 100000);
    assert_in_range(held, 4700, 5300);
    gp_shards_free(shards);
    gp_schema_free(schema);
    gp_source_free(source);
}

static void weekly_dates_become_days_and_days_of_the_year(void **state)
{
    (void)state;
    gp_source *source = open_real("co2/train.csv");
    gp_split split;
    gp_schema *schema = fit(source, "co2", &split, NULL);
    assert_ptr_equal(schema->inputs[0].encoding, &gp_encoding_time);
    assert_string_equal(schema->x_names[0], "date (days)");
    assert_string_equal(schema->x_names[1], "date (day of year)");
    gp_schema_free(schema);
    gp_source_free(source);
}

static void every_small_table_is_understood(void **state)
{
    (void)state;
    static const struct {
        const char *file, *target;
        size_t rows, inputs;
    } tables[] = {{"boston/train.csv", "medv", 405, 13},
                  {"concrete/train.csv", "compressive_strength", 824, 8},
                  {"airfoil/train.csv", "y", 1353, 5},
                  {"kin40k/train.csv.gz", "y", 36000, 8},
                  {"nyctaxi/test.csv.gz", "duration", 10000, 9}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        gp_source *source = open_real(tables[i].file);
        gp_split split;
        gp_schema *schema = fit(source, tables[i].target, &split, NULL);
        assert_int_equal(schema->n_rows, tables[i].rows);
        assert_int_equal(schema->n_inputs, tables[i].inputs);
        gp_schema_free(schema);
        gp_source_free(source);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flights_are_the_same_in_both_forms),
        cmocka_unit_test(flights_are_packed_without_losing_a_row),
        cmocka_unit_test(weekly_dates_become_days_and_days_of_the_year),
        cmocka_unit_test(every_small_table_is_understood),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
