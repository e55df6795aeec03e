// fuzz.c: files in memory for the harnesses.
#define _GNU_SOURCE // memfd_create
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

const char *fuzz_file(const uint8_t *bytes, size_t n)
{
    static int fd = -1;
    static char path[64];
    if (fd < 0) fd = memfd_create("fuzz", 0);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, bytes, n, 0) != (ssize_t)n) {
        perror("a file in memory");
        exit(1);
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

void fuzz_broken(const char *file, int line, const char *truth)
{
    fprintf(stderr, "%s:%d: broken: %s\n", file, line, truth);
    abort();
}
