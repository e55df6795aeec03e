// query_test.c: which queries are run, which file is which of their tables, and what a query makes of files that do not
// have the target yet.
#include "data/notes.h"
#include "data/table_test.h"
#include "files/files.h"

#include <math.h>

static const char *const unknown[] = {"y"};

// Opens a stored query over the files and gives how many rows and columns it has; *first is the number in column 0 of
// row 0.
static advgp_status stored(const char *sql, const char *const *paths, const char *const *names, size_t n,
                           gp_notes *notes, size_t *n_rows, double *first, advgp_error *err)
{
    const gp_file_options options = {.paths = paths,
                                     .n_paths = n,
                                     .names = names,
                                     .sql = sql,
                                     .stored = true,
                                     .unknown = unknown,
                                     .n_unknown = 1,
                                     .in_order = true};
    gp_source *source = NULL;
    const gp_chunk *chunk = NULL;
    *n_rows = 0, *first = NAN;
    advgp_status st = gp_source_files_open(&options, notes, &source, err);
    while (st == ADVGP_OK && (st = gp_source_next(source, &chunk, err)) == ADVGP_OK && chunk) {
        if (!*n_rows && chunk->columns[0].number) *first = chunk->columns[0].number[0];
        *n_rows += chunk->n_rows;
    }
    gp_source_free(source);
    return st;
}

static advgp_status one(const char *sql, const char *path, size_t *n_rows, advgp_error *err)
{
    double first;
    return stored(sql, &path, NULL, 1, NULL, n_rows, &first, err);
}

static void what_is_no_query_over_the_files_is_not_run(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"SELECT * FROM t; SELECT 1", "one SELECT"},
        {"COPY t TO 'x'", "one SELECT"},
        {"SET threads = 4", "one SELECT"},
        {"EXPLAIN SELECT 1", "one SELECT"},
        {"", "one SELECT"},
        {"SELECT * FROM t WHERE (", "syntax error"},
        {"SELECT * FROM read_text('x')", "may not call read_text()"},
        {"SELECT * FROM t WHERE a IN (SELECT content FROM READ_TEXT('x'))", "may not call"},
        {"WITH x AS (SELECT * FROM glob('*')) SELECT * FROM t, x", "may not call glob()"},
        {"SELECT * FROM enable_logging()", "may not call"},
        {"SELECT * FROM system.main.range(3)", "may not call"},
        {"SELECT * FROM information_schema.tables", "no schema 'information_schema'"},
    };
    const char *path = write_text("t.csv", "a,y\n1,2\n3,4\n");
    size_t n;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ASSERT_FAILS(one(cases[i][0], path, &n, err), ADVGP_EINVAL, cases[i][1]);
    static const char *const good[] = {
        "FROM t",
        "SELECT a, y FROM t -- the end",
        "WITH u AS (SELECT * FROM t) SELECT * FROM u",
        "WITH RECURSIVE u(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM u WHERE n < 2) SELECT t.* FROM t, u WHERE n = 1",
        "SELECT t.* FROM t, range(1)",
        "SELECT a, 18446744073709551615 AS big, y FROM t",
        "SELECT a, list_transform([a], lambda x: x + 1)[1] AS b FROM t QUALIFY row_number() OVER () > 0"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ASSERT_OK(one(good[i], path, &n, err));
        assert_int_equal(n, 2);
    }
}

