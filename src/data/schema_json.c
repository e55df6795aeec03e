// schema_json.c: a schema as JSON text and back. The text comes from files of unknown origin: every member, length,
// number and name is checked before it is believed.
#include "base/alloc.h"
#include "data/schema.h"
#include "data/strings.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

enum { INPUTS_MAX = 100000, COLUMNS_MAX = 1000000, JSON_DIGITS = 17, SCHEMA_VERSION = 3 };
enum { VERSION_WITHOUT_DIRECTIONS = 2 }; // which older programs read

// ---- writing --------------------------------------------------------------------------------------------------------
static json_t *strings_to_json(const gp_categories *c)
{
    json_t *list = json_array();
    for (size_t i = 0; i < c->n; i++)
        json_array_append_new(list, json_stringn_nocheck(c->items[i].text, c->items[i].n));
    return list;
}

static json_t *numbers_to_json(const double *values, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(list, json_real(values[i]));
    return list;
}

// An end that is open is null.
static void add_limits(json_t *o, const char *name, gp_limits limits)
{
    if (!gp_limits_any(limits)) return;
    json_t *lo = isfinite(limits.lo) ? json_real(limits.lo) : json_null();
    json_t *hi = isfinite(limits.hi) ? json_real(limits.hi) : json_null();
    json_object_set_new(o, name, json_pack("[o, o]", lo, hi));
}

static json_t *input_to_json(const gp_input *input)
{
    json_t *o = json_pack("{s:s, s:s, s:s, s:b}", "name", input->name, "type", gp_column_type_name(input->type),
                          "encoding", gp_encoding_name(input->encoding), "indicator", input->indicator);
    if (!o) return NULL;
    if (input->written) json_object_set_new(o, "written", json_string(gp_writing_name(input->written)));
    if (input->date_format) json_object_set_new(o, "date_format", json_string_nocheck(input->date_format));
    if (*input->unit) json_object_set_new(o, "unit", json_string_nocheck(input->unit));
    add_limits(o, "range", input->range);
    add_limits(o, "limits", input->clip);
    if (input->warp.n)
        json_object_set_new(o, "ranks",
                            json_pack("[o, o]", numbers_to_json(input->warp.x, input->warp.n),
                                      numbers_to_json(input->warp.u, input->warp.n)));
    if (input->encoding == GP_ENCODING_TIME) {
        json_t *parts = json_array();
        for (int p = 0; p < GP_TIME_PARTS; p++)
            if (input->time_parts >> p & 1)
                json_array_append_new(parts, json_string(gp_time_part_name((gp_time_part)p)));
        json_object_set_new(o, "parts", parts);
    }
    if (input->encoding == GP_ENCODING_ONEHOT || input->encoding == GP_ENCODING_TARGET)
        json_object_set_new(o, "categories", strings_to_json(&input->categories));
    if (input->encoding == GP_ENCODING_TARGET) {
        json_object_set_new(o, "values", numbers_to_json(input->category_values, input->categories.n));
        json_object_set_new(o, "prior", json_real(input->prior));
    }
    return o;
}

// A member lost to exhausted memory would mean something else.
static bool limits_are_whole(const json_t *inputs, const gp_schema *s)
{
    for (size_t i = 0; i < s->n_inputs; i++) {
        const json_t *o = json_array_get(inputs, i);
        if (s->inputs[i].written && !json_object_get(o, "written")) return false;
        if (s->inputs[i].date_format && !json_object_get(o, "date_format")) return false;
        if (*s->inputs[i].unit && !json_object_get(o, "unit")) return false;
        if (gp_limits_any(s->inputs[i].range) && !json_object_get(o, "range")) return false;
        if (gp_limits_any(s->inputs[i].clip) && !json_object_get(o, "limits")) return false;
        const json_t *ranks = json_object_get(o, "ranks");
        const size_t n = s->inputs[i].warp.n;
        if (n && (json_array_size(json_array_get(ranks, 0)) != n || json_array_size(json_array_get(ranks, 1)) != n))
            return false;
    }
    return true;
}

static json_t *directions_to_json(const gp_schema *s)
{
    const size_t plain = gp_schema_plain(s);
    json_t *list = json_array();
    for (size_t i = 0; i < s->n_directions; i++)
        json_array_append_new(list, numbers_to_json(s->directions + i * plain, plain));
    return list;
}

