// map_table.c: the list of feature maps. One line each.
#include "feature/map.h"

#include <string.h>

const gp_map *const gp_maps[] = {
    &gp_map_cholesky, &gp_map_nystrom, &gp_map_ensemble, &gp_map_rvm, NULL,
};

const gp_map *gp_map_named(const char *name)
{
    for (const gp_map *const *map = gp_maps; *map; map++)
        if (name && !strcmp((*map)->name, name)) return *map;
    return NULL;
}
