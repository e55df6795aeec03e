// writing_test.c: numbers and dates as people write them, one by one, and whole columns of them: which way is settled
// by all rows, kept in the schema and used for new files.
#include "data/encode.h"
#include "data/encoding.h"
#include "data/schema.h"
#include "data/table_test.h"
#include "data/writing.h"

#include <math.h>

static gp_text text_of(const char *p)
{
    return (gp_text){.p = p, .n = strlen(p)};
}

static void numbers_are_read_as_people_write_them(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        gp_writing as;
        double value;
    } good[] = {
        {"1,200", GP_WRITING_POINT, 1200},
        {"1,234,567.89", GP_WRITING_POINT, 1234567.89},
        {"$1,200", GP_WRITING_POINT, 1200},
        {"-$1,200.50", GP_WRITING_POINT, -1200.5},
        {"$-12", GP_WRITING_POINT, -12},
        {"(1,200)", GP_WRITING_POINT, -1200},
        {"$(1,200)", GP_WRITING_POINT, -1200},
        {"(5 %)", GP_WRITING_POINT, -5},
        {"1,200-", GP_WRITING_POINT, -1200},
        {"\xe2\x88\x92"
         "12.5",
         GP_WRITING_POINT, -12.5},
        {"+$3", GP_WRITING_POINT, 3},
        {"2:15 PM", GP_WRITING_CLOCK, 14 * 3600 + 900},
        {"12:05:30 am", GP_WRITING_CLOCK, 330},
        {"5.1 %", GP_WRITING_POINT, 5.1},
        {"5%", GP_WRITING_POINT, 5},
        {"12 €", GP_WRITING_POINT, 12},
        {"USD 3.5", GP_WRITING_POINT, 3.5},
        {"1 234 567", GP_WRITING_POINT, 1234567},
        {"1'200", GP_WRITING_POINT, 1200},
        {".5", GP_WRITING_POINT, 0.5},
        {" 1e3 ", GP_WRITING_POINT, 1000},
        {"12345.6", GP_WRITING_POINT, 12345.6},
        {"1.234.567,89", GP_WRITING_COMMA, 1234567.89},
        {"1,5", GP_WRITING_COMMA, 1.5},
        {"12,50 €", GP_WRITING_COMMA, 12.5},
        {"1\xc2\xa0"
         "200,5",
         GP_WRITING_COMMA, 1200.5},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double value = NAN;
        if (!gp_writing_read(text_of(good[i].text), good[i].as, NULL, &value) || value != good[i].value)
            fail_msg("'%s' is %.17g, not %g", good[i].text, value, good[i].value);
    }
    static const char *const bad[] = {"",  "1,20", "1,2000", "12,34,567", "1.2.3", "nan",    "inf", "0x10",
                                      "$", "%",    "1e",     "1 2",       "abc",   "1,200x", "--1", "1,,200"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double value = NAN;
        if (gp_writing_read(text_of(bad[i]), GP_WRITING_POINT, NULL, &value)) fail_msg("'%s' is %g", bad[i], value);
    }
}

static const double day = 86400, end_of_2020 = 7670; // days from 2000-01-01 to 2020-12-31

