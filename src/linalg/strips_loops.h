// strips_loops.h: the loops of strips.c for vectors of LANES doubles; it includes this file once for each kind. A tile
// of R x V vectors is R V = 12 registers, whatever the width of its strip; three more hold the strip, one a row's
// number.

typedef double PER_LANES(vec) __attribute__((vector_size(LANES * sizeof(double))));
typedef double PER_LANES(stored) __attribute__((vector_size(LANES * sizeof(double)), aligned(8)));
#define vec    PER_LANES(vec)
#define stored PER_LANES(stored)

// tile = sum over k < n of left_r[k] right[k]. Row r of the left side starts at left + r * row and goes on in steps of
// `step`; the right side is a strip of `width`.
GP_INLINE void PER_LANES(multiply)(int R, int V, size_t n, const double *left, size_t row, size_t step,
                                   const double *right, size_t width, vec tile[12])
{
    GP_UNROLL
    for (int t = 0; t < R * V; t++) tile[t] = (vec){0};
    for (size_t k = 0; k < n; k++, left += step, right += width) {
        vec strip[VECTORS];
        GP_UNROLL
        for (int v = 0; v < V; v++) strip[v] = *(const stored *)(right + (size_t)v * LANES);
        GP_UNROLL
        for (int r = 0; r < R; r++) {
            const double x = left[(size_t)r * row];
            GP_UNROLL
            for (int v = 0; v < V; v++) tile[r * V + v] += x * strip[v];
        }
    }
}

// ---- A^T A

GP_INLINE void PER_LANES(gram_tile)(int R, int V, size_t rows, const double *left, size_t left_width,
                                    const double *right, size_t right_width, double *C, size_t ld)
{
    vec tile[12];
    PER_LANES(multiply)(R, V, rows, left, 1, left_width, right, right_width, tile);
    GP_UNROLL
    for (int r = 0; r < R; r++) GP_UNROLL
    for (int v = 0; v < V; v++) {
        stored *c = (stored *)(C + (size_t)r * ld + (size_t)v * LANES);
        *c += tile[r * V + v];
    }
}

// The columns of C under one strip: what stands above it, then the triangle beside the diagonal.
GP_INLINE void PER_LANES(gram_strip)(int R, int V, size_t rows, const double *packed, size_t before, gp_mat C)
{
    enum { FULL = VECTORS * LANES };
    const size_t width = (size_t)V * LANES;
    const double *right = packed + before * rows;
    for (size_t a = 0; a < before; a += (size_t)R) PER_LANES(gram_tile)
    (R, V, rows, packed + a / FULL * FULL * rows + a % FULL, FULL, right, width, C.p + a * C.ld + before, C.ld);
    for (size_t a = 0; a < width; a += 4) {
        const size_t skip = a / LANES * LANES;
        const double *left = right + a;
        double *c = C.p + (before + a) * C.ld + before + skip;
        if (V - (int)(skip / LANES) == 3)
            PER_LANES(gram_tile)(4, 3, rows, left, width, right, width, c, C.ld);
        else if (V - (int)(skip / LANES) == 2)
            PER_LANES(gram_tile)(4, 2, rows, left, width, right + skip, width, c, C.ld);
        else
            PER_LANES(gram_tile)(4, 1, rows, left, width, right + skip, width, c, C.ld);
    }
}

GP_INLINE void PER_LANES(gram)(size_t rows, size_t cols, const double *packed, gp_mat C)
{
    enum { FULL = VECTORS * LANES };
    size_t j = 0;
    for (; j + FULL <= cols; j += FULL) PER_LANES(gram_strip)(4, 3, rows, packed, j, C);
    if (cols - j > (size_t)2 * LANES)
        PER_LANES(gram_strip)(4, 3, rows, packed, j, C);
    else if (cols - j > LANES)
        PER_LANES(gram_strip)(6, 2, rows, packed, j, C);
    else if (cols > j)
        PER_LANES(gram_strip)(12, 1, rows, packed, j, C);
}

// ---- H = (A W) o S

GP_INLINE void PER_LANES(slope_tile)(int R, int V, const gp_strip_slopes *s, size_t first, const double *strip,
                                     size_t col)
{
    vec h[12];
    const size_t width = (size_t)V * LANES;
    PER_LANES(multiply)(R, V, s->A.cols, s->A.p + first * s->A.ld, s->A.ld, 1, strip, width, h);
    const double *S = s->S.p + first * s->S.ld + col, *x = s->X.p + first * s->X.ld;
    double *sums = s->row_sums + first * GP_STRIP_LANES;
    GP_UNROLL
    for (int r = 0; r < R; r++) {
        vec all = {0};
        GP_UNROLL
        for (int v = 0; v < V; v++) {
            h[r * V + v] *= *(const stored *)(S + (size_t)r * s->S.ld + (size_t)v * LANES);
            all += h[r * V + v];
        }
        *(stored *)(sums + (size_t)r * GP_STRIP_LANES) += all;
    }
    for (size_t k = 0; k < s->X.cols; k++) {
        stored *to = (stored *)(s->XH.p + k * s->XH.ld + col);
        vec sum[VECTORS];
        GP_UNROLL
        for (int v = 0; v < V; v++) sum[v] = to[v];
        GP_UNROLL
        for (int r = 0; r < R; r++) {
            const double w = x[(size_t)r * s->X.ld + k];
            GP_UNROLL
            for (int v = 0; v < V; v++) sum[v] += w * h[r * V + v];
        }
        GP_UNROLL
        for (int v = 0; v < V; v++) to[v] = sum[v];
    }
}

GP_INLINE void PER_LANES(slope_strip)(int R, int V, const gp_strip_slopes *s, size_t col)
{
    const double *strip = s->W + s->A.cols * col;
    size_t i = 0;
    for (; i + (size_t)R <= s->A.rows; i += (size_t)R) PER_LANES(slope_tile)(R, V, s, i, strip, col);
    for (; i < s->A.rows; i++) PER_LANES(slope_tile)(1, V, s, i, strip, col);
}

GP_INLINE void PER_LANES(slopes)(const gp_strip_slopes *s)
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
