// atomicfile.c: write beside, fsync, rename, fsync the folder.
#define _XOPEN_SOURCE 700 // realpath
#include "store/atomicfile.h"

#include "base/alloc.h"
#include "base/machine.h"
#include "base/status.h"
#include "base/temporary.h"
#include "base/text.h"
#include "store/laid.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 1 << 16 };

struct gp_atomicfile {
    char *shown;     // the path as the caller wrote it, for messages
    char *target;    // what is replaced: shown with its links followed
    char *temporary; // NULL: a device or pipe, written directly
    int ticket;      // of the temporary file (temporary.h)
    int fd;
    bool private;        // 0600
    bool new;            // it replaces nothing
    size_t pending;      // bytes in the buffer
    char buffer[BUFFER]; // rows of text come in small pieces
};

static advgp_status cannot(const gp_atomicfile *file, const char *what, advgp_error *err)
{
    return gp_fail(err, ADVGP_EIO, "cannot %s %.300s: %s", what, file->shown, strerror(errno));
}

// The folder of a path, with its slash; empty for a bare name.
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

// The temporary name is short and says nothing of the target's, whose own name may already be as long as names can be.
static char *temporary_name(const char *target)
{
    static atomic_uint counter;
    gp_buffer name = {0};
    gp_buffer_bytes(&name, target, folder_length(target));
    gp_buffer_add(&name, ".advgp-%ld-%u.tmp", (long)getpid(), atomic_fetch_add(&counter, 1));
    if (name.failed) gp_buffer_fini(&name);
    return name.p;
}

// A new file of that name; one left behind by a killed process of the same number is passed over, not touched.
static advgp_status open_temporary(gp_atomicfile *file, mode_t mode, advgp_error *err)
{
    for (int tries = 0; tries < 100; tries++) {
        char *name = temporary_name(file->target);
        if (!name) return gp_no_memory(err);
        file->ticket = gp_temporary_add(name); // before it is there: a signal may come in between
        file->fd = gp_open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (file->fd >= 0) {
            file->temporary = name;
            return ADVGP_OK;
        }
        gp_temporary_drop(file->ticket);
        file->ticket = GP_NOT_TEMPORARY;
        gp_free(name);
        if (errno != EEXIST) break;
    }
    return cannot(file, "write", err);
}

static advgp_status open_existing(gp_atomicfile *file, const struct stat *old, advgp_error *err)
{
    if (S_ISDIR(old->st_mode)) {
        errno = EISDIR;
        return cannot(file, "write", err);
    }
    if (!S_ISREG(old->st_mode)) {
        file->fd = open(file->target, O_WRONLY | O_CLOEXEC);
        return file->fd < 0 ? cannot(file, "write", err) : ADVGP_OK;
    }
    if (access(file->target, W_OK) != 0) return cannot(file, "write", err); // a rename would not ask
    advgp_status st = open_temporary(file, 0600, err);
    if (st == ADVGP_OK && !file->private && fchmod(file->fd, old->st_mode & 07777) != 0)
        st = cannot(file, "keep the permissions of", err);
    return st;
}

static advgp_status open_target(gp_atomicfile *file, const char *path, advgp_error *err)
{
    char resolved[PATH_MAX];
    // A secret follows no link, and a file that is not there yet has none to follow.
    const char *target = !file->private && realpath(path, resolved) ? resolved : path;
    const advgp_status laid = file->private ? gp_laid_check_own(path, err) : gp_laid_check(path, err);
    if (laid != ADVGP_OK) return laid;
    file->shown = gp_text_copy(path, strlen(path));
    file->target = gp_text_copy(target, strlen(target));
    if (!file->shown || !file->target) return gp_no_memory(err);
    struct stat old;
    if (stat(file->target, &old) == 0) return open_existing(file, &old, err);
    return errno == ENOENT ? open_temporary(file, file->private ? 0600 : 0666, err) : cannot(file, "write", err);
}

static advgp_status open_file(const char *path, bool private, gp_atomicfile **out, advgp_error *err)
{
    *out = NULL;
    if (!path || !*path) return gp_fail(err, ADVGP_EINVAL, "a file to write needs a name");
    gp_atomicfile *file = gp_alloc(1, sizeof *file);
    if (!file) return gp_no_memory(err);
    file->fd = -1;
    file->private = private;
    advgp_status st = open_target(file, path, err);
    if (st == ADVGP_OK)
        *out = file;
    else
        gp_atomicfile_abandon(file);
    return st;
}

advgp_status gp_atomicfile_open(const char *path, gp_atomicfile **out, advgp_error *err)
{
    return open_file(path, false, out, err);
}

