// map_table.c: the list of feature maps.
#include "feature/map.h"

#include <string.h>

const gp_map *const gp_maps[] = {
#define X(name) &gp_map_##name,
    GP_MAP_LIST(X)
#undef X
        NULL,
};

const gp_map *gp_map_named(const char *name)
{
    for (const gp_map *const *map = gp_maps; *map; map++)
        if (name && !strcmp((*map)->name, name)) return *map;
    return NULL;
}
