// place.c: files compared by what they are, not by their names.
#define _XOPEN_SOURCE 700 // realpath
#include "store/place.h"

#include "base/status.h"
#include "files/files.h"
#include "files/inputs.h"
#include "shards/packed.h"
#include "store/atomicfile.h"
#include "store/runlog.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- is it read? ----------------------------------------------------------------------------------------------------

static bool same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool look(const char *path, int standard, struct stat *about)
{
    return strcmp(path, "-") == 0 ? fstat(standard, about) == 0 : stat(path, about) == 0;
}

typedef struct search {
    struct stat written;
    char folder[PATH_MAX]; // not empty: it is this folder, and what lies in it counts too
    bool found;
} search;

static advgp_status compare(void *ctx, const char *path, advgp_error *err)
{
    search *s = ctx;
    struct stat about;
    char resolved[PATH_MAX];
    (void)err;
    if (!look(path, STDIN_FILENO, &about)) return ADVGP_OK;
    s->found |= same(&about, &s->written);
    const size_t n = strlen(s->folder);
    if (n && realpath(path, resolved)) s->found |= strncmp(resolved, s->folder, n) == 0 && resolved[n] == '/';
    return ADVGP_OK;
}

// The folder of a path, as it is named there.
static void folder_of(const char *path, char folder[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    const size_t n = slash ? (size_t)(slash - path) : 0;
    snprintf(folder, PATH_MAX, "%.*s", n ? (int)n : 1, !slash ? "." : path); // of "/x" the slash itself
}

// A packed folder is read as a whole: nothing else belongs into it.
static bool lies_in(const char *path, const char *packed)
{
    char folder[PATH_MAX];
    struct stat a, b;
    folder_of(path, folder);
    return gp_packed_is(packed) && stat(folder, &a) == 0 && stat(packed, &b) == 0 && same(&a, &b);
}

static bool is_read(search *s, const char *path, bool there, gp_reads reads)
{
    for (size_t i = 0; i < reads.n && !s->found; i++) {
        if (!reads.paths[i]) continue;
        struct stat about;
        s->found |= lies_in(path, reads.paths[i]);
        if (!there) continue;
        s->found |= look(reads.paths[i], STDIN_FILENO, &about) && same(&about, &s->written); // a folder itself
        (void)gp_inputs_walk(reads.paths[i], compare, s, NULL); // what cannot be read is for the reader to say
    }
    return s->found;
}

static advgp_status refuse_read(const char *path, const char *shown, advgp_error *err)
{
    return gp_fail(err, ADVGP_EINVAL, "%s %.300s would overwrite what is read; name another file", shown, path);
}

bool gp_place_same(const char *a, const char *b)
{
    char folder_a[PATH_MAX], folder_b[PATH_MAX];
    struct stat x, y;
    if (strcmp(a, b) == 0) return true;
    const bool has_a = stat(a, &x) == 0, has_b = stat(b, &y) == 0;
    if (has_a || has_b) return has_a && has_b && S_ISREG(x.st_mode) && same(&x, &y);
    folder_of(a, folder_a);
    folder_of(b, folder_b);
    const char *name_a = strrchr(a, '/'), *name_b = strrchr(b, '/');
    return strcmp(name_a ? name_a + 1 : a, name_b ? name_b + 1 : b) == 0 && stat(folder_a, &x) == 0 &&
           stat(folder_b, &y) == 0 && same(&x, &y);
}

// ---- is it of the same kind? ----------------------------------------------------------------------------------------

enum { HEAD_BYTES = 512 };

static size_t read_head(const char *path, char head[HEAD_BYTES])
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? 0 : read(fd, head, HEAD_BYTES - 1);
    if (fd >= 0) close(fd);
    head[n > 0 ? n : 0] = 0;
    return n > 0 ? (size_t)n : 0;
}

// Tensor files of ours begin with the length of their header and its metadata; a checkpoint's say that it is one.
static bool is_tensors(const char *path, bool checkpoint)
{
    char head[HEAD_BYTES];
    static const char mark[] = "{\"__metadata__\":{\"advgp\":\"{";
    const size_t n = read_head(path, head), at = sizeof(uint64_t), length = sizeof mark - 1;
    if (n < at + length || memcmp(head + at, mark, length) != 0) return false;
    static const char word[] = "\\\"checkpoint\\\"";
    return (strncmp(head + at + length, word, sizeof word - 1) == 0) == checkpoint;
}

static bool is_log(const char *path)
{
    gp_runlog_reader *reader = NULL;
    const bool good = gp_runlog_open(path, &reader, NULL) == ADVGP_OK;
    gp_runlog_reader_close(reader);
    return good;
}

// Predictions have a column of that name.
static bool is_table(const char *path)
{
    gp_source *source = NULL;
    const gp_file_options files = {.paths = &path, .n_paths = 1};
    const bool good = gp_source_files_open(&files, NULL, &source, NULL) == ADVGP_OK &&
                      gp_source_find(source, "mean") != GP_NO_COLUMN;
    gp_source_free(source);
    return good;
}

// A page of ours says so before anything that comes from a model.
static bool is_report(const char *path)
{
    char head[HEAD_BYTES];
    return read_head(path, head) > 0 && strstr(head, "<meta name=\"generator\" content=\"advgp ") != NULL;
}

static bool is_kind(const char *path, gp_written kind)
{
    switch (kind) {
    case GP_WRITTEN_MODEL:
    case GP_WRITTEN_CHECKPOINT:
        return is_tensors(path, kind == GP_WRITTEN_CHECKPOINT);
    case GP_WRITTEN_LOG:
        return is_log(path);
    case GP_WRITTEN_REPORT:
        return is_report(path);
    case GP_WRITTEN_TABLE:
        break;
    }
    return is_table(path);
}

// ---- both -----------------------------------------------------------------------------------------------------------

advgp_status gp_place_check(const char *path, const char *shown, gp_written kind, bool force, gp_reads reads,
                            advgp_error *err)
{
    static const char *const kinds[] = {[GP_WRITTEN_MODEL] = "model of advgp",
                                        [GP_WRITTEN_CHECKPOINT] = "checkpoint of advgp",
                                        [GP_WRITTEN_LOG] = "log of advgp",
                                        [GP_WRITTEN_TABLE] = "table of predictions",
                                        [GP_WRITTEN_REPORT] = "report of advgp"};
    search s = {0};
    const bool output = strcmp(path, "-") == 0;
    const bool there = look(path, STDOUT_FILENO, &s.written) && S_ISREG(s.written.st_mode);
    const bool read = is_read(&s, path, there, reads);
    if (read && output)
        return gp_fail(err, ADVGP_EINVAL, "standard output would overwrite what is read; send it to another file");
    if (read) return refuse_read(path, shown, err);
    if (output) return ADVGP_OK;
    if (there && s.written.st_size > 0 && !force && !is_kind(path, kind))
        return gp_fail(err, ADVGP_EINVAL,
                       "%s %.300s: a file is there that is no %s; name another, or replace it with {force}", shown,
                       path, kinds[kind]);
    return gp_atomicfile_try(path, err);
}

advgp_status gp_place_check_folder(const char *dir, const char *shown, gp_reads reads, advgp_error *err)
{
    search s = {0};
    const bool there = stat(dir, &s.written) == 0;
    if (there && S_ISDIR(s.written.st_mode) && !realpath(dir, s.folder)) s.folder[0] = 0;
    return is_read(&s, dir, there, reads) ? refuse_read(dir, shown, err) : ADVGP_OK;
}
