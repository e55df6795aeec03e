// tablerows.c: cells into text, or into a stage.
#include "answer/tablerows.h"

#include "base/alloc.h"
#include "base/decimal.h"
#include "base/whole.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LONG_DIGITS = 18, WIDE_DIGITS = 38 }; // what a BIGINT and a DECIMAL hold in any case

advgp_status gp_tablerows_init(gp_tablerows *r, gp_table_format format, const char *const *names, size_t n_columns,
                               const gp_stage *stage, advgp_error *err)
{
    *r = (gp_tablerows){.format = format, .names = names, .n_columns = n_columns};
    r->digits = gp_alloc(n_columns, sizeof *r->digits); // zeroed: GP_NO_DIGITS
    if (!r->digits) return gp_no_memory(err);
    return stage ? gp_stage_rows_new(stage, &r->staged, err) : ADVGP_OK;
}

void gp_tablerows_fini(gp_tablerows *r)
{
    gp_free(r->digits);
    gp_buffer_fini(&r->text);
    gp_stage_rows_free(r->staged);
    *r = (gp_tablerows){0};
}

// ---- cells ----------------------------------------------------------------------------------------------------------

static void add_csv_text(gp_buffer *out, const char *p, size_t n)
{
    bool quote = n == 0 || p[0] == ' ' || p[n - 1] == ' '; // an empty text is no missing value
    for (size_t i = 0; i < n && !quote; i++) quote = strchr(",\"\r\n", p[i]) != NULL;
    if (!quote) {
        gp_buffer_bytes(out, p, n);
        return;
    }
    gp_buffer_bytes(out, "\"", 1);
    for (size_t start = 0; start <= n;) {
        const char *mark = start < n ? memchr(p + start, '"', n - start) : NULL;
        const size_t end = mark ? (size_t)(mark - p) + 1 : n;
        gp_buffer_bytes(out, p + start, end - start);
        gp_buffer_bytes(out, "\"", 1); // doubles one inside, or closes
        start = end + !mark;
    }
}

static void add_json_text(gp_buffer *out, const char *p, size_t n)
{
    gp_buffer_bytes(out, "\"", 1);
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)p[i];
        if (c == '"' || c == '\\')
            gp_buffer_add(out, "\\%c", c);
        else if (c < 0x20)
            gp_buffer_add(out, "\\u%04x", c);
        else
            gp_buffer_bytes(out, p + i, 1);
    }
    gp_buffer_bytes(out, "\"", 1);
}

// A cell that is a text in its file; false where the row is staged.
static bool begin_cell(gp_tablerows *r)
{
    const size_t column = r->column++;
    if (r->staged) return false;
    if (r->format == GP_TABLE_CSV) {
        if (column) gp_buffer_bytes(&r->text, ",", 1);
        return true;
    }
    gp_buffer_bytes(&r->text, column ? "," : "{", 1);
    add_json_text(&r->text, r->names[column], strlen(r->names[column]));
    gp_buffer_bytes(&r->text, ":", 1);
    return true;
}

static void add_missing(gp_tablerows *r)
{
    if (begin_cell(r))
        gp_buffer_bytes(&r->text, "null", r->format == GP_TABLE_CSV ? 0 : 4);
    else
        gp_stage_missing(r->staged);
}

void gp_tablerows_number(gp_tablerows *r, double value)
{
    char digits[GP_DECIMAL_BYTES];
    if (!isfinite(value))
        add_missing(r);
    else if (begin_cell(r))
        gp_buffer_bytes(&r->text, digits, gp_decimal_write(value, digits));
    else
        gp_stage_number(r->staged, value);
}

// The digits of a whole number without its sign; 0 where it is none, or is not written as JSON writes it.
static size_t count_digits(const char *p, size_t n)
{
    const size_t sign = n && *p == '-';
    for (size_t i = sign; i < n; i++)
        if (p[i] < '0' || p[i] > '9') return 0;
    return n - sign > 1 && p[sign] == '0' ? 0 : n - sign;
}

