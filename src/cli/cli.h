// cli.h: what the verbs of the program share. A verb is one function in one file, listed once below; it returns a
// status and a sentence, and main.c alone turns these into a message and an exit code. Data go to stdout or to the file
// of -o, everything else to stderr.
#pragma once
#include "base/option.h"
#include "base/status.h"
#include "data/notes.h"

#include <jansson.h>
#include <stdbool.h>

// The verbs that this program has: a line here and a file with gp_cli_NAME.
#define GP_CLI_VERBS(X) \
    X(train)            \
    X(predict)          \
    X(evaluate)         \
    X(inspect)          \
    X(pack)             \
    X(compare)          \
    X(replay)           \
    X(simulate)         \
    X(work)             \
    X(keygen)           \
    X(info)

#define X(name) advgp_status gp_cli_##name(const gp_options *options, advgp_error *err);
GP_CLI_VERBS(X)
#undef X

// signals.c: an interrupt, a request to terminate or a hang-up has arrived: clean up and return ESTOPPED, the exit code
// will tell which. The second one ends the process at once.
void gp_cli_signals(void); // from here on they are heard
bool gp_cli_stopped(void);
int gp_cli_stop_signal(void); // 0: none

// Lines on stderr, "advgp: ...", unless --quiet.
__attribute__((format(printf, 2, 3))) void gp_cli_say(const gp_options *options, const char *format, ...);
void gp_cli_notes(const gp_options *options, const gp_notes *notes);
void gp_cli_complain(const char *text); // the last line of a program that failed

// What was printed has arrived; EIO where nobody takes it. After that, gp_cli_nobody_reads says whether whoever read
// standard output has gone (head has seen enough), which is no failure of ours.
advgp_status gp_cli_flush(advgp_error *err);
bool gp_cli_nobody_reads(void);
advgp_status gp_cli_print(const char *text, size_t n, advgp_error *err); // not flushed

// Rows done, on stderr: after 2 seconds, then every 5, unless --quiet. Start from {0}.
typedef struct gp_cli_progress {
    double began, next;
} gp_cli_progress;
void gp_cli_rows_done(gp_cli_progress *progress, const gp_options *options, size_t rows);

// The result of a verb on stdout; EIO where nobody takes it. Both take what they are given; a text that failed and an
// object that is NULL are ENOMEM.
advgp_status gp_cli_print_take(gp_buffer *text, advgp_error *err);
advgp_status gp_cli_print_json_take(json_t *object, advgp_error *err); // on one line, numbers with 17 digits
