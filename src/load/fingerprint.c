// fingerprint.c: does a folder of --cache hold what these files and options would give?
#include "data/split.h"
#include "load/load.h"

#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

enum { FOLDER_DEPTH = 16 };

// Adds up what tells a file from another: path, size, time. A sum does not depend on the order of a folder's entries.
static void add_file(const char *path, int depth, uint64_t *sum, bool *steady)
{
    struct stat s;
    DIR *folder;
    if (stat(path, &s) != 0) {
        *steady = false;
    } else if (S_ISDIR(s.st_mode) && depth < FOLDER_DEPTH && (folder = opendir(path))) {
        for (struct dirent *entry; (entry = readdir(folder));) {
            char child[4096];
            if (entry->d_name[0] == '.') continue;
            snprintf(child, sizeof child, "%s/%s", path, entry->d_name);
            add_file(child, depth + 1, sum, steady);
        }
        closedir(folder);
    } else {
        const long long facts[] = {(long long)s.st_size, (long long)s.st_mtim.tv_sec, (long long)s.st_mtim.tv_nsec,
                                   (long long)s.st_ino};
        *steady = *steady && S_ISREG(s.st_mode);
        *sum += XXH3_64bits_withSeed(facts, sizeof facts, XXH3_64bits(path, strlen(path)));
    }
}

// The files of a path argument: itself, or what the pattern stands for.
static void add_path(const char *path, uint64_t *sum, bool *steady)
{
    glob_t found;
    struct stat s;
    if (stat(path, &s) != 0 && strpbrk(path, "*?[") && glob(path, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) add_file(found.gl_pathv[i], 0, sum, steady);
        globfree(&found);
    } else {
        add_file(path, 0, sum, steady);
    }
}

uint64_t gp_fingerprint(const gp_options *o, bool *steady)
{
    uint64_t files = 0;
    XXH64_hash_t hash = XXH3_64bits(advgp_version(), strlen(advgp_version()));
    gp_split split;
    *steady = true;
    for (size_t i = 0; i < o->n_operands; i++) {
        hash = XXH3_64bits_withSeed(o->operands[i], strlen(o->operands[i]), hash);
        add_path(o->operands[i], &files, steady);
    }
    if (gp_split_parse(gp_options_text(o, "validation"), 0, &split, NULL) == ADVGP_OK && split.kind == GP_SPLIT_FILE)
        add_path(split.name, &files, steady);
    for (size_t i = 0; i < o->n_values; i++) {
        const gp_option_value *v = &o->values[i];
        const char *name = v->option->name;
        const bool decides = (v->option->group == GP_GROUP_DATA && strcmp(name, "cache") != 0 &&
                              strcmp(name, "test") != 0) ||
                             !strcmp(name, "seed");
        if (!decides || !v->present || !v->text) continue;
        hash = XXH3_64bits_withSeed(name, strlen(name), hash);
        hash = XXH3_64bits_withSeed(v->text, strlen(v->text), hash);
    }
    return XXH3_64bits_withSeed(&files, sizeof files, hash);
}