char *gp_schema_to_json(const gp_schema *s)
{
    json_t *inputs = json_array();
    for (size_t i = 0; i < s->n_inputs; i++) json_array_append_new(inputs, input_to_json(&s->inputs[i]));
    json_t *o = json_pack("{s:i, s:s, s:s?, s:b, s:s, s:f, s:f, s:I, s:f, s:o, s:o, s:o}", "version",
                          s->n_directions ? SCHEMA_VERSION : VERSION_WITHOUT_DIRECTIONS, "target", s->target, "weights",
                          s->weights, "log_target", s->log_target, "missing", gp_missing_name(s->missing), "y_mean",
                          s->y_mean, "y_scale", s->y_scale, "rows", (json_int_t)s->n_rows, "weight", s->n_weight,
                          "inputs", inputs, "x_mean", numbers_to_json(s->x_mean, s->d), "x_scale",
                          numbers_to_json(s->x_scale, s->d));
    if (o && s->weights) json_object_set_new(o, "weights_are", json_string(gp_weights_are_name(s->weights_are)));
    if (o && s->target_written)
        json_object_set_new(o, "target_written", json_string(gp_writing_name(s->target_written)));
    if (o && s->dirty) json_object_set_new(o, "dirty", json_string("missing"));
    if (o && s->log_offset > 0) json_object_set_new(o, "log_offset", json_real(s->log_offset));
    if (o && s->bounded) add_limits(o, "bounds", s->bounds);
    if (o && s->n_directions) json_object_set_new(o, "directions", directions_to_json(s));
    // A member lost to exhausted memory would be a smaller schema: compare before trusting.
    bool whole = o && json_array_size(inputs) == s->n_inputs && limits_are_whole(inputs, s) &&
                 (!s->weights || json_object_get(o, "weights_are")) && (!s->dirty || json_object_get(o, "dirty")) &&
                 json_array_size(json_object_get(o, "directions")) == s->n_directions;
    char *text = whole ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(JSON_DIGITS)) : NULL;
    char *copy = text ? gp_copy_text(text) : NULL;
    free(text);
    json_decref(o);
    return copy;
}

// ---- reading --------------------------------------------------------------------------------------------------------
static advgp_status bad(advgp_error *err, const char *what)
{
    return gp_fail(err, ADVGP_EFILE, "the schema in the file is damaged: %s", what);
}

static bool is_clean_text(const json_t *o)
{
    return json_is_string(o) && json_string_length(o) == strlen(json_string_value(o));
}

static advgp_status copy_text(const json_t *o, const char *what, char **out, advgp_error *err)
{
    if (!is_clean_text(o)) return bad(err, what);
    *out = gp_copy_text(json_string_value(o));
    return *out ? ADVGP_OK : gp_no_memory(err);
}

static bool read_number(const json_t *o, double *out)
{
    *out = json_number_value(o);
    return json_is_number(o) && isfinite(*out);
}

static bool read_numbers(const json_t *list, size_t n, double *out)
{
    if (!json_is_array(list) || json_array_size(list) != n) return false;
    for (size_t i = 0; i < n; i++)
        if (!read_number(json_array_get(list, i), &out[i])) return false;
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

static const char *encoding_word(int i)
{
    return gp_encoding_name((gp_encoding)i);
}

static const char *part_word(int i)
{
    return gp_time_part_name((gp_time_part)i);
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

static advgp_status read_categories(const json_t *list, gp_categories *c, advgp_error *err)
{
    if (!json_is_array(list) || json_array_size(list) == 0) return bad(err, "an input lacks its categories");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        if (!json_is_string(o)) return bad(err, "a category is no text");
        long index;
        gp_text text = {.p = json_string_value(o), .n = json_string_length(o)};
        advgp_status st = gp_categories_add(c, text, &index, err);
        if (st != ADVGP_OK) return st;
        if (index != (long)i)
            return bad(err, "a category appears twice, or there are too many"); // values go by position
    }
    return ADVGP_OK;
}

static advgp_status read_parts(const json_t *list, unsigned *parts, advgp_error *err)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        int p = find_word(json_array_get(list, i), GP_TIME_PARTS, part_word);
        if (p < 0) return bad(err, "an unknown part of a date");
        *parts |= 1u << p;
    }
    return *parts ? ADVGP_OK : bad(err, "a date without parts");
}

// Absent, as in version 1: no limits.
static advgp_status read_limits(const json_t *o, gp_limits *out, advgp_error *err)
{
    *out = gp_no_limits();
    if (!o) return ADVGP_OK;
    const json_t *lo = json_array_get(o, 0), *hi = json_array_get(o, 1);
    const bool ok = json_array_size(o) == 2 && (json_is_null(lo) || read_number(lo, &out->lo)) &&
                    (json_is_null(hi) || read_number(hi, &out->hi)) && gp_limits_any(*out) && out->lo <= out->hi;
    return ok ? ADVGP_OK : bad(err, "the limits of an input");
}

