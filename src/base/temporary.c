// temporary.c: names in fixed places, since a signal handler may neither allocate nor lock.
#define _GNU_SOURCE // syscall
#include "base/temporary.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
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
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
