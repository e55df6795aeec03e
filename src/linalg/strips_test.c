// strips_test.c: the products of strips.h against sums in order, for numbers of rows and columns around a tile and a
// strip, in vectors of four and of eight, at every level of vector instructions that this CPU has.
#include "fixture.h"
#include "linalg/simd.h"
#include "linalg/strips.h"

typedef void (*question)(gp_rng *rng, size_t lanes, size_t rows, size_t inner, size_t cols, const char *label);

static void ask_sizes(question ask)
{
    static const size_t some_cols[] = {1, 3, 4, 5, 8, 9, 11, 12, 13, 17, 20, 24, 25, 31, 33, 41, 48, 50, 57};
    static const size_t some_rows[] = {0, 1, 3, 4, 6, 11, 12, 13, 29};
    for (int level = GP_SIMD_PLAIN; level <= (int)gp_simd_best(); level++) {
        gp_simd_limit((gp_simd)level);
        gp_rng rng = gp_rng_seeded(7, (uint64_t)level);
        for (size_t lanes = 4; lanes <= 8; lanes += 4)
            for (size_t r = 0; r < sizeof some_rows / sizeof *some_rows; r++)
                for (size_t c = 0; c < sizeof some_cols / sizeof *some_cols; c++)
                    ask(&rng, lanes, some_rows[r], c % 5, some_cols[c], gp_simd_name((gp_simd)level));
    }
    gp_simd_limit(GP_SIMD_AVX512);
}

static double *random_doubles(gp_rng *rng, size_t n)
{
    double *p = doubles(n + 1);
    for (size_t i = 0; i < n; i++) p[i] = gp_rng_normal(rng);
    return p;
}

static void ask_gram(gp_rng *rng, size_t lanes, size_t rows, size_t inner, size_t cols, const char *label)
{
    const size_t width = gp_strip_width(lanes, cols), ld_a = cols + inner, ld = width + inner;
    double *A = random_doubles(rng, rows * ld_a), *packed = random_doubles(rng, rows * width);
    double *got = random_doubles(rng, width * ld), *want = doubles(width * ld);
    memcpy(want, got, width * ld * sizeof *want);
    gp_strip_pack(lanes, (gp_cmat){A, rows, cols, ld_a}, packed);
    gp_strip_gram(lanes, rows, cols, packed, (gp_mat){got, width, width, ld});
    for (size_t i = 0; i < width; i++)
        for (size_t j = 0; j < ld; j++) {
            double *w = &want[i * ld + j];
            for (size_t r = 0; i < cols && j < cols && r < rows; r++) *w += A[r * ld_a + i] * A[r * ld_a + j];
            if (j < i) got[i * ld + j] = *w; // of the lower part nothing is said
        }
    CHECK_ARRAY(width * ld, want, got, 1e-13, label);
    free(A), free(packed), free(got), free(want);
}

static void a_gram_matrix_of_any_size_is_right_and_nothing_beside_it_is_touched(void **state)
{
    (void)state;
    ask_sizes(ask_gram);
}

// H = (A W) o S and its sums, in order.
typedef struct product {
    size_t rows, inner, cols, width, n_x, ld_x, ld_s;
    double *A, *W, *S, *X, *XH; // XH: before
    double *want, *sums;        // X^T H added to it, and the sums of the rows of H
} product;

// Of random numbers that a float can tell, where `single`.
static product product_of(gp_rng *rng, size_t lanes, size_t rows, size_t inner, size_t cols, bool single)
{
    product p = {.rows = rows, .inner = inner, .cols = cols, .width = gp_strip_width(lanes, cols), .n_x = inner + 1};
    p.ld_x = p.n_x + 2, p.ld_s = p.width + 3;
    const size_t sizes[] = {rows * inner, inner * cols, rows * p.ld_s, rows * p.ld_x, p.n_x * p.width};
    double **arrays[] = {&p.A, &p.W, &p.S, &p.X, &p.XH};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        *arrays[k] = random_doubles(rng, sizes[k]);
        for (size_t i = 0; single && i < sizes[k]; i++) (*arrays[k])[i] = (float)(*arrays[k])[i];
    }
    p.want = doubles(p.n_x * p.width), p.sums = doubles(rows + 1);
    memcpy(p.want, p.XH, p.n_x * p.width * sizeof *p.want);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            double h = 0;
            for (size_t k = 0; k < inner; k++) h += p.A[i * inner + k] * p.W[k * cols + j];
            h *= p.S[i * p.ld_s + j];
            p.sums[i] += h;
            for (size_t k = 0; k < p.n_x; k++) p.want[k * p.width + j] += p.X[i * p.ld_x + k] * h;
        }
    return p;
}

static void product_free(product *p)
{
    free(p->A), free(p->W), free(p->S), free(p->X), free(p->XH), free(p->want), free(p->sums);
}

