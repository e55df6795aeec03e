// files_test.c: files as users have them: dialects, encodings, compressions, folders, SQL; and files as they should not
// be, each with its status and the words that lead to the fault.
#include "data/notes.h"
#include "data/table_test.h"
#include "export_table.h"
#include "files/files.h"

#include <glob.h>
#include <math.h>
#include <sys/stat.h>

static advgp_status open_one(const char *path, const char *sql, gp_notes *notes, gp_source **out, advgp_error *err)
{
    return gp_source_files_open(&(gp_file_options){.paths = &path, .n_paths = 1, .sql = sql}, notes, out, err);
}

// Opens and reads to the end: the status of the first thing that fails.
static advgp_status read_all(const char *path, const char *sql, gp_notes *notes, advgp_error *err)
{
    gp_source *source = NULL;
    const gp_chunk *chunk;
    advgp_status st = open_one(path, sql, notes, &source, err);
    while (st == ADVGP_OK) {
        st = gp_source_next(source, &chunk, err);
        if (!chunk) break;
    }
    gp_source_free(source);
    return st;
}

static void expect_row(const char *path, const char *sql, size_t row, const char *column, double number,
                       const char *text)
{
    gp_source *source = NULL;
    const gp_chunk *chunk = NULL;
    ASSERT_OK(open_one(path, sql, NULL, &source, err));
    long i = gp_source_find(source, column);
    if (i < 0) fail_msg("%s: no column %s", path, column);
    do ASSERT_OK(gp_source_next(source, &chunk, err));
    while (chunk && row >= chunk->first_row + chunk->n_rows);
    assert_non_null(chunk);
    const gp_values *v = &chunk->columns[i];
    size_t k = row - chunk->first_row;
    if (text) {
        if (!v->text || v->text[k].n != strlen(text) || memcmp(v->text[k].p, text, v->text[k].n) != 0)
            fail_msg("%s: wanted '%s', got '%.*s'", path, text, v->text ? (int)v->text[k].n : 0,
                     v->text ? v->text[k].p : "");
    } else if (isnan(number)) {
        assert_true(isnan(v->number[k]));
    } else if (!v->number || fabs(v->number[k] - number) > 1e-9 * fabs(number)) {
        fail_msg("%s: wanted %g, got %g", path, number, v->number ? v->number[k] : NAN);
    }
    gp_source_free(source);
}

static void any_delimiter_and_quoting_is_read(void **state)
{
    (void)state;
    expect_row(write_text("a.csv", "x,name,y\n1,\"a, \"\"b\"\"\",3\n2,c,4\n"), NULL, 0, "name", 0, "a, \"b\"");
    expect_row(write_text("a.tsv", "x\tname\ty\n1\ta b\t3\n2\tc\t4\n"), NULL, 1, "y", 4, NULL);
    expect_row(write_text("b.csv", "x|y\n1|3\n2|4\n"), NULL, 1, "y", 4, NULL);
    expect_row(write_text("c.csv", "x;y\n1,5;3\n2,25;4\n"), NULL, 1, "x", 2.25, NULL);
    expect_row(write_text("d.csv", "x y\n1 3\n2 4\n"), NULL, 1, "y", 4, NULL);
    expect_row(write_text("e.csv", "name,y\nO'Brien,3\n'tis,4\n"), NULL, 1, "name", 0, "'tis");
    expect_row(write_text("f.csv", "name,y\r\n\"two\nlines\",3\r\nb,4\r\n"), NULL, 0, "name", 0, "two\nlines");
    expect_row(write_text("g.csv", "x, y \n1,3\n2,4\n"), NULL, 1, "y", 4, NULL);
    expect_row(write_text("h.csv", "sep=;\r\nx;y\r\n1;3\r\n2;4\r\n"), NULL, 1, "y", 4, NULL); // Excel's
    expect_row(write_text("h.csv", "sep=,\n# made\nx,y\n1,3\n2,4\n"), NULL, 1, "y", 4, NULL);
    expect_row(write_text("h.csv", "sep=,\nx,y\n1,3\n# half\n2,4\n"), NULL, 1, "y", 4, NULL);
}

