// messages.c: how the program talks: notes and progress to stderr, results to stdout.
#include "base/width.h"
#include "cli/cli.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The one door for sentences of all rooms: options get their dashes here. Names and values in it come from files, hence
// gp_text_printable.
void gp_cli_complain(const char *text)
{
    char line[4096] = "advgp: "; // at once: several processes may share the terminal
    char said[2048];
    snprintf(said, sizeof said, "%s", text);
    gp_options_named(said, true);
    const size_t head = strlen(line);
    const size_t n = head + gp_text_printable(line + head, sizeof line - head - 1, said, strlen(said));
    line[n] = '\n';
    gp_buffer folded = {0};
    gp_buffer_folded(&folded, line, n + 1, gp_cli_error_columns());
    gp_cli_live_clear();
    if (folded.failed || !folded.p) // it may be that there is no memory which it tells
        fwrite(line, 1, n + 1, stderr);
    else
        fwrite(folded.p, 1, folded.n, stderr);
    gp_buffer_fini(&folded);
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
    gp_host_notes(gp_cli_host(options), notes);
}

static void report(void *ctx, const char *text)
{
    gp_cli_say(*(const gp_options **)ctx, "%s", text);
}

static void tell_rows(void *ctx, size_t rows)
{
    gp_cli_live_rows(*(const gp_options **)ctx, rows);
}

static void tell_phase(void *ctx, const char *what)
{
    gp_cli_live_phase(*(const gp_options **)ctx, what);
}

static void tell_progress(void *ctx, const gp_train_progress *now)
{
    gp_cli_live_progress(*(const gp_options **)ctx, now->share, now->rows);
}

static int stop(void *ctx)
{
    gp_cli_live_tick(*(const gp_options **)ctx);
    return gp_cli_stopped();
}

const gp_host *gp_cli_host(const gp_options *options)
{
    static const gp_options *own;
    static const gp_host host = {.ctx = (void *)&own,
                                 .report = report,
                                 .rows = tell_rows,
                                 .phase = tell_phase,
                                 .progress = tell_progress,
                                 .stop = stop};
    own = options;
    return &host;
}

// A pipe without a reader says so whenever it is asked; errno may be of long ago.
bool gp_cli_nobody_reads(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return ferror(stdout) && poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

advgp_status gp_cli_flush(advgp_error *err)
{
    const bool failed = ferror(stdout) != 0; // then errno is of long ago
    if (fflush(stdout) == 0 && !failed) return ADVGP_OK;
    return gp_fail(err, ADVGP_EIO, "cannot write to standard output: %s", failed ? "a write failed" : strerror(errno));
}

static advgp_status print(const char *text, size_t n, advgp_error *err)
{
    gp_cli_live_clear();
    if (fwrite(text, 1, n, stdout) == n) return gp_cli_flush(err);
    return gp_fail(err, ADVGP_EIO, "cannot write to standard output: %s", strerror(errno));
}

// A page: its line ends are ours, what stands inside may come from a file.
advgp_status gp_cli_print_take(gp_buffer *text, advgp_error *err)
{
    gp_buffer page = {0}, folded = {0};
    gp_buffer_printable(&page, text->p, text->n, true);
    if (page.p) gp_buffer_folded(&folded, page.p, page.n, gp_cli_columns());
    advgp_status st = text->failed || page.failed || folded.failed ? gp_no_memory(err)
                                                                   : print(folded.p ? folded.p : "", folded.n, err);
    gp_buffer_fini(text);
    gp_buffer_fini(&page);
    gp_buffer_fini(&folded);
    return st;
}

void gp_cli_print(const char *format, ...)
{
    gp_buffer text = {0};
    char line[1024];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n > 0) gp_buffer_printable(&text, line, strlen(line), true);
    gp_cli_live_clear();
    if (!text.failed && text.n) fwrite(text.p, 1, text.n, stdout);
    gp_buffer_fini(&text);
}

advgp_status gp_cli_print_json_take(json_t *object, advgp_error *err)
{
    char *line = object ? json_dumps(object, JSON_REAL_PRECISION(17)) : NULL; // JSON has escapes of its own
    json_decref(object);
    gp_buffer text = {0};
    if (line) gp_buffer_add(&text, "%s\n", line);
    const advgp_status st = line && !text.failed ? print(text.p, text.n, err) : gp_no_memory(err);
    free(line);
    gp_buffer_fini(&text);
    return st;
}