// What people write: every kind of function that the list is there for.
static void a_query_may_call_what_computes(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "-a + a - a * a / 2 // 1 % 3 ** 2",
        "a::VARCHAR || 'x' LIKE 'x%' AND 'A' ILIKE 'a' AND 'a' SIMILAR TO 'a+' AND 'a' GLOB 'a*' AND NOT 'a' NOT LIKE "
        "'b'",
        "CASE WHEN a IS NULL THEN 1 WHEN a BETWEEN 1 AND 2 THEN coalesce(nullif(a, 1), 2) ELSE ifnull(a, 3) END",
        "if(a IN (1, 2), greatest(a, 1), least(a, 2)) + round(sqrt(abs(ln(exp(a)))), 2) + pi() + atan2(a, 1) + "
        "log10(10)",
        "year(strptime('2024-03-05', '%Y-%m-%d')) + date_part('dow', DATE '2024-03-05') + extract(hour FROM now())",
        "date_diff('day', DATE '2024-03-01', current_date) + epoch(TIMESTAMP '2024-03-01' + INTERVAL 3 DAY)",
        "date_trunc('month', make_date(2024, 3, 5)) AT TIME ZONE 'UTC'",
        "regexp_extract('a12', '[0-9]+')::INT + length(trim(upper(substring('abc' FROM 2)))) + position('b' IN 'abc')",
        "split_part(replace('a-b', '-', ','), ',', 2) || lpad('1', 3, '0') || format('{}', a) || string_split('a b', ' "
        "')[1]",
        "list_sum(list_transform([a, 2], lambda x: x + 1)) + len([x * 2 FOR x IN [1, 2] IF x > 1]) + list_max([1, 2])",
        "({'k': a}).k + map {'k': 1}['k'] + json_extract('{\"k\": 1}', '$.k')::INT + ('{\"k\": 1}'::JSON ->> 'k')::INT",
        "sum(a) OVER (ORDER BY y ROWS 2 PRECEDING) + lag(a, 1, 0) OVER () + row_number() OVER () + ntile(2) OVER ()",
        "avg(a) OVER () + stddev(a) OVER () + median(a) OVER () + count(*) OVER () + quantile_cont(a, 0.5) OVER ()",
        "(SELECT max(y) + min(y) + count(DISTINCT a) + arg_max(a, y) FROM t) + try_cast('x' AS INT) + hash(a) % 2",
        "md5(a::VARCHAR) || typeof(a) || strftime(DATE '2024-03-05', '%A') || (a::VARCHAR)[1:2] || (random() < "
        "2)::VARCHAR",
    };
    const char *path = write_text("t.csv", "a,y\n1,2\n3,4\n");
    size_t n;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char sql[512];
        snprintf(sql, sizeof sql, "SELECT a, %s AS b, y FROM t", parts[i]);
        ASSERT_OK(one(sql, path, &n, err));
        assert_int_equal(n, 2);
    }
    ASSERT_OK(one("SELECT t.current_user AS a, y FROM (SELECT a AS current_user, y FROM t) t", path, &n, err));
    ASSERT_OK(one("SELECT user AS a, y FROM (SELECT a AS user, y FROM t)", path, &n, err)); // a column, or nothing
    ASSERT_FAILS(one("SELECT a, user, y FROM t", path, &n, err), ADVGP_EINVAL, "there is no column 'user'");
    ASSERT_FAILS(one("SELECT a, y FROM t WHERE USER = 'duckdb'", path, &n, err), ADVGP_EINVAL, "no column 'user'");
    ASSERT_FAILS(one("SELECT current_setting('threads') AS a, y FROM t", path, &n, err), ADVGP_EINVAL,
                 "may not call current_setting()");
    ASSERT_FAILS(one("SELECT t.* FROM t, (SHOW ALL TABLES)", path, &n, err), ADVGP_EINVAL, "DESCRIBE");
}

static void files_are_the_tables_of_a_stored_query_by_name_then_by_place(void **state)
{
    (void)state;
    const char *sql = "SELECT t.a + p.b AS x, y FROM trips t JOIN places p USING (id)";
    write_text("trips.csv", "id,a,y\n1,10,0\n2,20,0\n");
    write_text("places.csv", "id,b\n1,1\n2,2\n");
    write_text("new.csv", "id,a,y\n1,30,0\n");
    write_text("other.csv", "id,b\n1,5\n");
    size_t n;
    double first;
    gp_notes notes = {0};
    const char *by_name[] = {in_folder("places.csv"), in_folder("trips.csv")};
    ASSERT_OK(stored(sql, by_name, NULL, 2, &notes, &n, &first, err));
    assert_true(n == 2 && first == 11 && notes.n == 0);
    const char *mixed[] = {in_folder("places.csv"), in_folder("new.csv")};
    ASSERT_OK(stored(sql, mixed, NULL, 2, &notes, &n, &first, err));
    assert_true(n == 1 && first == 31 && notes.n == 1);
    assert_non_null(strstr(notes.items[0].text, "new.csv is the table 'trips'"));
    gp_notes_fini(&notes);
    const char *by_place[] = {in_folder("new.csv"), in_folder("other.csv")};
    ASSERT_OK(stored(sql, by_place, NULL, 2, NULL, &n, &first, err));
    assert_true(n == 1 && first == 35);
    const char *turned[] = {in_folder("other.csv"), in_folder("new.csv")}, *names[] = {"PLACES", NULL};
    ASSERT_OK(stored(sql, turned, names, 2, NULL, &n, &first, err));
    assert_true(n == 1 && first == 35);
    ASSERT_FAILS(stored(sql, by_place, NULL, 1, NULL, &n, &first, err), ADVGP_EDATA, "'trips', 'places'");
    ASSERT_FAILS(one("SELECT * FROM a, b, c", in_folder("new.csv"), &n, err), ADVGP_EDATA, "name a file for each");
    ASSERT_FAILS(stored("SELECT * FROM trips", by_place, NULL, 2, NULL, &n, &first, err), ADVGP_EDATA, "more files");
    names[0] = "place";
    ASSERT_FAILS(stored(sql, turned, names, 2, NULL, &n, &first, err), ADVGP_EINVAL, "{table} place");
}

