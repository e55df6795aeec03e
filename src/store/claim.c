// claim.c: fcntl locks, which NFS has as well.
#include "store/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// Another user's, laid where ours should be, would be waited for without end.
static bool is_ours(const gp_claim *c)
{
    struct stat mine;
    return fstat(c->fd, &mine) == 0 && S_ISREG(mine.st_mode) && mine.st_uid == geteuid();
}

// Whoever had it before may have removed the file that was opened: then the lock is one that nobody else looks for.
static bool is_there(const gp_claim *c)
{
    struct stat mine, there;
    return fstat(c->fd, &mine) == 0 && stat(c->path, &there) == 0 && mine.st_ino == there.st_ino &&
           mine.st_dev == there.st_dev;
}

static void let_go(gp_claim *c)
{
    (void)close(c->fd); // with its lock
    c->fd = -1;
}

advgp_status gp_claim_take(const char *path, int (*stop)(void *ctx), void *ctx, gp_claim *c, advgp_error *err)
{
    const struct timespec pause = {.tv_nsec = 50000000};
    *c = (gp_claim){.fd = -1};
    snprintf(c->path, sizeof c->path, "%s.lock", path);
    for (;;) {
        const struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        c->fd = open(c->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        if (c->fd < 0) return ADVGP_OK;
        if (!is_ours(c)) {
            let_go(c);
            return ADVGP_OK;
        }
        if (fcntl(c->fd, F_SETLK, &whole) == 0 && is_there(c)) return ADVGP_OK;
        const bool others = errno == EAGAIN || errno == EACCES || errno == EINTR || !is_there(c);
        let_go(c);
        if (!others) return ADVGP_OK;
        if (stop && stop(ctx)) return gp_fail(err, ADVGP_ESTOPPED, "stopped while another lead looked at %s", path);
        (void)nanosleep(&pause, NULL);
    }
}

void gp_claim_release(gp_claim *c)
{
    if (c->fd < 0) return;
    (void)unlink(c->path);
    let_go(c);
}
