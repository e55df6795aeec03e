// file_error.c: DuckDB explains itself to authors of SQL, over many lines. Here its message becomes one sentence that
// names the file, the line, the column and the way out.
#include "base/alloc.h"
#include "files/inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = GP_PIECE_BYTES, LINE_BYTES_MAX = 2000000 }; // the latter is DuckDB's max_line_size

// Copies what stands between `after` and `before` in the message; empty if it is not there.
static const char *between(char *out, const char *message, const char *after, const char *before)
{
    *out = 0;
    const char *p = strstr(message, after);
    if (!p) return out;
    p += strlen(after);
    const char *end = strstr(p, before);
    return gp_show_text(out, PIECE_BYTES, p, end ? (size_t)(end - p) : strlen(p));
}

static gp_input_file *find_file(const gp_inputs *inputs, const char *message)
{
    for (size_t i = 0; i < inputs->n_files; i++) {
        const char *path = inputs->files[i].path;
        for (const char *p = strstr(message, path); p; p = strstr(p + 1, path)) {
            char next = p[strlen(path)]; // .../fd/1 must not be taken for .../fd/12
            if (next == '\n' || next == '"' || next == '\'' || next == ' ' || next == 0) return &inputs->files[i];
        }
    }
    return inputs->n_files == 1 ? &inputs->files[0] : NULL;
}

gp_input_file *gp_file_not_utf8(gp_inputs *inputs, const char *message)
{
    bool unicode = strstr(message, "Invalid unicode") || strstr(message, "not utf-8 encoded");
    gp_input_file *file = unicode ? find_file(inputs, message) : NULL;
    return file && file->kind == GP_FILE_CSV && !file->latin1 ? file : NULL;
}

bool gp_file_turns_latin1(const gp_input_file *file)
{
    enum { PIECE = 1 << 16, CHARACTER = 4 };
    if (file->kind != GP_FILE_CSV || file->latin1 || strcmp(file->compression, "none") != 0) return false;
    FILE *f = fopen(file->path, "rb");
    unsigned char *piece = f ? gp_alloc(PIECE + CHARACTER, 1) : NULL;
    bool utf8 = true;
    size_t kept = 0, got = 1; // the last character of the piece before may be incomplete
    while (piece && utf8 && got) {
        got = fread(piece + kept, 1, PIECE, f);
        const size_t n = kept + got, whole = got ? gp_utf8_whole(piece, n) : n;
        utf8 = gp_text_is_utf8((const char *)piece, whole);
        kept = n - whole;
        memmove(piece, piece + whole, kept);
    }
    gp_free(piece);
    if (f) fclose(f);
    return !utf8;
}

bool gp_file_mixes_ends(const gp_input_file *file)
{
    enum { PIECE = 1 << 16 };
    if (file->kind != GP_FILE_CSV || file->mixed_ends || strcmp(file->compression, "none") != 0) return false;
    FILE *f = fopen(file->path, "rb");
    char *piece = f ? gp_alloc(PIECE, 1) : NULL;
    bool with = false, without = false;
    char before = 0; // the last byte of the piece before
    for (size_t got = 1; piece && got && !(with && without);) {
        got = fread(piece, 1, PIECE, f);
        for (const char *p = piece; (p = memchr(p, '\n', got - (size_t)(p - piece))); p++) {
            if ((p == piece ? before : p[-1]) == '\r')
                with = true;
            else
                without = true;
        }
        if (got) before = piece[got - 1];
    }
    gp_free(piece);
    if (f) fclose(f);
    return with && without;
}

// The message's own first line without "Invalid Input Error: " and without our internal path.
static const char *first_line(char *out, const char *message)
{
    const char *text = strstr(message, "Error: ");
    text = text ? text + 7 : message;
    return gp_show_text(out, PIECE_BYTES, text, strcspn(text, "\n"));
}

static advgp_status line_too_long(const char *shown, const char *line, advgp_error *err)
{
    return gp_fail(err, ADVGP_EDATA,
                   "%s, line %s: a line of more than 2,000,000 bytes; is this a table with line ends?", shown, line);
}

bool gp_file_stumbled(const char *message, char column[GP_PIECE_BYTES], char value[GP_PIECE_BYTES])
{
    between(column, message, "Error when converting column \"", "\"");
    between(value, message, "Could not convert string \"", "\" to");
    return *column && *value;
}

// DuckDB's word for the kind of a column, as people say it.
static const char *kind_of(const char *type)
{
    if (strcmp(type, "DOUBLE") == 0) return "number";
    if (strcmp(type, "BOOLEAN") == 0) return "yes or no";
    return strcmp(type, "TIME") == 0 ? "time of day" : "date";
}