static void lines_may_end_in_two_ways(void **state)
{
    (void)state;
    expect_row(write_text("ends1.csv", "x,y\n1,3\r\n2,4\n"), NULL, 1, "y", 4, NULL);
    expect_row(write_text("ends2.csv", "x,name\r\n1,a\r\n2,b\n3,c\r\n"), NULL, 1, "name", 0, "b");
    const char *path = in_folder("late.csv"); // where the first lines do not show it
    FILE *f = fopen(path, "wb");
    fputs("x,y\r\n", f);
    for (int i = 0; i < 40000; i++) fprintf(f, "%d,%d\r\n", i, 2 * i);
    fputs("7,8.5\n", f);
    fclose(f);
    expect_row(path, NULL, 40000, "y", 8.5, NULL);
    ASSERT_FAILS(read_all(write_text("ends3.csv", "x,y\n1,3\r\n2,4,5\n"), NULL, NULL, err), ADVGP_EDATA, "");
}

static void comment_lines_are_left_out(void **state)
{
    (void)state;
    expect_row(write_text("h.csv", "# made by a program\n# units: m, s\nx,y\n1,3\n2,4\n"), NULL, 1, "y", 4, NULL);
    expect_row(write_text("i.csv", "# it's \"odd\nx,name\n1,apt #5\n2,b\n"), NULL, 0, "name", 0, "apt #5");
    expect_row(write_text("j.csv", "# top\nx,y\n1,3\n# between\n2,4\n"), NULL, 1, "y", 4, NULL);
    expect_row(write_text("k.csv", "#x,y\n1,3\n2,4\n"), NULL, 1, "#x", 2, NULL); // a header that begins with #
    expect_row(write_text("l.csv", "## notes\n#x,y\n1,3\n2,4\n"), NULL, 1, "#x", 2, NULL);
    expect_row(write_text("m.csv", "#\r\n\r\n# more\r\nx,y\r\n1,3\r\n2,4\r\n"), NULL, 1, "y", 4, NULL);
}

static double number_at(const gp_file_options *options, size_t row, const char *column)
{
    gp_source *source = NULL;
    const gp_chunk *chunk = NULL;
    ASSERT_OK(gp_source_files_open(options, NULL, &source, err));
    const long i = gp_source_find(source, column);
    if (i < 0) fail_msg("no column %s", column);
    ASSERT_OK(gp_source_next(source, &chunk, err));
    const double value = chunk->columns[i].number ? chunk->columns[i].number[row] : INFINITY;
    gp_source_free(source);
    return value;
}

static void what_a_file_does_not_show_can_be_said(void **state)
{
    (void)state;
    const char *whole = write_text("whole.csv", "1,3\n2,4\n"), *mixed = write_text("mixed.csv", "x:a;y\n1:5;3\n");
    const char *gaps = write_text("gaps.csv", "x,y\n-999,3\n2,nothing\n");
    static const char *const na[] = {"-999", "nothing"};
    assert_true(number_at(&(gp_file_options){.paths = &whole, .n_paths = 1}, 0, "3") == 4);
    assert_true(number_at(&(gp_file_options){.paths = &whole, .n_paths = 1, .header = GP_HEADER_NO}, 1, "c2") == 4);
    const char *fractions = write_text("fractions.csv", "1.5,3\n2,4\n");
    assert_true(number_at(&(gp_file_options){.paths = &fractions, .n_paths = 1}, 0, "c1") == 1.5);
    assert_true(number_at(&(gp_file_options){.paths = &fractions, .n_paths = 1, .header = GP_HEADER_YES}, 0, "3") == 4);
    assert_true(number_at(&(gp_file_options){.paths = &mixed, .n_paths = 1}, 0, "y") == 3);
    assert_true(number_at(&(gp_file_options){.paths = &mixed, .n_paths = 1, .delimiter = ':'}, 0, "x") == 1);
    const gp_file_options with_na = {.paths = &gaps, .n_paths = 1, .na = na, .n_na = 2};
    assert_true(isnan(number_at(&with_na, 0, "x")) && isnan(number_at(&with_na, 1, "y")));
}

static void folders_named_by_a_column_keep_it(void **state)
{
    (void)state;
    (void)mkdir(in_folder("hive"), 0777);
    (void)mkdir(in_folder("hive/year=2019"), 0777);
    (void)mkdir(in_folder("hive/year=2020"), 0777);
    write_text("hive/year=2019/a.csv", "x,y\n1,3\n2,4\n");
    write_text("hive/year=2020/a.csv", "x,y\n5,6.5\n");
    expect_row(in_folder("hive"), NULL, 0, "year", 2019, NULL);
    expect_row(in_folder("hive"), NULL, 2, "year", 2020, NULL);
    expect_row(in_folder("hive"), NULL, 2, "y", 6.5, NULL);
    gp_source *source = NULL;
    ASSERT_OK(open_one(in_folder("hive/year=2019"), NULL, NULL, &source, err)); // named itself, it is no column
    assert_int_equal(source->n_columns, 2);
    gp_source_free(source);
}

