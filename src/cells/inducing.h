// inducing.h: candidates for inducing inputs: distinct rows of a random sample, k-means centres of it, or those of its
// rows that explain the others best.
#pragma once
#include "kernel/kernel.h"
#include "shards/reader.h"

typedef enum gp_start { GP_START_KMEANS, GP_START_RANDOM, GP_START_GREEDY } gp_start; // where inducing inputs begin

// Up to m rows of d numbers, in random order; *n says how many distinct ones there are. KMEANS: Lloyd's iterations move
// them to cluster means. GREEDY: see below. sample: rows that are looked at, 0: 20,000. The caller frees *out with
// gp_free. A choice that takes long can be ended (linalg/interrupt.h): ESTOPPED, and nothing is chosen.
advgp_status gp_inducing_choose(const gp_shards *shards, size_t m, size_t sample, gp_start start,
                                const gp_kernel *kernel, double length_scale, double **out, size_t *n,
                                advgp_error *err);

// Lloyd's algorithm from the first m <= X.rows rows: Z (m x d) are the centres. A centre that loses all its rows stays
// where it is. It can be ended as the choice above.
advgp_status gp_kmeans(gp_cmat X, size_t m, double *Z, advgp_error *err);
// The same where inputs count by scale[d], which is nowhere 0.
advgp_status gp_kmeans_scaled(gp_cmat X, const double *scale, size_t m, double *Z, advgp_error *err);

// m <= X.rows rows, each chosen to explain the most of what those before left, under the kernel with one length-scale
// for all inputs: rows[m] are their places in X, in the order of choice. Takes X.rows by m doubles.
advgp_status gp_inducing_greedy(gp_cmat X, size_t m, const gp_kernel *kernel, double length_scale, uint64_t seed,
                                size_t *rows, advgp_error *err);