static advgp_status csv_error(const char *shown, const char *message, advgp_error *err)
{
    char line[PIECE_BYTES], a[PIECE_BYTES], b[PIECE_BYTES], c[PIECE_BYTES];
    between(line, message, "CSV Error on Line: ", "\n");
    between(a, message, "Expected Number of Columns: ", " ");
    if (strcmp(a, "1") == 0)
        return gp_fail(
            err, ADVGP_EDATA,
            "%s, line %s: several values, where the first line has one; is that the header? Delete the lines "
            "before it, or let them begin with #",
            shown, line);
    if (*a)
        return gp_fail(err, ADVGP_EDATA,
                       "%s, line %s: %s values where the header has %s; correct the line (is a delimiter unquoted?)",
                       shown, line, between(b, message, "Found: ", "\n"), a);
    between(a, message, "Error when converting column \"", "\"");
    if (*a)
        return gp_fail(err, ADVGP_EDATA,
                       "%s, line %s: column '%s' holds '%s', which is no %s as in other rows; correct it, leave it "
                       "empty or name it with {na} if it is missing, read all as text ({encode} '%s=onehot'), or leave "
                       "the column out ({exclude} '%s')",
                       shown, line, a, between(b, message, "Could not convert string \"", "\" to"),
                       kind_of(between(c, message, "\" to '", "'")), a, a);
    if (strstr(message, "Maximum line size")) return line_too_long(shown, line, err);
    if (strstr(message, "unterminated quote"))
        return gp_fail(err, ADVGP_EDATA, "%s, line %s: a quote is opened and never closed; close or double it", shown,
                       line);
    if (strstr(message, "Invalid unicode"))
        return gp_fail(err, ADVGP_EDATA,
                       "%s, line %s: bytes that are neither UTF-8 nor Latin-1; convert the file to UTF-8", shown, line);
    const char *rest = strchr(strstr(message, "CSV Error"), '\n');
    if (rest && strncmp(rest + 1, "Original Line", 13) == 0) rest = strchr(rest + 1, '\n');
    gp_show_text(a, sizeof a, rest ? rest + 1 : "unreadable", rest ? strcspn(rest + 1, "\n") : 10);
    return gp_fail(err, ADVGP_EDATA, "%s, line %s: %s", shown, line, a);
}

// The number of the first line that is longer than DuckDB takes, or 0. Where one is, DuckDB may speak of memory, of its
// parallel reader or of delimiters; then all of the file is looked at.
static size_t find_long_line(const gp_input_file *file)
{
    enum { PIECE = 1 << 16 };
    if (file->kind != GP_FILE_CSV || strcmp(file->compression, "none") != 0) return 0;
    FILE *f = fopen(file->path, "rb");
    char *piece = f ? gp_alloc(PIECE, 1) : NULL;
    size_t line = 1, length = 0, got = 1;
    while (piece && got && length <= LINE_BYTES_MAX) {
        got = fread(piece, 1, PIECE, f);
        for (size_t from = 0; from < got && length <= LINE_BYTES_MAX;) {
            const char *end = memchr(piece + from, '\n', got - from);
            const size_t to = end ? (size_t)(end - piece) : got;
            length += to - from;
            from = to + 1;
            if (end && length <= LINE_BYTES_MAX) line++, length = 0;
        }
    }
    gp_free(piece);
    if (f) fclose(f);
    return length > LINE_BYTES_MAX ? line : 0;
}

advgp_status gp_file_error(const gp_inputs *inputs, bool user_sql, const char *message, advgp_error *err)
{
    if (!message) message = "Error: the database gave no reason";
    const gp_input_file *file = find_file(inputs, message);
    const char *shown = file ? file->shown : "the data";
    char line[PIECE_BYTES];
    const bool puzzled = strstr(message, "when sniffing file") || strstr(message, "Parallel CSV Reader") ||
                         strstr(message, "unterminated quote") || strncmp(message, "Out of Memory", 13) == 0;
    const size_t long_line = file && puzzled ? find_long_line(file) : 0;
    if (long_line) {
        snprintf(line, sizeof line, "%zu", long_line);
        return line_too_long(shown, line, err);
    }
    if (strstr(message, "CSV Error on Line: ")) return csv_error(shown, message, err);
    if (strstr(message, "when sniffing file"))
        return gp_fail(err, ADVGP_EDATA,
                       "%s does not read as a table: no delimiter gives the same number of values in every line",
                       shown);
    if (strncmp(message, "Out of Memory", 13) == 0)
        return gp_fail(err, ADVGP_ENOMEM, "%s: the reader's memory limit is too small: %s", shown,
                       first_line(line, message));
    if (strstr(message, "magic bytes") || strstr(message, "Parquet"))
        return gp_fail(err, ADVGP_EDATA, "%s is damaged or no Parquet file; write it again", shown);
    if (strstr(message, "JSON") && (!file || file->kind == GP_FILE_JSON))
        return gp_fail(err, ADVGP_EDATA, "%s is not JSON lines: %s", shown, first_line(line, message));
    bool about_sql = strncmp(message, "Parser", 6) == 0 || strncmp(message, "Binder", 6) == 0 ||
                     strncmp(message, "Catalog", 7) == 0;
    if (user_sql && strstr(message, "Macro user() does not")) // gp_duckdb_lock
        return gp_fail(err, ADVGP_EINVAL, "{sql}: there is no column 'user'");
    if (user_sql && about_sql) return gp_fail(err, ADVGP_EINVAL, "{sql}: %s", first_line(line, message));
    if (strncmp(message, "IO Error", 8) == 0)
        return gp_fail(err, ADVGP_EIO, "cannot read %s: %s", shown, first_line(line, message));
    return gp_fail(err, ADVGP_EDATA, "%s: %s", user_sql ? "{sql}" : shown, first_line(line, message));
}
