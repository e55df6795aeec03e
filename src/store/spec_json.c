// spec_json.c: what features a model has, as members of a JSON object, and back with every claim checked.
#include "store/spec_json.h"
#include "base/alloc.h"
#include "store/form.h"

static json_t *sizes_json(const size_t *sizes, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(list, json_integer((json_int_t)sizes[i]));
    return list;
}

static json_t *component_json(const gp_component_spec *c)
{
    json_t *o = json_pack("{s:s, s:s, s:I, s:I}", "kernel", c->kernel->name, "map", c->map->name, "m",
                          (json_int_t)c->shape.m, "rank", (json_int_t)c->shape.rank);
    if (o && c->shape.group_m) json_object_set_new(o, "groups", sizes_json(c->shape.group_m, c->shape.n_groups));
    if (o && c->shape.group_rank)
        json_object_set_new(o, "group_ranks", sizes_json(c->shape.group_rank, c->shape.n_groups));
    return o;
}

bool gp_spec_describe(const gp_feature_spec *spec, json_t *object)
{
    json_t *components = json_array();
    for (size_t b = 0; b < spec->n_components; b++)
        json_array_append_new(components, component_json(&spec->components[b]));
    const bool whole = json_array_size(components) == spec->n_components;
    return json_object_set_new(object, "jitter", json_real(spec->jitter)) == 0 &&
           json_object_set_new(object, "components", components) == 0 && whole;
}

bool gp_cells_describe(const gp_cells *cells, json_t *object)
{
    if (!cells) return true;
    json_t *o = json_pack("{s:s, s:s, s:o}", "kernel", cells->shape.kernel->name, "trend",
                          gp_trend_name(cells->shape.trend), "m", sizes_json(cells->m, cells->shape.n));
    return json_object_set_new(object, "cells", o) == 0;
}

advgp_status gp_cells_claim(const json_t *metadata, gp_cells_shape *shape, size_t **m, advgp_error *err)
{
    const json_t *o = json_object_get(metadata, "cells"), *list = json_object_get(o, "m");
    const char *kernel = json_string_value(json_object_get(o, "kernel"));
    if (!o) return ADVGP_OK; // format 1 knows none, and a model of format 2 need not have any
    size_t d = 0;
    const size_t n = json_array_size(list);
    shape->kernel = kernel ? gp_kernel_named(kernel) : NULL;
    if (!shape->kernel || !n || n > GP_MODEL_CELLS_MAX) return gp_metadata_bad(err, "its cells");
    json_t *as_model = json_pack("{s:I, s:O?}", "d", (json_int_t)shape->d, "trend", json_object_get(o, "trend"));
    advgp_status st = as_model ? gp_metadata_d_and_trend(as_model, &d, &shape->trend, err) : gp_no_memory(err);
    json_decref(as_model);
    if (st != ADVGP_OK) return st;
    *m = gp_alloc(n, sizeof **m);
    if (!*m) return gp_no_memory(err);
    for (size_t i = 0; i < n; i++)
        if (!gp_metadata_size(json_array_get(list, i), GP_MODEL_CELL_INDUCING_MAX, &(*m)[i]) || !(*m)[i])
            return gp_metadata_bad(err, "the inducing inputs of its cells");
    shape->n = n, shape->m = *m;
    return ADVGP_OK;
}

void gp_spec_claims_fini(gp_spec_claims *c)
{
    for (size_t b = 0; c->group_m && b < c->spec.n_components; b++) gp_free(c->group_m[b]);
    for (size_t b = 0; c->group_rank && b < c->spec.n_components; b++) gp_free(c->group_rank[b]);
    gp_free(c->group_m);
    gp_free(c->group_rank);
    gp_free(c->components);
    *c = (gp_spec_claims){0};
}