static void dates_are_read_as_people_write_them(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        gp_writing as;
        double days, seconds;
    } good[] = {
        {"12/31/2020 14:00", GP_WRITING_MDY, 7670, 14 * 3600},
        {"12/31/2020", GP_WRITING_MDY, 7670, 0},
        {"31.12.2020 14:00", GP_WRITING_DMY, 7670, 14 * 3600},
        {"31/12/2020 14:00", GP_WRITING_DMY, 7670, 14 * 3600},
        {"31-12-20", GP_WRITING_DMY, 7670, 0},
        {"12/31/2020 2:05:06 PM", GP_WRITING_MDY, 7670, 14 * 3600 + 306},
        {"12/31/2020 12:30 am", GP_WRITING_MDY, 7670, 1800},
        {"12/31/2020 2 p.m.", GP_WRITING_MDY, 7670, 14 * 3600},
        {"31-Dec-2020", GP_WRITING_DMY, 7670, 0},
        {"15-Nov-2020", GP_WRITING_DMY, 7624, 0},
        {"15 November 2020", GP_WRITING_DMY, 7624, 0},
        {"15 Nov. 2020 08:00", GP_WRITING_DMY, 7624, 8 * 3600},
        {"November 15, 2020", GP_WRITING_MDY, 7624, 0},
        {"Nov 15 2020 1:00 PM", GP_WRITING_MDY, 7624, 13 * 3600},
        {"Sunday, November 15, 2020", GP_WRITING_MDY, 7624, 0},
        {"Sun 15 Nov 2020", GP_WRITING_DMY, 7624, 0},
        {"2020-12-31T14:00:00Z", GP_WRITING_YMD, 7670, 14 * 3600},
        {"2020/12/31 14:00:00.25", GP_WRITING_YMD, 7670, 14 * 3600 + 0.25},
        {"2020-12-31 14:00+02:00", GP_WRITING_YMD, 7670, 12 * 3600},
        {"2000-02-29", GP_WRITING_YMD, 59, 0},
        {"01/01/1970", GP_WRITING_DMY, -10957, 0},
        {"31 12 2020 14:00", GP_WRITING_DMY, 7670, 14 * 3600},
        {"2020-12-31T14:00:05", GP_WRITING_YMD, 7670, 14 * 3600 + 5},
        {"01/01/70", GP_WRITING_DMY, -10957, 0},
        {"November 15th, 2020 at 8:00 AM", GP_WRITING_MDY, 7624, 8 * 3600},
        {"15NOV2020", GP_WRITING_DMY, 7624, 0},
        {"2020-Nov-15 08:00", GP_WRITING_YMD, 7624, 8 * 3600},
        {"20201115T080005Z", GP_WRITING_YMD, 7624, 8 * 3600 + 5},
        {"Sun, 15 Nov 2020 08:00:00 GMT", GP_WRITING_DMY, 7624, 8 * 3600},
        {"Sun Nov 15 08:00:00 UTC 2020", GP_WRITING_MDY, 7624, 8 * 3600},
        {"Sun Nov  1 08:00:00 2020", GP_WRITING_MDY, 7610, 8 * 3600},
        {"2020-W46", GP_WRITING_YMD, 7618, 0},
        {"2020-W46-7", GP_WRITING_YMD, 7624, 0},
        {"2021W01", GP_WRITING_YMD, 7674, 0},
        {"1999-W52-6", GP_WRITING_YMD, 0, 0},
        {"2020-11", GP_WRITING_YMD, 7610, 0},
        {"11/2020", GP_WRITING_MDY, 7610, 0},
        {"Nov 2020", GP_WRITING_MDY, 7610, 0},
        {"November, 2020", GP_WRITING_MDY, 7610, 0},
        {"2020Q4", GP_WRITING_YMD, 7579, 0},
        {"2020-Q4", GP_WRITING_YMD, 7579, 0},
        {"Q4 2020", GP_WRITING_MDY, 7579, 0},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double value = NAN;
        const double wanted = good[i].days * day + good[i].seconds;
        if (!gp_writing_read(text_of(good[i].text), good[i].as, NULL, &value) || value != wanted)
            fail_msg("'%s' is %.17g, not %.17g", good[i].text, value, wanted);
    }
    static const struct {
        const char *text;
        gp_writing as;
    } bad[] = {
        {"12/31/2020", GP_WRITING_DMY},
        {"31/12/2020", GP_WRITING_MDY},
        {"29.02.2021", GP_WRITING_DMY},
        {"31/12/2020 25:00", GP_WRITING_DMY},
        {"31/12-2020", GP_WRITING_DMY},
        {"1.12.10", GP_WRITING_DMY},
        {"31/12/2020 14", GP_WRITING_DMY},
        {"15-Nom-2020", GP_WRITING_DMY},
        {"15-Nov-2020", GP_WRITING_MDY},
        {"31/12/2020x", GP_WRITING_DMY},
        {"20201231", GP_WRITING_YMD},
        {"31/12/2020 13:00 PM", GP_WRITING_DMY},
        {"12", GP_WRITING_DMY},
        {"", GP_WRITING_YMD},
        {"-", GP_WRITING_YMD},
        {"2020", GP_WRITING_YMD},
        {"2020-13", GP_WRITING_YMD},
        {"2020-00", GP_WRITING_YMD},
        {"2020Q5", GP_WRITING_YMD},
        {"202011", GP_WRITING_YMD},
        {"2020-W54", GP_WRITING_YMD},
        {"2020-W46-8", GP_WRITING_YMD},
        {"Nov 15", GP_WRITING_MDY},
        {"15 Nov", GP_WRITING_DMY},
        {"Sun Nov 15 2020 2020", GP_WRITING_MDY},
        {"10:00-12:00", GP_WRITING_CLOCK},
        {"PM", GP_WRITING_CLOCK},
        {"12", GP_WRITING_CLOCK},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double value = NAN;
        if (gp_writing_read(text_of(bad[i].text), bad[i].as, NULL, &value)) fail_msg("'%s' is %g", bad[i].text, value);
    }
    double value;
    assert_true(gp_writing_read(text_of("31|12|2020 14h"), GP_WRITING_FORMAT, "%d|%m|%Y %Hh", &value));
    assert_true(value == end_of_2020 * day + 14 * 3600);
    assert_false(gp_writing_read(text_of("31|12|2020"), GP_WRITING_FORMAT, "%d|%m|%Y %Hh", &value));
}