static void a_target_that_no_file_has_is_null(void **state)
{
    (void)state;
    static const char *const queries[] = {
        "SELECT a, y FROM t",
        "SELECT a, Y FROM t",
        "SELECT * FROM t",
        "SELECT a, fare * 2 AS y FROM t",
        "SELECT *, fare * 2 AS y FROM t",
        "SELECT a, log(t.y) AS y FROM t",
        "SELECT * REPLACE (log(y) AS y) FROM t",
        "SELECT a, y FROM (SELECT a, fare - tip AS y FROM t)",
        "SELECT a, y FROM (SELECT *, fare AS y FROM t)",
        "WITH u AS (SELECT a, fare FROM t) SELECT a, fare AS y FROM u",
        "SELECT a, y FROM t WHERE y IS NOT NULL",
        "SELECT a, y FROM t WHERE y > 3 AND a > 0 AND t.y < 9",
        "SELECT a, y FROM t WHERE a > 0 AND (y > 3 OR y < 0)",
        "SELECT s.a, s.y FROM t s JOIN t r ON s.a = r.a WHERE s.y IS NOT NULL",
        "SELECT a, y::DOUBLE AS y FROM t ORDER BY y NULLS LAST",
        "SELECT a, fare - tip AS y FROM t WHERE y > 0",
        "SELECT a, y FROM (SELECT a, fare - tip AS y FROM t) WHERE y > 0 AND a > 0",
        "SELECT a, fare2 AS y FROM (SELECT a, fare - tip AS net, net * 2 AS fare2 FROM t) WHERE fare2 > 0",
        "WITH u AS (SELECT *, y * 2 AS twice FROM t), v AS (SELECT a, twice FROM u) SELECT a, twice AS y FROM v",
        "SELECT a, avg(y) AS y FROM t GROUP BY a HAVING avg(y) > 1 AND count(*) > 0",
        "SELECT a, y FROM t QUALIFY rank() OVER (ORDER BY y) > 1",
    };
    const char *path = write_text("rows.csv", "a,b\n1,2\n3,4\n");
    size_t n;
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        ASSERT_OK(one(queries[i], path, &n, err));
        if (n != 2) fail_msg("%zu rows of: %s", n, queries[i]);
    }
    ASSERT_FAILS(one("SELECT c, y FROM t", path, &n, err), ADVGP_EINVAL, "c"); // an input is no target
    ASSERT_FAILS(one("SELECT c, c * 2 AS y FROM t", path, &n, err), ADVGP_EINVAL, "c");
    ASSERT_FAILS(one("SELECT a, y FROM t WHERE c > 1", path, &n, err), ADVGP_EINVAL, "c");
    const gp_file_options own = {.paths = &path, .n_paths = 1, .sql = "SELECT a, y FROM rows"};
    gp_source *source = NULL;
    ASSERT_FAILS(gp_source_files_open(&own, NULL, &source, err), ADVGP_EINVAL, "y");
}

