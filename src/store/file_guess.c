// file_guess.c: see file_guess.h.
#include "store/file_guess.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { HEAD = 4096, LENGTH = 8 };

// A safetensors file: the length of its header, then the header, a JSON object.
static bool is_model(const unsigned char *head, size_t n, uint64_t size)
{
    uint64_t length;
    if (n <= LENGTH || head[LENGTH] != '{') return false;
    memcpy(&length, head, sizeof length);
    return length <= size - LENGTH;
}

static bool is_text(const unsigned char *head, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (head[i] < ' ' && !strchr("\t\n\r\f", head[i])) return false;
    return n > 0 && !memchr(head, 0, n);
}

static bool is_table(const unsigned char *head, size_t n)
{
    static const char *const magics[] = {"PAR1", "\x1f\x8b", "\x28\xb5\x2f\xfd"}; // Parquet, gzip, zstd
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (n >= strlen(magics[i]) && !memcmp(head, magics[i], strlen(magics[i]))) return true;
    return is_text(head, n);
}

gp_file_guess gp_guess_file(const char *path)
{
    unsigned char head[HEAD];
    struct stat s;
    if (stat(path, &s) != 0 || !S_ISREG(s.st_mode)) return GP_GUESS_OTHER; // a pipe has its bytes only once
    FILE *f = fopen(path, "rb");
    if (!f) return GP_GUESS_OTHER;
    const size_t n = fread(head, 1, sizeof head, f);
    fclose(f);
    return is_model(head, n, (uint64_t)s.st_size) ? GP_GUESS_MODEL
           : is_table(head, n)                    ? GP_GUESS_TABLE
                                                  : GP_GUESS_OTHER;
}
