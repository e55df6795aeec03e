// say.c: how the program talks: notes and progress to stderr, results to stdout.
#include "base/clock.h"
#include "base/text.h"
#include "cli/cli.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Names and values come from files: what would move a terminal's cursor or change its colours is shown as a question
// mark.
void gp_cli_complain(const char *text)
{
    char line[1200] = "advgp: "; // at once: several processes may share the terminal
    size_t n = strlen(line);
    for (const char *p = text; *p && n < sizeof line - 1; p++)
        line[n++] = (char)((unsigned char)*p < ' ' || *p == 127 ? '?' : *p);
    line[n++] = '\n';
    fwrite(line, 1, n, stderr);
}

void gp_cli_say(const gp_options *options, const char *format, ...)
{
    char text[1024];
    if (gp_options_flag(options, "quiet")) return;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    gp_cli_complain(text);
}

void gp_cli_notes(const gp_options *options, const gp_notes *notes)
{
    for (size_t i = 0; i < notes->n; i++) gp_cli_say(options, "note: %s", notes->items[i].text);
}

void gp_cli_rows_done(gp_cli_progress *progress, const gp_options *options, size_t rows)
{
    const double now = gp_clock_wall();
    if (progress->next == 0) {
        progress->began = now;
        progress->next = now + 2;
    }
    if (now < progress->next) return;
    progress->next = now + 5;
    gp_cli_say(options, "%zu rows, %.0f a second", rows, (double)rows / (now - progress->began));
}

static bool nobody_reads;

bool gp_cli_nobody_reads(void)
{
    return nobody_reads;
}

// A pipe without a reader says so whenever it is asked; errno may be of long ago.
static advgp_status cannot_print(const char *why, advgp_error *err)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    nobody_reads = poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
    return gp_fail(err, ADVGP_EIO, "cannot write to standard output: %s", why);
}

advgp_status gp_cli_flush(advgp_error *err)
{
    const bool failed = ferror(stdout) != 0;
    if (fflush(stdout) == 0 && !failed) return ADVGP_OK;
    return cannot_print(failed ? "a write failed" : strerror(errno), err);
}

advgp_status gp_cli_print(const char *text, size_t n, advgp_error *err)
{
    return fwrite(text, 1, n, stdout) == n ? ADVGP_OK : cannot_print(strerror(errno), err);
}

static advgp_status print(const char *text, size_t n, advgp_error *err)
{
    const advgp_status st = gp_cli_print(text, n, err);
    return st == ADVGP_OK ? gp_cli_flush(err) : st;
}

advgp_status gp_cli_print_take(gp_buffer *text, advgp_error *err)
{
    advgp_status st = text->failed ? gp_fail(err, ADVGP_ENOMEM, "no memory for the answer")
                                   : print(text->p ? text->p : "", text->n, err);
    gp_buffer_fini(text);
    return st;
}

advgp_status gp_cli_print_json_take(json_t *object, advgp_error *err)
{
    char *line = object ? json_dumps(object, JSON_REAL_PRECISION(17)) : NULL;
    json_decref(object);
    gp_buffer text = {0};
    if (line) gp_buffer_add(&text, "%s\n", line);
    text.failed |= !line;
    free(line);
    return gp_cli_print_take(&text, err);
}
