// spec_json.h: what features a model has, as members of a JSON object: in a model's metadata, and in what a lead tells
// its workers. Read as hostile.
#pragma once
#include "base/status.h"
#include "feature/features.h"
#include "model/cells.h"

#include <jansson.h>

// Sets "jitter" and "components"; d and trend are the caller's. False: no memory.
bool gp_spec_describe(const gp_feature_spec *spec, json_t *object);

// What an object claims; spec points into the rest.
typedef struct gp_spec_claims {
    gp_feature_spec spec;
    gp_component_spec *components;
    size_t **group_m, **group_rank; // one a component
    size_t M;                       // features
} gp_spec_claims;

// Reads "d", "trend" (form.h), "jitter" and "components" into *claims, which starts as {0} and is to be ended in any
// case. Nothing of the size that is claimed is allocated.
advgp_status gp_spec_claim(const json_t *object, gp_spec_claims *claims, advgp_error *err);
void gp_spec_claims_fini(gp_spec_claims *claims);

// The cells of a model (cells.h): sets "cells"; NULL: it has none, and nothing is set.
bool gp_cells_describe(const gp_cells *cells, json_t *object);
// Reads "cells" into the shape, whose d is set: n (0: there is no such member), kernel, trend and m, which is *m, new,
// and the caller's to free in any case.
advgp_status gp_cells_claim(const json_t *metadata, gp_cells_shape *shape, size_t **m, advgp_error *err);
