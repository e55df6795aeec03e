// inducing.h: candidates for inducing inputs: distinct rows of a random sample, or k-means centres of it.
#pragma once
#include "train/reader.h"

// Up to m rows of d numbers, in random order; *n says how many distinct ones there are. With centres, Lloyd's
// iterations move them to cluster means. The caller frees *out with gp_free.
advgp_status gp_inducing_choose(const gp_shards *shards, size_t m, bool centres, double **out, size_t *n,
                                advgp_error *err);