// ---- columns --------------------------------------------------------------------------------------------------------
enum { N = 3000 };
static char cells[N][40];
static const char *column[N];
static double y[N], plain[N];

static gp_source *table(const char *name, bool with_target)
{
    const gp_array arrays[] = {{.name = name, .text = column},
                               {.name = "plain", .number = plain, .stride = 1},
                               {.name = "y", .number = y, .stride = 1}};
    gp_source *source = NULL;
    for (size_t i = 0; i < N; i++) {
        column[i] = cells[i][0] == '?' ? NULL : cells[i];
        plain[i] = (double)(i % 17);
        y[i] = (double)(i % 100);
    }
    ASSERT_OK(gp_source_memory_open(arrays, with_target ? 3 : 2, N, 500, &source, err));
    return source;
}

static gp_schema *fit(gp_source *source, const gp_schema_options *options, gp_notes *notes)
{
    gp_split split = {.kind = GP_SPLIT_NONE};
    gp_schema *schema = NULL;
    ASSERT_OK(gp_schema_fit(source, options, &split, notes, NULL, NULL, &schema, err));
    return schema;
}

static bool says(const gp_notes *notes, const char *words)
{
    for (size_t i = 0; i < notes->n; i++)
        if (strstr(notes->items[i].text, words)) return true;
    return false;
}

// The first chunk of 500 rows does not tell day from month; row 2,900 does.
static void a_late_row_settles_the_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < N; i++)
        snprintf(cells[i], sizeof cells[i], "%02d/%02d/2020 %02d:00", i == 2900 ? 31 : (int)(i % 12 + 1),
                 i == 2900 ? 12 : (int)(i / 12 % 12 + 1), (int)(i % 24));
    const gp_schema_options options = {.target = "y"};
    gp_notes notes = {0};
    gp_source *source = table("when", true);
    gp_schema *schema = fit(source, &options, &notes), *back = NULL;
    assert_true(says(&notes, "'when' is read as dates, day first"));
    assert_ptr_equal(schema->inputs[0].encoding, &gp_encoding_time);
    assert_int_equal(schema->inputs[0].written, GP_WRITING_DMY);
    assert_int_equal(schema->d, 11); // four numbers and six angles of the date; plain
    char *text = gp_schema_to_json(schema);
    assert_non_null(strstr(text, "\"written\":\"dmy\""));
    ASSERT_OK(gp_schema_from_json(text, strlen(text), &back, err));
    gp_source_free(source);

    // New rows that could be read either way are read as training was.
    for (size_t i = 0; i < N; i++) snprintf(cells[i], sizeof cells[i], "02/01/2020 00:00");
    source = table("when", false);
    gp_encoder *e = NULL;
    const gp_chunk *chunk = NULL;
    gp_rows rows;
    ASSERT_OK(gp_encoder_new(back, source, GP_ENCODE_PREDICT, NULL, &e, err));
    ASSERT_OK(gp_source_next(source, &chunk, err));
    ASSERT_OK(gp_encoder_chunk(e, chunk, &rows, err));
    const double days = gp_schema_input(back, 0, rows.X[0]);
    if (fabs(days - 7306) > 1e-6) fail_msg("2 January 2020 is day 7306, not %g", days);
    gp_encoder_free(e);
    gp_source_free(source);
    gp_free(text);
    gp_schema_free(schema);
    gp_schema_free(back);
    gp_notes_fini(&notes);
}

