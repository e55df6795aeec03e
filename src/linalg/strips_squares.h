// strips_squares.h: the loops of A^T A for vectors of LANES doubles; strips.c includes it after strips_loops.h, whose
// product of a tile it takes.

#define vec    PER_LANES(vec)
#define stored PER_LANES(stored)

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

#undef vec
#undef stored
