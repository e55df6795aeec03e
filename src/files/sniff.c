// sniff.c: what the first bytes of a file tell: kind, compression, encoding, delimiter. DuckDB could guess the
// delimiter too, but where a row is ragged it then prefers a dialect of one column, and the user would never hear of
// the row.
#include "files/inputs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

gp_utf16 gp_sniff_utf16(const unsigned char *head, size_t n)
{
    if (n >= 2 && head[0] == 0xff && head[1] == 0xfe) return GP_UTF16_LE;
    if (n >= 2 && head[0] == 0xfe && head[1] == 0xff) return GP_UTF16_BE;
    size_t even = 0, odd = 0, pairs = (n < 200 ? n : 200) / 2;
    for (size_t i = 0; i < pairs; i++) even += head[2 * i] == 0, odd += head[2 * i + 1] == 0;
    if (pairs < 4) return GP_NOT_UTF16;
    if (even == 0 && odd * 10 >= pairs * 9) return GP_UTF16_LE; // Latin letters: every second byte is 0
    if (odd == 0 && even * 10 >= pairs * 9) return GP_UTF16_BE;
    return GP_NOT_UTF16;
}

static bool has_magic(const unsigned char *head, size_t n, const char *magic, size_t length)
{
    return n >= length && memcmp(head, magic, length) == 0;
}

advgp_status gp_refuse_foreign(const char *shown, const unsigned char *head, size_t n, advgp_error *err)
{
    static const struct {
        const char *magic;
        size_t length; // with the 0 behind it, where a name of a column could begin so
        const char *what, *way_out;
    } kinds[] = {
        {"BZh", 3, "compressed by bzip2", "pipe it: bzcat FILE | advgp ... -"},
        {"\xfd"
         "7zXZ",
         6, "compressed by xz", "pipe it: xzcat FILE | advgp ... -"},
        {"PK\x03\x04", 4, "a workbook (.xlsx, .ods) or a zip archive",
         "save its sheet as CSV (LibreOffice does so too), or unpack it"},
        {"ARROW1", 7, "an Arrow file (Feather)", "write it as Parquet, or hand its table to the Python package"},
        {"SQLite format 3", 16, "a database of SQLite",
         "write the table as CSV: sqlite3 -csv -header FILE 'SELECT ...'"},
        {"\x89HDF\r\n", 6, "an HDF5 file", "write the table as Parquet or CSV"},
        {"\x93NUMPY", 6, "an array of numpy", "write it as CSV, or hand it to the Python package"},
        {"Obj\x01", 4, "an Avro file", "write it as Parquet"},
        {"%PDF-", 5, "a PDF", "get the table itself, as CSV"},
        {"\xd0\xcf\x11\xe0\xa1\xb1", 6, "a workbook of old (.xls)", "save its sheet as CSV (LibreOffice does so too)"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (has_magic(head, n, kinds[i].magic, kinds[i].length))
            return gp_fail(err, ADVGP_EDATA, "%s is %s, which is not read; %s", shown, kinds[i].what, kinds[i].way_out);
    return ADVGP_OK;
}

void gp_sniff_kind(gp_input_file *file, const unsigned char *head, size_t n)
{
    file->compression = has_magic(head, n, "\x1f\x8b", 2)           ? "gzip"
                        : has_magic(head, n, "\x28\xb5\x2f\xfd", 4) ? "zstd"
                                                                    : "none";
    if (has_magic(head, n, "PAR1", 4)) {
        file->kind = GP_FILE_PARQUET;
        return;
    }
    const char *slash = strrchr(file->shown, '/');
    const char *name = slash ? slash + 1 : file->shown;
    if (strstr(name, ".parquet")) {
        file->kind = GP_FILE_PARQUET; // its reader will say what is wrong with it
        return;
    }
    bool json = strstr(name, ".json") || strstr(name, ".ndjson");
    bool csv = strstr(name, ".csv") || strstr(name, ".tsv") || strstr(name, ".txt");
    size_t i = 0;
    while (i < n && isspace(head[i])) i++;
    bool brace = i < n && head[i] == '{';
    file->kind = json || (brace && !csv) ? GP_FILE_JSON : GP_FILE_CSV;
}

// ---- the dialect ----------------------------------------------------------------------------------------------------
// The end of the line that starts at `from`, outside double quotes.
static size_t line_end(const unsigned char *head, size_t n, size_t from)
{
    bool quoted = false;
    size_t i = from;
    for (; i < n; i++) {
        if (head[i] == '"')
            quoted = !quoted;
        else if (!quoted && (head[i] == '\n' || head[i] == '\r'))
            break;
    }
    return i;
}

static size_t count_outside_quotes(const unsigned char *line, size_t n, char wanted)
{
    bool quoted = false;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (line[i] == '"')
            quoted = !quoted;
        else if (!quoted && line[i] == (unsigned char)wanted)
            count++;
    }
    return count;
}

static char choose_delimiter(const unsigned char *header, size_t n, const unsigned char *second, size_t n_second)
{
    static const char candidates[] = ",;\t| :~^";
    char best = ',';
    size_t best_score = 0;
    for (const char *c = candidates; *c; c++) {
        size_t in_header = count_outside_quotes(header, n, *c);
        if (in_header == 0) continue;
        bool agrees = n_second && count_outside_quotes(second, n_second, *c) == in_header;
        bool unusual = c >=
                       candidates + 4; // a space or colon inside a name is no delimiter unless the next line agrees
        if (unusual && (!agrees || best_score)) continue;
        size_t score = 2 * in_header + (agrees ? 1000000 : 0); // the second line decides, then the number
        if (score > best_score) best = *c, best_score = score;
    }
    return best;
}

static bool all_digits(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isdigit(p[i])) return false;
    return n > 0;
}

