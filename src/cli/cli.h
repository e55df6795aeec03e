// cli.h: what the verbs of the program share. A verb is one function in one file, listed once below; it returns a
// status and a sentence, and main.c alone turns these into a message and an exit code. Data go to stdout or to the file
// of -o, everything else to stderr.
#pragma once
#include "base/host.h"
#include "base/status.h"
#include "data/notes.h"
#include "options/option.h"
#include "recipe/train.h"
#include "run/replay.h"

#include <jansson.h>
#include <stdbool.h>

// The verbs that this program has: a line here and a file with gp_cli_NAME.
#define GP_CLI_VERBS(X) \
    X(train)            \
    X(predict)          \
    X(evaluate)         \
    X(explain)          \
    X(inspect)          \
    X(report)           \
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

// best_core.c: starts the program once more where OpenBLAS took this CPU for an older one. The first statement of main.
void gp_cli_best_core(char **argv);

// Lines on stderr, "advgp: ...", unless --quiet.
__attribute__((format(printf, 2, 3))) void gp_cli_say(const gp_options *options, const char *format, ...);
void gp_cli_notes(const gp_options *options, const gp_notes *notes);
void gp_cli_complain(const char *text); // the last line of a program that failed

// Columns that lines on stdout may have: of the terminal it is, or of COLUMNS; elsewhere 0, any. And those of stderr.
size_t gp_cli_columns(void);
size_t gp_cli_error_columns(void);

// live.c: what is going on, in one line of the terminal that is drawn again, or without one in a line now and then.
void gp_cli_live_phase(const gp_options *options, const char *what);             // an act begins
void gp_cli_live_name(const gp_options *options, const char *what);              // the same, where words are said
void gp_cli_live_rows(const gp_options *options, size_t rows);                   // read so far
void gp_cli_live_progress(const gp_options *options, double share, double rows); // of the act; NaN, 0: not known
void gp_cli_live_figures(const gp_options *options, const gp_train_eval *figures);
void gp_cli_live_tick(const gp_options *options); // time goes by
void gp_cli_live_said(void);                      // somebody else has told how it goes
void gp_cli_live_clear(void);                     // something else is written now
bool gp_cli_is_live(void);                        // there is a terminal for it

// What was printed has arrived; EIO where nobody takes it.
advgp_status gp_cli_flush(advgp_error *err);
// Writing to standard output failed because whoever read it has gone (head has seen enough): no failure of ours.
bool gp_cli_nobody_reads(void);

// The program as the host of its one piece of work: sentences as above, rows done after 2 seconds and then every 5,
// stopped by a signal.
const gp_host *gp_cli_host(const gp_options *options);

// The result of a verb on stdout, its control characters written out (gp_text_printable); EIO where nobody takes it.
// The two take what they are given; a text that failed and an object that is NULL are ENOMEM.
advgp_status gp_cli_print_take(gp_buffer *text, advgp_error *err);
__attribute__((format(printf, 1, 2))) void gp_cli_print(const char *format, ...); // a line or two of a longer result
advgp_status gp_cli_print_json_take(json_t *object, advgp_error *err);            // on one line, numbers with 17 digits

// train_verb.c: a training with its progress and result, for the verbs that do it again.
advgp_status gp_cli_training(const gp_options *train, const gp_replay_feed *replay, uint64_t *bits, advgp_error *err);
// Which rows the figures of a result are of, and how many.
typedef struct gp_scored_text {
    char p[80];
} gp_scored_text;
gp_scored_text gp_cli_scored(const gp_train_result *result);
