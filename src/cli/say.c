// say.c: how the program talks: notes and progress to stderr, results to stdout.
#include "base/clock.h"
#include "base/text.h"
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

typedef struct voice {
    const gp_options *options;
    double began, next; // of the rows done
} voice;

static void say(void *ctx, const char *text)
{
    const voice *v = ctx;
    gp_cli_say(v->options, "%s", text);
}

static void tell_rows(void *ctx, size_t rows)
{
    voice *v = ctx;
    const double now = gp_clock_wall();
    if (v->next == 0) {
        v->began = now;
        v->next = now + 2;
    }
    if (now < v->next) return;
    v->next = now + 5;
    gp_cli_say(v->options, "%zu rows, %.0f a second", rows, (double)rows / (now - v->began));
}

static int stop(void *ctx)
{
    (void)ctx;
    return gp_cli_stopped();
}

const gp_host *gp_cli_host(const gp_options *options)
{
    static voice own;
    static const gp_host host = {.ctx = &own, .say = say, .rows = tell_rows, .stop = stop};
    own.options = options;
    return &host;
}

advgp_status gp_cli_flush(advgp_error *err)
{
    const bool failed = ferror(stdout) != 0; // then errno is of long ago
    if (fflush(stdout) == 0 && !failed) return ADVGP_OK;
    return gp_fail(err, ADVGP_EIO, "cannot write to standard output: %s", failed ? "a write failed" : strerror(errno));
}

static advgp_status print(const char *text, size_t n, advgp_error *err)
{
    if (fwrite(text, 1, n, stdout) == n) return gp_cli_flush(err);
    return gp_fail(err, ADVGP_EIO, "cannot write to standard output: %s", strerror(errno));
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