static void foreign_kinds_are_refused_with_a_way_out(void **state)
{
    (void)state;
    ASSERT_FAILS(read_all(write_text("w.xlsx", "PK\x03\x04rest"), NULL, NULL, err), ADVGP_EDATA, "as CSV");
    ASSERT_FAILS(read_all(write_text("w.csv.bz2", "BZh9rest"), NULL, NULL, err), ADVGP_EDATA, "bzcat");
    ASSERT_FAILS(read_all(write_file("w.csv.xz",
                                     "\xfd"
                                     "7zXZ\0rest",
                                     10),
                          NULL, NULL, err),
                 ADVGP_EDATA, "xzcat");
    ASSERT_FAILS(read_all(write_file("w.arrow", "ARROW1\0\0", 8), NULL, NULL, err), ADVGP_EDATA, "Parquet");
    expect_row(write_text("w.csv", "ARROW1,y\n1,3\n2,4\n"), NULL, 1, "ARROW1", 2, NULL); // a name that begins so
}

static void encodings_are_recognised_with_a_note(void **state)
{
    (void)state;
    expect_row(write_text("bom.csv", "\xef\xbb\xbfname,y\ncaf\xc3\xa9,1\n"), NULL, 0, "name", 0, "caf\xc3\xa9");
    const char *latin = write_text("latin.csv", "name,y\ncaf\xe9,1\nb,2\n");
    expect_row(latin, NULL, 0, "name", 0, "caf\xc3\xa9");
    gp_notes notes = {0};
    ASSERT_OK(read_all(latin, NULL, &notes, err));
    assert_int_equal(notes.n, 1);
    assert_non_null(strstr(notes.items[0].text, "Latin-1"));
    gp_notes_fini(&notes);
    static const char little[] = "\xff\xfen\0a\0m\0e\0,\0y\0\n\0\xe9\0,\0"
                                 "7\0\n\0",
                      big[] = "\xfe\xff\0n\0a\0m\0e\0,\0y\0\n\0\xe9\0,\0"
                              "7\0\n";
    const char *path = write_file("little.csv", little, sizeof little - 1);
    expect_row(path, NULL, 0, "name", 0, "\xc3\xa9");
    expect_row(path, NULL, 0, "y", 7, NULL);
    path = write_file("big.csv", big, sizeof big - 1);
    expect_row(path, NULL, 0, "name", 0, "\xc3\xa9");
}

static void latin1_deep_in_a_file_is_read_on(void **state)
{
    (void)state;
    const char *path = in_folder("deep.csv");
    FILE *f = fopen(path, "wb");
    fputs("name,y\n", f);
    for (int i = 0; i < 100000; i++) fprintf(f, "row%d,%d\n", i, i);
    fputs("caf\xe9,100000\n", f);
    fclose(f);
    expect_row(path, NULL, 100000, "name", 0, "caf\xc3\xa9");
    expect_row(path, NULL, 100000, "y", 100000, NULL);
    gp_notes notes = {0};
    ASSERT_OK(read_all(path, NULL, &notes, err));
    assert_int_equal(notes.n, 1);
    gp_notes_fini(&notes);
    // Under SQL too, whether rows stream or are sorted first, and where the column of the culprit is not read.
    ASSERT_OK(read_all(path, "SELECT y FROM data", NULL, err));
    expect_row(path, "SELECT name, y FROM data WHERE y % 2 = 0", 50000, "name", 0, "caf\xc3\xa9");
    expect_row(path, "SELECT name, y FROM data ORDER BY y DESC", 0, "name", 0, "caf\xc3\xa9");
    expect_row(path, "SELECT name, y FROM data ORDER BY y DESC", 100000, "y", 0, NULL);
}

