// file_json.c: what a log remembers of an input, to tell whether it is still the same.
#include "store/runlog.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { END_BYTES = 16 << 20 };

// Hash of the bytes from `from` on, up to END_BYTES; false: they cannot be read.
static bool hash_end(int fd, off_t from, size_t n, char *buffer, uint64_t *hash)
{
    size_t done = 0;
    while (done < n) {
        const ssize_t got = pread(fd, buffer + done, n - done, from + (off_t)done);
        if (got <= 0) return false;
        done += (size_t)got;
    }
    *hash = XXH3_64bits_withSeed(buffer, n, *hash);
    return true;
}

json_t *gp_json_file(const char *path)
{
    struct stat s;
    char hex[20], *buffer = NULL;
    json_t *file = json_pack("{s:o}", "name", gp_json_text(path));
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file && fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && (buffer = malloc(END_BYTES))) {
        const size_t n = s.st_size < END_BYTES ? (size_t)s.st_size : END_BYTES;
        uint64_t hash = (uint64_t)s.st_size;
        if (hash_end(fd, 0, n, buffer, &hash) && hash_end(fd, s.st_size - (off_t)n, n, buffer, &hash)) {
            snprintf(hex, sizeof hex, "%016" PRIx64, hash);
            json_object_set_new(file, "bytes", json_integer(s.st_size));
            json_object_set_new(file, "xxh3_of_ends", json_string(hex));
        }
    }
    free(buffer);
    if (fd >= 0) close(fd);
    return file;
}