static void the_first_of_every_month_is_a_day(void **state)
{
    (void)state;
    for (size_t i = 0; i < N; i++) snprintf(cells[i], sizeof cells[i], "01/%02d/2020", (int)(i % 12 + 1));
    const gp_schema_options options = {.target = "y"};
    gp_source *source = table("when", true);
    gp_schema *schema = fit(source, &options, NULL);
    assert_int_equal(schema->inputs[0].written, GP_WRITING_DMY);
    gp_schema_free(schema);
    gp_source_free(source);
    for (size_t i = 0; i < N; i++) snprintf(cells[i], sizeof cells[i], "%02d/01/2020", (int)(i % 12 + 1));
    source = table("when", true);
    schema = fit(source, &options, NULL);
    assert_int_equal(schema->inputs[0].written, GP_WRITING_MDY);
    gp_schema_free(schema);
    gp_source_free(source);
}

static void either_way_is_said_and_can_be_decided(void **state)
{
    (void)state;
    for (size_t i = 0; i < N; i++)
        snprintf(cells[i], sizeof cells[i], "%02d/%02d/2020", (int)(i % 12 + 1), (int)(i / 12 % 12 + 1));
    const char *formats[] = {"when=%d/%m/%Y"}, *strange[] = {"when=dmy"}, *absent[] = {"whe=%d/%m/%Y"};
    gp_schema_options options = {.target = "y"};
    gp_notes notes = {0};
    gp_source *source = table("when", true);
    gp_schema *schema = fit(source, &options, &notes);
    assert_int_equal(schema->inputs[0].written, GP_WRITING_MDY);
    assert_true(says(&notes, "could be the other way round"));
    gp_schema_free(schema);
    options.date_formats = formats, options.n_date_formats = 1;
    schema = fit(source, &options, NULL);
    assert_int_equal(schema->inputs[0].written, GP_WRITING_FORMAT);
    assert_string_equal(schema->inputs[0].date_format, "%d/%m/%Y");
    gp_schema_free(schema);
    gp_split split = {.kind = GP_SPLIT_NONE};
    options.date_formats = strange;
    ASSERT_FAILS(gp_schema_fit(source, &options, &split, NULL, NULL, NULL, &schema, err), ADVGP_EINVAL, "no format");
    options.date_formats = absent;
    ASSERT_FAILS(gp_schema_fit(source, &options, &split, NULL, NULL, NULL, &schema, err), ADVGP_EDATA, "'when'");
    gp_source_free(source);
    gp_notes_fini(&notes);
}

static void money_is_a_number_and_codes_are_not(void **state)
{
    (void)state;
    const gp_schema_options options = {.target = "y"};
    for (size_t i = 0; i < N; i++) {
        snprintf(cells[i], sizeof cells[i], i % 10 ? "$%zu" : "$1,%03zu", i % 1000);
        if (i % 50 == 7) cells[i][0] = '?';
    }
    gp_source *source = table("price", true);
    gp_schema *schema = fit(source, &options, NULL);
    assert_ptr_equal(schema->inputs[0].encoding, &gp_encoding_number);
    assert_true(schema->inputs[0].indicator && schema->inputs[0].range.hi == 1990);
    gp_schema_free(schema);
    gp_source_free(source);
    static const char *const padded[] = {"%8zu ", "+%zu", "%zu.5"}; // what a reader of files leaves as text
    for (size_t way = 0; way < 3; way++) {
        for (size_t i = 0; i < N; i++) snprintf(cells[i], sizeof cells[i], i % 2 ? "-%zu" : padded[way], i % 1000);
        source = table("change", true);
        schema = fit(source, &options, NULL);
        assert_int_equal(schema->n_inputs, 2);
        assert_ptr_equal(schema->inputs[0].encoding, &gp_encoding_number);
        gp_schema_free(schema);
        gp_source_free(source);
    }
    for (size_t i = 0; i < N; i++) snprintf(cells[i], sizeof cells[i], "%05zu", i % 20);
    source = table("zip", true);
    schema = fit(source, &options, NULL);
    assert_ptr_equal(schema->inputs[0].encoding, &gp_encoding_onehot);
    gp_schema_free(schema);
    gp_source_free(source);
}

