// manifest.c: writing and reading manifest.json.
#include "shards/manifest.h"

#include "base/alloc.h"
#include "data/strings.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { MANIFEST_MAX_BYTES = 1 << 28, VERSION = 2 };

advgp_status gp_manifest_init(gp_manifest *m, size_t n_train, advgp_error *err)
{
    m->n_train = n_train;
    m->rows = gp_alloc(n_train + 2, sizeof *m->rows);
    m->weight = gp_alloc(n_train + 2, sizeof *m->weight);
    m->head_hash = gp_alloc(n_train + 2, sizeof *m->head_hash);
    return m->rows && m->weight && m->head_hash ? ADVGP_OK : gp_no_memory(err);
}

void gp_manifest_fini(gp_manifest *m)
{
    gp_free(m->rows);
    gp_free(m->weight);
    gp_free(m->head_hash);
    gp_free(m->sql);
    gp_free(m->validation);
    gp_schema_free(m->schema);
    *m = (gp_manifest){0};
}

// ---- writing --------------------------------------------------------------------------------------------------------
static json_t *hex(uint64_t value)
{
    char text[20];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)value);
    return json_string(text);
}

static json_t *manifest_to_json(const gp_manifest *m, const char *schema_text)
{
    json_t *shards = json_array();
    for (size_t k = 0; k < m->n_train + 2; k++) {
        char name[32];
        gp_shard_file_name(name, m->n_train, k);
        json_array_append_new(shards, json_pack("{s:s, s:I, s:f, s:o}", "file", name, "rows", (json_int_t)m->rows[k],
                                                "weight", m->weight[k], "xxh3", hex(m->head_hash[k])));
    }
    return json_pack("{s:s, s:i, s:s, s:s, s:I, s:b, s:o, s:I, s:I, s:s?, s:s?, s:o, s:o}", "format", "advgp-packed",
                     "version", VERSION, "advgp", advgp_version(), "element", m->float64 ? "float64" : "float32",
                     "columns", (json_int_t)m->d, "weighted", m->weighted, "seed", hex(m->seed), "block_rows",
                     (json_int_t)m->block_rows, "train_shards", (json_int_t)m->n_train, "validation", m->validation,
                     "sql", m->sql, "schema", json_loads(schema_text, 0, NULL), "shards", shards);
}

advgp_status gp_manifest_write(const gp_manifest *m, const char *path, advgp_error *err)
{
    char *schema_text = gp_schema_to_json(m->schema);
    json_t *o = schema_text ? manifest_to_json(m, schema_text) : NULL;
    char *text = o ? json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
    advgp_status st = ADVGP_OK;
    if (!text) {
        st = gp_no_memory(err);
    } else {
        FILE *f = fopen(path, "wb");
        bool ok = f && fwrite(text, 1, strlen(text), f) == strlen(text) && fflush(f) == 0 && fsync(fileno(f)) == 0;
        if (!ok) st = gp_fail(err, ADVGP_EIO, "cannot write %s: %s", path, strerror(errno));
        if (f && fclose(f) != 0 && ok) st = gp_fail(err, ADVGP_EIO, "cannot write %s: %s", path, strerror(errno));
    }
    free(text);
    json_decref(o);
    gp_free(schema_text);
    return st;
}

// ---- reading --------------------------------------------------------------------------------------------------------
static advgp_status bad(advgp_error *err, const char *what)
{
    return gp_fail(err, ADVGP_EFILE, "the manifest is damaged: %s; pack the data again", what);
}

static bool read_size(const json_t *o, size_t most, size_t *out)
{
    json_int_t value = json_integer_value(o);
    *out = (size_t)value;
    return json_is_integer(o) && value >= 0 && (uint64_t)value <= most;
}

static bool read_hex(const json_t *o, uint64_t *out)
{
    const char *text = json_string_value(o);
    if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16) return false;
    *out = strtoull(text, NULL, 16);
    return true;
}

static advgp_status copy_optional(const json_t *o, char **out, advgp_error *err)
{
    if (!o || json_is_null(o)) return ADVGP_OK;
    if (!json_is_string(o)) return bad(err, "a text is none");
    *out = gp_copy_text(json_string_value(o));
    return *out ? ADVGP_OK : gp_no_memory(err);
}

static advgp_status read_shards(const json_t *list, gp_manifest *m, advgp_error *err)
{
    if (!json_is_array(list) || json_array_size(list) != m->n_train + 2) return bad(err, "its list of shards");
    for (size_t k = 0; k < m->n_train + 2; k++) {
        const json_t *o = json_array_get(list, k);
        const char *file = json_string_value(json_object_get(o, "file"));
        char name[32];
        gp_shard_file_name(name, m->n_train, k);
        const json_t *weight = json_object_get(o, "weight");
        m->weight[k] = json_number_value(weight);
        bool ok = json_is_number(weight) && file && strcmp(file, name) == 0 &&
                  read_size(json_object_get(o, "rows"), (size_t)1 << 46, &m->rows[k]) &&
                  read_hex(json_object_get(o, "xxh3"), &m->head_hash[k]) && isfinite(m->weight[k]) && m->weight[k] >= 0;
        if (!ok) return bad(err, "an entry of its list of shards");
    }
    return ADVGP_OK;
}

