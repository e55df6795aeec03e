// spool.c: standard input, pipes and UTF-16 files are copied into an unlinked temporary file, so that a second pass
// reads the same bytes and nothing is left behind even by a crash. A source may be endless, or give nothing for hours:
// the copy has a limit, leaves room on its disk, and ends when the program is asked to.
#define _GNU_SOURCE // O_TMPFILE
#include "base/temporary.h"
#include "base/whole.h"
#include "files/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 16, LOOK_BYTES = 1 << 24, ASK_MS = 100 };
static const double reserve_bytes = 1e9; // of the disk, left to others; a twentieth of what is free where that is less

typedef struct spooling {
    const gp_spool_source *from;
    const char *dir;
    int copy;
    uint64_t taken, look_at; // bytes copied, and at how many the disk is looked at next
    double reserve;
} spooling;

static double free_bytes(int fd)
{
    struct statvfs about;
    return fstatvfs(fd, &about) == 0 ? (double)about.f_bavail * (double)about.f_frsize : 1e300;
}

static advgp_status begin(spooling *s, const gp_spool_source *from, advgp_error *err)
{
    char path[4096];
    *s = (spooling){.from = from, .dir = from->temporary ? from->temporary : gp_temporary_folder(), .copy = -1};
    s->copy = open(s->dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (s->copy < 0) { // not every file system has files without a name
        if (snprintf(path, sizeof path, "%s/advgp-spool-XXXXXX", s->dir) >= (int)sizeof path)
            return gp_fail(err, ADVGP_EINVAL, "the temporary directory's name is too long");
        s->copy = mkstemp(path);
        if (s->copy < 0)
            return gp_fail(err, ADVGP_EIO, "cannot write a temporary file in %s: %s; set TMPDIR", s->dir,
                           strerror(errno));
        unlink(path);
    }
    const double free_now = free_bytes(s->copy);
    s->reserve = free_now / 20 < reserve_bytes ? free_now / 20 : reserve_bytes;
    return ADVGP_OK;
}

static advgp_status end(const spooling *s, advgp_status st, int *copy)
{
    *copy = st == ADVGP_OK ? s->copy : -1;
    if (st != ADVGP_OK && s->copy >= 0) close(s->copy);
    return st;
}

// Until there is something to read, or the end of it. A signal that came just before a wait would not end it: it is
// asked for again and again.
static advgp_status wait_for_bytes(const spooling *s, advgp_error *err)
{
    for (;;) {
        struct pollfd readable = {.fd = s->from->fd, .events = POLLIN};
        if (s->from->stop && s->from->stop(s->from->stop_ctx))
            return gp_fail(err, ADVGP_ESTOPPED, "stopped while reading %s", s->from->shown);
        const int n = poll(&readable, 1, s->from->stop ? ASK_MS : -1);
        if (n > 0 || (n < 0 && errno != EINTR)) return ADVGP_OK; // read will say what is wrong
    }
}

static advgp_status read_some(const spooling *s, unsigned char *buffer, size_t capacity, size_t *n, advgp_error *err)
{
    for (;;) {
        const advgp_status st = wait_for_bytes(s, err);
        if (st != ADVGP_OK) return st;
        const ssize_t got = read(s->from->fd, buffer, capacity);
        if (got >= 0) return *n = (size_t)got, ADVGP_OK;
        if (errno != EINTR && errno != EAGAIN)
            return gp_fail(err, ADVGP_EDATA, "cannot read %s: %s", s->from->shown, strerror(errno));
    }
}

// Before n bytes more: the limit, and now and then the disk.
static advgp_status check_room(spooling *s, size_t n, advgp_error *err)
{
    const double limit = s->from->limit_bytes > 0 ? s->from->limit_bytes : GP_SPOOL_LIMIT_GB * 1e9;
    s->taken += n;
    if ((double)s->taken > limit)
        return gp_fail(err, ADVGP_EDATA,
                       "%s gives more than %g GB, the limit of its temporary copy; is it endless? Otherwise raise "
                       "{spool-limit}, or name a file",
                       s->from->shown, limit / 1e9);
    if (s->taken < s->look_at) return ADVGP_OK;
    const double spare = free_bytes(s->copy) - s->reserve - (double)n;
    s->look_at = s->taken + gp_index(spare / 2, LOOK_BYTES);
    if (spare >= 0) return ADVGP_OK;
    return gp_fail(
        err, ADVGP_EIO,
        "cannot keep a temporary copy of %s: after %.2g GB %s has no more than %.2g GB left; set TMPDIR to a "
        "place with room",
        s->from->shown, (double)(s->taken - n) / 1e9, s->dir, s->reserve / 1e9);
}

static advgp_status write_all(spooling *s, const unsigned char *bytes, size_t n, advgp_error *err)
{
    const advgp_status st = n ? check_room(s, n, err) : ADVGP_OK;
    if (st != ADVGP_OK) return st;
    while (n) {
        ssize_t put = write(s->copy, bytes, n);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0)
            return gp_fail(err, ADVGP_EIO, "cannot keep a temporary copy of %s: %s; set TMPDIR to a place with room",
                           s->from->shown, strerror(errno));
        bytes += put;
        n -= (size_t)put;
    }
    return ADVGP_OK;
}

