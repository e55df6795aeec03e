// schema_json.c: a schema as JSON text and back. The text comes from files of unknown origin: every member, length,
// number and name is checked before it is believed.
#include "base/alloc.h"
#include "data/encoding_kit.h"
#include "data/strings.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

enum { INPUTS_MAX = 100000, COLUMNS_MAX = 1000000, JSON_DIGITS = 17, SCHEMA_VERSION = 3 };
enum { VERSION_WITHOUT_DIRECTIONS = 2 }; // which older programs read

// ---- writing --------------------------------------------------------------------------------------------------------
json_t *gp_numbers_json(const double *values, size_t n)
{
    json_t *list = json_array();
    bool ok = list != NULL;
    for (size_t i = 0; ok && i < n; i++) ok = json_array_append_new(list, json_real(values[i])) == 0;
    if (ok) return list;
    json_decref(list);
    return NULL;
}

static bool set(json_t *o, const char *name, json_t *value)
{
    return json_object_set_new(o, name, value) == 0;
}

// An end that is open is null.
static bool set_limits(json_t *o, const char *name, gp_limits limits)
{
    if (!gp_limits_any(limits)) return true;
    json_t *lo = isfinite(limits.lo) ? json_real(limits.lo) : json_null();
    json_t *hi = isfinite(limits.hi) ? json_real(limits.hi) : json_null();
    return set(o, name, json_pack("[o, o]", lo, hi));
}

// NULL where memory ends: a member lost would mean something else.
static json_t *input_to_json(const gp_input *input)
{
    const gp_encoding *e = input->encoding;
    json_t *o = json_pack("{s:s, s:s, s:s, s:b}", "name", input->name, "type", gp_column_type_name(input->type),
                          "encoding", e->name, "indicator", input->indicator);
    const bool ok = o && (!input->written || set(o, "written", json_string(gp_writing_name(input->written)))) &&
                    (!input->date_format || set(o, "date_format", json_string_nocheck(input->date_format))) &&
                    (!*input->unit || set(o, "unit", json_string_nocheck(input->unit))) &&
                    set_limits(o, "range", input->range) && set_limits(o, "limits", input->clip) &&
                    (!e->write || e->write(input, o));
    if (ok) return o;
    json_decref(o);
    return NULL;
}

static json_t *directions_to_json(const gp_schema *s)
{
    const size_t plain = gp_schema_plain(s);
    json_t *list = json_array();
    bool ok = list != NULL;
    for (size_t i = 0; ok && i < s->n_directions; i++)
        ok = json_array_append_new(list, gp_numbers_json(s->directions + i * plain, plain)) == 0;
    if (ok) return list;
    json_decref(list);
    return NULL;
}

char *gp_schema_to_json(const gp_schema *s)
{
    json_t *inputs = json_array();
    for (size_t i = 0; i < s->n_inputs; i++) json_array_append_new(inputs, input_to_json(&s->inputs[i]));
    json_t *o = json_pack("{s:i, s:s, s:s?, s:b, s:s, s:f, s:f, s:I, s:f, s:o, s:o, s:o}", "version",
                          s->n_directions ? SCHEMA_VERSION : VERSION_WITHOUT_DIRECTIONS, "target", s->target, "weights",
                          s->weights, "log_target", s->log_target, "missing", gp_missing_name(s->missing), "y_mean",
                          s->y_mean, "y_scale", s->y_scale, "rows", (json_int_t)s->n_rows, "weight", s->n_weight,
                          "inputs", inputs, "x_mean", gp_numbers_json(s->x_mean, s->d), "x_scale",
                          gp_numbers_json(s->x_scale, s->d));
    const bool whole = o && json_array_size(inputs) == s->n_inputs &&
                       (!s->weights || set(o, "weights_are", json_string(gp_weights_are_name(s->weights_are)))) &&
                       (!s->target_written ||
                        set(o, "target_written", json_string(gp_writing_name(s->target_written)))) &&
                       (!s->dirty || set(o, "dirty", json_string("missing"))) &&
                       (!(s->log_offset > 0) || set(o, "log_offset", json_real(s->log_offset))) &&
                       (!s->bounded || set_limits(o, "bounds", s->bounds)) &&
                       (!s->n_directions || set(o, "directions", directions_to_json(s)));
    char *text = whole ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(JSON_DIGITS)) : NULL;
    char *copy = text ? gp_copy_text(text) : NULL;
    free(text);
    json_decref(o);
    return copy;
}

