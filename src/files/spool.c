// spool.c: standard input, pipes and UTF-16 files are copied into an unlinked temporary file, so that a second pass
// reads the same bytes and nothing is left behind even by a crash.
#include "files/inputs.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 16 };

static advgp_status open_unlinked(const char *temporary, int *copy, advgp_error *err)
{
    char path[4096];
    const char *dir = temporary ? temporary : getenv("TMPDIR");
    if (!dir || !*dir) dir = "/tmp";
    if (snprintf(path, sizeof path, "%s/advgp-spool-XXXXXX", dir) >= (int)sizeof path)
        return gp_fail(err, ADVGP_EINVAL, "the temporary directory's name is too long");
    *copy = mkstemp(path);
    if (*copy < 0)
        return gp_fail(err, ADVGP_EIO, "cannot write a temporary file in %s: %s; set TMPDIR", dir, strerror(errno));
    unlink(path);
    return ADVGP_OK;
}

static advgp_status read_some(int fd, unsigned char *buffer, size_t capacity, size_t *n, const char *shown,
                              advgp_error *err)
{
    ssize_t got;
    do got = read(fd, buffer, capacity);
    while (got < 0 && errno == EINTR);
    if (got < 0) return gp_fail(err, ADVGP_EIO, "cannot read %s: %s", shown, strerror(errno));
    *n = (size_t)got;
    return ADVGP_OK;
}

static advgp_status write_all(int fd, const unsigned char *bytes, size_t n, const char *shown, advgp_error *err)
{
    while (n) {
        ssize_t put = write(fd, bytes, n);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0)
            return gp_fail(err, ADVGP_EIO, "cannot keep a temporary copy of %s: %s; set TMPDIR to a place with room",
                           shown, strerror(errno));
        bytes += put;
        n -= (size_t)put;
    }
    return ADVGP_OK;
}

advgp_status gp_spool(int fd, const char *shown, const char *temporary, int *copy, advgp_error *err)
{
    unsigned char buffer[BUFFER_BYTES];
    advgp_status st = open_unlinked(temporary, copy, err);
    size_t n = 1;
    while (st == ADVGP_OK && n) {
        st = read_some(fd, buffer, sizeof buffer, &n, shown, err);
        if (st == ADVGP_OK) st = write_all(*copy, buffer, n, shown, err);
    }
    if (st == ADVGP_OK || *copy < 0) return st;
    close(*copy);
    *copy = -1;
    return st;
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

advgp_status gp_spool_utf16(int fd, bool big_endian, const char *shown, const char *temporary, int *copy,
                            advgp_error *err)
{
    unsigned char in[BUFFER_BYTES / 4], out[3 * (BUFFER_BYTES / 4) + 8];
    utf16_state state = {.big_endian = big_endian};
    advgp_status st = open_unlinked(temporary, copy, err);
    size_t n = 1;
    while (st == ADVGP_OK && n) {
        st = read_some(fd, in, sizeof in, &n, shown, err);
        if (st == ADVGP_OK) st = write_all(*copy, out, decode(&state, in, n, out), shown, err);
    }
    if (st == ADVGP_OK || *copy < 0) return st;
    close(*copy);
    *copy = -1;
    return st;
}