static void a_first_line_of_numbers_is_a_row(void **state)
{
    (void)state;
    const char *path = write_text("bare.csv", "1.5,2,3\n4,5,6\n");
    expect_row(path, NULL, 0, "c1", 1.5, NULL);
    expect_row(path, NULL, 1, "c3", 6, NULL);
    expect_row(path, "SELECT c2 FROM data", 0, "c2", 2, NULL);
    expect_row(write_text("gap.csv", ",-2e-3\n4,5\n"), NULL, 0, "c2", -2e-3, NULL);
    expect_row(write_text("tabs.txt", "1.5\t2\n4\t5\n"), NULL, 0, "c1", 1.5, NULL);
    // Whole numbers are names: a data frame of an unnamed array has 0, 1, 2, and a table of years has years.
    expect_row(write_text("frame.csv", ",0,1\n0,0.5,7\n1,0.25,8\n"), NULL, 0, "1", 7, NULL);
    expect_row(write_text("years.csv", "2019,2020\n1,2\n3,4\n"), NULL, 0, "2020", 2, NULL);
    expect_row(write_text("quoted.csv", "\"1.5\",\"2.5\"\n1,2\n3,4\n"), NULL, 0, "2.5", 2, NULL);
    gp_notes notes = {0};
    gp_source *source = NULL;
    size_t i;
    ASSERT_OK(open_one(path, NULL, &notes, &source, err));
    assert_int_equal(notes.n, 1);
    assert_non_null(strstr(notes.items[0].text, "no header line: its columns are called c1 to c3"));
    ASSERT_FAILS(gp_source_require(source, "y", "the target", &i, err), ADVGP_EDATA, "c1, c2, c3; use these names");
    gp_source_free(source);
    gp_notes_fini(&notes);
}

static void a_column_of_infinities_is_missing_and_no_date(void **state)
{
    (void)state;
    static const char *const ways[] = {"inf", "-inf", "Inf", "-Infinity", "INF"};
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        char text[128];
        snprintf(text, sizeof text, "x,y\n%s,1\n,2\n%s,3\n", ways[k], ways[k]);
        gp_source *source = NULL;
        ASSERT_OK(open_one(write_text("inf.csv", text), NULL, NULL, &source, err));
        assert_int_not_equal(source->columns[0].type, GP_TIME);
        gp_source_free(source);
    }
    expect_row(write_text("some.csv", "x,y\n1.5,1\n-inf,2\n"), NULL, 1, "x", NAN, NULL);
}

// A copy of the file without its last `less` bytes.
static const char *cut_copy(const char *from, const char *to, size_t less)
{
    static char bytes[1 << 20];
    FILE *f = fopen(from, "rb");
    assert_non_null(f);
    const size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_in_range(n, less + 1, sizeof bytes - 1);
    return write_file(to, bytes, n - less);
}

static void a_compressed_file_that_is_cut_off_is_refused(void **state)
{
    (void)state;
    const char *rows = "SELECT i AS x, i * 0.37 AS y FROM range(20000) t(i)";
    const char *path = in_folder("whole.csv.gz");
    ASSERT_OK(export_table(rows, path, err));
    static const size_t less[] = {1, 4, 8, 9, 20, 1000, 30000};
    for (size_t k = 0; k < sizeof less / sizeof *less; k++)
        ASSERT_FAILS(read_all(cut_copy(path, "part.csv.gz", less[k]), NULL, NULL, err), ADVGP_EDATA,
                     "part.csv.gz is cut off");
    const char *lines = in_folder("whole.jsonl.gz");
    ASSERT_OK(export_table(rows, lines, err));
    ASSERT_FAILS(read_all(cut_copy(lines, "part.jsonl.gz", 500), NULL, NULL, err), ADVGP_EDATA, "is cut off");
    char command[512];
    snprintf(command, sizeof command, "cd '%s' && cat whole.csv.gz whole.csv.gz > two.csv.gz", folder);
    assert_int_equal(system(command), 0);
    ASSERT_FAILS(read_all(cut_copy(in_folder("two.csv.gz"), "part.csv.gz", 5), NULL, NULL, err), ADVGP_EDATA,
                 "cut off");
    // "x,y\n1,2\n3,4\n" by zstd, with its checksum
    static const char zstd[] = "\x28\xb5\x2f\xfd\x24\x0c\x61\x00\x00x,y\n1,2\n3,4\n\x00\x00\x00\x00";
    for (size_t n = 5; n < sizeof zstd - 1; n++)
        ASSERT_FAILS(read_all(write_file("part.csv.zst", zstd, n), NULL, NULL, err), ADVGP_EDATA,
                     "part.csv.zst is cut");
}

static void twin_columns_of_parquet_are_refused(void **state)
{
    (void)state;
    const char *path = in_folder("twins.parquet");
    ASSERT_OK(export_table("SELECT {'one': 1, 'xa1': 2} AS s, [1] AS l, 1 AS xa1, 2 AS xa2", path, err));
    ASSERT_OK(read_all(path, NULL, NULL, err)); // a name inside a structure is another name
    char command[512];
    snprintf(command, sizeof command, "LC_ALL=C sed -i s/xa2/XA1/g '%s'", path);
    assert_int_equal(system(command), 0);
    ASSERT_FAILS(read_all(path, NULL, NULL, err), ADVGP_EDATA,
                 "columns 3 and 4 are named 'xa1' and 'XA1', which differ in capitals alone");
}