// ---- reading --------------------------------------------------------------------------------------------------------
advgp_status gp_schema_damaged(const char *what, advgp_error *err)
{
    return gp_fail(err, ADVGP_EFILE, "the schema in the file is damaged: %s", what);
}

static bool is_clean_text(const json_t *o)
{
    return json_is_string(o) && json_string_length(o) == strlen(json_string_value(o));
}

static advgp_status copy_text(const json_t *o, const char *what, char **out, advgp_error *err)
{
    if (!is_clean_text(o)) return gp_schema_damaged(what, err);
    *out = gp_copy_text(json_string_value(o));
    return *out ? ADVGP_OK : gp_no_memory(err);
}

bool gp_json_number(const json_t *o, double *out)
{
    *out = json_number_value(o);
    return json_is_number(o) && isfinite(*out);
}

bool gp_json_numbers(const json_t *list, size_t n, double *out)
{
    if (!json_is_array(list) || json_array_size(list) != n) return false;
    for (size_t i = 0; i < n; i++)
        if (!gp_json_number(json_array_get(list, i), &out[i])) return false;
    return true;
}

static int find_word(const json_t *o, int n, const char *(*name)(int))
{
    const char *text = json_string_value(o);
    for (int i = 0; text && i < n; i++)
        if (strcmp(text, name(i)) == 0) return i;
    return -1;
}

static const char *type_word(int i)
{
    return gp_column_type_name((gp_column_type)i);
}

static const char *weights_are_word(int i)
{
    return gp_weights_are_name((gp_weights_are)i);
}

static const char *written_word(int i)
{
    return gp_writing_name((gp_writing)i);
}

static const char *missing_word(int i)
{
    return gp_missing_name((gp_missing)i);
}

// Absent, as in version 1: no limits.
static advgp_status read_limits(const json_t *o, gp_limits *out, advgp_error *err)
{
    *out = gp_no_limits();
    if (!o) return ADVGP_OK;
    const json_t *lo = json_array_get(o, 0), *hi = json_array_get(o, 1);
    const bool ok = json_array_size(o) == 2 && (json_is_null(lo) || gp_json_number(lo, &out->lo)) &&
                    (json_is_null(hi) || gp_json_number(hi, &out->hi)) && gp_limits_any(*out) && out->lo <= out->hi;
    return ok ? ADVGP_OK : gp_schema_damaged("the limits of an input", err);
}

// Absent, as in version 1: as programs write.
static advgp_status read_written(const json_t *o, gp_input *input, advgp_error *err)
{
    const json_t *word = json_object_get(o, "written"), *format = json_object_get(o, "date_format");
    const int written = word ? find_word(word, GP_WRITING_KINDS, written_word) : GP_WRITING_PLAIN;
    const bool date = written > 0 && gp_writing_is_date((gp_writing)written);
    if (written < 0 || (format != NULL) != (written == GP_WRITING_FORMAT) ||
        (written && (input->encoding->texts || date != (input->encoding->kind == ADVGP_KIND_TIME))))
        return gp_schema_damaged("how an input is written", err);
    input->written = (gp_writing)written;
    return format ? copy_text(format, "the format of a date", &input->date_format, err) : ADVGP_OK;
}

// Absent: none.
static advgp_status read_unit(const json_t *o, gp_input *input, advgp_error *err)
{
    const json_t *unit = json_object_get(o, "unit");
    const bool number = input->written == GP_WRITING_POINT || input->written == GP_WRITING_COMMA;
    if (!unit) return ADVGP_OK;
    if (!number || !is_clean_text(unit) || !json_string_length(unit) || json_string_length(unit) >= GP_UNIT_BYTES)
        return gp_schema_damaged("the unit of an input", err);
    memcpy(input->unit, json_string_value(unit), json_string_length(unit) + 1);
    return ADVGP_OK;
}