static advgp_status read_schema(const json_t *o, gp_manifest *m, advgp_error *err)
{
    char *text = json_is_object(o) ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    if (!text) return bad(err, "no schema");
    advgp_status st = gp_schema_from_json(text, strlen(text), &m->schema, err);
    free(text);
    if (st == ADVGP_OK && m->schema->d != m->d) st = bad(err, "the schema has another number of columns");
    size_t rows = 0, held_out = m->rows[m->n_train] + m->rows[m->n_train + 1]; // no sum of 2^46 by 4098 overflows
    for (size_t k = 0; k < m->n_train; k++) rows += m->rows[k];
    // Held-out rows are among those of the schema, or all come from another file.
    if (st == ADVGP_OK && m->schema->n_rows != rows + held_out && m->schema->n_rows != rows)
        st = bad(err, "the schema has another number of rows");
    return st;
}

static advgp_status read_manifest(const json_t *o, gp_manifest *m, advgp_error *err)
{
    const char *format = json_string_value(json_object_get(o, "format")),
               *element = json_string_value(json_object_get(o, "element"));
    if (!format || strcmp(format, "advgp-packed") != 0)
        return gp_fail(err, ADVGP_EFILE, "not a manifest of packed data");
    json_int_t version = json_integer_value(json_object_get(o, "version"));
    if (version < 1 || version > VERSION) // 1 is the same, with a schema that knows less
        return gp_fail(err, ADVGP_EFILE,
                       "packed data of version %" JSON_INTEGER_FORMAT ", and this advgp reads 1 to %d", version,
                       VERSION);
    size_t n_train = 0;
    if (!element || (strcmp(element, "float32") != 0 && strcmp(element, "float64") != 0))
        return bad(err, "its kind of numbers");
    m->float64 = strcmp(element, "float64") == 0;
    bool ok = read_size(json_object_get(o, "columns"), 1000000, &m->d) &&
              read_size(json_object_get(o, "block_rows"), GP_BLOCK_ROWS_MAX, &m->block_rows) &&
              read_size(json_object_get(o, "train_shards"), GP_SHARDS_MAX, &n_train) && n_train >= 1 && m->d >= 1 &&
              read_hex(json_object_get(o, "seed"), &m->seed) && json_is_boolean(json_object_get(o, "weighted"));
    if (!ok) return bad(err, "its sizes or seed");
    m->weighted = json_is_true(json_object_get(o, "weighted"));
    advgp_status st = gp_manifest_init(m, n_train, err);
    if (st == ADVGP_OK) st = read_shards(json_object_get(o, "shards"), m, err);
    if (st == ADVGP_OK) st = copy_optional(json_object_get(o, "sql"), &m->sql, err);
    if (st == ADVGP_OK) st = copy_optional(json_object_get(o, "validation"), &m->validation, err);
    return st == ADVGP_OK ? read_schema(json_object_get(o, "schema"), m, err) : st;
}

static advgp_status load(const char *path, char **bytes, size_t *n, advgp_error *err)
{
    FILE *f = fopen(path, "rb");
    if (!f) return gp_fail(err, ADVGP_EFILE, "cannot open it: %s", strerror(errno));
    advgp_status st = ADVGP_OK;
    long size = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    if (size < 0 || size > MANIFEST_MAX_BYTES) {
        st = bad(err, "it is far too long");
    } else {
        rewind(f);
        *bytes = gp_alloc((size_t)size, 1);
        *n = *bytes ? fread(*bytes, 1, (size_t)size, f) : 0;
        if (!*bytes) st = gp_no_memory(err);
        if (*bytes && *n != (size_t)size) st = gp_fail(err, ADVGP_EFILE, "cannot read it: %s", strerror(errno));
    }
    fclose(f);
    return st;
}

static advgp_status parse(const char *bytes, size_t n, json_t **out, advgp_error *err)
{
    json_error_t problem = {0};
    *out = json_loadb(bytes, n, JSON_REJECT_DUPLICATES, &problem);
    if (*out) return ADVGP_OK;
    return gp_fail(err, ADVGP_EFILE, "the manifest is not JSON (line %d: %.100s); pack the data again", problem.line,
                   problem.text);
}

advgp_status gp_manifest_read(const char *path, gp_manifest *out, advgp_error *err)
{
    *out = (gp_manifest){0};
    json_t *o = NULL;
    char *bytes = NULL;
    size_t n = 0;
    advgp_status st = load(path, &bytes, &n, err);
    if (st == ADVGP_OK) st = parse(bytes, n, &o, err);
    if (st == ADVGP_OK) st = read_manifest(o, out, err);
    if (st == ADVGP_OK) out->fingerprint = XXH3_64bits(bytes, n);
    json_decref(o);
    gp_free(bytes);
    if (st == ADVGP_OK) return st;
    gp_manifest_fini(out);
    return gp_wrap(err, st, "%s", path);
}