static void a_word_among_dates_is_a_slip(void **state)
{
    (void)state;
    for (size_t i = 0; i < N; i++)
        snprintf(cells[i], sizeof cells[i], i == 1234 ? "unknown" : "%zu.%zu.2020", i % 28 + 1, i % 12 + 1);
    gp_schema_options options = {.target = "y", .refuse_dirty = true};
    gp_split split = {.kind = GP_SPLIT_NONE};
    gp_notes notes = {0};
    gp_schema *schema = NULL;
    gp_source *source = table("when", true);
    ASSERT_FAILS(gp_schema_fit(source, &options, &split, NULL, NULL, NULL, &schema, err), ADVGP_EDATA,
                 "row 1235: column 'when' holds 'unknown' among dates");
    options.refuse_dirty = false;
    schema = fit(source, &options, &notes);
    assert_int_equal(schema->inputs[0].written, GP_WRITING_DMY);
    assert_true(schema->inputs[0].indicator && schema->dirty);
    assert_true(says(&notes, "'when' holds 1 values that are no dates, as in 'unknown' (row 1235)"));
    gp_schema_free(schema);
    gp_source_free(source);
    gp_notes_fini(&notes);
}

static void short_years_and_odd_years_are_said(void **state)
{
    (void)state;
    const gp_schema_options options = {.target = "y"};
    for (int way = 0; way < 2; way++) {
        gp_notes notes = {0};
        for (size_t i = 0; i < N; i++)
            snprintf(cells[i], sizeof cells[i], way ? "%02zu/%02zu/0012" : "%02zu/%02zu/12", i % 28 + 1, i % 12 + 1);
        gp_source *source = table("when", true);
        gp_schema *schema = fit(source, &options, &notes);
        assert_int_equal(schema->inputs[0].written, GP_WRITING_DMY);
        assert_true(says(&notes, "'when' has years of two digits") == !way);
        assert_true(says(&notes, "'when' has dates from the year 12 to the year 12") == way);
        gp_schema_free(schema);
        gp_source_free(source);
        gp_notes_fini(&notes);
    }
}