static void rows_keep_the_order_of_the_first_table(void **state)
{
    (void)state;
    const char *paths[] = {in_folder("small.csv"), in_folder("large.csv")};
    FILE *small = fopen(paths[0], "wb"), *large = fopen(paths[1], "wb");
    fputs("row,id\n", small);
    fputs("id,v\n", large);
    for (int i = 0; i < 500; i++) fprintf(small, "%d,%d\n", i, 7919 * i % 5003);
    for (int i = 0; i < 20000; i++) fprintf(large, "%d,%d\n", 17 * i % 20011, i);
    fclose(small);
    fclose(large);
    static const char *const queries[] = {"SELECT \"row\", v FROM small JOIN large USING (id)",
                                          "SELECT \"row\", v FROM small LEFT JOIN large USING (id)",
                                          "SELECT \"row\", v FROM small s, large l WHERE s.id = l.id"};
    for (size_t i = 0; i < 3; i++) {
        const gp_file_options options = {
            .paths = paths, .n_paths = 2, .sql = queries[i], .stored = true, .in_order = true};
        gp_source *source = NULL;
        const gp_chunk *chunk;
        double last = -1;
        ASSERT_OK(gp_source_files_open(&options, NULL, &source, err));
        for (;;) {
            ASSERT_OK(gp_source_next(source, &chunk, err));
            if (!chunk) break;
            for (size_t k = 0; k < chunk->n_rows; k++) {
                if (!(chunk->columns[0].number[k] > last)) fail_msg("row %zu is out of order: %s", k, queries[i]);
                last = chunk->columns[0].number[k];
            }
        }
        size_t n;
        const char *shown;
        ASSERT_OK(gp_files_first_table(source, &n, &shown, err));
        assert_int_equal(n, 500);
        assert_string_equal(shown, paths[0]);
        gp_source_free(source);
    }
}

static int stop_at_the_hundredth(void *ctx)
{
    return ++*(int *)ctx > 100;
}

// Nothing comes of it for hours.
static void a_long_query_can_be_stopped_before_its_first_row(void **state)
{
    (void)state;
    const char *path = write_text("short.csv", "a,y\n1,2\n");
    int asked = 0;
    const gp_file_options options = {.paths = &path,
                                     .n_paths = 1,
                                     .sql = "SELECT a, sum(range) AS y FROM short, range(100000000000) GROUP BY a",
                                     .stop = stop_at_the_hundredth,
                                     .stop_ctx = &asked};
    gp_source *source = NULL;
    const gp_chunk *chunk = NULL;
    ASSERT_OK(gp_source_files_open(&options, NULL, &source, err));
    ASSERT_FAILS(gp_source_next(source, &chunk, err), ADVGP_ESTOPPED, "stopped while reading");
    gp_source_free(source);
}

static void failing_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    const char *path = write_text("few.csv", "a,b\n1,2\n3,4\n");
    advgp_status st = ADVGP_ENOMEM;
    size_t n;
    for (long k = 0; st != ADVGP_OK && k < 2000; k += 1 + k / 8) {
        advgp_error err;
        gp_alloc_fail_after(k);
        st = one("WITH u AS (SELECT * FROM t) SELECT a, y FROM u WHERE y > 1", path, &n, &err);
        gp_alloc_fail_after(-1);
        if (st != ADVGP_OK && st != ADVGP_ENOMEM) fail_msg("allocation %ld: %s", k, err.text);
    }
    assert_int_equal(st, ADVGP_OK);
}

static void json_deeper_than_any_table_is_refused(void **state)
{
    (void)state;
    static const size_t depths[] = {90, 101, 200000};
    static char text[1 << 19];
    for (size_t i = 0; i < 3; i++) {
        size_t n = (size_t)sprintf(text, "{\"a\": 1, \"b\": \"[[[\\\"{\"}\n{\"a\": 2, \"b\": "), rows;
        memset(text + n, '[', depths[i]);
        memset(text + n + depths[i], ']', depths[i]);
        n += 2 * depths[i];
        n += (size_t)sprintf(text + n, "}\n");
        const char *path = write_file("deep.jsonl", text, n);
        if (i == 0)
            ASSERT_OK(one("SELECT * FROM t", path, &rows, err));
        else
            ASSERT_FAILS(one("SELECT * FROM t", path, &rows, err), ADVGP_EDATA, "deep.jsonl, row 2: a value nested");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_query_over_the_files_is_not_run),
        cmocka_unit_test(a_query_may_call_what_computes),
        cmocka_unit_test(files_are_the_tables_of_a_stored_query_by_name_then_by_place),
        cmocka_unit_test(a_target_that_no_file_has_is_null),
        cmocka_unit_test(rows_keep_the_order_of_the_first_table),
        cmocka_unit_test(a_long_query_can_be_stopped_before_its_first_row),
        cmocka_unit_test(failing_memory_leaves_nothing_behind),
        cmocka_unit_test(json_deeper_than_any_table_is_refused),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