static advgp_status read_sizes(const json_t *list, size_t **out, size_t *n, advgp_error *err)
{
    *n = json_array_size(list);
    if (!json_is_array(list) || *n == 0 || *n > GP_MODEL_INDUCING_MAX)
        return gp_metadata_bad(err, "the groups of a component");
    gp_free(*out);
    *out = gp_alloc(*n, sizeof **out);
    if (!*out) return gp_no_memory(err);
    for (size_t i = 0; i < *n; i++)
        if (!gp_metadata_size(json_array_get(list, i), GP_MODEL_INDUCING_MAX, &(*out)[i]))
            return gp_metadata_bad(err, "the groups of a component");
    return ADVGP_OK;
}

static advgp_status read_component(const json_t *o, gp_spec_claims *c, size_t b, advgp_error *err)
{
    gp_component_spec *to = &c->components[b];
    const char *kernel = json_string_value(json_object_get(o, "kernel"));
    const char *map = json_string_value(json_object_get(o, "map"));
    const json_t *groups = json_object_get(o, "groups"), *ranks = json_object_get(o, "group_ranks");
    if (!kernel || !map) return gp_metadata_bad(err, "a component without kernel or map");
    to->kernel = gp_kernel_named(kernel);
    to->map = gp_map_named(map);
    if (!to->kernel || !to->map)
        return gp_fail(err, ADVGP_EFILE, "kernel '%.40s' or map '%.40s' is not known to this advgp (%s)", kernel, map,
                       advgp_version());
    if (!gp_metadata_size(json_object_get(o, "m"), GP_MODEL_INDUCING_MAX, &to->shape.m) ||
        !gp_metadata_size(json_object_get(o, "rank"), GP_MODEL_INDUCING_MAX, &to->shape.rank))
        return gp_metadata_bad(err, "the size of a component");
    size_t n_ranks = 0;
    advgp_status st = groups ? read_sizes(groups, &c->group_m[b], &to->shape.n_groups, err) : ADVGP_OK;
    if (st == ADVGP_OK && ranks) st = read_sizes(ranks, &c->group_rank[b], &n_ranks, err);
    if (st != ADVGP_OK) return st;
    if (ranks && n_ranks != to->shape.n_groups)
        return gp_metadata_bad(err, "a component with more or fewer ranks than groups");
    to->shape.group_m = c->group_m[b];
    to->shape.group_rank = c->group_rank[b];
    size_t M = 0;
    st = to->map->features(&to->shape, &M, err);
    c->M += M;
    return st == ADVGP_EINVAL ? gp_wrap(err, ADVGP_EFILE, "component %zu", b) : st;
}

static advgp_status read_components(const json_t *list, gp_spec_claims *c, advgp_error *err)
{
    const size_t n = json_array_size(list);
    if (!json_is_array(list) || n > GP_MODEL_COMPONENTS_MAX) return gp_metadata_bad(err, "its list of components");
    c->components = gp_alloc(n, sizeof *c->components);
    c->group_m = gp_alloc(n, sizeof *c->group_m);
    c->group_rank = gp_alloc(n, sizeof *c->group_rank);
    if (!c->components || !c->group_m || !c->group_rank) return gp_no_memory(err);
    c->spec.components = c->components;
    c->spec.n_components = n;
    size_t m = 0;
    for (size_t b = 0; b < n; b++) {
        advgp_status st = read_component(json_array_get(list, b), c, b, err);
        if (st != ADVGP_OK) return st;
        m += c->components[b].shape.m;
    }
    return m <= GP_MODEL_INDUCING_MAX ? ADVGP_OK : gp_metadata_bad(err, "too many inducing inputs");
}

advgp_status gp_spec_claim(const json_t *o, gp_spec_claims *c, advgp_error *err)
{
    const json_t *jitter = json_object_get(o, "jitter");
    advgp_status st = gp_metadata_d_and_trend(o, &c->spec.d, &c->spec.trend, err);
    if (st != ADVGP_OK) return st;
    if (!json_is_number(jitter)) return gp_metadata_bad(err, "its trend or jitter");
    c->spec.jitter = json_number_value(jitter);
    c->M = c->spec.trend == GP_TREND_LINEAR ? 1 + c->spec.d : c->spec.trend == GP_TREND_CONSTANT ? 1 : 0;
    return read_components(json_object_get(o, "components"), c, err);
}