void gp_tablerows_digits(gp_tablerows *r, const char *p, size_t n, double value)
{
    char written[GP_DECIMAL_BYTES];
    gp_digit_kind *state = &r->digits[r->column];
    const size_t count = p ? count_digits(p, n) : 0;
    const bool whole = count && count <= WIDE_DIGITS;
    const gp_digit_kind now = !whole ? GP_DIGITS_MIXED : count <= LONG_DIGITS ? GP_DIGITS_LONG : GP_DIGITS_WIDE;
    if (!isfinite(value)) {
        add_missing(r);
        return;
    }
    if (now > *state) *state = now;
    if (!whole) {
        n = gp_decimal_write(value, written);
        p = written;
    }
    if (begin_cell(r))
        gp_buffer_bytes(&r->text, p, n);
    else // a text, which becomes a number when all of the column is known
        gp_stage_text(r->staged, p, n);
}

void gp_tablerows_boolean(gp_tablerows *r, double value)
{
    if (isnan(value))
        add_missing(r);
    else if (begin_cell(r))
        gp_buffer_add(&r->text, "%s", value != 0 ? "true" : "false");
    else
        gp_stage_boolean(r->staged, value != 0);
}

void gp_tablerows_text(gp_tablerows *r, const char *p, size_t n)
{
    if (!p)
        add_missing(r);
    else if (!begin_cell(r))
        gp_stage_text(r->staged, p, n);
    else if (r->format == GP_TABLE_CSV)
        add_csv_text(&r->text, p, n);
    else
        add_json_text(&r->text, p, n);
}

// Year, month and day of a day counted from 2000-01-01, by the 400-year cycle counted from March.
static void civil(double days, double *year, int *month, int *day)
{
    const double z = days + 730425, era = floor(z / 146097), doe = z - era * 146097;
    const double yoe = floor((doe - floor(doe / 1460) + floor(doe / 36524) - floor(doe / 146096)) / 365);
    const double doy = doe - (365 * yoe + floor(yoe / 4) - floor(yoe / 100));
    const double mp = floor((5 * doy + 2) / 153);
    *day = (int)gp_whole(doy - floor((153 * mp + 2) / 5), 0, 30) + 1;
    *month = (int)gp_whole(mp < 10 ? mp + 3 : mp - 9, 1, 12);
    *year = yoe + 400 * era + (*month <= 2 ? 1 : 0);
}

void gp_tablerows_time(gp_tablerows *r, double seconds)
{
    char text[80];
    if (!isfinite(seconds) || fabs(seconds) > 1e14) { // three million years
        gp_tablerows_text(r, NULL, 0);
        return;
    }
    const double micros = round(seconds * 1e6), whole = floor(micros / 1e6), days = floor(whole / 86400);
    const double of_day = whole - days * 86400, fraction = micros - whole * 1e6;
    double year;
    int month, day;
    civil(days, &year, &month, &day);
    int n = snprintf(text, sizeof text, "%04.0f-%02d-%02d", year, month, day);
    if (of_day > 0 || fraction > 0)
        n += snprintf(text + n, sizeof text - (size_t)n, " %02.0f:%02.0f:%02.0f", floor(of_day / 3600),
                      floor(fmod(of_day, 3600) / 60), fmod(of_day, 60));
    if (fraction > 0) n += snprintf(text + n, sizeof text - (size_t)n, ".%06.0f", fraction);
    gp_tablerows_text(r, text, (size_t)n);
}

// ---- rows -----------------------------------------------------------------------------------------------------------

void gp_tablerows_end(gp_tablerows *r)
{
    r->column = 0;
    if (r->staged)
        gp_stage_end_row(r->staged);
    else if (r->format == GP_TABLE_CSV)
        gp_buffer_bytes(&r->text, "\n", 1);
    else
        gp_buffer_bytes(&r->text, "}\n", 2);
}

void gp_tablerows_names(gp_tablerows *r)
{
    for (size_t i = 0; i < r->n_columns; i++) {
        if (i) gp_buffer_bytes(&r->text, ",", 1);
        add_csv_text(&r->text, r->names[i], strlen(r->names[i]));
    }
    gp_buffer_bytes(&r->text, "\n", 1);
}
