// inputs.c: from path arguments to a list of files: folders and globs expanded in the order of their names, pipes
// spooled, each file sniffed.
#include "files/inputs.h"

#include "base/alloc.h"
#include "files/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDER_DEPTH_MAX = 16 };

static void file_fini(gp_input_file *file)
{
    if (file->spool >= 0) close(file->spool);
    gp_free(file->path);
    gp_free(file->shown);
}

void gp_inputs_fini(gp_inputs *inputs)
{
    for (size_t i = 0; inputs->files && i < inputs->n_files; i++) file_fini(&inputs->files[i]);
    for (size_t i = 0; inputs->tables && i < inputs->n_tables; i++) gp_free(inputs->tables[i].name);
    for (size_t i = 0; inputs->na && inputs->na->items && i < inputs->na->n; i++) gp_free(inputs->na->items[i]);
    if (inputs->na) gp_free(inputs->na->items);
    gp_free(inputs->na);
    gp_free(inputs->files);
    gp_free(inputs->tables);
    *inputs = (gp_inputs){0};
}

static gp_input_file *add_file(gp_inputs *inputs)
{
    if (!gp_grow(&inputs->files, &inputs->capacity, inputs->n_files, inputs->n_files + 1, sizeof *inputs->files))
        return NULL;
    gp_input_file *file = &inputs->files[inputs->n_files++];
    *file = (gp_input_file){.spool = -1, .compression = "none"};
    return file;
}

// ---- one file -------------------------------------------------------------------------------------------------------
static size_t read_head(int fd, unsigned char *head)
{
    size_t n = 0;
    while (n < GP_HEAD_BYTES) {
        ssize_t got = pread(fd, head + n, GP_HEAD_BYTES - n, (off_t)n);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        n += (size_t)got;
    }
    return n;
}

// From here on the copy is the file.
static advgp_status use_spool(gp_input_file *file, int copy, advgp_error *err)
{
    if (file->spool >= 0) close(file->spool);
    file->spool = copy;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", copy);
    gp_free(file->path);
    file->path = gp_copy_text(path);
    return file->path ? ADVGP_OK : gp_no_memory(err);
}

static gp_spool_source spool_source(const gp_input_file *file, int fd, const gp_file_options *o)
{
    return (gp_spool_source){.fd = fd,
                             .shown = file->shown,
                             .temporary = o->temporary,
                             .limit_bytes = o->limit_bytes,
                             .stop = o->stop,
                             .stop_ctx = o->stop_ctx};
}

static advgp_status sniff(gp_input_file *file, int fd, const gp_file_options *options, gp_notes *notes,
                          unsigned char *head, advgp_error *err)
{
    size_t n = read_head(fd, head);
    if (n == 0) return gp_fail(err, ADVGP_EDATA, "%s is empty; rows under names of columns are expected", file->shown);
    advgp_status st = gp_refuse_foreign(file->shown, head, n, err);
    if (st != ADVGP_OK) return st;
    gp_sniff_kind(file, head, n);
    st = gp_compressed_check(fd, file->compression, file->shown, options, err);
    if (st != ADVGP_OK || file->kind != GP_FILE_CSV || strcmp(file->compression, "none") != 0) return st;
    gp_utf16 utf16 = gp_sniff_utf16(head, n);
    if (utf16 != GP_NOT_UTF16) {
        int copy = -1;
        const gp_spool_source from = spool_source(file, fd, options);
        lseek(fd, 0, SEEK_SET);
        st = gp_spool_utf16(&from, utf16 == GP_UTF16_BE, &copy, err);
        if (st == ADVGP_OK) st = use_spool(file, copy, err);
        if (st == ADVGP_OK) st = gp_notes_add(notes, err, 1, "%s is read as UTF-16", file->shown);
        if (st != ADVGP_OK) return st;
        n = read_head(file->spool, head);
    } else if (!gp_text_is_utf8((const char *)head, n == GP_HEAD_BYTES ? gp_utf8_whole(head, n) : n)) {
        if (!memchr(head, 0, n)) { // with zero bytes it is no text in any encoding; gp_sniff_csv says so
            file->latin1 = true;
            st = gp_notes_add(notes, err, 1, "%s is not UTF-8 and is read as Latin-1", file->shown);
        }
    }
    if (st == ADVGP_OK) st = gp_sniff_csv(file, head, n, notes, err);
    return st;
}

