// live.c: what is going on, for who waits. On a terminal it is one line that is drawn again and again, with a bar, the
// share done, the time left and the latest figures, as far as there is room; elsewhere a line every few seconds.
// Threads that train ask whether to stop, and with that the line is kept fresh.
#define _DEFAULT_SOURCE // struct winsize
#include "base/clock.h"
#include "base/whole.h"
#include "base/width.h"
#include "cli/cli.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LABEL_MOST = 30, BAR_WIDE = 20, BAR_NARROW = 10, LINE_MOST = 512 };
static const double draw_first = 0.4, draw_every = 0.15, first_words = 2, words_every = 5; // seconds

static struct {
    pthread_mutex_t lock;
    bool asked, terminal, colours, unicode; // asked: the others are known
    char label[160];
    double first;       // when the first act began: what is quick needs no line
    double began;       // the act that is under way
    double drawn, said; // when the line, or a line, was written last
    double share, rows; // NaN; 0: not known
    double rows_before; // of the pass over the same table before this one
    size_t width;       // columns of the line that stands there; 0: none does
    bool has_figures;
    double rmse, mnlp, bound, rows_a_second;
    size_t lost; // workers
} live = {.lock = PTHREAD_MUTEX_INITIALIZER, .share = NAN};

// ---- the terminal ---------------------------------------------------------------------------------------------------

static bool says_utf8(void)
{
    static const char *const keys[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *value = getenv(keys[i]);
        if (value && *value) return strstr(value, "UTF-8") || strstr(value, "utf8") || strstr(value, "UTF8");
    }
    return false;
}

static bool is_terminal(void)
{
    if (live.asked) return live.terminal;
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    live.terminal = isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
    live.colours = !(no_color && *no_color);
    live.unicode = says_utf8();
    live.asked = true;
    return live.terminal;
}