static bool ascends(const double *values, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (!(values[i] > values[i - 1])) return false;
    return true;
}

// Absent: no map.
static advgp_status read_warp(const json_t *o, gp_warp *out, advgp_error *err)
{
    if (!o) return ADVGP_OK;
    const json_t *x = json_array_get(o, 0), *u = json_array_get(o, 1);
    const size_t n = json_array_size(x);
    if (json_array_size(o) != 2 || n < 2 || n > GP_WARP_KNOTS) return bad(err, "the ranks of an input");
    *out = (gp_warp){.x = gp_alloc(n, 2 * sizeof *out->x)};
    if (!out->x) return gp_no_memory(err);
    out->n = n, out->u = out->x + n;
    const bool ok = read_numbers(x, n, out->x) && read_numbers(u, n, out->u) && ascends(out->x, n) &&
                    ascends(out->u, n) && out->u[0] >= 0 && out->u[n - 1] <= 1;
    return ok ? ADVGP_OK : bad(err, "the ranks of an input");
}

// Absent, as in version 1: as programs write.
static advgp_status read_written(const json_t *o, gp_input *input, advgp_error *err)
{
    const json_t *word = json_object_get(o, "written"), *format = json_object_get(o, "date_format");
    const int written = word ? find_word(word, GP_WRITING_KINDS, written_word) : GP_WRITING_PLAIN;
    const bool date = written > 0 && gp_writing_is_date((gp_writing)written);
    if (written < 0 || (format != NULL) != (written == GP_WRITING_FORMAT) ||
        (written && date != (input->encoding == GP_ENCODING_TIME)) ||
        (written && !date && input->encoding != GP_ENCODING_NUMBER))
        return bad(err, "how an input is written");
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
        return bad(err, "the unit of an input");
    memcpy(input->unit, json_string_value(unit), json_string_length(unit) + 1);
    return ADVGP_OK;
}

static advgp_status read_input(const json_t *o, gp_input *input, advgp_error *err)
{
    advgp_status st = copy_text(json_object_get(o, "name"), "an input lacks its name", &input->name, err);
    if (st != ADVGP_OK) return st;
    int type = find_word(json_object_get(o, "type"), GP_TEXT + 1, type_word);
    int encoding = find_word(json_object_get(o, "encoding"), GP_ENCODING_TIME + 1, encoding_word);
    const json_t *indicator = json_object_get(o, "indicator");
    if (type < 0 || encoding < 0 || !json_is_boolean(indicator))
        return bad(err, "an input's type, encoding or indicator");
    input->type = (gp_column_type)type;
    input->encoding = (gp_encoding)encoding;
    input->indicator = json_is_true(indicator);
    st = read_written(o, input, err);
    if (st == ADVGP_OK) st = read_unit(o, input, err);
    if (st == ADVGP_OK) st = read_limits(json_object_get(o, "range"), &input->range, err);
    if (st == ADVGP_OK) st = read_limits(json_object_get(o, "limits"), &input->clip, err);
    if (st != ADVGP_OK) return st;
    if (input->encoding == GP_ENCODING_TIME) return read_parts(json_object_get(o, "parts"), &input->time_parts, err);
    if (input->encoding == GP_ENCODING_NUMBER) return read_warp(json_object_get(o, "ranks"), &input->warp, err);
    st = read_categories(json_object_get(o, "categories"), &input->categories, err);
    if (st != ADVGP_OK || input->encoding == GP_ENCODING_ONEHOT) return st;
    input->category_values = gp_alloc(input->categories.n, sizeof *input->category_values);
    if (!input->category_values) return gp_no_memory(err);
    bool ok = read_numbers(json_object_get(o, "values"), input->categories.n, input->category_values) &&
              read_number(json_object_get(o, "prior"), &input->prior);
    return ok ? ADVGP_OK : bad(err, "values of categories");
}

static advgp_status read_inputs(const json_t *list, gp_schema *s, advgp_error *err)
{
    size_t n = json_array_size(list);
    if (n == 0 || n > INPUTS_MAX) return bad(err, "its list of inputs");
    s->inputs = gp_alloc(n, sizeof *s->inputs);
    if (!s->inputs) return gp_no_memory(err);
    size_t columns = 0;
    for (size_t i = 0; i < n; i++) {
        s->n_inputs = i + 1;
        advgp_status st = read_input(json_array_get(list, i), &s->inputs[i], err);
        if (st != ADVGP_OK) return st;
        columns += s->inputs[i].categories.n + GP_TIME_PARTS + 1;
        if (columns > COLUMNS_MAX) return bad(err, "too many encoded columns");
    }
    return ADVGP_OK;
}