static advgp_status open_file(gp_input_file *file, const gp_file_options *options, gp_notes *notes, advgp_error *err)
{
    bool is_stdin = strcmp(file->path, "-") == 0;
    // Not blocking: a named pipe that nobody has opened to write yet is waited for where a signal is heard.
    int fd = is_stdin ? STDIN_FILENO : open(file->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return gp_fail(err, ADVGP_EDATA, "cannot open %s: %s", file->shown, strerror(errno));
    unsigned char *head = NULL;
    struct stat info;
    advgp_status st = ADVGP_OK;
    if (fstat(fd, &info) != 0)
        st = gp_fail(err, ADVGP_EDATA, "cannot examine %s: %s", file->shown, strerror(errno));
    else if (is_stdin || !S_ISREG(info.st_mode)) {
        int copy = -1;
        const gp_spool_source from = spool_source(file, fd, options);
        st = gp_spool(&from, &copy, err);
        if (st == ADVGP_OK) st = use_spool(file, copy, err);
    }
    if (st == ADVGP_OK && !(head = gp_alloc(GP_HEAD_BYTES, 1))) st = gp_no_memory(err);
    if (st == ADVGP_OK) st = sniff(file, file->spool >= 0 ? file->spool : fd, options, notes, head, err);
    gp_free(head);
    if (!is_stdin) close(fd);
    return st;
}

// ---- folders and globs ----------------------------------------------------------------------------------------------
static bool is_data_file(const char *name)
{
    static const char *const endings[] = {"csv", "tsv", "txt", "parquet", "pq", "json", "jsonl", "ndjson"};
    char stem[256];
    size_t n = strlen(name);
    if (name[0] == '.' || name[0] == '_' || n >= sizeof stem) return false;
    memcpy(stem, name, n + 1);
    char *dot = strrchr(stem, '.');
    if (dot && (strcmp(dot, ".gz") == 0 || strcmp(dot, ".zst") == 0)) *dot = 0, dot = strrchr(stem, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(dot + 1, endings[i]) == 0) return true;
    return false;
}

// Files in the order of their names; what is in folders below comes in its place.
static advgp_status walk_folder(const char *path, int depth, gp_inputs_visit visit, void *ctx, advgp_error *err)
{
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, NULL, alphasort);
    if (n < 0) return gp_fail(err, ADVGP_EDATA, "cannot read the folder %s: %s", path, strerror(errno));
    advgp_status st = ADVGP_OK;
    for (int i = 0; i < n; i++) {
        gp_buffer child = {0};
        struct stat info;
        const char *name = entries[i]->d_name;
        if (st == ADVGP_OK && name[0] != '.') {
            gp_buffer_add(&child, "%s/%s", path, name);
            if (child.failed)
                st = gp_no_memory(err);
            else if (stat(child.p, &info) == 0 && S_ISDIR(info.st_mode) && depth < FOLDER_DEPTH_MAX)
                st = walk_folder(child.p, depth + 1, visit, ctx, err);
            else if (is_data_file(name))
                st = visit(ctx, child.p, err);
        }
        gp_buffer_fini(&child);
        free(entries[i]);
    }
    free(entries);
    return st;
}

static advgp_status walk_glob(const char *path, gp_inputs_visit visit, void *ctx, advgp_error *err)
{
    glob_t found;
    int rc = glob(path, 0, NULL, &found);
    if (rc == GLOB_NOMATCH) return gp_fail(err, ADVGP_EDATA, "no file matches %s", path);
    if (rc != 0) return gp_fail(err, ADVGP_EDATA, "cannot expand %s", path);
    advgp_status st = ADVGP_OK;
    for (size_t i = 0; st == ADVGP_OK && i < found.gl_pathc; i++) st = visit(ctx, found.gl_pathv[i], err);
    globfree(&found);
    return st;
}

advgp_status gp_inputs_walk(const char *path, gp_inputs_visit visit, void *ctx, advgp_error *err)
{
    struct stat info;
    const bool there = strcmp(path, "-") != 0 && stat(path, &info) == 0;
    if (there && S_ISDIR(info.st_mode)) return walk_folder(path, 0, visit, ctx, err);
    if (!there && strpbrk(path, "*?[")) return walk_glob(path, visit, ctx, err);
    return visit(ctx, path, err);
}

typedef struct taking {
    gp_inputs *inputs;
    const gp_file_options *options;
    gp_notes *notes;
    const char *named; // the path argument
} taking;

// Below the folder that was named, is one called COLUMN=VALUE?
static bool is_hive(const char *path, const char *named)
{
    const size_t n = strlen(named);
    const char *below = strpbrk(named, "*?[") ? path : strncmp(path, named, n) == 0 ? path + n : "";
    const char *equals = strchr(below, '=');
    return equals && strchr(equals, '/');
}