static advgp_status read_input(const json_t *o, gp_input *input, advgp_error *err)
{
    advgp_status st = copy_text(json_object_get(o, "name"), "an input lacks its name", &input->name, err);
    if (st != ADVGP_OK) return st;
    int type = find_word(json_object_get(o, "type"), GP_TEXT + 1, type_word);
    const char *encoding = json_string_value(json_object_get(o, "encoding"));
    const json_t *indicator = json_object_get(o, "indicator");
    input->encoding = type < 0 ? NULL : gp_encoding_named(encoding, (gp_column_type)type);
    if (!input->encoding || !json_is_boolean(indicator))
        return gp_schema_damaged("an input's type, encoding or indicator", err);
    input->type = (gp_column_type)type;
    input->indicator = json_is_true(indicator);
    st = read_written(o, input, err);
    if (st == ADVGP_OK) st = read_unit(o, input, err);
    if (st == ADVGP_OK) st = read_limits(json_object_get(o, "range"), &input->range, err);
    if (st == ADVGP_OK) st = read_limits(json_object_get(o, "limits"), &input->clip, err);
    return st == ADVGP_OK && input->encoding->read ? input->encoding->read(o, input, err) : st;
}

static advgp_status read_inputs(const json_t *list, gp_schema *s, advgp_error *err)
{
    size_t n = json_array_size(list);
    if (n == 0 || n > INPUTS_MAX) return gp_schema_damaged("its list of inputs", err);
    s->inputs = gp_alloc(n, sizeof *s->inputs);
    if (!s->inputs) return gp_no_memory(err);
    size_t columns = 0;
    for (size_t i = 0; i < n; i++) {
        s->n_inputs = i + 1;
        advgp_status st = read_input(json_array_get(list, i), &s->inputs[i], err);
        if (st != ADVGP_OK) return st;
        columns += s->inputs[i].categories.n + GP_TIME_PARTS + 1;
        if (columns > COLUMNS_MAX) return gp_schema_damaged("too many encoded columns", err);
    }
    return ADVGP_OK;
}

static advgp_status read_scales(const json_t *o, gp_schema *s, advgp_error *err)
{
    bool ok = gp_json_numbers(json_object_get(o, "x_mean"), s->d, s->x_mean) &&
              gp_json_numbers(json_object_get(o, "x_scale"), s->d, s->x_scale) &&
              gp_json_number(json_object_get(o, "y_mean"), &s->y_mean) &&
              gp_json_number(json_object_get(o, "y_scale"), &s->y_scale) &&
              gp_json_number(json_object_get(o, "weight"), &s->n_weight) && gp_scale_is_usable(s->y_scale) &&
              s->n_weight > 0;
    for (size_t j = 0; ok && j < s->d; j++) ok = gp_scale_is_usable(s->x_scale[j]);
    return ok ? ADVGP_OK : gp_schema_damaged("its scales", err);
}

// Absent, as before version 3: none.
static advgp_status count_directions(const json_t *list, gp_schema *s, advgp_error *err)
{
    s->n_directions = json_array_size(list);
    if (list && (s->n_directions < 1 || s->n_directions > GP_DIRECTIONS_MAX)) {
        s->n_directions = 0;
        return gp_schema_damaged("its directions", err);
    }
    return ADVGP_OK;
}

static advgp_status read_directions(const json_t *list, gp_schema *s, advgp_error *err)
{
    const size_t plain = gp_schema_plain(s);
    if (!s->n_directions) return ADVGP_OK;
    s->directions = gp_alloc(s->n_directions * plain, sizeof *s->directions);
    if (!s->directions) return gp_no_memory(err);
    for (size_t i = 0; i < s->n_directions; i++) {
        double size = 0, *weights = s->directions + i * plain;
        if (!gp_json_numbers(json_array_get(list, i), plain, weights)) return gp_schema_damaged("its directions", err);
        for (size_t j = 0; j < plain; j++) size += fabs(weights[j]);
        if (!gp_scale_is_usable(size)) return gp_schema_damaged("its directions", err);
    }
    return gp_schema_name_directions(s, err);
}

