// source_test.c: the promises of source.h, asked of every member of the table: the same rows twice, missing values, no
// rows, a cut at every chunk size, unwanted columns.
#include "data/source.h"
#include "data/table_test.h"
#include "files/files.h"
#include "shards/packed.h"

#include <math.h>

enum { ROWS_MAX = 5000 };
static double a[ROWS_MAX], y[ROWS_MAX];
static const char *t[ROWS_MAX];

// The same table from every kind: numbers `a` (every 7th missing) and `y`, where the kind can hold them.
static gp_source *open_memory(size_t n, size_t chunk)
{
    gp_source *s = NULL;
    gp_array arrays[] = {
        {.name = "a", .number = a, .stride = 1}, {.name = "t", .text = t}, {.name = "y", .number = y, .stride = 1}};
    ASSERT_OK(gp_source_memory_open(arrays, 3, n, chunk, &s, err));
    return s;
}

static gp_source *open_synthetic(size_t n, size_t chunk)
{
    (void)chunk;
    gp_source *s = NULL;
    ASSERT_OK(gp_source_synthetic_open(n, 3, 42, &s, err));
    return s;
}

static gp_source *open_csv(size_t n, size_t chunk)
{
    (void)chunk;
    const char *path = in_folder("table.csv");
    FILE *f = fopen(path, "w");
    fputs("a,t,y\n", f);
    for (size_t i = 0; i < n; i++) {
        if (isnan(a[i]))
            fprintf(f, ",%s,%.17g\n", t[i] ? t[i] : "", y[i]);
        else
            fprintf(f, "%.17g,%s,%.17g\n", a[i], t[i] ? t[i] : "", y[i]);
    }
    fclose(f);
    gp_source *s = NULL;
    ASSERT_OK(gp_source_files_open(&(gp_file_options){.paths = &path, .n_paths = 1}, NULL, &s, err));
    return s;
}

// Packed data has no zero rows (a schema needs ten) and no missing values (they are encoded).
static gp_source *open_packed(size_t n, size_t chunk)
{
    gp_source *table = open_memory(n, chunk), *s = NULL;
    gp_split split = {.kind = GP_SPLIT_NONE};
    gp_schema *schema = NULL;
    gp_schema_options o = {.target = "y"};
    ASSERT_OK(gp_schema_fit(table, &o, &split, NULL, NULL, NULL, &schema, err));
    ASSERT_OK(gp_pack(table, schema, &split, &(gp_pack_options){.dir = in_folder("packed"), .n_shards = 3}, NULL, NULL,
                      NULL, err));
    ASSERT_OK(gp_source_packed_open(in_folder("packed"), &s, err));
    gp_schema_free(schema);
    gp_source_free(table);
    return s;
}

static const struct {
    const gp_source_ops *ops;
    gp_source *(*open)(size_t n, size_t chunk);
    size_t least_rows;
} kinds[] = {{&gp_source_duckdb, open_csv, 0},
             {&gp_source_memory, open_memory, 0},
             {&gp_source_packed, open_packed, 10},
             {&gp_source_synthetic, open_synthetic, 0}};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

typedef struct summary {
    size_t rows, missing, chunks;
    double digest; // depends on the order of rows
} summary;

static summary read_pass(gp_source *s)
{
    summary out = {0};
    const gp_chunk *chunk;
    for (;;) {
        ASSERT_OK(gp_source_next(s, &chunk, err));
        if (!chunk) break;
        assert_int_equal(chunk->first_row, out.rows);
        assert_true(chunk->n_rows >= 1);
        for (size_t i = 0; i < chunk->n_rows; i++) {
            double sum = 0;
            for (size_t j = 0; j < s->n_columns; j++) {
                const gp_values *v = &chunk->columns[j];
                assert_true(s->wanted[j] ? (s->columns[j].type == GP_TEXT ? v->text != NULL : v->number != NULL)
                                         : !v->text && !v->number);
                if (v->number) {
                    if (isnan(v->number[i]))
                        out.missing++;
                    else
                        sum += v->number[i];
                } else if (v->text) {
                    if (!v->text[i].p)
                        out.missing++;
                    else
                        sum += (double)v->text[i].n;
                }
            }
            out.digest = fmod(out.digest * 1.000001 + sum * (double)(out.rows + i + 1), 1e9);
        }
        out.rows += chunk->n_rows;
        out.chunks++;
    }
    return out;
}

