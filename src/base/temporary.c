// temporary.c: names in fixed places, since a signal handler may neither allocate nor lock.
#define _GNU_SOURCE // syscall
#include "base/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PLACES = 256 };
enum { FREE, TAKEN, NAMED };

static struct {
    atomic_int state;
    char path[PATH_MAX];
} places[PLACES];

int gp_temporary_add(const char *path)
{
    const size_t n = strlen(path);
    for (int i = 0; n < PATH_MAX && i < PLACES; i++) {
        int expected = FREE;
        if (!atomic_compare_exchange_strong(&places[i].state, &expected, TAKEN)) continue;
        memcpy(places[i].path, path, n + 1);
        atomic_store(&places[i].state, NAMED);
        return i + 1;
    }
    return GP_NOT_TEMPORARY;
}

void gp_temporary_drop(int ticket)
{
    if (ticket != GP_NOT_TEMPORARY) atomic_store(&places[ticket - 1].state, FREE);
}

// opendir allocates, so the kernel is asked itself. Folders inside are not entered: ours have none.
static void remove_folder(const char *path)
{
    struct entry { // linux_dirent64
        uint64_t inode;
        int64_t offset;
        unsigned short length;
        unsigned char type;
        char name[];
    };
    _Alignas(struct entry) char block[4096];
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return;
    for (long n; (n = syscall(SYS_getdents64, fd, block, sizeof block)) > 0;)
        for (long at = 0; at < n;) {
            const struct entry *e = (const struct entry *)(const void *)(block + at);
            (void)unlinkat(fd, e->name, 0); // "." and ".." refuse
            at += e->length;
        }
    close(fd);
    (void)rmdir(path);
}

void gp_temporary_remove_all(void)
{
    for (int i = 0; i < PLACES; i++)
        if (atomic_load(&places[i].state) == NAMED && unlink(places[i].path) != 0) remove_folder(places[i].path);
}

const char *gp_temporary_folder(void)
{
    const char *dir = getenv("TMPDIR");
    return dir && *dir ? dir : "/tmp";
}

// Ours, for nobody else. By a descriptor, so that what is asked is what is there; `link`: a link to it will do.
static bool is_own(const char *path, bool link)
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (link ? 0 : O_NOFOLLOW));
    const bool own = fd >= 0 && fstat(fd, &about) == 0 && about.st_uid == geteuid() && !(about.st_mode & 077);
    if (fd >= 0) close(fd);
    return own;
}

advgp_status gp_temporary_own_folder(char *path, size_t room, advgp_error *err)
{
    static const char *const variables[] = {"XDG_RUNTIME_DIR", "TMPDIR"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *dir = getenv(variables[i]);
        if (!dir || !*dir || !is_own(dir, true) || access(dir, W_OK | X_OK) != 0 || strlen(dir) >= room) continue;
        memcpy(path, dir, strlen(dir) + 1);
        return ADVGP_OK;
    }
    snprintf(path, room, "/tmp/advgp-%ld", (long)geteuid());
    const int failed = mkdir(path, 0700) == 0 ? 0 : errno;
    if (!failed || (failed == EEXIST && is_own(path, false))) return ADVGP_OK;
    if (failed == EEXIST)
        return gp_fail(
            err, ADVGP_EINVAL,
            "%.100s is not a folder of yours that nobody else may open: delete it, or let XDG_RUNTIME_DIR or "
            "TMPDIR name such a folder (mkdir -m 700)",
            path);
    return gp_fail(err, ADVGP_EIO,
                   "cannot make the folder %.100s: %s; let XDG_RUNTIME_DIR or TMPDIR name one that is yours alone "
                   "(mkdir -m 700)",
                   path, strerror(failed));
}

bool gp_temporary_make_folder(const char *parent, const char *name, char *path, size_t room)
{
    const int n = snprintf(path, room, "%s/%s-XXXXXX", parent ? parent : gp_temporary_folder(), name);
    return n > 0 && (size_t)n < room && mkdtemp(path);
}
