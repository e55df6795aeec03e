// scratch_test.h: a folder for one test program, what is in it, and disks that fill up. For the tests of this room.
#pragma once
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[] = "scratch_XXXXXX";

static inline int scratch_begin(void **state)
{
    (void)state;
    signal(SIGXFSZ, SIG_IGN); // a write beyond the limit then fails like one on a full disk
    return mkdtemp(scratch) ? 0 : -1;
}

static inline const char *scratch_path(const char *name) // valid until the fourth call from here
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", scratch, name);
    return path;
}

static inline int scratch_count(void) // files, hidden ones too
{
    int n = 0;
    DIR *dir = opendir(scratch);
    for (struct dirent *entry; (entry = readdir(dir));)
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return n;
}

static inline int scratch_end(void **state)
{
    (void)state;
    DIR *dir = opendir(scratch);
    for (struct dirent *entry; (entry = readdir(dir));) unlink(scratch_path(entry->d_name));
    closedir(dir);
    return rmdir(scratch);
}

static inline void scratch_limit(rlim_t bytes) // no file may grow beyond; RLIM_INFINITY: as before
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
}

static inline size_t scratch_load(const char *path, char *to, size_t room)
{
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(to, 1, room, file) : 0;
    if (file) fclose(file);
    return n;
}

static inline void scratch_save(const char *path, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    bool good = file && fwrite(bytes, 1, n, file) == n;
    if (file) good = fclose(file) == 0 && good;
    if (!good) abort();
}
