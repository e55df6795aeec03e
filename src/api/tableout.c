// tableout.c: cells into text, text into a file.
#include "api/tableout.h"

#include "base/alloc.h"
#include "base/decimal.h"
#include "base/text.h"
#include "data/strings.h"
#include "files/stage.h"
#include "store/atomicfile.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FLUSH_BYTES = 1 << 16 };
typedef enum format { CSV, JSON_LINES, PARQUET } format;
// What gp_tableout_digits has written into a column so far.
typedef enum digit_kind { NO_DIGITS, LONG, WIDE, MIXED } digit_kind;
enum { LONG_DIGITS = 18, WIDE_DIGITS = 38 }; // what a BIGINT and a DECIMAL hold in any case

struct gp_tableout {
    format format;
    char *path;
    char **names;
    gp_column_type *types;
    digit_kind *digits;
    size_t n_columns, column; // the column that comes next
    gp_buffer text;           // rows not yet written
    gp_atomicfile *file;      // NULL: standard output
    gp_stage *stage;          // PARQUET: rows on their way
};

// ---- opening --------------------------------------------------------------------------------------------------------

static bool ends_with(const char *text, const char *tail)
{
    const size_t n = strlen(text), k = strlen(tail);
    return n > k && strcmp(text + n - k, tail) == 0;
}

static advgp_status find_format(const char *path, format *out, advgp_error *err)
{
    struct stat about;
    *out = ends_with(path, ".parquet")                               ? PARQUET
           : ends_with(path, ".jsonl") || ends_with(path, ".ndjson") ? JSON_LINES
                                                                     : CSV;
    const bool exists = stat(path, &about) == 0;
    if (exists && S_ISDIR(about.st_mode))
        return gp_fail(err, ADVGP_EIO, "cannot write %.300s: it is a folder; name a file in it", path);
    const bool special = exists && !S_ISREG(about.st_mode);
    if (*out != CSV || special || strcmp(path, "-") == 0 || ends_with(path, ".csv")) return ADVGP_OK;
    return gp_fail(err, ADVGP_EINVAL, "the output '%.300s' ends with none of .csv, .parquet and .jsonl", path);
}

advgp_status gp_tableout_check(const char *path, advgp_error *err)
{
    format kind;
    return find_format(path, &kind, err);
}

static advgp_status open_stage(gp_tableout *t, const bool *exact, advgp_error *err)
{
    gp_stage_type *types = gp_alloc(t->n_columns, sizeof *types);
    if (!types) return gp_fail(err, ADVGP_ENOMEM, "no memory for %zu columns", t->n_columns);
    for (size_t i = 0; i < t->n_columns; i++)
        types[i] = t->types[i] == GP_BOOLEAN                          ? GP_STAGE_BOOLEAN
                   : t->types[i] == GP_NUMBER && !(exact && exact[i]) ? GP_STAGE_NUMBER
                                                                      : GP_STAGE_TEXT;
    const advgp_status st = gp_stage_open(types, t->n_columns, &t->stage, err);
    gp_free(types);
    return st;
}

static advgp_status copy_columns(gp_tableout *t, const char *path, const char *const *names,
                                 const gp_column_type *types, size_t n, advgp_error *err)
{
    t->path = gp_copy_text(path);
    t->names = gp_alloc(n, sizeof *t->names);
    t->types = gp_alloc(n, sizeof *t->types);
    t->digits = gp_alloc(n, sizeof *t->digits);
    bool ok = t->path && t->names && t->types && t->digits;
    for (size_t i = 0; ok && i < n; i++) {
        t->types[i] = types[i];
        t->names[i] = gp_copy_text(names[i]);
        t->n_columns = i + 1;
        ok = t->names[i] != NULL;
    }
    return ok ? ADVGP_OK : gp_fail(err, ADVGP_ENOMEM, "no memory for %zu columns", n);
}

static void add_csv_text(gp_buffer *out, const char *p, size_t n);

