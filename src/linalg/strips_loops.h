// strips_loops.h: the loops of strips.c for vectors of LANES numbers of the type NUMBER, and H = (A W) o S of a SLOPES
// whose row sums are ROW_LANES apart; strips.c includes this file once for each kind of vector. A tile of R x V vectors
// is R V = 12 registers, whatever the width of its strip; three more hold the strip, one a row's number.

typedef NUMBER PER_LANES(vec) __attribute__((vector_size(LANES * sizeof(NUMBER))));
typedef NUMBER PER_LANES(stored) __attribute__((vector_size(LANES * sizeof(NUMBER)), aligned(sizeof(NUMBER))));
#define vec    PER_LANES(vec)
#define stored PER_LANES(stored)

// tile = sum over k < n of left_r[k] right[k]. Row r of the left side starts at left + r * row and goes on in steps of
// `step`; the right side is a strip of `width`.
GP_INLINE void PER_LANES(multiply)(int R, int V, size_t n, const NUMBER *left, size_t row, size_t step,
                                   const NUMBER *right, size_t width, vec tile[12])
{
    GP_UNROLL
    for (int t = 0; t < R * V; t++) tile[t] = (vec){0};
    for (size_t k = 0; k < n; k++, left += step, right += width) {
        vec strip[VECTORS];
        GP_UNROLL
        for (int v = 0; v < V; v++) strip[v] = *(const stored *)(right + (size_t)v * LANES);
        GP_UNROLL
        for (int r = 0; r < R; r++) {
            const NUMBER x = left[(size_t)r * row];
            GP_UNROLL
            for (int v = 0; v < V; v++) tile[r * V + v] += x * strip[v];
        }
    }
}

// ---- H = (A W) o S

GP_INLINE void PER_LANES(slope_tile)(int R, int V, const SLOPES *s, size_t first, const NUMBER *strip, size_t col)
{
    vec h[12];
    const size_t width = (size_t)V * LANES;
    PER_LANES(multiply)(R, V, s->A.cols, s->A.p + first * s->A.ld, s->A.ld, 1, strip, width, h);
    const NUMBER *S = s->S.p + first * s->S.ld + col, *x = s->X.p + first * s->X.ld;
    NUMBER *sums = s->row_sums + first * ROW_LANES;
    GP_UNROLL
    for (int r = 0; r < R; r++) {
        vec all = {0};
        GP_UNROLL
        for (int v = 0; v < V; v++) {
            h[r * V + v] *= *(const stored *)(S + (size_t)r * s->S.ld + (size_t)v * LANES);
            all += h[r * V + v];
        }
        *(stored *)(sums + (size_t)r * ROW_LANES) += all;
    }
    for (size_t k = 0; k < s->X.cols; k++) {
        stored *to = (stored *)(s->XH.p + k * s->XH.ld + col);
        vec sum[VECTORS];
        GP_UNROLL
        for (int v = 0; v < V; v++) sum[v] = to[v];
        GP_UNROLL
        for (int r = 0; r < R; r++) {
            const NUMBER w = x[(size_t)r * s->X.ld + k];
            GP_UNROLL
            for (int v = 0; v < V; v++) sum[v] += w * h[r * V + v];
        }
        GP_UNROLL
        for (int v = 0; v < V; v++) to[v] = sum[v];
    }
}

GP_INLINE void PER_LANES(slope_strip)(int R, int V, const SLOPES *s, size_t col)
{
    const NUMBER *strip = s->W + s->A.cols * col;
    size_t i = 0;
    for (; i + (size_t)R <= s->A.rows; i += (size_t)R) PER_LANES(slope_tile)(R, V, s, i, strip, col);
    for (; i < s->A.rows; i++) PER_LANES(slope_tile)(1, V, s, i, strip, col);
}

GP_INLINE void PER_LANES(slopes)(const SLOPES *s)
{
    enum { FULL = VECTORS * LANES };
    size_t j = 0;
    for (; j + FULL <= s->S.cols; j += FULL) PER_LANES(slope_strip)(4, 3, s, j);
    if (s->S.cols - j > (size_t)2 * LANES)
        PER_LANES(slope_strip)(4, 3, s, j);
    else if (s->S.cols - j > LANES)
        PER_LANES(slope_strip)(6, 2, s, j);
    else if (s->S.cols > j)
        PER_LANES(slope_strip)(12, 1, s, j);
}

#undef vec
#undef stored
