// zmq_lines.c: a table of connections by their descriptors. Connections are ended by shutdown, which ZeroMQ sees as the
// other side's hanging up: the descriptor stays its own, and what had come of a message is given back.
#include "transport/zmq_lines.h"
#include "base/alloc.h"

#include <linux/tcp.h> // that of the C library lacks what has been received
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

// In one go, when there is no descriptor left.
enum { CROWD = 64 };

typedef struct line {
    bool is_open, ended;
    bool has_spoken; // ever
    bool heard;      // since the last look
    uint32_t peer;
    uint64_t bytes; // received when it was last known to be whole
} line;

struct gp_zmq_lines {
    size_t most;
    line *lines; // [room], by descriptor
    size_t room, n_open, n_ended;
    size_t hand; // where to look next for one that has said nothing
    gp_zmq_lines_counts counts;
};

advgp_status gp_zmq_lines_new(size_t most, gp_zmq_lines **out, advgp_error *err)
{
    gp_zmq_lines *l = *out = gp_alloc(1, sizeof *l);
    if (!l) return gp_no_memory(err);
    l->most = most;
    return ADVGP_OK;
}

void gp_zmq_lines_free(gp_zmq_lines *l)
{
    if (!l) return;
    gp_free(l->lines);
    gp_free(l);
}

gp_zmq_lines_counts gp_zmq_lines_count(const gp_zmq_lines *l)
{
    return l->counts;
}

// NULL: none, or there is no memory to remember it: it is not looked after.
static line *line_of(gp_zmq_lines *l, int fd, bool make)
{
    if (fd < 0) return NULL;
    const size_t at = (size_t)fd;
    if (at >= l->room) {
        const size_t room = 2 * at + 64;
        line *more = make ? gp_alloc(room, sizeof *more) : NULL;
        if (!more) return NULL;
        if (l->room) memcpy(more, l->lines, l->room * sizeof *more);
        gp_free(l->lines);
        l->lines = more, l->room = room;
    }
    return &l->lines[at];
}

static bool received(int fd, uint64_t *bytes)
{
    struct tcp_info info;
    socklen_t n = sizeof info;
    memset(&info, 0, sizeof info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) != 0) return false;
    *bytes = info.tcpi_bytes_received;
    return true;
}

static void end_line(gp_zmq_lines *l, size_t fd)
{
    l->lines[fd].ended = true;
    l->n_ended++;
    (void)shutdown((int)fd, SHUT_RDWR);
}

// Of those that have said nothing yet the next one; whoever has, stays.
static bool end_a_silent_one(gp_zmq_lines *l)
{
    for (size_t i = 0; i < l->room; i++) {
        const size_t fd = l->hand++ % l->room;
        const line *at = &l->lines[fd];
        if (!at->is_open || at->ended || at->has_spoken) continue;
        l->counts.too_many++;
        end_line(l, fd);
        return true;
    }
    return false;
}

void gp_zmq_lines_opened(gp_zmq_lines *l, int fd)
{
    line *at = line_of(l, fd, true);
    if (!at) return;
    if (at->is_open) (void)gp_zmq_lines_closed(l, fd);
    *at = (line){.is_open = true};
    l->n_open++;
    if (l->n_open - l->n_ended > l->most) (void)end_a_silent_one(l);
}

uint32_t gp_zmq_lines_closed(gp_zmq_lines *l, int fd)
{
    line *at = line_of(l, fd, false);
    if (!at || !at->is_open) return 0;
    const uint32_t peer = at->peer;
    l->n_open--, l->n_ended -= at->ended;
    *at = (line){0};
    return peer;
}

void gp_zmq_lines_spoke(gp_zmq_lines *l, int fd, uint32_t peer)
{
    line *at = line_of(l, fd, false);
    if (at && at->is_open) at->has_spoken = at->heard = true, at->peer = peer;
}

void gp_zmq_lines_crowded(gp_zmq_lines *l)
{
    for (int i = 0; i < CROWD && end_a_silent_one(l); i++) continue;
}

void gp_zmq_lines_look(gp_zmq_lines *l, size_t bytes_max)
{
    for (size_t fd = 0; l->n_open && fd < l->room; fd++) {
        line *at = &l->lines[fd];
        uint64_t bytes;
        if (!at->is_open || at->ended || !received((int)fd, &bytes)) continue;
        if (at->heard) at->bytes = bytes;
        at->heard = false;
        if (bytes - at->bytes <= bytes_max) continue;
        l->counts.endless++;
        end_line(l, fd);
    }
}