static void every_member_is_tested(void **state)
{
    (void)state;
    size_t n = 0;
    for (const gp_source_ops *const *m = gp_source_family; *m; m++, n++) {
        bool found = false;
        for (size_t k = 0; k < N_KINDS; k++) found = found || kinds[k].ops == *m;
        if (!found) fail_msg("no test opens a source of kind %s", (*m)->name);
    }
    assert_int_equal(n, N_KINDS);
}

static void two_passes_give_the_same_rows(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_KINDS; k++) {
        gp_source *s = kinds[k].open(ROWS_MAX, 0);
        assert_ptr_equal(s->ops, kinds[k].ops);
        summary first = read_pass(s);
        assert_int_equal(first.rows, ROWS_MAX);
        ASSERT_OK(gp_source_rewind(s, err));
        summary second = read_pass(s);
        if (first.digest != second.digest || first.rows != second.rows)
            fail_msg("%s: the second pass differs", s->ops->name);
        const gp_chunk *chunk;
        ASSERT_OK(gp_source_rewind(s, err));
        ASSERT_OK(gp_source_next(s, &chunk, err)); // a pass given up in its middle
        ASSERT_OK(gp_source_rewind(s, err));
        assert_true(read_pass(s).digest == first.digest);
        gp_source_free(s);
    }
}

static void missing_values_stay_missing(void **state)
{
    (void)state;
    gp_source *s = open_memory(ROWS_MAX, 0), *c = open_csv(ROWS_MAX, 0);
    summary m = read_pass(s), f = read_pass(c);
    assert_int_equal(m.missing, ROWS_MAX / 7 + 1 + ROWS_MAX / 11 + 1);
    assert_int_equal(f.missing, m.missing);
    assert_true(fabs(f.digest - m.digest) < 1e-3);
    gp_source_free(s);
    gp_source_free(c);
}

static void no_rows_are_a_table_too(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_KINDS; k++) {
        if (kinds[k].least_rows) continue;
        gp_source *s = kinds[k].open(0, 0);
        assert_true(s->n_columns >= 3);
        assert_int_equal(read_pass(s).rows, 0);
        gp_source_free(s);
    }
}

// Whatever the number of rows, and wherever the chunks end, the rows are the same.
static void a_cut_at_every_size_loses_nothing(void **state)
{
    (void)state;
    gp_source *whole = open_memory(100, 100);
    double digest = read_pass(whole).digest;
    gp_source_free(whole);
    for (size_t chunk = 1; chunk <= 101; chunk++) {
        gp_source *s = open_memory(100, chunk);
        summary got = read_pass(s);
        assert_int_equal(got.chunks, (100 + chunk - 1) / chunk);
        assert_true(got.digest == digest);
        gp_source_free(s);
    }
    static const size_t sizes[] = {1, 2, 1023, 1024, 1025, 2047, 2048, 2049, 4096, 4097};
    for (size_t k = 0; k < N_KINDS; k++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            if (sizes[i] < kinds[k].least_rows) continue;
            gp_source *s = kinds[k].open(sizes[i], 0);
            assert_int_equal(read_pass(s).rows, sizes[i]);
            gp_source_free(s);
        }
}

static void unwanted_columns_are_left_out_of_the_next_pass(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_KINDS; k++) {
        gp_source *s = kinds[k].open(3000, 0);
        s->wanted[0] = false;
        assert_int_equal(read_pass(s).rows, 3000);
        gp_source_free(s);
    }
}

int main(void)
{
    static char names[26][2];
    for (int i = 0; i < 26; i++) names[i][0] = (char)('b' + i % 24);
    for (size_t i = 0; i < ROWS_MAX; i++) {
        a[i] = i % 7 == 0 ? NAN : (double)i / 3;
        y[i] = sin((double)i);
        t[i] = i % 11 == 0 ? NULL : names[i % 24];
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_is_tested),
        cmocka_unit_test(two_passes_give_the_same_rows),
        cmocka_unit_test(missing_values_stay_missing),
        cmocka_unit_test(no_rows_are_a_table_too),
        cmocka_unit_test(a_cut_at_every_size_loses_nothing),
        cmocka_unit_test(unwanted_columns_are_left_out_of_the_next_pass),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
