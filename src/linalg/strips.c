// strips.c: strips.h for vectors of four doubles or eight floats (AVX2) and of twice as many (AVX-512).
#include "linalg/strips.h"
#include "linalg/simd.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { VECTORS = 3, FOURS = VECTORS * 4 }; // of a strip; doubles where a vector has four

#define NUMBER          double
#define SLOPES          gp_strip_slopes
#define ROW_LANES       GP_STRIP_LANES
#define LANES           4
#define PER_LANES(name) name##_4
#include "linalg/strips_loops.h"
#include "linalg/strips_squares.h"
#undef LANES
#undef PER_LANES

#define LANES           8
#define PER_LANES(name) name##_8
#include "linalg/strips_loops.h"
#include "linalg/strips_squares.h"
#undef LANES
#undef PER_LANES
#undef NUMBER
#undef SLOPES
#undef ROW_LANES

#define NUMBER          float
#define SLOPES          gp_strip_slopes32
#define ROW_LANES       GP_STRIP_LANES32
#define LANES           8
#define PER_LANES(name) name##_8_single
#include "linalg/strips_loops.h"
#undef LANES
#undef PER_LANES

#define LANES           16
#define PER_LANES(name) name##_16_single
#include "linalg/strips_loops.h"
#undef LANES
#undef PER_LANES
#undef NUMBER
#undef SLOPES
#undef ROW_LANES

size_t gp_strip_lanes(void)
{
    return gp_simd_now == GP_SIMD_PLAIN ? 0 : gp_simd_now == GP_SIMD_AVX2 ? 4 : 8;
}

size_t gp_strip_width(size_t lanes, size_t cols)
{
    return (cols + lanes - 1) / lanes * lanes;
}

void gp_strip_pack(size_t lanes, gp_cmat A, double *packed)
{
    const size_t all = gp_strip_width(lanes, A.cols), full = VECTORS * lanes;
    for (size_t j = 0; j < all; j += full) {
        const size_t width = all - j < full ? all - j : full, here = A.cols - j < width ? A.cols - j : width;
        for (size_t i = 0; i < A.rows; i++, packed += width) {
            const double *a = A.p + i * A.ld + j;
            if (width == FOURS && here == width) { // copies of a known size
                memcpy(packed, a, FOURS * sizeof *a);
            } else if (width == 4 && here == width) {
                memcpy(packed, a, 4 * sizeof *a);
            } else {
                for (size_t l = 0; l < here; l++) packed[l] = a[l];
                for (size_t l = here; l < width; l++) packed[l] = 0;
            }
        }
    }
}

GP_VARIANTS(gram_of_4, (size_t rows, size_t cols, const double *packed, gp_mat C), (rows, cols, packed, C))
{
    gram_4(rows, cols, packed, C);
}

GP_VARIANTS(gram_of_8, (size_t rows, size_t cols, const double *packed, gp_mat C), (rows, cols, packed, C))
{
    gram_8(rows, cols, packed, C);
}

void gp_strip_gram(size_t lanes, size_t rows, size_t cols, const double *packed, gp_mat C)
{
    assert(C.rows >= gp_strip_width(lanes, cols) && C.cols >= gp_strip_width(lanes, cols));
    if (lanes == 4)
        gram_of_4(rows, cols, packed, C);
    else
        gram_of_8(rows, cols, packed, C);
}

GP_VARIANTS(slopes_of_4, (const gp_strip_slopes *s), (s))
{
    slopes_4(s);
}

GP_VARIANTS(slopes_of_8, (const gp_strip_slopes *s), (s))
{
    slopes_8(s);
}

void gp_strip_add_slopes(size_t lanes, const gp_strip_slopes *s)
{
    assert(s->A.rows == s->S.rows && s->A.rows == s->X.rows && s->X.cols == s->XH.rows);
    if (lanes == 4)
        slopes_of_4(s);
    else
        slopes_of_8(s);
}

// ---- in single precision --------------------------------------------------------------------------------------------

void gp_strip_pack32(size_t lanes, gp_cmat A, float *packed)
{
    const size_t all = gp_strip_width(lanes, A.cols), full = VECTORS * lanes;
    for (size_t j = 0; j < all; j += full) {
        const size_t width = all - j < full ? all - j : full, here = A.cols - j < width ? A.cols - j : width;
        for (size_t i = 0; i < A.rows; i++, packed += width) {
            const double *a = A.p + i * A.ld + j;
            for (size_t l = 0; l < here; l++) packed[l] = (float)a[l];
            for (size_t l = here; l < width; l++) packed[l] = 0;
        }
    }
}

// Products of what is nearly 0 would be less than a float can tell, and such numbers are slow on many CPUs; a kernel
// far away is full of them.
static const double nearly_zero = 1e-30;

GP_VARIANTS(narrow, (size_t n, const double *restrict in, float *restrict out), (n, in, out))
{
    for (size_t i = 0; i < n; i++) out[i] = (float)(fabs(in[i]) < nearly_zero ? 0 : in[i]);
}

void gp_narrow(gp_cmat A, gp_mat32 out)
{
    assert(out.rows >= A.rows && out.cols >= A.cols);
    for (size_t i = 0; i < A.rows; i++) narrow(A.cols, A.p + i * A.ld, out.p + i * out.ld);
}

GP_VARIANTS(slopes_of_8_single, (const gp_strip_slopes32 *s), (s))
{
    slopes_8_single(s);
}

GP_VARIANTS(slopes_of_16_single, (const gp_strip_slopes32 *s), (s))
{
    slopes_16_single(s);
}

void gp_strip_add_slopes32(size_t lanes, const gp_strip_slopes32 *s)
{
    assert(s->A.rows == s->S.rows && s->A.rows == s->X.rows && s->X.cols == s->XH.rows);
    if (lanes == 8)
        slopes_of_8_single(s);
    else
        slopes_of_16_single(s);
}