static void ask_slopes(gp_rng *rng, size_t lanes, size_t rows, size_t inner, size_t cols, const char *label)
{
    product p = product_of(rng, lanes, rows, inner, cols, false);
    double *packed = random_doubles(rng, inner * p.width), *parts = doubles(rows * GP_STRIP_LANES + 1);
    double *sums = doubles(rows + 1);
    gp_strip_pack(lanes, gp_cmat_of(p.W, inner, cols), packed);
    gp_strip_add_slopes(lanes, &(gp_strip_slopes){.A = gp_cmat_of(p.A, rows, inner),
                                                  .W = packed,
                                                  .S = {p.S, rows, cols, p.ld_s},
                                                  .X = {p.X, rows, p.n_x, p.ld_x},
                                                  .XH = {p.XH, p.n_x, cols, p.width},
                                                  .row_sums = parts});
    for (size_t i = 0; i < rows * GP_STRIP_LANES; i++) sums[i / GP_STRIP_LANES] += parts[i];
    CHECK_ARRAY(p.n_x * p.width, p.want, p.XH, 1e-12, label);
    CHECK_ARRAY(rows, p.sums, sums, 1e-12, label);
    free(packed), free(parts), free(sums);
    product_free(&p);
}

static void slopes_and_their_sums_are_right_for_any_size(void **state)
{
    (void)state;
    ask_sizes(ask_slopes);
}

static float *floats_of(const double *x, size_t n)
{
    float *p = calloc(n + 1, sizeof *p);
    assert_non_null(p);
    for (size_t i = 0; x && i < n; i++) p[i] = (float)x[i];
    return p;
}

// Vectors of twice as many floats.
static void ask_slopes_in_single(gp_rng *rng, size_t lanes, size_t rows, size_t inner, size_t cols, const char *label)
{
    product p = product_of(rng, 2 * lanes, rows, inner, cols, true);
    float *A = floats_of(p.A, rows * inner), *S = floats_of(p.S, rows * p.ld_s), *X = floats_of(p.X, rows * p.ld_x);
    float *XH = floats_of(p.XH, p.n_x * p.width), *packed = floats_of(NULL, inner * p.width);
    float *parts = floats_of(NULL, rows * GP_STRIP_LANES32);
    double *sums = doubles(rows + 1);
    gp_strip_pack32(2 * lanes, gp_cmat_of(p.W, inner, cols), packed);
    gp_strip_add_slopes32(2 * lanes, &(gp_strip_slopes32){.A = {A, rows, inner, inner},
                                                          .W = packed,
                                                          .S = {S, rows, cols, p.ld_s},
                                                          .X = {X, rows, p.n_x, p.ld_x},
                                                          .XH = {XH, p.n_x, cols, p.width},
                                                          .row_sums = parts});
    for (size_t i = 0; i < rows * GP_STRIP_LANES32; i++) sums[i / GP_STRIP_LANES32] += parts[i];
    for (size_t i = 0; i < p.n_x * p.width; i++) p.XH[i] = XH[i];
    CHECK_ARRAY(p.n_x * p.width, p.want, p.XH, 2e-5, label);
    CHECK_ARRAY(rows, p.sums, sums, 2e-5, label);
    free(A), free(S), free(X), free(XH), free(packed), free(parts), free(sums);
    product_free(&p);
}

static void slopes_in_single_precision_are_right_for_any_size(void **state)
{
    (void)state;
    ask_sizes(ask_slopes_in_single);
}

static void what_is_nearly_zero_is_zero_in_single_precision(void **state)
{
    (void)state;
    const double in[2][3] = {{1, 1e-31, -1e-300}, {-2.5, 1e-29, -1e-39}};
    const float expected[2][4] = {{1, 0, 0, 7}, {-2.5f, 1e-29f, 0, 7}};
    for (int level = GP_SIMD_PLAIN; level <= (int)gp_simd_best(); level++) {
        float out[2][4] = {{9, 9, 9, 7}, {9, 9, 9, 7}};
        gp_simd_limit((gp_simd)level);
        gp_narrow(gp_cmat_of(in[0], 2, 3), (gp_mat32){out[0], 2, 4, 4});
        assert_memory_equal(out, expected, sizeof out);
    }
    gp_simd_limit(GP_SIMD_AVX512);
}

static void a_cpu_without_avx2_has_no_strips(void **state)
{
    (void)state;
    static const size_t lanes[] = {[GP_SIMD_PLAIN] = 0, [GP_SIMD_AVX2] = 4, [GP_SIMD_AVX512] = 8};
    for (int level = GP_SIMD_PLAIN; level <= (int)gp_simd_best(); level++) {
        gp_simd_limit((gp_simd)level);
        assert_int_equal(gp_strip_lanes(), lanes[level]);
    }
    gp_simd_limit(GP_SIMD_AVX512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gram_matrix_of_any_size_is_right_and_nothing_beside_it_is_touched),
        cmocka_unit_test(slopes_and_their_sums_are_right_for_any_size),
        cmocka_unit_test(slopes_in_single_precision_are_right_for_any_size),
        cmocka_unit_test(what_is_nearly_zero_is_zero_in_single_precision),
        cmocka_unit_test(a_cpu_without_avx2_has_no_strips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