advgp_status gp_spool(const gp_spool_source *from, int *copy, advgp_error *err)
{
    unsigned char buffer[BUFFER_BYTES];
    spooling s;
    advgp_status st = begin(&s, from, err);
    size_t n = 1;
    while (st == ADVGP_OK && n) {
        st = read_some(&s, buffer, sizeof buffer, &n, err);
        if (st == ADVGP_OK) st = write_all(&s, buffer, n, err);
    }
    return end(&s, st, copy);
}

static size_t put_utf8(unsigned char *out, uint32_t c)
{
    if (c < 0x80) return out[0] = (unsigned char)c, 1;
    if (c < 0x800) return out[0] = (unsigned char)(0xc0 | c >> 6), out[1] = (unsigned char)(0x80 | (c & 63)), 2;
    if (c < 0x10000) {
        out[0] = (unsigned char)(0xe0 | c >> 12);
        out[1] = (unsigned char)(0x80 | (c >> 6 & 63));
        out[2] = (unsigned char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (unsigned char)(0xf0 | c >> 18);
    out[1] = (unsigned char)(0x80 | (c >> 12 & 63));
    out[2] = (unsigned char)(0x80 | (c >> 6 & 63));
    out[3] = (unsigned char)(0x80 | (c & 63));
    return 4;
}

typedef struct utf16_state {
    bool big_endian, has_byte, started;
    unsigned char byte; // first half of a unit
    uint32_t high;      // first half of a pair, or 0
} utf16_state;

// out holds at least 3 * n + 8 bytes: a unit of two bytes gives at most three, and a replaced surrogate three more.
static size_t decode(utf16_state *s, const unsigned char *in, size_t n, unsigned char *out)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        if (!s->has_byte) {
            s->byte = in[i];
            s->has_byte = true;
            continue;
        }
        s->has_byte = false;
        uint32_t unit = s->big_endian ? (uint32_t)s->byte << 8 | in[i] : (uint32_t)in[i] << 8 | s->byte;
        bool mark = !s->started && unit == 0xfeff;
        s->started = true;
        if (mark) continue;
        if (unit >= 0xdc00 && unit <= 0xdfff && s->high) {
            used += put_utf8(out + used, 0x10000 + ((s->high - 0xd800) << 10) + (unit - 0xdc00));
            s->high = 0;
            continue;
        }
        if (s->high) used += put_utf8(out + used, 0xfffd);
        s->high = unit >= 0xd800 && unit <= 0xdbff ? unit : 0;
        if (s->high) continue;
        used += put_utf8(out + used, unit >= 0xdc00 && unit <= 0xdfff ? 0xfffd : unit);
    }
    return used;
}

advgp_status gp_spool_utf16(const gp_spool_source *from, bool big_endian, int *copy, advgp_error *err)
{
    unsigned char in[BUFFER_BYTES / 4], out[3 * (BUFFER_BYTES / 4) + 8];
    utf16_state state = {.big_endian = big_endian};
    spooling s;
    advgp_status st = begin(&s, from, err);
    size_t n = 1;
    while (st == ADVGP_OK && n) {
        st = read_some(&s, in, sizeof in, &n, err);
        if (st == ADVGP_OK) st = write_all(&s, out, decode(&state, in, n, out), err);
    }
    return end(&s, st, copy);
}