advgp_status gp_atomicfile_open_private(const char *path, gp_atomicfile **out, advgp_error *err)
{
    return open_file(path, true, out, err);
}

advgp_status gp_atomicfile_try(const char *path, advgp_error *err)
{
    gp_atomicfile *file;
    struct stat old;
    const advgp_status laid = path ? gp_laid_check(path, err) : ADVGP_OK;
    if (laid != ADVGP_OK) return laid;
    if (path && stat(path, &old) == 0 && !S_ISREG(old.st_mode) && !S_ISDIR(old.st_mode)) return ADVGP_OK;
    advgp_status st = gp_atomicfile_open(path, &file, err);
    gp_atomicfile_abandon(file);
    return st;
}

static advgp_status write_out(gp_atomicfile *file, const char *p, size_t n, advgp_error *err)
{
    while (n) {
        ssize_t put = write(file->fd, p, n);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return cannot(file, "write", err);
        p += put;
        n -= (size_t)put;
    }
    return ADVGP_OK;
}

static advgp_status flush(gp_atomicfile *file, advgp_error *err)
{
    size_t n = file->pending;
    file->pending = 0;
    return write_out(file, file->buffer, n, err);
}

advgp_status gp_atomicfile_write(gp_atomicfile *file, const void *bytes, size_t n, advgp_error *err)
{
    if (n > BUFFER - file->pending) {
        advgp_status st = flush(file, err);
        if (st != ADVGP_OK) return st;
        if (n > BUFFER) return write_out(file, bytes, n, err);
    }
    if (n) memcpy(file->buffer + file->pending, bytes, n);
    file->pending += n;
    return ADVGP_OK;
}

const char *gp_atomicfile_temporary(const gp_atomicfile *file)
{
    return file->temporary ? file->temporary : file->target;
}

// Some file systems have no durable folders and say so with EINVAL: nothing more can be asked of them.
static bool sync_folder(const char *target)
{
    char folder[PATH_MAX];
    int n = snprintf(folder, sizeof folder, "%.*s", (int)folder_length(target), target);
    int fd = gp_open(n ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) return errno == EACCES; // a folder one may write to but not read
    bool good = fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP;
    int kept = errno;
    close(fd);
    errno = kept;
    return good;
}

// By a second name, which is refused where there is one: a rename would not ask. Some file systems have no second
// names.
static bool give_new_name(gp_atomicfile *file)
{
    if (link(file->temporary, file->target) == 0) return unlink(file->temporary) == 0;
    if (errno == EEXIST || access(file->target, F_OK) == 0) {
        errno = EEXIST;
        return false;
    }
    return rename(file->temporary, file->target) == 0;
}

static advgp_status put_in_place(gp_atomicfile *file, advgp_error *err)
{
    // By path and not by fd: another library may have replaced the file (gp_atomicfile_temporary).
    int fd = gp_open(file->temporary, O_RDONLY | O_CLOEXEC, 0);
    bool synced = fd >= 0 && fsync(fd) == 0;
    int kept = errno;
    if (fd >= 0) close(fd);
    errno = kept;
    if (!synced) return cannot(file, "write", err);
    if (file->new && !give_new_name(file))
        return errno == EEXIST ? gp_fail(err, ADVGP_EINVAL, "%.300s exists already", file->shown)
                               : cannot(file, "write", err);
    if (!file->new &&rename(file->temporary, file->target) != 0) return cannot(file, "replace", err);
    gp_temporary_drop(file->ticket);
    file->ticket = GP_NOT_TEMPORARY;
    gp_free(file->temporary); // it has its name now: nothing to delete
    file->temporary = NULL;
    return sync_folder(file->target) ? ADVGP_OK : cannot(file, "make durable", err);
}

advgp_status gp_atomicfile_commit(gp_atomicfile *file, advgp_error *err)
{
    advgp_status st = flush(file, err);
    int closed = close(file->fd); // the last moment at which a network file system reports a full disk
    file->fd = -1;
    if (st == ADVGP_OK && closed != 0) st = cannot(file, "write", err);
    if (st == ADVGP_OK && file->temporary) st = put_in_place(file, err);
    gp_atomicfile_abandon(file);
    return st;
}

advgp_status gp_atomicfile_commit_new(gp_atomicfile *file, advgp_error *err)
{
    file->new = true;
    return gp_atomicfile_commit(file, err);
}

void gp_atomicfile_abandon(gp_atomicfile *file)
{
    if (!file) return;
    if (file->fd >= 0) close(file->fd);
    if (file->temporary) unlink(file->temporary);
    gp_temporary_drop(file->ticket);
    gp_free(file->temporary);
    gp_free(file->target);
    gp_free(file->shown);
    gp_free(file);
}
