// map_choice.c: ranks and groups shared out among components.
#include "learn/map_choice.h"

enum { GROUPS_BY_ITSELF = 4 };

static size_t share(size_t all, size_t components, size_t b)
{
    return all / components + (b < all % components);
}

advgp_status gp_map_choice_check(gp_map_choice c, size_t m, size_t components, advgp_error *err)
{
    const size_t J = components ? components : 1;
    if (c.rank && !c.map->has_rank)
        return gp_fail(err, ADVGP_EINVAL, "{rank} %zu has no meaning for {map} %s: leave it out, or use {map} nystrom",
                       c.rank, c.map->name);
    if (c.groups && !c.map->has_groups)
        return gp_fail(err, ADVGP_EINVAL,
                       "{groups} %zu has no meaning for {map} %s: leave it out, or use {map} ensemble", c.groups,
                       c.map->name);
    if (c.rank > m)
        return gp_fail(err, ADVGP_EINVAL,
                       "{rank} %zu: %zu inducing inputs have no more than %zu eigenvectors; lower it, or raise "
                       "{inducing}",
                       c.rank, m, m);
    if (c.rank && c.rank < J)
        return gp_fail(
            err, ADVGP_EINVAL,
            "{rank} %zu: it is shared by %zu components, and each needs one; raise it, or lower {components}", c.rank,
            J);
    if (c.groups && (c.groups > m || c.groups * J > m))
        return gp_fail(
            err, ADVGP_EINVAL,
            "{groups} %zu in each of %zu component%s: %zu inducing inputs are too few for that; lower it, or "
            "raise {inducing}",
            c.groups, J, J == 1 ? "" : "s", m);
    return ADVGP_OK;
}

gp_map_choice gp_map_choice_within(gp_map_choice c, size_t m, size_t components)
{
    if (c.rank > m) c.rank = m;
    if (c.groups * components > m) c.groups = m / components;
    return c;
}

size_t gp_map_choice_groups(gp_map_choice c, size_t m, size_t components)
{
    const size_t most = m / components ? m / components : 1;
    const size_t groups = c.groups ? c.groups : GROUPS_BY_ITSELF;
    return !c.map->has_groups ? 1 : groups < most ? groups : most;
}

gp_map_shape gp_map_choice_shape(gp_map_choice c, size_t m, size_t components, size_t b, size_t *group_m)
{
    gp_map_shape shape = {.m = share(m, components, b), .follows = true};
    if (c.map->has_rank && c.rank) shape.rank = share(c.rank, components, b);
    if (c.map->has_groups) {
        shape.n_groups = gp_map_choice_groups(c, m, components);
        for (size_t l = 0; l < shape.n_groups; l++) group_m[l] = share(shape.m, shape.n_groups, l);
        shape.group_m = group_m;
    }
    return shape;
}