static size_t columns_of(int fd)
{
    struct winsize size = {0};
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

size_t gp_cli_columns(void)
{
    int64_t columns = 0;
    const char *told = getenv("COLUMNS");
    if (told && gp_text_integer(told, &columns) && columns > 0 && columns < 10000) return (size_t)columns;
    return isatty(STDOUT_FILENO) ? columns_of(STDOUT_FILENO) : 0;
}

size_t gp_cli_error_columns(void)
{
    return isatty(STDERR_FILENO) ? columns_of(STDERR_FILENO) : 0;
}

// A window that became narrower has broken the line into several.
static void wipe(void)
{
    if (!live.width) return;
    const size_t columns = columns_of(STDERR_FILENO);
    fputs("\r\033[K", stderr); // line by line: some terminals keep what a wipe of the whole screen takes away
    for (size_t above = (live.width - 1) / columns; above; above--) fputs("\033[A\033[K", stderr);
    live.width = 0;
}

void gp_cli_live_clear(void)
{
    pthread_mutex_lock(&live.lock);
    wipe();
    (void)fflush(stderr);
    pthread_mutex_unlock(&live.lock);
}

// ---- the line -------------------------------------------------------------------------------------------------------

typedef struct line {
    char text[LINE_MOST];
    size_t n, width, room;
    bool full; // something did not fit: nor does what matters less
} line;

// A piece and the blanks before it, if it fits; colour codes have no width.
static void add(line *l, const char *text, const char *before, const char *after)
{
    const size_t bytes = strlen(text), blanks = l->n ? 2 : 0, width = gp_text_width(text, bytes);
    if (l->width + blanks + width > l->room) l->full = true;
    if (l->full) return;
    const int n = snprintf(l->text + l->n, sizeof l->text - l->n, "%s%s%s%s", blanks ? "  " : "", before, text, after);
    if (n > 0 && (size_t)n < sizeof l->text - l->n) l->n += (size_t)n, l->width += blanks + width;
}

static void count_text(double count, char *text, size_t n)
{
    if (count >= 1e7)
        snprintf(text, n, "%.0fM", count / 1e6);
    else if (count >= 1e6)
        snprintf(text, n, "%.1fM", count / 1e6);
    else if (count >= 1e4)
        snprintf(text, n, "%.0fk", count / 1e3);
    else
        snprintf(text, n, "%.0f", count);
}

static void time_text(double seconds, char *text, size_t n)
{
    const double s = seconds > 0 ? seconds : 0;
    if (s < 100)
        snprintf(text, n, "%.0f s", s);
    else if (s < 6000)
        snprintf(text, n, "%d:%02d min", (int)gp_whole(s / 60, 0, 99), (int)gp_whole(s, 0, 6000) % 60);
    else
        snprintf(text, n, "%d:%02d h", (int)gp_whole(s / 3600, 0, INT32_MAX),
                 (int)(gp_whole(s / 60, 0, INT64_MAX) % 60));
}

static void add_bar(line *l)
{
    char bar[3 * BAR_WIDE + 1] = "", share[16];
    const size_t cells = l->room >= 76 ? BAR_WIDE : l->room >= 50 ? BAR_NARROW : 0;
    const size_t full = gp_index(live.share * (double)cells + 1e-9, cells);
    size_t at = 0;
    for (size_t i = 0; i < cells; i++)
        at += (size_t)snprintf(bar + at, sizeof bar - at, "%s",
                               live.unicode ? i < full ? "\u2588" : "\u2591"
                               : i < full   ? "#"
                                            : ".");
    if (cells) add(l, bar, live.colours ? "\033[32m" : "", live.colours ? "\033[0m" : "");
    snprintf(share, sizeof share, "%3.0f %%", 100 * live.share);
    add(l, share, "", "");
}

// The act by its first words, where all of them are too long.
static void add_label(line *l)
{
    char label[160], cut[4 * LABEL_MOST + 8];
    const size_t most = l->room / 3 > 12 ? l->room / 3 < LABEL_MOST ? l->room / 3 : LABEL_MOST : 12;
    const char *word = strchr(live.label, ' '), *slash = strrchr(live.label, '/');
    if (word && slash > word) // "reading /a/b/c.csv": the name of the file says enough
        snprintf(label, sizeof label, "%.*s %s", (int)(word - live.label), live.label, slash + 1);
    else
        snprintf(label, sizeof label, "%s", live.label);
    char *colon = strchr(label, ':');
    if (colon && gp_text_width(label, strlen(label)) > most) *colon = 0;
    size_t n = strlen(label);
    if (gp_text_width(label, n) > most) n = gp_text_fitting(label, n, most);
    snprintf(cut, sizeof cut, "%.*s", (int)n, label);
    add(l, cut, "", "");
}

static double speed(double now)
{
    if (live.rows > 0 && now > live.began) return live.rows / (now - live.began);
    return live.rows_a_second;
}

static double seconds_left(double now)
{
    return live.share > 0 ? (now - live.began) * (1 - live.share) / live.share : NAN;
}

static void add_figures(line *l, double now)
{
    char text[64], number[24];
    const double left = seconds_left(now);
    time_text(isfinite(left) ? left : now - live.began, number, sizeof number);
    snprintf(text, sizeof text, "%s%s", number, isfinite(left) ? " left" : "");
    add(l, text, "", "");
    if (!isfinite(live.share) && live.rows > 0) {
        count_text(live.rows, number, sizeof number);
        snprintf(text, sizeof text, "%s rows", number);
        add(l, text, "", "");
    }
    if (speed(now) > 0 && live.rows > 0) {
        count_text(speed(now), number, sizeof number);
        snprintf(text, sizeof text, "%s rows/s", number);
        add(l, text, "", "");
    }
    if (!live.has_figures) return;
    if (isfinite(live.rmse)) snprintf(text, sizeof text, "RMSE %.5g", live.rmse), add(l, text, "", "");
    if (live.lost) snprintf(text, sizeof text, "%zu lost", live.lost), add(l, text, "", "");
    if (isfinite(live.bound)) snprintf(text, sizeof text, "-ELBO/row %.4f", live.bound), add(l, text, "", "");
    if (isfinite(live.mnlp)) snprintf(text, sizeof text, "MNLP %.4f", live.mnlp), add(l, text, "", "");
}

static void draw(double now)
{
    const size_t columns = columns_of(STDERR_FILENO);
    line l = {.room = columns > 1 ? columns - 1 : 1}; // the last column of some terminals moves the cursor
    add_label(&l);
    if (isfinite(live.share)) add_bar(&l);
    add_figures(&l, now);
    wipe();
    fwrite(l.text, 1, l.n, stderr);
    (void)fflush(stderr);
    live.width = l.width, live.drawn = now;
}

static void say(const gp_options *o, double now)
{
    char text[LINE_MOST] = "", number[24];
    int n = snprintf(text, sizeof text, "%s:", live.label);
    if (isfinite(live.share)) n += snprintf(text + n, sizeof text - (size_t)n, " %.0f %%,", 100 * live.share);
    if (live.rows > 0)
        n += snprintf(text + n, sizeof text - (size_t)n, " %.0f rows, %.0f a second,", live.rows, speed(now));
    const double left = seconds_left(now);
    time_text(isfinite(left) ? left : now - live.began, number, sizeof number);
    snprintf(text + n, sizeof text - (size_t)n, " %s%s", number, isfinite(left) ? " left" : "");
    live.said = now;
    gp_cli_say(o, "%s", text);
}

// Now, if it is time.
static void refresh(const gp_options *o)
{
    const double now = gp_clock_wall();
    if (!*live.label || gp_options_flag(o, "quiet")) return;
    if (is_terminal()) {
        if (now - live.drawn < draw_every || now - live.first < draw_first) return;
        pthread_mutex_lock(&live.lock);
        draw(now);
        pthread_mutex_unlock(&live.lock);
    } else if (now - live.began > first_words && now - live.said > words_every) {
        say(o, now);
    }
}

// ---- what is told ---------------------------------------------------------------------------------------------------

static void begin(const char *what)
{
    pthread_mutex_lock(&live.lock);
    gp_text_printable(live.label, sizeof live.label, what, strlen(what));
    live.began = gp_clock_wall();
    if (live.first == 0) live.first = live.began;
    live.share = NAN, live.rows = live.rows_before = 0;
    live.drawn = 0;
    pthread_mutex_unlock(&live.lock);
}

void gp_cli_live_name(const gp_options *o, const char *what)
{
    begin(what);
    live.said = live.began;
    refresh(o);
}

void gp_cli_live_phase(const gp_options *o, const char *what)
{
    if (!is_terminal()) gp_cli_say(o, "%s", what);
    gp_cli_live_name(o, what);
}

// A table is read twice: where the count begins anew the first pass has told how many there are.
void gp_cli_live_rows(const gp_options *o, size_t rows)
{
    if (!*live.label) begin("rows");
    if ((double)rows < live.rows) live.rows_before = live.rows, live.began = gp_clock_wall();
    live.rows = (double)rows;
    live.share = live.rows_before > 0 ? fmin(live.rows / live.rows_before, 1) : NAN;
    refresh(o);
}

void gp_cli_live_progress(const gp_options *o, double share, double rows)
{
    live.share = share, live.rows = rows;
    refresh(o);
}

void gp_cli_live_figures(const gp_options *o, const gp_train_eval *e)
{
    live.has_figures = true;
    live.rmse = e->rmse, live.mnlp = e->mnlp, live.bound = e->neg_elbo_per_row;
    live.rows_a_second = e->rows_per_second;
    live.lost = 0;
    for (size_t k = 0; k < e->n_workers; k++) live.lost += e->workers[k].joined && !e->workers[k].live;
    refresh(o);
}

bool gp_cli_is_live(void)
{
    return is_terminal();
}

void gp_cli_live_said(void)
{
    live.said = gp_clock_wall();
}

void gp_cli_live_tick(const gp_options *o)
{
    refresh(o);
}