static advgp_status read_schema(const json_t *o, gp_schema *s, advgp_error *err)
{
    const json_t *version = json_object_get(o, "version"), *weights = json_object_get(o, "weights");
    const json_t *log_target = json_object_get(o, "log_target"), *rows = json_object_get(o, "rows");
    if (!json_is_integer(version)) return gp_schema_damaged("no version", err);
    if (json_integer_value(version) < 1 || json_integer_value(version) > SCHEMA_VERSION)
        return gp_fail(err, ADVGP_EFILE,
                       "the schema has version %" JSON_INTEGER_FORMAT
                       ", and this advgp reads 1 to %d: use a newer advgp",
                       json_integer_value(version), SCHEMA_VERSION);
    int missing = find_word(json_object_get(o, "missing"), GP_MISSING_ERROR + 1, missing_word);
    if (missing < 0 || !json_is_boolean(log_target) || !json_is_integer(rows) || json_integer_value(rows) < 0)
        return gp_schema_damaged("its policy or row count", err);
    s->missing = (gp_missing)missing;
    s->log_target = json_is_true(log_target);
    const json_t *dirty = json_object_get(o, "dirty"); // files of before have none: an error
    if (dirty && (!json_is_string(dirty) || strcmp(json_string_value(dirty), "missing") != 0))
        return gp_schema_damaged("what its slips are", err);
    s->dirty = dirty != NULL;
    s->n_rows = (size_t)json_integer_value(rows);
    advgp_status st = copy_text(json_object_get(o, "target"), "no target", &s->target, err);
    if (st == ADVGP_OK && !json_is_null(weights)) st = copy_text(weights, "the name of the weights", &s->weights, err);
    const json_t *are = json_object_get(o, "weights_are"); // files of before have none: every weight was a count
    const int kind = are ? find_word(are, GP_WEIGHTS_IMPORTANCE + 1, weights_are_word) : GP_WEIGHTS_COUNTS;
    if (st == ADVGP_OK && kind < 0) st = gp_schema_damaged("what its weights are", err);
    const json_t *offset = json_object_get(o, "log_offset"), *bounds = json_object_get(o, "bounds");
    if (st == ADVGP_OK && offset && (!gp_json_number(offset, &s->log_offset) || !(s->log_offset > 0) || !s->log_target))
        st = gp_schema_damaged("the offset of its logarithm", err);
    if (st == ADVGP_OK) st = read_limits(bounds, &s->bounds, err);
    s->bounded = st == ADVGP_OK && bounds;
    const json_t *word = json_object_get(o, "target_written");
    const int written = word ? find_word(word, GP_WRITING_COMMA + 1, written_word) : GP_WRITING_PLAIN;
    if (st == ADVGP_OK && written < 0) st = gp_schema_damaged("how the target is written", err);
    s->target_written = written < 0 ? GP_WRITING_PLAIN : (gp_writing)written;
    s->weights_are = kind < 0 ? GP_WEIGHTS_COUNTS : (gp_weights_are)kind;
    if (st == ADVGP_OK) st = read_inputs(json_object_get(o, "inputs"), s, err);
    const json_t *directions = json_object_get(o, "directions");
    if (st == ADVGP_OK) st = count_directions(directions, s, err);
    if (st == ADVGP_OK) st = gp_schema_layout(s, err);
    if (st == ADVGP_OK) st = read_directions(directions, s, err);
    return st == ADVGP_OK ? read_scales(o, s, err) : st;
}

advgp_status gp_schema_from_json(const char *text, size_t n, gp_schema **out, advgp_error *err)
{
    *out = NULL;
    json_error_t problem;
    json_t *o = json_loadb(text, n, JSON_REJECT_DUPLICATES, &problem);
    if (!json_is_object(o)) {
        json_decref(o);
        return gp_fail(err, ADVGP_EFILE, "the schema in the file is not JSON: %.120s",
                       o ? "not an object" : problem.text);
    }
    gp_schema *s = gp_alloc(1, sizeof *s);
    advgp_status st = s ? read_schema(o, s, err) : gp_no_memory(err);
    json_decref(o);
    if (st == ADVGP_OK)
        *out = s;
    else
        gp_schema_free(s);
    return st;
}