// The next field from *from on, as far as delimiters and line ends tell, without a minus; NULL after the last.
static const unsigned char *next_field(const unsigned char *head, size_t n, char delimiter, size_t *from,
                                       size_t *length)
{
    size_t end = *from;
    while (end < n && head[end] != (unsigned char)delimiter && head[end] != '\n' && head[end] != '\r') end++;
    if (end >= n) return NULL;
    const unsigned char *field = head + *from;
    *length = end - *from;
    *from = end + 1;
    if (*length && *field == '-') field++, (*length)--;
    return field;
}

const char *const gp_rare_missing[] = {"inf",  "Inf", "INF",     "infinity", "Infinity", "n/a",   "NAN",
                                       "<NA>", "#NA", "#DIV/0!", "#VALUE!",  "#REF!",    "#NUM!", "#NAME?"};
const size_t gp_rare_missing_size = sizeof gp_rare_missing / sizeof *gp_rare_missing;

bool gp_is_missing_word(gp_text text)
{
    if (text.n && *text.p == '-') text.p++, text.n--;
    for (size_t i = 0; text.n && strchr("iInN<#", *text.p) && i < gp_rare_missing_size; i++)
        if (strlen(gp_rare_missing[i]) == text.n && memcmp(text.p, gp_rare_missing[i], text.n) == 0) return true;
    return false;
}

static bool sees_rare_missing(const unsigned char *head, size_t n, char delimiter)
{
    size_t from = 0, length;
    for (const unsigned char *field; (field = next_field(head, n, delimiter, &from, &length));)
        if (gp_is_missing_word((gp_text){.p = (const char *)field, .n = length})) return true;
    return false;
}

// Do fields look like 1,5 and none like 1.5?
static bool sees_decimal_comma(const unsigned char *head, size_t n, char delimiter)
{
    if (delimiter == ',') return false;
    size_t commas = 0, from = 0, length;
    for (const unsigned char *field; (field = next_field(head, n, delimiter, &from, &length));) {
        const unsigned char *mark = memchr(field, ',', length);
        if (mark && all_digits(field, (size_t)(mark - field)) &&
            all_digits(mark + 1, length - (size_t)(mark - field) - 1))
            commas++;
        const unsigned char *point = memchr(field, '.', length);
        if (point && all_digits(field, (size_t)(point - field)) &&
            all_digits(point + 1, length - (size_t)(point - field) - 1))
            return false;
    }
    return commas > 0;
}

enum { NAME_BYTES = 64, COMPARED_NAMES = 4096 }; // beyond that many columns DuckDB's renaming stands