// Only lines of text have a first one.
static void a_missing_column_asks_for_a_header_where_there_can_be_one(void **state)
{
    (void)state;
    size_t index;
    gp_source *source = NULL;
    const char *path = in_folder("columns.parquet");
    ASSERT_OK(export_table("SELECT 1 AS ab, 2 AS cd", path, err));
    ASSERT_OK(open_one(path, NULL, NULL, &source, err));
    advgp_error said = {0};
    assert_int_equal(gp_source_require(source, "zebra", "the target", &index, &said), ADVGP_EDATA);
    assert_non_null(strstr(said.text, "its columns are ab, cd"));
    assert_null(strstr(said.text, "header"));
    ASSERT_FAILS(gp_source_require(source, "x", "the target", &index, err), ADVGP_EDATA, "its columns are");
    gp_source_free(source);
    ASSERT_OK(open_one(write_text("columns.csv", "ab,cd\n1,2\n"), NULL, NULL, &source, err));
    ASSERT_FAILS(gp_source_require(source, "zebra", "the target", &index, err), ADVGP_EDATA,
                 "is the first line a header?");
    ASSERT_FAILS(gp_source_require(source, "AB", "the target", &index, err), ADVGP_EDATA, "did you mean 'ab'?");
    gp_source_free(source);
}

static void types_are_found(void **state)
{
    (void)state;
    const char *path = write_text(
        "t.csv", "d,t,b,n,m\n13/01/2000,2000-01-02 12:00:00,true,1,\n14/01/2000,2000-01-03 00:00:00,false,NA,\n");
    expect_row(path, NULL, 0, "d", NAN, "13/01/2000"); // which of these is the day, all rows decide: readings.c
    expect_row(path, "SELECT d FROM t", 0, "d", 12 * 86400, NULL); // a query may count on a date
    expect_row(path, NULL, 0, "t", NAN, "2000-01-02 12:00:00");    // one reader for all dates: data/writing.h
    expect_row(path, "SELECT t FROM t", 0, "t", 1.5 * 86400, NULL);
    expect_row(path, NULL, 0, "b", 1, NULL);
    expect_row(path, NULL, 1, "n", NAN, NULL);
    gp_source *source = NULL;
    ASSERT_OK(open_one(path, NULL, NULL, &source, err));
    static const gp_column_type types[] = {GP_TEXT, GP_TEXT, GP_BOOLEAN, GP_NUMBER, GP_TEXT};
    for (size_t i = 0; i < 5; i++) assert_int_equal(source->columns[i].type, types[i]);
    gp_source_free(source);
}

static void whole_numbers_may_turn_into_fractions_after_the_sample(void **state)
{
    (void)state;
    const char *path = in_folder("fraction.csv");
    FILE *f = fopen(path, "wb");
    fputs("x,y\n", f);
    for (int i = 0; i < 30000; i++) fprintf(f, "%d,1\n", i);
    fputs("0.5,1\n", f);
    fclose(f);
    expect_row(path, NULL, 30000, "x", 0.5, NULL);
}

// Each of these is known when the first rows are long gone.
static void values_may_be_written_otherwise_after_the_sample(void **state)
{
    (void)state;
    static const struct {
        const char *first, *later;
        double value;
    } cases[] = {{"7", "\"$1,200\"", 1200}, {"7", "n/a", NAN}, {"10:00", "1:30 PM", 13.5 * 3600}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const char *path = in_folder("late.csv");
        FILE *f = fopen(path, "wb");
        fputs("x,y\n", f);
        for (int i = 0; i < 30000; i++) fprintf(f, "%s,%d\n", cases[k].first, i);
        fprintf(f, "%s,1\n", cases[k].later);
        fclose(f);
        expect_row(path, NULL, 30000, "x", cases[k].value, NULL);
        expect_row(path, NULL, 29999, "y", 29999, NULL);
    }
    gp_source *source = NULL;
    const gp_chunk *chunk = NULL;
    FILE *f = fopen(in_folder("late.csv"), "wb");
    fputs("x,y\n", f);
    for (int i = 0; i < 30000; i++) fprintf(f, "%s,%d\n", i < 25000 ? "7" : "$8", i);
    fputs("plenty,1\n", f);
    fclose(f);
    ASSERT_OK(open_one(in_folder("late.csv"), NULL, NULL, &source, err));
    advgp_error said = {0};
    advgp_status st = gp_source_next(source, &chunk, &said);
    while (st == ADVGP_OK && chunk) st = gp_source_next(source, &chunk, &said);
    assert_int_equal(st, ADVGP_EDATA);
    assert_non_null(strstr(said.text, "row 30001: column 'x' holds 'plenty', which is no number"));
    gp_source_free(source);
}

