// secretfile.c: what is asked of a descriptor before its bytes are believed.
#define _GNU_SOURCE // explicit_bzero
#include "store/secretfile.h"
#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// What errno says of it. A file that a network disk has just replaced (ESTALE) is there again at the next look, like
// one that is not there yet.
static advgp_status cannot(const char *verb, const char *path, const char *what, bool *found, advgp_error *err)
{
    *found = errno != ENOENT && errno != ESTALE;
    return *found ? gp_fail(err, ADVGP_EFILE, "cannot %s %s %.200s: %s", verb, what, path, strerror(errno)) : ADVGP_OK;
}

static advgp_status check(int fd, const char *path, const char *what, gp_secretfile *out, bool *found, advgp_error *err)
{
    struct stat about;
    if (fstat(fd, &about) != 0) return cannot("look at", path, what, found, err);
    if (!S_ISREG(about.st_mode)) return gp_fail(err, ADVGP_EFILE, "%s %.200s is not a file", what, path);
    if (about.st_size > GP_SECRETFILE_MAX)
        return gp_fail(err, ADVGP_EFILE, "%s %.200s has %lld bytes, more than it can have", what, path,
                       (long long)about.st_size);
    if (about.st_uid != geteuid() && about.st_uid != 0)
        return gp_fail(err, ADVGP_EFILE, "%s %.200s belongs to user %lu: it must be yours or root's", what, path,
                       (unsigned long)about.st_uid);
    if (about.st_mode & 022)
        return gp_fail(err, ADVGP_EFILE, "%s %.200s may be written by others: chmod 600 %.150s", what, path, path);
    out->mode = about.st_mode & 07777;
    out->roots = about.st_uid == 0;
    out->n = (size_t)about.st_size;
    return ADVGP_OK;
}

static advgp_status load(int fd, const char *path, const char *what, gp_secretfile *out, bool *found, advgp_error *err)
{
    size_t got = 0;
    out->text = gp_alloc(1, out->n + 1);
    if (!out->text) return gp_no_memory(err);
    while (got < out->n) {
        const ssize_t n = read(fd, out->text + got, out->n - got);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return cannot("read", path, what, found, err);
        *found = n > 0; // else it has become shorter since: somebody writes it
        if (!*found) return ADVGP_OK;
        got += (size_t)n;
    }
    if (memchr(out->text, 0, got)) return gp_fail(err, ADVGP_EFILE, "%s %.200s is not text", what, path);
    return ADVGP_OK;
}

static advgp_status read_with(int flags, const char *path, const char *what, gp_secretfile *out, bool *found,
                              advgp_error *err)
{
    *out = (gp_secretfile){0};
    const int fd = open(path, flags | O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ELOOP && (flags & O_NOFOLLOW)) {
        *found = true;
        return gp_fail(err, ADVGP_EFILE, "%s %.200s is a link, which anybody may have laid there: name its file", what,
                       path);
    }
    if (fd < 0) return cannot("open", path, what, found, err);
    *found = true;
    advgp_status st = check(fd, path, what, out, found, err);
    if (st == ADVGP_OK && *found) st = load(fd, path, what, out, found, err);
    close(fd);
    if (st != ADVGP_OK || !*found) gp_secretfile_fini(out);
    return st;
}

advgp_status gp_secretfile_read(const char *path, const char *what, gp_secretfile *out, bool *found, advgp_error *err)
{
    return read_with(0, path, what, out, found, err);
}

advgp_status gp_secretfile_read_itself(const char *path, const char *what, gp_secretfile *out, bool *found,
                                       advgp_error *err)
{
    return read_with(O_NOFOLLOW, path, what, out, found, err);
}

advgp_status gp_secretfile_check_private(const gp_secretfile *file, const char *path, const char *what,
                                         advgp_error *err)
{
    // Kubernetes gives a secret to a process that is not root as root's file, readable by a group that the pod alone
    // has.
    const bool lent = file->roots && geteuid() != 0;
    if (!(file->mode & (lent ? 037u : 077u))) return ADVGP_OK;
    return gp_fail(err, ADVGP_EFILE, "%s %.200s holds a secret and may be read by others: chmod 600 %.150s", what, path,
                   path);
}

void gp_secretfile_fini(gp_secretfile *file)
{
    if (file->text) explicit_bzero(file->text, file->n);
    gp_free(file->text);
    *file = (gp_secretfile){0};
}