static size_t next_name(const unsigned char *line, size_t n, size_t from, char delimiter, char *name)
{
    bool quoted = false;
    size_t used = 0, i = from;
    for (; i < n; i++) {
        if (line[i] == '"') {
            quoted = !quoted;
            continue;
        }
        if (!quoted && line[i] == (unsigned char)delimiter) break;
        if (used + 1 < NAME_BYTES && (used || !isspace(line[i]))) name[used++] = (char)line[i];
    }
    while (used && isspace((unsigned char)name[used - 1])) used--;
    name[used] = 0;
    return i;
}

// DuckDB, which reads the files, does not tell capitals from small letters in names, and a query of --sql could not
// either.
advgp_status gp_refuse_twins(const char *shown, size_t column, const char *name, size_t other_column, const char *other,
                             const char *way_out, advgp_error *err)
{
    if (strcmp(name, other) == 0)
        return gp_fail(err, ADVGP_EDATA, "%s: columns %zu and %zu are both named '%s'; %s", shown, column, other_column,
                       name, way_out);
    return gp_fail(err, ADVGP_EDATA,
                   "%s: columns %zu and %zu are named '%s' and '%s', which differ in capitals alone and cannot be told "
                   "apart; %s",
                   shown, column, other_column, name, other, way_out);
}

// Quadratic in the number of columns, and exact enough: names are compared by their first 63 bytes.
static advgp_status refuse_duplicates(const gp_input_file *file, const unsigned char *line, size_t n, advgp_error *err)
{
    size_t from = 0;
    for (size_t column = 1; from <= n && column < COMPARED_NAMES; column++) {
        char name[NAME_BYTES], other[NAME_BYTES];
        from = next_name(line, n, from, file->delimiter, name) + 1;
        size_t at = from;
        for (size_t k = column + 1; at <= n && k < COMPARED_NAMES; k++) {
            at = next_name(line, n, at, file->delimiter, other) + 1;
            if (*name && strcasecmp(name, other) == 0 && strlen(name) < NAME_BYTES - 1)
                return gp_refuse_twins(file->shown, column, name, k, other, "rename one in the header line", err);
        }
    }
    return ADVGP_OK;
}

// Is the first line a row already? Then every cell is a number (or empty), and not all of them are whole ones: names
// like 0, 1, 2 and 2019, 2020 are names.
static bool is_row(const unsigned char *line, size_t n, char delimiter)
{
    bool any = false;
    if (memchr(line, '"', n)) return false;
    for (size_t from = 0; from <= n;) {
        char cell[NAME_BYTES], *end;
        from = next_name(line, n, from, delimiter, cell) + 1;
        if (!*cell) continue;
        char *comma = delimiter == ',' ? NULL : strchr(cell, ',');
        if (comma) *comma = '.';
        if (!strchr("+-.0123456789", *cell) || strpbrk(cell, "xX")) return false;
        (void)strtod(cell, &end);
        if (*end) return false;
        any = any || strpbrk(cell, ".eE");
    }
    return any;
}

// Is every cell a number, and there are several?
static bool is_numbers(const unsigned char *line, size_t n, char delimiter)
{
    size_t cells = 0;
    for (size_t from = 0; from <= n; cells++) {
        char cell[NAME_BYTES], *end;
        from = next_name(line, n, from, delimiter, cell) + 1;
        (void)strtod(cell, &end);
        if (!*cell || *end) return false;
    }
    return cells > 1;
}

// Lines from `start` on that begin with #, up to the header; *skip counts them and blank ones. A last one that has a
// name for each number of the line below is the header itself: "#CHROM POS ID".
static size_t skip_comments(const unsigned char *head, size_t n, size_t start, size_t *skip)
{
    size_t before = start, lines = *skip;
    while (start < n && (head[start] == '#' || head[start] == '\n' || head[start] == '\r')) {
        size_t end = start; // a quote in a comment means nothing
        while (end < n && head[end] != '\n' && head[end] != '\r') end++;
        const bool comment = end > start;
        if (end < n) end += head[end] == '\r' && end + 1 < n && head[end + 1] == '\n' ? 2 : 1;
        if (comment) before = start, *skip = lines;
        start = end;
        lines++;
    }
    if (start == before || start >= n || head[before] != '#') return start;
    const size_t last = line_end(head, n, before) - before, next = line_end(head, n, start) - start;
    const char delimiter = choose_delimiter(head + before, last, head + start, next);
    if (is_numbers(head + start, next, delimiter) &&
        count_outside_quotes(head + before, last, delimiter) == count_outside_quotes(head + start, next, delimiter))
        return before;
    *skip = lines;
    return start;
}