static void parquet_json_and_gzip_are_read(void **state)
{
    (void)state;
    static const char *const names[] = {"p.parquet", "p.jsonl", "p.csv.gz", "p.csv", "odd [name] *.parquet",
                                        "it's.csv"};
    const char *sql =
        "SELECT i AS x, i * 0.5 AS y, 'n' || i AS name, DATE '2000-01-01' + i::INTEGER AS d FROM range(5000) t(i)";
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const char *path = in_folder(names[k]);
        ASSERT_OK(export_table(sql, path, err));
        expect_row(path, NULL, 4999, "y", 2499.5, NULL);
        expect_row(path, NULL, 4999, "name", 0, "n4999");
        const bool typed = strstr(names[k], ".parquet"); // elsewhere a date is a text, for readings.c
        expect_row(path, NULL, 31, "d", 31 * 86400, typed ? NULL : "2000-02-01");
    }
}

static void folders_and_globs_are_one_table(void **state)
{
    (void)state;
    mkdir(in_folder("many"), 0700);
    write_text("many/1.csv", "x,y\n1,2\n");
    write_text("many/2.csv", "y;x\n4,5;3\n");
    write_text("many/_skipped.csv", "z\n1\n");
    write_text("many/readme.md", "no table\n");
    expect_row(in_folder("many"), NULL, 1, "y", 4.5, NULL);
    expect_row(in_folder("many/[12].csv"), NULL, 1, "x", 3, NULL);
    write_text("many/3.csv", "x,z\n1,2\n");
    ASSERT_FAILS(read_all(in_folder("many"), NULL, NULL, err), ADVGP_EDATA, "3.csv has a column 'z'");
}

static void sql_joins_files_by_their_stems(void **state)
{
    (void)state;
    const char *paths[] = {write_text("trips.csv", "id,y\n1,10\n2,20\n"),
                           write_text("places.csv", "id,lat\n1,5\n2,6\n")};
    gp_source *source = NULL;
    const gp_chunk *chunk;
    ASSERT_OK(gp_source_files_open(
        &(gp_file_options){.paths = paths,
                           .n_paths = 2,
                           .sql = "SELECT y, lat FROM trips JOIN places USING (id) ORDER BY y DESC -- best first"},
        NULL, &source, err));
    ASSERT_OK(gp_source_next(source, &chunk, err));
    assert_int_equal(chunk->n_rows, 2);
    assert_true(chunk->columns[1].number[0] == 6);
    gp_source_free(source);
    expect_row(paths[0], "SELECT y * 2 AS z FROM data", 1, "z", 40, NULL);
    ASSERT_FAILS(read_all(paths[0], "SELEC y FROM data", NULL, err), ADVGP_EINVAL, "{sql}");
    ASSERT_FAILS(read_all(paths[0], "SELECT yy FROM data", NULL, err), ADVGP_EINVAL, "yy");
    ASSERT_FAILS(read_all(paths[0], "COPY data TO 'x.csv'", NULL, err), ADVGP_EINVAL, "{sql}");
}

static void an_unwanted_column_is_not_read(void **state)
{
    (void)state;
    const char *path = write_text("w.csv", "x,y\n1,2\n3,4\n");
    gp_source *source = NULL;
    const gp_chunk *chunk;
    ASSERT_OK(open_one(path, NULL, NULL, &source, err));
    source->wanted[0] = false;
    ASSERT_OK(gp_source_next(source, &chunk, err));
    assert_null(chunk->columns[0].number);
    assert_true(chunk->columns[1].number[1] == 4);
    gp_source_free(source);
}

static void standard_input_can_be_read_twice(void **state)
{
    (void)state;
    int ends[2], kept = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "x,y\n1,2\n3,4\n", 12), 12);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    gp_source *source = NULL;
    const gp_chunk *chunk;
    ASSERT_OK(open_one("-", NULL, NULL, &source, err));
    dup2(kept, STDIN_FILENO);
    close(kept);
    for (int pass = 0; pass < 2; pass++) {
        ASSERT_OK(gp_source_next(source, &chunk, err));
        assert_non_null(chunk);
        assert_true(chunk->columns[1].number[1] == 4);
        ASSERT_OK(gp_source_rewind(source, err));
    }
    gp_source_free(source);
}

