// portion.c: a range of a server's image, to bytes and back, and several put together.
#include "cluster/portion.h"
#include "base/alloc.h"
#include "linalg/dense.h"
#include "store/form.h"

#include <jansson.h>
#include <string.h>

enum { OWN_ARRAYS = 3, SHARDS_MAX = 1 << 20 };

void gp_portion_fini(gp_portion *p)
{
    gp_free(p->values);
    gp_free(p->numbers);
    *p = (gp_portion){0};
}

size_t gp_portion_values(const gp_portion *p)
{
    return (OWN_ARRAYS + p->n_arrays) * p->range.count;
}

static advgp_status make_room(gp_portion *p, advgp_error *err)
{
    const gp_server_image *i = &p->image;
    p->values = gp_alloc(gp_portion_values(p), sizeof *p->values);
    p->numbers = gp_alloc(i->n_shards + 2 * i->n_workers, sizeof *p->numbers);
    if (!p->values || !p->numbers)
        return gp_fail(err, ADVGP_ENOMEM, "no memory for a portion of %zu parameters", p->range.count);
    const size_t n = p->range.count;
    p->image.size = n;
    p->image.theta = p->values, p->image.kept = p->values + n, p->image.candidate = p->values + 2 * n;
    p->image.sent = NULL;
    p->image.owner = p->numbers, p->image.sequence = p->numbers + i->n_shards;
    p->image.incarnation = p->image.sequence + i->n_workers;
    return ADVGP_OK;
}

advgp_status gp_portion_look(gp_server *server, gp_rule *rule, gp_range own, gp_range range, gp_portion *out,
                             advgp_error *err)
{
    const gp_server_image from = gp_server_look(server);
    const gp_rule_state state = rule->ops->state(rule);
    const size_t skip = range.first - own.first, bytes = range.count * sizeof(double);
    *out = (gp_portion){.range = range, .image = from, .n_arrays = state.n_arrays};
    const advgp_status st = make_room(out, err);
    if (st != ADVGP_OK) return st;
    const double *const arrays[] = {from.theta, from.kept, from.candidate};
    for (size_t a = 0; a < OWN_ARRAYS; a++) memcpy(out->values + a * range.count, arrays[a] + skip, bytes);
    for (size_t a = 0; a < state.n_arrays; a++)
        memcpy(out->values + (OWN_ARRAYS + a) * range.count, state.arrays[a].values + skip, bytes);
    memcpy(out->numbers, from.owner, from.n_shards * sizeof *out->numbers);
    memcpy(out->numbers + from.n_shards, from.sequence, from.n_workers * sizeof *out->numbers);
    memcpy(out->numbers + from.n_shards + from.n_workers, from.incarnation, from.n_workers * sizeof *out->numbers);
    return ADVGP_OK;
}

// ---- text -----------------------------------------------------------------------------------------------------------

static json_t *numbers_json(const uint64_t *numbers, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(list, json_integer((json_int_t)numbers[i]));
    return list;
}

char *gp_portion_text(const gp_portion *p)
{
    const gp_server_image *i = &p->image;
    json_t *o = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:b, s:b, s:o, s:o, s:o}", "first",
        (json_int_t)p->range.first, "count", (json_int_t)p->range.count, "arrays", (json_int_t)p->n_arrays, "rows",
        (json_int_t)p->rows, "live", (json_int_t)p->live, "version", (json_int_t)i->version, "oldest",
        (json_int_t)i->oldest, "candidate_version", (json_int_t)i->candidate_version, "jumps", (json_int_t)i->jumps,
        "damping", i->damping, "value", i->value, "mean_value", i->mean_value, "deviation", i->deviation, "has_value",
        i->has_value, "dealt", i->dealt, "owner", numbers_json(i->owner, i->n_shards), "sequence",
        numbers_json(i->sequence, i->n_workers), "incarnation", numbers_json(i->incarnation, i->n_workers));
    char *text = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(o);
    return text;
}

static bool read_number(const json_t *o, const char *key, uint64_t *out)
{
    const json_t *value = json_object_get(o, key);
    *out = (uint64_t)json_integer_value(value);
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

static bool read_list(const json_t *o, const char *key, size_t n, uint64_t *out)
{
    const json_t *list = json_object_get(o, key);
    if (!json_is_array(list) || json_array_size(list) != n) return false;
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_array_get(list, i);
        if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
        out[i] = (uint64_t)json_integer_value(value);
    }
    return true;
}

