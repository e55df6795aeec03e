// laid.c: by lstat, which follows no link.
#define _XOPEN_SOURCE 700 // S_ISVTX
#include "store/laid.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool look_at_folder(const char *path, struct stat *about)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash) return stat(".", about) == 0;
    const size_t n = slash == path ? 1 : (size_t)(slash - path);
    if (n >= sizeof folder) return false;
    memcpy(folder, path, n);
    folder[n] = 0;
    return stat(folder, about) == 0;
}

advgp_status gp_laid_check(const char *path, advgp_error *err)
{
    struct stat about, folder;
    if (lstat(path, &about) != 0 || !look_at_folder(path, &folder)) return ADVGP_OK;
    const bool shared = (folder.st_mode & S_ISVTX) && (folder.st_mode & S_IWOTH);
    if (!shared || about.st_uid == geteuid() || about.st_uid == folder.st_uid) return ADVGP_OK;
    return gp_fail(err, ADVGP_EINVAL,
                   "%.300s was laid there by user %lu, in a folder that everybody may write: name a file in a folder "
                   "of your own",
                   path, (unsigned long)about.st_uid);
}

advgp_status gp_laid_check_own(const char *path, advgp_error *err)
{
    struct stat about;
    if (lstat(path, &about) != 0) return ADVGP_OK;
    if (!S_ISREG(about.st_mode))
        return gp_fail(err, ADVGP_EINVAL,
                       "%.300s is %s: a secret is written into a file of its own only; delete it, or name another file",
                       path, S_ISLNK(about.st_mode) ? "a link" : "no file");
    if (about.st_uid != geteuid())
        return gp_fail(err, ADVGP_EINVAL, "%.300s belongs to user %lu: name a file that is yours", path,
                       (unsigned long)about.st_uid);
    return ADVGP_OK;
}