// Texts of rows go there, in files that DuckDB lets everybody read.
static void duckdb_spills_into_a_folder_of_ones_own(void **state)
{
    (void)state;
    const char *path = write_text("w.csv", "x,y\n1,2\n3,4\n"), *spills = in_folder("spills");
    gp_source *source = NULL;
    struct stat about;
    glob_t found = {0};
    assert_int_equal(mkdir(spills, 0777), 0);
    const mode_t mask = umask(0);
    ASSERT_OK(gp_source_files_open(&(gp_file_options){.paths = &path, .n_paths = 1, .temporary = spills}, NULL, &source,
                                   err));
    umask(mask);
    assert_int_equal(glob(in_folder("spills/advgp-duckdb-*"), 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        assert_int_equal(lstat(found.gl_pathv[i], &about), 0);
        assert_true(S_ISDIR(about.st_mode));
        assert_int_equal(about.st_mode & 07777, 0700);
    }
    globfree(&found);
    gp_source_free(source);
    assert_int_equal(rmdir(spills), 0); // nothing is left in it
}

static const char *giant_line(void)
{
    const char *path = in_folder("giant.csv");
    FILE *f = fopen(path, "wb");
    fputs("x,y\n", f);
    for (int i = 0; i < 3000000; i++) fputc('1', f);
    fputs(",2\n", f);
    fclose(f);
    return path;
}

static const char *deep_error(const char *name, const char *last)
{
    const char *path = in_folder(name);
    FILE *f = fopen(path, "wb");
    fputs("x,y\n", f);
    for (int i = 0; i < 30000; i++) fprintf(f, "%d,1\n", i);
    fputs(last, f);
    fclose(f);
    return path;
}

static void bad_files_name_the_culprit(void **state)
{
    (void)state;
    ASSERT_FAILS(read_all(in_folder("absent.csv"), NULL, NULL, err), ADVGP_EDATA, "absent.csv: No such file");
    ASSERT_FAILS(read_all(in_folder("absent*.csv"), NULL, NULL, err), ADVGP_EDATA, "no file matches");
    ASSERT_FAILS(read_all("/dev/null", NULL, NULL, err), ADVGP_EDATA, "/dev/null is empty");
    ASSERT_FAILS(read_all(write_text("empty.csv", ""), NULL, NULL, err), ADVGP_EDATA, "empty.csv is empty");
    mkdir(in_folder("none"), 0700);
    ASSERT_FAILS(read_all(in_folder("none"), NULL, NULL, err), ADVGP_EDATA, "holds no data file");
    ASSERT_FAILS(read_all(write_text("r1.csv", "a,b,y\n1,2,3\n4,5\n6,7,8\n"), NULL, NULL, err), ADVGP_EDATA,
                 "r1.csv, line 3: 2 values where the header has 3");
    ASSERT_FAILS(read_all(write_text("r2.csv", "a,b,y\n1,2,3\n4,5,6,9\n"), NULL, NULL, err), ADVGP_EDATA,
                 "line 3: 4 values");
    ASSERT_FAILS(read_all(deep_error("r3.csv", "1\n"), NULL, NULL, err), ADVGP_EDATA, "r3.csv, line 30002: 1 values");
    ASSERT_FAILS(read_all(deep_error("text.csv", "abc,1\n"), NULL, NULL, err), ADVGP_EDATA,
                 "text.csv, line 30002: column 'x' holds 'abc', which is no number");
    ASSERT_FAILS(read_all(write_text("dup.csv", "a,b,a\n1,2,3\n"), NULL, NULL, err), ADVGP_EDATA,
                 "columns 1 and 3 are both named 'a'");
    ASSERT_FAILS(read_all(write_text("caps.csv", "x,b,X\n1,2,3\n"), NULL, NULL, err), ADVGP_EDATA,
                 "columns 1 and 3 are named 'x' and 'X', which differ in capitals alone");
    ASSERT_FAILS(read_all(giant_line(), NULL, NULL, err), ADVGP_EDATA, "more than 2,000,000 bytes");
    ASSERT_FAILS(read_all(write_file("junk.csv",
                                     "\x7f"
                                     "ELF\1\2\0\0\0\x90\xff",
                                     11),
                          NULL, NULL, err),
                 ADVGP_EDATA, "junk.csv holds binary");
    ASSERT_FAILS(read_all(write_text("no.parquet", "x,y\n1,2\n"), NULL, NULL, err), ADVGP_EDATA,
                 "no.parquet is damaged or no Parquet");
    ASSERT_FAILS(read_all(write_file("cut.csv.gz", "\x1f\x8b\x08\0\0\0\0\0\0\3", 10), NULL, NULL, err), ADVGP_EDATA,
                 "cut.csv.gz is cut off");
    ASSERT_FAILS(read_all(write_text("blank.csv", "\n\n\n"), NULL, NULL, err), ADVGP_EDATA, "blank.csv holds no line");
    ASSERT_FAILS(read_all(write_text("bad.jsonl", "{\"a\":1}\n{\"a\":2,,}\n"), NULL, NULL, err), ADVGP_EDATA,
                 "bad.jsonl is not JSON");
    ASSERT_OK(read_all(write_text("header.csv", "a,b,y\n"), NULL, NULL, err));
}

static void a_missing_column_gets_its_nearest_name(void **state)
{
    (void)state;
    gp_source *source = NULL;
    size_t i;
    ASSERT_OK(open_one(write_text("n.csv", "distance,delay\n1,2\n"), NULL, NULL, &source, err));
    ASSERT_FAILS(gp_source_require(source, "distnace", "feature", &i, err), ADVGP_EDATA, "did you mean 'distance'?");
    ASSERT_FAILS(gp_source_require(source, "zzz", "target", &i, err), ADVGP_EDATA, "its columns are distance, delay");
    gp_source_free(source);
}

// Memory ends at call 0, 1, 2, ...: DuckDB's own heap is not ours to refuse, all of ours is.
static void failing_memory_is_a_status(void **state)
{
    (void)state;
    const char *paths[] = {write_text("m1.csv", "x,name,y\n1,a,2\n3,b,4\n"), write_text("m2.csv", "x;name;y\n5;c;6\n")};
    long before = gp_alloc_count().live;
    for (int sql = 0; sql < 2; sql++)
        for (long allowed = 0;; allowed++) {
            gp_alloc_fail_after(allowed);
            gp_source *source = NULL;
            gp_notes notes = {0};
            const gp_chunk *chunk = NULL;
            gp_file_options o = {.paths = paths, .n_paths = 2, .sql = sql ? "SELECT m1.x AS z FROM m1, m2" : NULL};
            advgp_status st = gp_source_files_open(&o, &notes, &source, NULL);
            if (st == ADVGP_OK) st = gp_source_next(source, &chunk, NULL);
            gp_alloc_fail_after(-1);
            gp_source_free(source);
            gp_notes_fini(&notes);
            assert_int_equal(gp_alloc_count().live, before);
            if (st == ADVGP_OK) break;
            assert_int_equal(st, ADVGP_ENOMEM);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_delimiter_and_quoting_is_read),
        cmocka_unit_test(encodings_are_recognised_with_a_note),
        cmocka_unit_test(latin1_deep_in_a_file_is_read_on),
        cmocka_unit_test(a_first_line_of_numbers_is_a_row),
        cmocka_unit_test(a_column_of_infinities_is_missing_and_no_date),
        cmocka_unit_test(a_compressed_file_that_is_cut_off_is_refused),
        cmocka_unit_test(twin_columns_of_parquet_are_refused),
        cmocka_unit_test(a_missing_column_asks_for_a_header_where_there_can_be_one),
        cmocka_unit_test(types_are_found),
        cmocka_unit_test(lines_may_end_in_two_ways),
        cmocka_unit_test(comment_lines_are_left_out),
        cmocka_unit_test(what_a_file_does_not_show_can_be_said),
        cmocka_unit_test(folders_named_by_a_column_keep_it),
        cmocka_unit_test(foreign_kinds_are_refused_with_a_way_out),
        cmocka_unit_test(whole_numbers_may_turn_into_fractions_after_the_sample),
        cmocka_unit_test(values_may_be_written_otherwise_after_the_sample),
        cmocka_unit_test(parquet_json_and_gzip_are_read),
        cmocka_unit_test(folders_and_globs_are_one_table),
        cmocka_unit_test(sql_joins_files_by_their_stems),
        cmocka_unit_test(an_unwanted_column_is_not_read),
        cmocka_unit_test(standard_input_can_be_read_twice),
        cmocka_unit_test(duckdb_spills_into_a_folder_of_ones_own),
        cmocka_unit_test(bad_files_name_the_culprit),
        cmocka_unit_test(a_missing_column_gets_its_nearest_name),
        cmocka_unit_test(failing_memory_is_a_status),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
