// runlog.c: JSON lines through Jansson, one write a line.
#include "store/runlog.h"

#include "base/alloc.h"
#include "base/status.h"
#include "base/text.h"
#include "store/laid.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- writing --------------------------------------------------------------------------------------------------------

struct gp_runlog {
    int fd;
    bool regular; // a file can be cut back to its last whole line; a pipe cannot
    char *path;
};

static advgp_status cannot(const char *what, const char *path, advgp_error *err)
{
    return gp_fail(err, ADVGP_EIO, "cannot %s the log %.200s: %s", what, path, strerror(errno));
}

static bool write_whole(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t put = write(fd, p, n);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        p += put;
        n -= (size_t)put;
    }
    return true;
}

static advgp_status write_line(gp_runlog *log, const char *line, size_t n, advgp_error *err)
{
    off_t before = log->regular ? lseek(log->fd, 0, SEEK_END) : -1;
    if (write_whole(log->fd, line, n)) return ADVGP_OK;
    advgp_status st = cannot("write", log->path, err);
    if (before >= 0 && ftruncate(log->fd, before) != 0) return st; // the reader copes with half a line
    return st;
}

static size_t measure_line(const json_t *object)
{
    return json_dumpb(object, NULL, 0, JSON_COMPACT);
}

// Jansson allocates inside json_dumpb too and then says 0, as for anything else it cannot write.
static advgp_status write_object(gp_runlog *log, const json_t *object, advgp_error *err)
{
    size_t n = measure_line(object);
    char *line = n ? gp_alloc(n + 1, 1) : NULL;
    bool good = line && json_dumpb(object, line, n, JSON_COMPACT) == n;
    if (good) line[n] = '\n';
    advgp_status st = good ? write_line(log, line, n + 1, err) : gp_no_memory(err);
    gp_free(line);
    return st;
}

// {"event": event, ...fields}, with the event in front, where people look first.
static json_t *event_object(const char *event, json_t *fields)
{
    json_t *object = json_object();
    if (!object) return NULL;
    if (json_object_set_new(object, "event", json_string(event)) == 0 &&
        json_object_update_missing(object, fields) == 0)
        return object;
    json_decref(object);
    return NULL;
}

static advgp_status write_event(gp_runlog *log, const char *event, json_t *fields, advgp_error *err)
{
    json_t *object = fields ? event_object(event, fields) : NULL;
    if (!object) return gp_no_memory(err);
    advgp_status st = write_object(log, object, err);
    json_decref(object);
    return st;
}

advgp_status gp_runlog_event_take(gp_runlog *log, const char *event, json_t *fields, advgp_error *err)
{
    advgp_status st = write_event(log, event, fields, err);
    json_decref(fields);
    return st;
}