// What was a date in training, and comes as text: the first rows tell the order, or people's habits.
static void the_order_of_new_dates_is_found(void **state)
{
    (void)state;
    static const struct {
        const char *texts[3];
        gp_writing order;
        bool unsure;
    } cases[] = {
        {{"2020-12-31", "2020-01-02", "01/02/2020"}, GP_WRITING_YMD, false},
        {{"01/02/12", "30/06/12", NULL}, GP_WRITING_DMY, false},
        {{"01/02/12", "06/30/12", "soon"}, GP_WRITING_MDY, false},
        {{"01/02/2020", "03/04/2020", NULL}, GP_WRITING_MDY, true},
        {{"1.2.2020", "3.4.2020", ""}, GP_WRITING_DMY, true},
        {{"01/01/2020", "03/03/2020", NULL}, GP_WRITING_MDY, false}, // the same day either way
        {{"soon", "later", NULL}, GP_WRITING_PLAIN, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gp_text texts[3];
        bool unsure = !cases[i].unsure;
        for (size_t k = 0; k < 3; k++) {
            const char *text = cases[i].texts[k];
            texts[k] = (gp_text){.p = text, .n = text ? strlen(text) : 0};
        }
        assert_int_equal(gp_writing_order(texts, 3, &unsure), cases[i].order);
        assert_int_equal(unsure, cases[i].unsure);
    }
}

// Ranges, a few words, one unit for all, and too many words.
static void numbers_with_slips_stay_numbers(void **state)
{
    (void)state;
    const gp_schema_options options = {.target = "y"};
    gp_notes notes = {0};
    for (size_t i = 0; i < N; i++) snprintf(cells[i], sizeof cells[i], "%zu", 100 + i % 900);
    snprintf(cells[11], sizeof cells[11], "3000 - 5000");
    snprintf(cells[2500], sizeof cells[11], "34.46Sq. Meter");
    gp_source *source = table("area", true);
    gp_schema *schema = fit(source, &options, &notes), *back = NULL;
    assert_ptr_equal(schema->inputs[0].encoding, &gp_encoding_number);
    assert_true(schema->inputs[0].indicator && schema->inputs[0].range.hi == 4000);
    assert_true(says(&notes, "'area' holds 1 ranges") && says(&notes, "as in '34.46Sq. Meter' (row 2501)"));
    gp_schema_free(schema);
    gp_source_free(source);

    for (size_t i = 0; i < N; i++) snprintf(cells[i], sizeof cells[i], i % 40 ? "%zu.5 CC" : "null CC", i);
    source = table("engine", true);
    schema = fit(source, &options, NULL);
    assert_string_equal(schema->inputs[0].unit, "CC");
    char *text = gp_schema_to_json(schema);
    ASSERT_OK(gp_schema_from_json(text, strlen(text), &back, err));
    assert_string_equal(back->inputs[0].unit, "CC");
    assert_true(back->dirty);
    gp_source_free(source);
    snprintf(cells[1], sizeof cells[1], "a word"); // of a new table: counted, as many as there are
    source = table("engine", false);
    gp_encoder *e = NULL;
    const gp_chunk *chunk = NULL;
    gp_rows rows;
    ASSERT_OK(gp_encoder_new(back, source, GP_ENCODE_PREDICT, NULL, &e, err));
    ASSERT_OK(gp_source_next(source, &chunk, err));
    ASSERT_OK(gp_encoder_chunk(e, chunk, &rows, err));
    ASSERT_OK(gp_encoder_notes(e, &notes, err));
    assert_true(says(&notes, "'engine' holds ") && says(&notes, "taken as missing"));
    gp_encoder_free(e);
    gp_source_free(source);
    gp_free(text);
    gp_schema_free(schema);
    gp_schema_free(back);

    for (size_t i = 0; i < N; i++) snprintf(cells[i], sizeof cells[i], i % 10 ? "%zu" : "word", i % 30);
    source = table("much", true);
    schema = fit(source, &options, NULL);
    assert_ptr_equal(schema->inputs[0].encoding, &gp_encoding_onehot);
    gp_schema_free(schema);
    gp_source_free(source);
    gp_notes_fini(&notes);
}

static void a_target_may_be_written_with_a_comma(void **state)
{
    (void)state;
    for (size_t i = 0; i < N; i++) snprintf(cells[i], sizeof cells[i], "1.%03zu,5", i % 1000);
    const gp_schema_options options = {.target = "price"};
    gp_source *source = table("price", true);
    gp_schema *schema = fit(source, &options, NULL), *back = NULL;
    assert_int_equal(schema->target_written, GP_WRITING_COMMA);
    assert_true(fabs(schema->y_mean - 1500) < 1e-9);
    char *text = gp_schema_to_json(schema);
    ASSERT_OK(gp_schema_from_json(text, strlen(text), &back, err));
    assert_int_equal(back->target_written, GP_WRITING_COMMA);
    gp_free(text);
    gp_schema_free(schema);
    gp_schema_free(back);
    gp_source_free(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_as_people_write_them), cmocka_unit_test(dates_are_read_as_people_write_them),
        cmocka_unit_test(a_late_row_settles_the_order),          cmocka_unit_test(the_first_of_every_month_is_a_day),
        cmocka_unit_test(either_way_is_said_and_can_be_decided), cmocka_unit_test(money_is_a_number_and_codes_are_not),
        cmocka_unit_test(short_years_and_odd_years_are_said),    cmocka_unit_test(numbers_with_slips_stay_numbers),
        cmocka_unit_test(the_order_of_new_dates_is_found),       cmocka_unit_test(a_word_among_dates_is_a_slip),
        cmocka_unit_test(a_target_may_be_written_with_a_comma),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
