// put_query.c: what an enemy would do to a file of ours: another text in it, and the checksums made again, which are no
// signatures. For tests of what such a file can do.
//   put_query model IN OUT QUERY             the query of a model
//   put_query manifest FILE QUERY            the query of a packed folder
//   put_query log IN OUT KEY VALUE [...]     options of the run in a log
#include "base/alloc.h"
#include "base/text.h"
#include "store/modelfile.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const char *what)
{
    fprintf(stderr, "put_query: %s\n", what);
    return 1;
}

static int in_model(const char *in, const char *out, const char *query)
{
    gp_model *model = NULL;
    advgp_error err;
    if (gp_model_load(in, &model, &err) != ADVGP_OK) return failed(err.text);
    gp_free(model->sql);
    model->sql = gp_text_copy(query, strlen(query));
    const advgp_status st = gp_model_save(model, out, &err);
    gp_model_free(model);
    return st == ADVGP_OK ? 0 : failed(err.text);
}

static int in_manifest(const char *path, const char *query)
{
    json_t *manifest = json_load_file(path, 0, NULL);
    const int rc = json_object_set_new(manifest, "sql", json_string(query)) == 0
                       ? json_dump_file(manifest, path, JSON_INDENT(1) | JSON_REAL_PRECISION(17))
                       : -1;
    json_decref(manifest);
    return rc == 0 ? 0 : failed("no manifest");
}

// The manifest of a run is the first line of its log.
static int in_log(const char *in, const char *out, char **changes)
{
    static char line[1 << 20];
    FILE *from = fopen(in, "r"), *to = fopen(out, "w");
    if (!from || !to || !fgets(line, sizeof line, from)) return failed("no log");
    json_t *first = json_loads(line, 0, NULL);
    for (; changes[0] && changes[1]; changes += 2) {
        json_object_set_new(json_object_get(first, "options"), changes[0], json_string(changes[1]));
        json_array_append_new(json_object_get(first, "given"), json_string(changes[0]));
    }
    char *text = json_dumps(first, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!text) return failed("no manifest in the log");
    fprintf(to, "%s\n", text);
    while (fgets(line, sizeof line, from)) fputs(line, to);
    free(text);
    json_decref(first);
    fclose(from);
    return fclose(to) == 0 ? 0 : failed("cannot write");
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "model") == 0) return in_model(argv[2], argv[3], argv[4]);
    if (argc == 4 && strcmp(argv[1], "manifest") == 0) return in_manifest(argv[2], argv[3]);
    if (argc >= 6 && strcmp(argv[1], "log") == 0) return in_log(argv[2], argv[3], argv + 4);
    return failed("put_query model|manifest|log ...");
}