// What is there already, or a new file: a link to nothing is not followed to where somebody wants one.
static int open_file(const char *path, int flags)
{
    const int fd = open(path, (flags & ~O_CREAT) | O_CLOEXEC);
    if (fd >= 0 || errno != ENOENT || !(flags & O_CREAT)) return fd;
    return open(path, (flags & ~O_TRUNC) | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

static advgp_status open_log(const char *path, int flags, gp_runlog **out, advgp_error *err)
{
    *out = NULL;
    const advgp_status laid = gp_laid_check(path, err);
    if (laid != ADVGP_OK) return laid;
    gp_runlog *log = gp_alloc(1, sizeof *log);
    if (log) log->fd = -1;
    if (log) log->path = gp_text_copy(path, strlen(path));
    if (!log || !log->path) {
        gp_runlog_close(log);
        return gp_no_memory(err);
    }
    log->fd = open_file(path, flags);
    struct stat about;
    if (log->fd < 0 || fstat(log->fd, &about) != 0) {
        advgp_status st = cannot("open", path, err);
        gp_runlog_close(log);
        return st;
    }
    log->regular = S_ISREG(about.st_mode);
    *out = log;
    return ADVGP_OK;
}

advgp_status gp_runlog_create(const char *path, json_t *manifest, gp_runlog **out, advgp_error *err)
{
    advgp_status st = open_log(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, out, err);
    if (!*out) return st;
    st = write_event(*out, "manifest", manifest, err);
    if (st == ADVGP_OK) return st;
    gp_runlog_close(*out);
    *out = NULL;
    return st;
}

// Where the last whole line ends: behind the last newline, found backwards.
static off_t end_of_lines(int fd)
{
    off_t at = lseek(fd, 0, SEEK_END);
    for (char c; at > 0; at--)
        if (pread(fd, &c, 1, at - 1) == 1 && c == '\n') break;
    return at;
}

advgp_status gp_runlog_append(const char *path, gp_runlog **out, advgp_error *err)
{
    *out = NULL;
    gp_runlog_reader *reader; // is it a log at all? A file given by mistake must not be cut
    advgp_status st = gp_runlog_open(path, &reader, err);
    gp_runlog_reader_close(reader);
    if (st == ADVGP_OK) st = open_log(path, O_RDWR | O_APPEND, out, err);
    if (!*out) return st;
    if (ftruncate((*out)->fd, end_of_lines((*out)->fd)) == 0) return ADVGP_OK;
    st = cannot("write", path, err);
    gp_runlog_close(*out);
    *out = NULL;
    return st;
}

void gp_runlog_close(gp_runlog *log)
{
    if (!log) return;
    if (log->fd >= 0) close(log->fd);
    gp_free(log->path);
    gp_free(log);
}

// ---- reading --------------------------------------------------------------------------------------------------------

enum { LINE_MOST = 64 << 20, CHUNK = 1 << 16 }; // bytes: the longest line taken for one of ours, and of a read

struct gp_runlog_reader {
    FILE *file;
    char *path;
    json_t *manifest;
    gp_buffer line;
    size_t n_lines;
    bool cut;
};

// The next line without its newline; false at the end of the file, or with what follows the last newline: `cut`.
static bool read_line(gp_runlog_reader *reader)
{
    char chunk[CHUNK];
    reader->line.n = 0;
    reader->n_lines++;
    for (;;) {
        size_t n = 0;
        int c = EOF;
        while (n < sizeof chunk && (c = getc(reader->file)) != EOF && c != '\n') chunk[n++] = (char)c;
        gp_buffer_bytes(&reader->line, chunk, n);
        if (c == '\n' || reader->line.failed || reader->line.n > LINE_MOST) return true;
        if (c == EOF) {
            reader->cut = reader->line.n > 0;
            return false;
        }
    }
}

static advgp_status parse_line(gp_runlog_reader *reader, json_t **event, advgp_error *err)
{
    if (reader->line.failed) return gp_no_memory(err);
    if (reader->line.n > LINE_MOST)
        return gp_fail(err, ADVGP_EFILE, "%.200s:%zu: a line of more than %d bytes is none of a log", reader->path,
                       reader->n_lines, LINE_MOST);
    json_error_t about;
    *event = json_loadb(reader->line.p, reader->line.n, JSON_REJECT_DUPLICATES, &about);
    if (!*event && !*about.text) // how Jansson mostly says it; inside a token it takes it for bad syntax
        return gp_no_memory(err);
    if (!*event) return gp_fail(err, ADVGP_EFILE, "%.200s:%zu: %s", reader->path, reader->n_lines, about.text);
    if (json_is_string(json_object_get(*event, "event"))) return ADVGP_OK;
    json_decref(*event);
    *event = NULL;
    return gp_fail(err, ADVGP_EFILE, "%.200s:%zu: no object with an event", reader->path, reader->n_lines);
}

advgp_status gp_runlog_next(gp_runlog_reader *reader, json_t **event, advgp_error *err)
{
    *event = NULL;
    if (read_line(reader)) return parse_line(reader, event, err);
    if (ferror(reader->file))
        return gp_fail(err, ADVGP_EDATA, "cannot read the log %.200s: %s", reader->path, strerror(errno));
    return ADVGP_OK;
}

static advgp_status read_manifest(gp_runlog_reader *reader, advgp_error *err)
{
    advgp_status st = gp_runlog_next(reader, &reader->manifest, err);
    if (st != ADVGP_OK) return st;
    const char *event = json_string_value(json_object_get(reader->manifest, "event"));
    if (event && strcmp(event, "manifest") == 0) return ADVGP_OK;
    return gp_fail(err, ADVGP_EFILE, "%.200s does not begin with a manifest: not the log of a run", reader->path);
}

static advgp_status open_reader(const char *path, gp_runlog_reader *reader, advgp_error *err)
{
    reader->path = gp_text_copy(path, strlen(path));
    if (!reader->path) return gp_no_memory(err);
    reader->file = fopen(path, "rbe");
    if (reader->file) return read_manifest(reader, err);
    return gp_fail(err, ADVGP_EDATA, "cannot open the log %.200s: %s", path, strerror(errno));
}

advgp_status gp_runlog_open(const char *path, gp_runlog_reader **out, advgp_error *err)
{
    *out = NULL;
    gp_runlog_reader *reader = gp_alloc(1, sizeof *reader);
    if (!reader) return gp_no_memory(err);
    advgp_status st = open_reader(path, reader, err);
    if (st == ADVGP_OK)
        *out = reader;
    else
        gp_runlog_reader_close(reader);
    return st;
}

const json_t *gp_runlog_manifest(const gp_runlog_reader *reader)
{
    return reader->manifest;
}

bool gp_runlog_was_cut(const gp_runlog_reader *reader)
{
    return reader->cut;
}

void gp_runlog_reader_close(gp_runlog_reader *reader)
{
    if (!reader) return;
    if (reader->file) fclose(reader->file);
    json_decref(reader->manifest);
    gp_buffer_fini(&reader->line);
    gp_free(reader->path);
    gp_free(reader);
}

// ---- values ---------------------------------------------------------------------------------------------------------

json_t *gp_json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

double gp_json_real_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *gp_json_text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

// A file name may be no UTF-8, and JSON cannot hold it: its strange bytes become question marks, rather than losing the
// record.
json_t *gp_json_text(const char *text)
{
    if (gp_text_is_utf8(text, strlen(text))) return json_string(text);
    char *plain = gp_text_copy(text, strlen(text));
    for (char *p = plain; p && *p; p++)
        if ((unsigned char)*p >= 0x80) *p = '?';
    json_t *json = plain ? json_string(plain) : NULL;
    gp_free(plain);
    return json;
}