static advgp_status read_text(const json_t *o, size_t n_values, gp_portion *p, advgp_error *err)
{
    uint64_t first, count, arrays;
    gp_server_image *i = &p->image;
    if (!read_number(o, "first", &first) || !read_number(o, "count", &count) || !read_number(o, "arrays", &arrays) ||
        !read_number(o, "rows", &p->rows) || !read_number(o, "live", &p->live) ||
        !read_number(o, "version", &i->version) || !read_number(o, "oldest", &i->oldest) ||
        !read_number(o, "candidate_version", &i->candidate_version) || !read_number(o, "jumps", &i->jumps))
        return gp_metadata_bad(err, "its counts");
    if (!count || count > n_values || arrays > 4 || (OWN_ARRAYS + arrays) * count != n_values)
        return gp_metadata_bad(err, "its number of values");
    p->range = (gp_range){(size_t)first, (size_t)count};
    p->n_arrays = (size_t)arrays;
    i->damping = json_number_value(json_object_get(o, "damping"));
    i->value = json_number_value(json_object_get(o, "value"));
    i->mean_value = json_number_value(json_object_get(o, "mean_value"));
    i->deviation = json_number_value(json_object_get(o, "deviation"));
    i->has_value = json_is_true(json_object_get(o, "has_value"));
    i->dealt = json_is_true(json_object_get(o, "dealt"));
    i->n_shards = json_array_size(json_object_get(o, "owner"));
    i->n_workers = json_array_size(json_object_get(o, "sequence"));
    if (i->n_shards > SHARDS_MAX || i->n_workers > GP_WORKERS_MAX)
        return gp_metadata_bad(err, "its numbers of workers");
    const advgp_status st = make_room(p, err);
    if (st != ADVGP_OK) return st;
    if (!read_list(o, "owner", i->n_shards, p->numbers) ||
        !read_list(o, "sequence", i->n_workers, p->numbers + i->n_shards) ||
        !read_list(o, "incarnation", i->n_workers, p->numbers + i->n_shards + i->n_workers))
        return gp_metadata_bad(err, "its workers");
    return ADVGP_OK;
}

advgp_status gp_portion_read(const double *values, size_t n_values, const char *text, size_t n_text, gp_portion *out,
                             advgp_error *err)
{
    json_error_t where;
    *out = (gp_portion){0};
    json_t *o = json_loadb(text, n_text, JSON_REJECT_DUPLICATES, &where);
    advgp_status st = json_is_object(o) ? read_text(o, n_values, out, err) : gp_metadata_bad(err, "no JSON object");
    json_decref(o);
    if (st == ADVGP_OK && !gp_all_finite(n_values, values)) st = gp_metadata_bad(err, "a value that is not finite");
    if (st == ADVGP_OK) memcpy(out->values, values, n_values * sizeof *values);
    return st == ADVGP_OK ? st : gp_wrap(err, st, "a portion of the parameters");
}

// ---- together -------------------------------------------------------------------------------------------------------

static advgp_status check_together(const gp_portion *portions, size_t n, const gp_rule *rule, advgp_error *err)
{
    const gp_range own = rule->options.range;
    size_t next = own.first;
    for (size_t i = 0; i < n; i++) {
        const gp_portion *p = &portions[i];
        if (p->range.first != next || p->image.version != portions->image.version || p->n_arrays != portions->n_arrays)
            return gp_fail(err, ADVGP_EINVAL, "portions of the parameters that do not belong together");
        next += p->range.count;
    }
    return next == own.first + own.count ? ADVGP_OK
                                         : gp_fail(err, ADVGP_EINVAL, "a portion of the parameters is missing");
}

advgp_status gp_portions_restore(const gp_portion *portions, size_t n, gp_server *server, gp_rule *rule,
                                 advgp_error *err)
{
    const size_t count = rule->options.range.count;
    const gp_rule_state state = rule->ops->state(rule);
    advgp_status st = check_together(portions, n, rule, err);
    if (st != ADVGP_OK) return st;
    if (portions->n_arrays != state.n_arrays || state.counter)
        return gp_fail(err, ADVGP_EINVAL, "portions of another rule than %s", rule->ops->name);
    double *whole = gp_alloc(OWN_ARRAYS * count, sizeof *whole);
    if (!whole) return gp_fail(err, ADVGP_ENOMEM, "no memory for %zu parameters", count);
    for (size_t i = 0, at = 0; i < n; at += portions[i++].range.count) {
        const size_t part = portions[i].range.count, bytes = part * sizeof(double);
        for (size_t a = 0; a < OWN_ARRAYS; a++) memcpy(whole + a * count + at, portions[i].values + a * part, bytes);
        for (size_t a = 0; a < state.n_arrays; a++)
            memcpy(state.arrays[a].values + at, portions[i].values + (OWN_ARRAYS + a) * part, bytes);
    }
    gp_server_image image = portions->image; // of the rest all have the same
    image.size = count;
    image.theta = whole, image.kept = whole + count, image.candidate = whole + 2 * count;
    st = gp_server_restore(server, &image, err);
    gp_free(whole);
    return st;
}
