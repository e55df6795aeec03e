// synthetic.h: training rows out of a seed, for benchmarks of any size: "synthetic:trips?rows=1e9&seed=1" stands where
// a packed folder could. A row is a pure function of its number, so shards cost neither memory nor disk, and every
// process that is given the text has the same rows.
#pragma once
#include "data/schema.h"
#include "shards/shards.h"

bool gp_synthetic_is(const char *text);
// Taxi trips: month, day, weekday and hour, from where to where in a town and how far, and the duration in seconds. The
// schema is fitted to the first rows. EINVAL names what is wrong with the text.
advgp_status gp_synthetic_open(const char *text, gp_shards **shards, gp_schema **schema, advgp_error *err);
uint64_t gp_synthetic_fingerprint(const gp_shards *s);
const char *gp_synthetic_text(const gp_shards *s); // NULL for other shards than these
