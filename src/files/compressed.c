// compressed.c: is a compressed file whole? DuckDB reads one that was cut off as far as it goes and says nothing.
// A gzip file is inflated once, into nothing: a few hundred megabytes of text a second, a small part of what reading it
// costs. A zstd file tells the length of each of its blocks, so that walking along them is enough.
#include "base/alloc.h"
#include "files/inputs.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static advgp_status is_cut(const char *shown, advgp_error *err)
{
    return gp_fail(err, ADVGP_EDATA, "%s is cut off: its compressed bytes end in the middle; get it again", shown);
}

static advgp_status is_damaged(const char *shown, const char *compression, advgp_error *err)
{
    return gp_fail(err, ADVGP_EDATA, "%s is damaged: what it holds is not what %s wrote; get it again", shown,
                   compression);
}

// As many bytes as there are, n at most.
static advgp_status read_at(int fd, off_t at, void *bytes, size_t n, size_t *got, const char *shown, advgp_error *err)
{
    ssize_t r;
    do r = pread(fd, bytes, n, at);
    while (r < 0 && errno == EINTR);
    *got = r < 0 ? 0 : (size_t)r;
    return r < 0 ? gp_fail(err, ADVGP_EDATA, "cannot read %s: %s", shown, strerror(errno)) : ADVGP_OK;
}

// ---- gzip -----------------------------------------------------------------------------------------------------------

enum { BUFFER_BYTES = 1 << 16, WINDOW_BITS = 15 + 16 }; // 16: a gzip header and trailer are expected

typedef struct inflating {
    z_stream stream;
    bool inside; // a member has begun and not ended; several in a row are one file
    unsigned char in[BUFFER_BYTES], out[4 * BUFFER_BYTES];
} inflating;

// Consumes the input at hand, and what zlib still held back for want of room.
static advgp_status consume(inflating *g, const char *shown, advgp_error *err)
{
    z_stream *z = &g->stream;
    while (z->avail_in || (g->inside && z->avail_out == 0)) {
        if (!g->inside && inflateReset(z) != Z_OK) return is_damaged(shown, "gzip", err);
        g->inside = true;
        z->next_out = g->out;
        z->avail_out = sizeof g->out;
        const int rc = inflate(z, Z_NO_FLUSH);
        if (rc == Z_MEM_ERROR) return gp_no_memory(err);
        if (rc == Z_BUF_ERROR && z->avail_in == 0) break; // nothing was held back
        if (rc != Z_OK && rc != Z_STREAM_END) return is_damaged(shown, "gzip", err);
        g->inside = rc != Z_STREAM_END;
    }
    return ADVGP_OK;
}

static advgp_status check_gzip(int fd, const char *shown, const gp_file_options *options, advgp_error *err)
{
    inflating *g = gp_alloc(1, sizeof *g);
    if (!g || inflateInit2(&g->stream, WINDOW_BITS) != Z_OK) {
        gp_free(g);
        return gp_no_memory(err);
    }
    advgp_status st = ADVGP_OK;
    size_t got = 1;
    for (off_t at = 0; st == ADVGP_OK && got; at += (off_t)got) {
        st = read_at(fd, at, g->in, sizeof g->in, &got, shown, err);
        g->stream.next_in = g->in;
        g->stream.avail_in = (uInt)got;
        if (st == ADVGP_OK) st = consume(g, shown, err);
        if (st == ADVGP_OK && options->stop && options->stop(options->stop_ctx))
            st = gp_fail(err, ADVGP_ESTOPPED, "stopped while reading %s", shown);
    }
    if (st == ADVGP_OK && g->inside) st = is_cut(shown, err);
    inflateEnd(&g->stream);
    gp_free(g);
    return st;
}

// ---- zstd (RFC 8878, section 3.1) -----------------------------------------------------------------------------------

static uint32_t little_endian(const unsigned char *p, int n)
{
    uint32_t value = 0;
    for (int i = 0; i < n; i++) value |= (uint32_t)p[i] << (8 * i);
    return value;
}

// Moves *at from the first block of a frame behind its last.
static advgp_status walk_blocks(int fd, off_t *at, const char *shown, advgp_error *err)
{
    for (bool last = false; !last;) {
        unsigned char head[3];
        size_t got;
        const advgp_status st = read_at(fd, *at, head, sizeof head, &got, shown, err);
        if (st != ADVGP_OK) return st;
        if (got < sizeof head) return is_cut(shown, err);
        const uint32_t value = little_endian(head, 3), type = value >> 1 & 3;
        if (type == 3) return is_damaged(shown, "zstd", err);
        *at += (off_t)sizeof head + (type == 1 ? 1 : (off_t)(value >> 3)); // 1: one byte, repeated
        last = value & 1;
    }
    return ADVGP_OK;
}

static advgp_status check_zstd(int fd, const char *shown, advgp_error *err)
{
    const off_t end = lseek(fd, 0, SEEK_END);
    off_t at = 0;
    while (at < end) {
        unsigned char head[8] = {0};
        size_t got;
        advgp_status st = read_at(fd, at, head, sizeof head, &got, shown, err);
        if (st != ADVGP_OK) return st;
        const uint32_t magic = little_endian(head, 4);
        if ((magic & 0xfffffff0) == 0x184d2a50) { // a frame to be skipped
            at += 8 + (off_t)little_endian(head + 4, 4);
            continue;
        }
        if (magic != 0xfd2fb528) return got < 4 ? is_cut(shown, err) : is_damaged(shown, "zstd", err);
        const unsigned flags = head[4], size_flag = flags >> 6, single = flags >> 5 & 1;
        static const int id_bytes[] = {0, 1, 2, 4}, size_bytes[] = {0, 2, 4, 8};
        at += 5 + !single + id_bytes[flags & 3] + (size_flag ? size_bytes[size_flag] : (int)single);
        st = walk_blocks(fd, &at, shown, err);
        if (st != ADVGP_OK) return st;
        if (flags & 4) at += 4; // its checksum
    }
    return at > end ? is_cut(shown, err) : ADVGP_OK;
}

advgp_status gp_compressed_check(int fd, const char *compression, const char *shown, const gp_file_options *options,
                                 advgp_error *err)
{
    if (strcmp(compression, "gzip") == 0) return check_gzip(fd, shown, options, err);
    return strcmp(compression, "zstd") == 0 ? check_zstd(fd, shown, err) : ADVGP_OK;
}
