// map_choice.h: --map with --rank and --groups: what goes together, and the shape of every component's map.
#pragma once
#include "base/status.h"
#include "feature/map.h"

typedef struct gp_map_choice {
    const gp_map *map;
    size_t rank;   // eigenvectors in all components together; 0: all. For maps with ranks
    size_t groups; // groups of inducing inputs in every component; 0: by itself. For maps with groups
} gp_map_choice;

// Whether the choice makes sense for m inducing inputs in this many components (0: not decided yet). EINVAL names the
// option and the way out.
advgp_status gp_map_choice_check(gp_map_choice choice, size_t m, size_t components, advgp_error *err);

// The same choice for fewer inducing inputs, where a table has no more distinct rows.
gp_map_choice gp_map_choice_within(gp_map_choice choice, size_t m, size_t components);

// The shape of component b of J: m / J inducing inputs, the first m % J one more; ranks likewise. group_m has room for
// gp_map_choice_groups numbers and must outlive the shape.
size_t gp_map_choice_groups(gp_map_choice choice, size_t m, size_t components); // at least 1
gp_map_shape gp_map_choice_shape(gp_map_choice choice, size_t m, size_t components, size_t b, size_t *group_m);