// Does a folder on the way give an input of the model? Then it counts above the one that was named, too.
static bool gives_input(const char *path, const gp_schema *like)
{
    for (size_t i = 0; like && i < like->n_inputs; i++) {
        const char *name = like->inputs[i].name;
        const size_t n = strlen(name);
        for (const char *p = path; (p = strstr(p, name)); p++)
            if (p[n] == '=' && (p == path || p[-1] == '/') && strchr(p, '/')) return true;
    }
    return false;
}

static advgp_status take_file(void *ctx, const char *path, advgp_error *err)
{
    const taking *t = ctx;
    gp_input_file *file = add_file(t->inputs);
    if (!file) return gp_no_memory(err);
    file->path = gp_copy_text(path);
    file->shown = gp_copy_text(strcmp(path, "-") == 0 ? "standard input" : path);
    if (!file->path || !file->shown) return gp_no_memory(err);
    file->header = t->options->header;
    file->asked_delimiter = t->options->delimiter;
    file->dates = t->options->sql ? GP_DATES_GUESSED : t->options->dates;
    file->hive = is_hive(path, t->named) || gives_input(path, t->options->like);
    file->na = t->inputs->na;
    return open_file(file, t->options, t->notes, err);
}

static advgp_status take_path(gp_inputs *inputs, const char *path, const gp_file_options *options, gp_notes *notes,
                              advgp_error *err)
{
    taking t = {.inputs = inputs, .options = options, .notes = notes, .named = path};
    const size_t before = inputs->n_files;
    const advgp_status st = gp_inputs_walk(path, take_file, &t, err);
    if (st == ADVGP_OK && inputs->n_files == before)
        return gp_fail(err, ADVGP_EDATA,
                       "the folder %s holds no data file (.csv, .tsv, .parquet, .json, .jsonl, also .gz)", path);
    return st;
}

// ---- tables ---------------------------------------------------------------------------------------------------------
static char *stem_of(const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    size_t start = n;
    while (start && path[start - 1] != '/') start--;
    if (n - start == 1 && path[start] == '-') return gp_copy_text("stdin");
    const char *dot = memchr(path + start + 1, '.', n - start - 1); // a leading dot belongs to the name
    return gp_text_copy(path + start, (dot ? (size_t)(dot - path) : n) - start);
}

static advgp_status copy_words(const char *const *list, size_t n, gp_words **out, advgp_error *err)
{
    gp_words *words = *out = gp_alloc(1, sizeof *words);
    if (words) words->items = gp_alloc(n, sizeof *words->items);
    bool ok = words && words->items;
    for (; ok && words->n < n; words->n++) ok = (words->items[words->n] = gp_copy_text(list[words->n])) != NULL;
    return ok ? ADVGP_OK : gp_no_memory(err);
}

advgp_status gp_inputs_open(const gp_file_options *options, gp_notes *notes, gp_inputs *out, advgp_error *err)
{
    *out = (gp_inputs){0};
    if (options->n_paths == 0 && !options->sql)
        return gp_fail(err, ADVGP_EINVAL, "no data given; name a file, a folder, a glob, or - for standard input");
    advgp_status st = ADVGP_OK;
    out->tables = gp_alloc(options->n_paths, sizeof *out->tables);
    if (!out->tables) st = gp_no_memory(err);
    if (st == ADVGP_OK) st = copy_words(options->na, options->n_na, &out->na, err);
    for (size_t i = 0; st == ADVGP_OK && i < options->n_paths; i++) {
        gp_input_table *table = &out->tables[i];
        const char *name = options->names ? options->names[i] : NULL;
        *table = (gp_input_table){.name = name ? gp_copy_text(name) : stem_of(options->paths[i]),
                                  .named = name != NULL,
                                  .first = out->n_files};
        out->n_tables = i + 1;
        if (!table->name)
            st = gp_no_memory(err);
        else
            st = take_path(out, options->paths[i], options, notes, err);
        table->n_files = out->n_files - table->first;
        for (size_t k = 0; options->sql && !options->stored && st == ADVGP_OK && k < i; k++)
            if (strcmp(out->tables[k].name, table->name) == 0)
                st = gp_fail(err, ADVGP_EINVAL, "%s and %s would both be the table '%s' in {sql}; rename one",
                             options->paths[k], options->paths[i], table->name);
    }
    if (st != ADVGP_OK) gp_inputs_fini(out);
    return st;
}