static advgp_status read_scales(const json_t *o, gp_schema *s, advgp_error *err)
{
    bool ok = read_numbers(json_object_get(o, "x_mean"), s->d, s->x_mean) &&
              read_numbers(json_object_get(o, "x_scale"), s->d, s->x_scale) &&
              read_number(json_object_get(o, "y_mean"), &s->y_mean) &&
              read_number(json_object_get(o, "y_scale"), &s->y_scale) &&
              read_number(json_object_get(o, "weight"), &s->n_weight) && gp_scale_is_usable(s->y_scale) &&
              s->n_weight > 0;
    for (size_t j = 0; ok && j < s->d; j++) ok = gp_scale_is_usable(s->x_scale[j]);
    return ok ? ADVGP_OK : bad(err, "its scales");
}

// Absent, as before version 3: none.
static advgp_status count_directions(const json_t *list, gp_schema *s, advgp_error *err)
{
    s->n_directions = json_array_size(list);
    if (list && (s->n_directions < 1 || s->n_directions > GP_DIRECTIONS_MAX)) {
        s->n_directions = 0;
        return bad(err, "its directions");
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
        if (!read_numbers(json_array_get(list, i), plain, weights)) return bad(err, "its directions");
        for (size_t j = 0; j < plain; j++) size += fabs(weights[j]);
        if (!gp_scale_is_usable(size)) return bad(err, "its directions");
    }
    return gp_schema_name_directions(s, err);
}

static advgp_status read_schema(const json_t *o, gp_schema *s, advgp_error *err)
{
    const json_t *version = json_object_get(o, "version"), *weights = json_object_get(o, "weights");
    const json_t *log_target = json_object_get(o, "log_target"), *rows = json_object_get(o, "rows");
    if (!json_is_integer(version)) return bad(err, "no version");
    if (json_integer_value(version) < 1 || json_integer_value(version) > SCHEMA_VERSION)
        return gp_fail(err, ADVGP_EFILE,
                       "the schema has version %" JSON_INTEGER_FORMAT
                       ", and this advgp reads 1 to %d: use a newer advgp",
                       json_integer_value(version), SCHEMA_VERSION);
    int missing = find_word(json_object_get(o, "missing"), GP_MISSING_ERROR + 1, missing_word);
    if (missing < 0 || !json_is_boolean(log_target) || !json_is_integer(rows) || json_integer_value(rows) < 0)
        return bad(err, "its policy or row count");
    s->missing = (gp_missing)missing;
    s->log_target = json_is_true(log_target);
    const json_t *dirty = json_object_get(o, "dirty"); // files of before have none: an error
    if (dirty && (!json_is_string(dirty) || strcmp(json_string_value(dirty), "missing") != 0))
        return bad(err, "what its slips are");
    s->dirty = dirty != NULL;
    s->n_rows = (size_t)json_integer_value(rows);
    advgp_status st = copy_text(json_object_get(o, "target"), "no target", &s->target, err);
    if (st == ADVGP_OK && !json_is_null(weights)) st = copy_text(weights, "the name of the weights", &s->weights, err);
    const json_t *are = json_object_get(o, "weights_are"); // files of before have none: every weight was a count
    const int kind = are ? find_word(are, GP_WEIGHTS_IMPORTANCE + 1, weights_are_word) : GP_WEIGHTS_COUNTS;
    if (st == ADVGP_OK && kind < 0) st = bad(err, "what its weights are");
    const json_t *offset = json_object_get(o, "log_offset"), *bounds = json_object_get(o, "bounds");
    if (st == ADVGP_OK && offset && (!read_number(offset, &s->log_offset) || !(s->log_offset > 0) || !s->log_target))
        st = bad(err, "the offset of its logarithm");
    if (st == ADVGP_OK) st = read_limits(bounds, &s->bounds, err);
    s->bounded = st == ADVGP_OK && bounds;
    const json_t *word = json_object_get(o, "target_written");
    const int written = word ? find_word(word, GP_WRITING_COMMA + 1, written_word) : GP_WRITING_PLAIN;
    if (st == ADVGP_OK && written < 0) st = bad(err, "how the target is written");
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