static advgp_status open_sink(gp_tableout *t, const bool *exact, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    if (t->path && strcmp(t->path, "-") != 0) st = gp_atomicfile_open(t->path, &t->file, err);
    if (st == ADVGP_OK && t->format == PARQUET) st = open_stage(t, exact, err);
    if (st != ADVGP_OK || t->format != CSV) return st;
    for (size_t i = 0; i < t->n_columns; i++) {
        if (i) gp_buffer_add(&t->text, ",");
        add_csv_text(&t->text, t->names[i], strlen(t->names[i]));
    }
    gp_buffer_add(&t->text, "\n");
    return ADVGP_OK;
}

advgp_status gp_tableout_open(const char *path, const char *const *names, const gp_column_type *types,
                              const bool *exact, size_t n, gp_tableout **out, advgp_error *err)
{
    *out = NULL;
    format kind;
    advgp_status st = find_format(path, &kind, err);
    if (st != ADVGP_OK) return st;
    gp_tableout *t = gp_alloc(1, sizeof *t);
    if (!t) return gp_fail(err, ADVGP_ENOMEM, "no memory for a table");
    t->format = kind;
    st = copy_columns(t, path, names, types, n, err);
    if (st == ADVGP_OK) st = open_sink(t, exact, err);
    if (st == ADVGP_OK)
        *out = t;
    else
        gp_tableout_abandon(t);
    return st;
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
static bool begin_cell(gp_tableout *t)
{
    const size_t column = t->column++;
    if (t->stage) return false;
    if (t->format == CSV) {
        if (column) gp_buffer_bytes(&t->text, ",", 1);
        return true;
    }
    gp_buffer_bytes(&t->text, column ? "," : "{", 1);
    add_json_text(&t->text, t->names[column], strlen(t->names[column]));
    gp_buffer_bytes(&t->text, ":", 1);
    return true;
}

static void add_missing(gp_tableout *t)
{
    if (begin_cell(t))
        gp_buffer_bytes(&t->text, "null", t->format == CSV ? 0 : 4);
    else
        gp_stage_missing(t->stage);
}

void gp_tableout_number(gp_tableout *t, double value)
{
    char digits[GP_DECIMAL_BYTES];
    if (!isfinite(value))
        add_missing(t);
    else if (begin_cell(t))
        gp_buffer_bytes(&t->text, digits, gp_decimal_write(value, digits));
    else
        gp_stage_number(t->stage, value);
}

// The digits of a whole number without its sign; 0 where it is none, or is not written as JSON writes it.
static size_t count_digits(const char *p, size_t n)
{
    const size_t sign = n && *p == '-';
    for (size_t i = sign; i < n; i++)
        if (p[i] < '0' || p[i] > '9') return 0;
    return n - sign > 1 && p[sign] == '0' ? 0 : n - sign;
}

void gp_tableout_digits(gp_tableout *t, const char *p, size_t n, double value)
{
    char written[GP_DECIMAL_BYTES];
    digit_kind *state = &t->digits[t->column];
    const size_t count = p ? count_digits(p, n) : 0;
    const bool whole = count && count <= WIDE_DIGITS;
    const digit_kind now = !whole ? MIXED : count <= LONG_DIGITS ? LONG : WIDE;
    if (!isfinite(value)) {
        add_missing(t);
        return;
    }
    if (now > *state) *state = now;
    if (!whole) {
        n = gp_decimal_write(value, written);
        p = written;
    }
    if (begin_cell(t))
        gp_buffer_bytes(&t->text, p, n);
    else // a text, which becomes a number when all of the column is known
        gp_stage_text(t->stage, p, n);
}

void gp_tableout_boolean(gp_tableout *t, double value)
{
    if (isnan(value))
        add_missing(t);
    else if (begin_cell(t))
        gp_buffer_add(&t->text, "%s", value != 0 ? "true" : "false");
    else
        gp_stage_boolean(t->stage, value != 0);
}

void gp_tableout_text(gp_tableout *t, const char *p, size_t n)
{
    if (!p)
        add_missing(t);
    else if (!begin_cell(t))
        gp_stage_text(t->stage, p, n);
    else if (t->format == CSV)
        add_csv_text(&t->text, p, n);
    else
        add_json_text(&t->text, p, n);
}

// Year, month and day of a day counted from 2000-01-01, by the 400-year cycle counted from March.
static void civil(double days, double *year, int *month, int *day)
{
    const double z = days + 730425, era = floor(z / 146097), doe = z - era * 146097;
    const double yoe = floor((doe - floor(doe / 1460) + floor(doe / 36524) - floor(doe / 146096)) / 365);
    const double doy = doe - (365 * yoe + floor(yoe / 4) - floor(yoe / 100));
    const double mp = floor((5 * doy + 2) / 153);
    *day = (int)(doy - floor((153 * mp + 2) / 5)) + 1;
    *month = (int)(mp < 10 ? mp + 3 : mp - 9);
    *year = yoe + 400 * era + (*month <= 2 ? 1 : 0);
}

void gp_tableout_time(gp_tableout *t, double seconds)
{
    char text[80];
    if (!isfinite(seconds) || fabs(seconds) > 1e14) { // three million years
        gp_tableout_text(t, NULL, 0);
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
    gp_tableout_text(t, text, (size_t)n);
}

// ---- rows and the end -----------------------------------------------------------------------------------------------

static advgp_status flush(gp_tableout *t, advgp_error *err)
{
    if (t->text.failed) return gp_fail(err, ADVGP_ENOMEM, "no memory for the rows of %.300s", t->path);
    const size_t n = t->text.n;
    t->text.n = 0;
    if (!n) return ADVGP_OK;
    if (t->file) return gp_atomicfile_write(t->file, t->text.p, n, err);
    if (fwrite(t->text.p, 1, n, stdout) == n) return ADVGP_OK;
    return gp_fail(err, ADVGP_EIO, "cannot write to standard output: %s", strerror(errno));
}

advgp_status gp_tableout_end_row(gp_tableout *t, advgp_error *err)
{
    t->column = 0;
    if (t->stage) return gp_stage_end_row(t->stage, err);
    if (t->format == CSV)
        gp_buffer_bytes(&t->text, "\n", 1);
    else
        gp_buffer_bytes(&t->text, "}\n", 2);
    return t->text.n >= FLUSH_BYTES || t->text.failed ? flush(t, err) : ADVGP_OK;
}

// Types are told, not guessed: a text of digits stays a text.
static advgp_status export_parquet(gp_tableout *t, advgp_error *err)
{
    static const char *const sql_types[] = {
        [GP_NUMBER] = "DOUBLE", [GP_BOOLEAN] = "BOOLEAN", [GP_TIME] = "TIMESTAMP", [GP_TEXT] = "VARCHAR"};
    static const char *const digit_types[] = {[LONG] = "BIGINT", [WIDE] = "DECIMAL(38, 0)", [MIXED] = "DOUBLE"};
    const char **types = gp_alloc(t->n_columns, sizeof *types);
    if (!types) return gp_fail(err, ADVGP_ENOMEM, "no memory for %zu columns", t->n_columns);
    for (size_t i = 0; i < t->n_columns; i++)
        types[i] = t->digits[i] ? digit_types[t->digits[i]] : sql_types[t->types[i]];
    advgp_status st = gp_stage_export(t->stage, (const char *const *)t->names, types, gp_atomicfile_temporary(t->file),
                                      err);
    gp_free(types);
    return st == ADVGP_EIO ? gp_wrap(err, st, "cannot write %.200s", t->path) : st;
}

advgp_status gp_tableout_commit(gp_tableout *t, advgp_error *err)
{
    advgp_status st = t->stage ? export_parquet(t, err) : flush(t, err);
    if (st == ADVGP_OK && t->file) {
        st = gp_atomicfile_commit(t->file, err);
        t->file = NULL;
    } else if (st == ADVGP_OK && fflush(stdout) != 0) {
        st = gp_fail(err, ADVGP_EIO, "cannot write to standard output: %s", strerror(errno));
    }
    gp_tableout_abandon(t);
    return st;
}

void gp_tableout_abandon(gp_tableout *t)
{
    if (!t) return;
    gp_atomicfile_abandon(t->file);
    gp_stage_free(t->stage);
    for (size_t i = 0; i < t->n_columns; i++) gp_free(t->names[i]);
    gp_free(t->names);
    gp_free(t->types);
    gp_free(t->digits);
    gp_free(t->path);
    gp_buffer_fini(&t->text);
    gp_free(t);
}
