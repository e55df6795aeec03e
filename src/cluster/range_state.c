// range_state.c: the state of a range, to a text and back.
#include "cluster/range_state.h"
#include "linalg/dense.h"
#include "shards/shards.h"
#include "store/form.h"

#include <jansson.h>
#include <string.h>

enum { OWN_ARRAYS = 3, RULE_ARRAYS_MAX = 4 };

void gp_range_state_fini(gp_range_state *s)
{
    gp_server_copy_fini(&s->copy);
    *s = (gp_range_state){0};
}

static json_t *numbers_json(const uint64_t *numbers, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(list, json_integer((json_int_t)numbers[i]));
    return list;
}

char *gp_range_state_text(const gp_range_state *s)
{
    const gp_server_copy *c = &s->copy;
    const gp_server_image *i = &c->image;
    uint64_t counts[GP_IMAGE_N_COUNTS];
    double reals[GP_IMAGE_N_REALS];
    json_t *o = json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "first", (json_int_t)c->range.first, "count",
                          (json_int_t)c->range.count, "arrays", (json_int_t)c->n_arrays, "rows", (json_int_t)s->rows,
                          "live", (json_int_t)s->live, "owner", numbers_json(i->owner, i->n_shards), "sequence",
                          numbers_json(i->sequence, i->n_workers), "incarnation",
                          numbers_json(i->incarnation, i->n_workers));
    if (!o) return NULL;
    gp_image_get(i, counts, reals);
    for (size_t k = 0; k < GP_IMAGE_N_COUNTS; k++)
        if (k != GP_IMAGE_GENERATION) // which start of the lead it is, the lead knows
            json_object_set_new(o, gp_image_count_names[k], json_integer((json_int_t)counts[k]));
    for (size_t k = 0; k < GP_IMAGE_N_REALS; k++) json_object_set_new(o, gp_image_real_names[k], json_real(reals[k]));
    char *text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(o);
    return text;
}

// ---- reading --------------------------------------------------------------------------------------------------------

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

static bool read_image(const json_t *o, gp_server_image *image)
{
    uint64_t counts[GP_IMAGE_N_COUNTS] = {0};
    double reals[GP_IMAGE_N_REALS];
    for (size_t k = 0; k < GP_IMAGE_N_COUNTS; k++)
        if (k != GP_IMAGE_GENERATION && !read_number(o, gp_image_count_names[k], &counts[k])) return false;
    if (counts[GP_IMAGE_HAS_VALUE] > 1 || counts[GP_IMAGE_DEALT] > 1) return false;
    for (size_t k = 0; k < GP_IMAGE_N_REALS; k++) {
        const json_t *value = json_object_get(o, gp_image_real_names[k]);
        if (!json_is_number(value)) return false;
        reals[k] = json_number_value(value);
    }
    gp_image_set(image, counts, reals);
    return true;
}

static advgp_status read_text(const json_t *o, size_t n_values, gp_range_state *s, advgp_error *err)
{
    uint64_t first, count, arrays;
    gp_server_copy *c = &s->copy;
    gp_server_image *i = &c->image;
    if (!read_number(o, "first", &first) || !read_number(o, "count", &count) || !read_number(o, "arrays", &arrays) ||
        !read_number(o, "rows", &s->rows) || !read_number(o, "live", &s->live) || !read_image(o, i))
        return gp_metadata_bad(err, "its counts");
    if (!count || count > n_values || arrays > RULE_ARRAYS_MAX || (OWN_ARRAYS + arrays) * count != n_values)
        return gp_metadata_bad(err, "its number of values");
    c->range = (gp_range){(size_t)first, (size_t)count};
    c->n_arrays = (size_t)arrays, c->n_values = n_values;
    i->n_shards = json_array_size(json_object_get(o, "owner"));
    i->n_workers = json_array_size(json_object_get(o, "sequence"));
    if (i->n_shards > GP_SHARDS_MAX || i->n_workers > GP_WORKERS_MAX)
        return gp_metadata_bad(err, "its numbers of workers");
    const advgp_status st = gp_server_copy_make_room(c, err);
    if (st != ADVGP_OK) return st;
    if (!read_list(o, "owner", i->n_shards, c->numbers) ||
        !read_list(o, "sequence", i->n_workers, c->numbers + i->n_shards) ||
        !read_list(o, "incarnation", i->n_workers, c->numbers + i->n_shards + i->n_workers))
        return gp_metadata_bad(err, "its workers");
    return ADVGP_OK;
}

advgp_status gp_range_state_read(const double *values, size_t n_values, const char *text, size_t n_text,
                                 gp_range_state *out, advgp_error *err)
{
    json_error_t where;
    *out = (gp_range_state){0};
    json_t *o = json_loadb(text, n_text, JSON_REJECT_DUPLICATES, &where);
    advgp_status st = json_is_object(o) ? read_text(o, n_values, out, err) : gp_metadata_bad(err, "no JSON object");
    json_decref(o);
    if (st == ADVGP_OK && !gp_all_finite(n_values, values)) st = gp_metadata_bad(err, "a value that is not finite");
    if (st == ADVGP_OK) memcpy(out->copy.values, values, n_values * sizeof *values);
    return st == ADVGP_OK ? st : gp_wrap(err, st, "the state of a range of the parameters");
}