// Between the rows, and # begins nothing else there.
static bool sees_comments(const unsigned char *rows, size_t n)
{
    bool lines = false;
    for (const unsigned char *p = rows; (p = memchr(p, '#', n - (size_t)(p - rows))); p++) {
        if (p != rows && p[-1] != '\n' && p[-1] != '\r') return false;
        lines = true;
        while (p + 1 < rows + n && *p != '\n' && *p != '\r') p++;
    }
    return lines;
}

// Are all quotes in sight, if there are any, around whole values and doubled inside? Of others the reader may find out
// what they mean.
static bool are_plain_quotes(const unsigned char *head, size_t n, char delimiter)
{
    bool quoted = false, fresh = true; // fresh: at the beginning of a value
    for (size_t i = 0; i < n; i++) {
        const bool ends = head[i] == (unsigned char)delimiter || head[i] == '\n' || head[i] == '\r';
        if (head[i] != '"') {
            if (!quoted && !fresh && i && head[i - 1] == '"' && !ends) return false;
            fresh = !quoted && ends;
        } else if (quoted && i + 1 < n && head[i + 1] == '"') {
            i++;
        } else {
            if (!quoted && !fresh) return false;
            quoted = !quoted, fresh = false;
        }
    }
    return true;
}

// "sep=;", as Excel has it in the first line: where the second one begins, and the delimiter; 0: there is no such line.
static size_t skip_separator(gp_input_file *file, const unsigned char *head, size_t n)
{
    if (n < 6 || memcmp(head, "sep=", 4) != 0 || (head[5] != '\n' && head[5] != '\r')) return 0;
    if (!file->asked_delimiter) file->asked_delimiter = (char)head[4];
    return head[5] == '\r' && n > 6 && head[6] == '\n' ? 7 : 6;
}

advgp_status gp_sniff_csv(gp_input_file *file, const unsigned char *head, size_t n, gp_notes *notes, advgp_error *err)
{
    if (memchr(head, 0, n))
        return gp_fail(err, ADVGP_EDATA,
                       "%s holds binary bytes and is no table of text; CSV, Parquet and JSON lines are read",
                       file->shown);
    if (n >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0) head += 3, n -= 3;
    const size_t excel = skip_separator(file, head, n);
    file->skip = excel > 0;
    size_t start = n > excel && head[excel] == '#' ? skip_comments(head, n, excel, &file->skip) : excel;
    size_t end = line_end(head, n, start);
    while (end == start && end < n) start = end + 1, end = line_end(head, n, start); // blank lines before the header
    size_t second = end;
    while (second < n && (head[second] == '\n' || head[second] == '\r')) second++;
    size_t second_end = line_end(head, n, second);
    const unsigned char *header = head + start;
    size_t length = end - start;
    if (length == 0)
        return gp_fail(err, ADVGP_EDATA, "%s holds no line of text; a header line and rows are expected", file->shown);
    file->delimiter = file->asked_delimiter ? file->asked_delimiter
                                            : choose_delimiter(header, length, head + second, second_end - second);
    file->comments = second < n && sees_comments(head + second, n - second);
    if (file->comments && *header != '#') file->skip = excel > 0; // the reader leaves out all of them
    file->n_header = count_outside_quotes(header, length, file->delimiter) + 1;
    file->plain_quotes = *header != '\'' && are_plain_quotes(header, n - start, file->delimiter);
    file->decimal_comma = sees_decimal_comma(head, n, file->delimiter);
    file->rare_missing = sees_rare_missing(head, n, file->delimiter);
    file->no_header = file->header == GP_HEADER_NO ||
                      (file->header == GP_HEADER_AUTO && is_row(header, length, file->delimiter));
    if (!file->no_header) return refuse_duplicates(file, header, length, err);
    return gp_notes_add(notes, err, 1, "%s has no header line: its columns are called c1 to c%zu", file->shown,
                        file->n_header);
}
