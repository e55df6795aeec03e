// sample.c: which rows stay.
#include "data/sample.h"

#include "base/alloc.h"
#include "base/rng.h"

enum { ROWS_MAX = 16384, ROWS_MIN = 1024, VALUES_MAX = 1 << 23 }; // the rarest quantile wanted is 1 in 200
static const uint64_t sample_stream = 0x73616d70;                 // "samp": unrelated to who is held out

advgp_status gp_sample_init(gp_sample *s, size_t n_columns, uint64_t seed, advgp_error *err)
{
    const size_t share = VALUES_MAX / (n_columns + 1);
    const size_t capacity = share < ROWS_MIN ? ROWS_MIN : share < ROWS_MAX ? share : ROWS_MAX;
    *s = (gp_sample){.capacity = capacity, .seed = seed ^ sample_stream, .w = gp_alloc(capacity, sizeof *s->w)};
    return s->w ? ADVGP_OK : gp_no_memory(err);
}

void gp_sample_fini(gp_sample *s)
{
    gp_free(s->w);
    gp_free(s->picks);
    *s = (gp_sample){0};
}

advgp_status gp_sample_chunk(gp_sample *s, size_t before, size_t n, const double *w, advgp_error *err)
{
    s->n_picks = 0;
    if (n > s->picks_capacity) {
        gp_free(s->picks);
        s->picks = gp_alloc(n, sizeof *s->picks);
        s->picks_capacity = s->picks ? n : 0;
        if (!s->picks) return gp_no_memory(err);
    }
    for (size_t k = 0; k < n; k++) {
        const size_t row = before + k;
        const size_t slot = row < s->capacity ? row : (size_t)(gp_hash_u64(s->seed, row) % (row + 1));
        if (slot >= s->capacity) continue;
        s->picks[s->n_picks++] = (gp_pick){.k = k, .slot = slot};
        s->w[slot] = w[k];
        if (slot >= s->n) s->n = slot + 1;
    }
    return ADVGP_OK;
}
