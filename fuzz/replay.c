// replay.c: feeds every file of the given folders to the harness, where there is no libFuzzer.
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static size_t replay(const char *folder)
{
    DIR *dir = opendir(folder);
    size_t n_files = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[4096];
        static uint8_t bytes[1 << 20];
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *file = fopen(path, "rb");
        size_t n = file ? fread(bytes, 1, sizeof bytes, file) : 0;
        if (file) fclose(file);
        uint8_t *exact = malloc(n ? n : 1); // its own block, so that a sanitizer sees a read beyond the end
        for (size_t i = 0; exact && i < n; i++) exact[i] = bytes[i];
        if (exact) LLVMFuzzerTestOneInput(exact, n);
        free(exact);
        n_files++;
    }
    if (dir) closedir(dir);
    return n_files;
}

int main(int argc, char **argv)
{
    size_t n_files = 0;
    for (int i = 1; i < argc; i++) n_files += replay(argv[i]);
    printf("%zu inputs\n", n_files);
    return n_files ? 0 : 1;
}
