// option_config.c: options from a file of key = value lines.
#include "base/alloc.h"
#include "base/status.h"
#include "options/option.h"
#include "options/option_set.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { CONFIG_MOST = 1 << 20 }; // bytes: a file above this is data given by mistake

static char *trim(char *text)
{
    text += strspn(text, " \t\r");
    for (size_t n = strlen(text); n && strchr(" \t\r", text[n - 1]); n--) text[n - 1] = 0;
    return text;
}

// Ends the line at a # that stands first or behind a blank, outside quotes: col#2 is a name, not a comment.
static void drop_comment(char *line)
{
    bool quoted = false;
    for (char *p = line; *p; p++) {
        if (quoted && *p == '\\' && p[1]) {
            p++;
        } else if (*p == '"') {
            quoted = !quoted;
        } else if (*p == '#' && !quoted && (p == line || p[-1] == ' ' || p[-1] == '\t')) {
            *p = 0;
            return;
        }
    }
}

// "..." keeps blanks and #; \" and \\ stand for themselves. Only a value that is quoted as a whole is touched: SQL has
// quotes of its own. False: the quote is not closed.
static bool unquote(char *value)
{
    size_t n = strlen(value);
    if (value[0] != '"') return true;
    char *write = value, *read = value + 1;
    for (; *read && *read != '"'; read++) {
        if (*read == '\\' && (read[1] == '"' || read[1] == '\\')) read++;
        *write++ = *read;
    }
    bool closed = *read == '"' && read == value + n - 1;
    *write = 0;
    return closed;
}

static advgp_status take_pair(gp_options *options, const char *key, const char *value, size_t line, advgp_error *err)
{
    gp_option_value *slot = gp_options_slot(options, key);
    if (!slot) return gp_options_unknown(options, "", key, err);
    if (slot->option->facets & GP_OF_COMMAND_LINE)
        return gp_fail(err, ADVGP_EINVAL, "%s belongs on the command line, not into a config file", slot->option->name);
    bool again = slot->line > 0, list = slot->option->kind == GP_OPTION_LIST;
    if (again && !list)
        return gp_fail(err, ADVGP_EINVAL, "%s is given twice, first in line %zu", slot->option->name, slot->line);
    if (slot->origin == GP_FROM_USER) { // the command line wins, but a wrong line is still wrong
        advgp_status st = gp_options_check(slot, key, value, err);
        slot->line = line;
        return st;
    }
    gp_option_source from = {.shown = key, .origin = GP_FROM_CONFIG, .line = line, .append = again && list};
    return gp_options_store(slot, &from, value, err);
}

static advgp_status take_line(gp_options *options, char *text, size_t line, advgp_error *err)
{
    drop_comment(text);
    text = trim(text);
    if (!*text) return ADVGP_OK;
    char *equals = strchr(text, '=');
    if (!equals || equals == text) return gp_fail(err, ADVGP_EINVAL, "'%.80s' is not of the form key = value", text);
    *equals = 0;
    char *key = trim(text), *value = trim(equals + 1);
    if (!unquote(value)) return gp_fail(err, ADVGP_EINVAL, "%.80s: the quoted value does not end with its quote", key);
    return take_pair(options, key, value, line, err);
}

static advgp_status take_lines(gp_options *options, const char *name, char *text, size_t n, advgp_error *err)
{
    size_t line = 0;
    for (size_t start = 0; start < n;) {
        char *end = memchr(text + start, '\n', n - start);
        size_t length = end ? (size_t)(end - (text + start)) : n - start;
        text[start + length] = 0; // the newline, or the zero behind the copy
        line++;
        advgp_status st = memchr(text + start, 0, length)
                              ? gp_fail(err, ADVGP_EINVAL, "a zero byte: is this a text file?")
                              : take_line(options, text + start, line, err);
        if (st != ADVGP_OK) return gp_wrap(err, st, "%.200s:%zu", name, line);
        start += length + 1;
    }
    return ADVGP_OK;
}

advgp_status gp_options_config_text(gp_options *options, const char *name, const char *text, size_t n, advgp_error *err)
{
    for (size_t i = 0; i < options->n_values; i++) options->values[i].line = 0; // of an earlier file
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {                       // a byte order mark says nothing here
        text += 3;
        n -= 3;
    }
    char *copy = gp_text_copy(text, n);
    if (!copy) return gp_fail(err, ADVGP_ENOMEM, "%.200s: no memory for the options", name);
    advgp_status st = take_lines(options, name, copy, n, err);
    gp_free(copy);
    return st;
}

// Reads to the end or one byte beyond the limit; pipes are welcome, so the size cannot be asked for.
static bool read_all(int fd, char *buffer, size_t *n)
{
    *n = 0;
    while (*n <= CONFIG_MOST) {
        ssize_t got = read(fd, buffer + *n, CONFIG_MOST + 1 - *n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return false;
        if (got == 0) break;
        *n += (size_t)got;
    }
    return true;
}

static advgp_status read_open_config(gp_options *options, const char *path, int fd, char *buffer, advgp_error *err)
{
    size_t n;
    if (!read_all(fd, buffer, &n))
        return gp_fail(err, ADVGP_EDATA, "cannot read the config file %.200s: %s", path, strerror(errno));
    if (n > CONFIG_MOST)
        return gp_fail(err, ADVGP_EINVAL, "%.200s is larger than %d bytes: not a config file", path, CONFIG_MOST);
    return gp_options_config_text(options, path, buffer, n, err);
}

advgp_status gp_options_read_config(gp_options *options, const char *path, advgp_error *err)
{
    char *buffer = gp_alloc(CONFIG_MOST + 1, 1);
    if (!buffer) return gp_fail(err, ADVGP_ENOMEM, "%.200s: no memory for the options", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    advgp_status st = fd < 0
                          ? gp_fail(err, ADVGP_EDATA, "cannot open the config file %.200s: %s", path, strerror(errno))
                          : read_open_config(options, path, fd, buffer, err);
    if (fd >= 0) close(fd);
    gp_free(buffer);
    return st;
}
