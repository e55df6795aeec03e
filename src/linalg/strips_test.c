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

static void ask_slopes(gp_rng *rng, size_t lanes, size_t rows, size_t inner, size_t cols, const char *label)
{
    const size_t width = gp_strip_width(lanes, cols), n_x = inner + 1, ld_x = n_x + 2, ld_s = width + 3;
    double *A = random_doubles(rng, rows * inner), *W = random_doubles(rng, inner * cols);
    double *S = random_doubles(rng, rows * ld_s), *X = random_doubles(rng, rows * ld_x);
    double *got = random_doubles(rng, n_x * width), *want = doubles(n_x * width);
    double *packed = random_doubles(rng, inner * width), *parts = doubles(rows * GP_STRIP_LANES + 1);
    double *sums = doubles(rows + 1), *got_sums = doubles(rows + 1);
    memcpy(want, got, n_x * width * sizeof *want);
    gp_strip_pack(lanes, gp_cmat_of(W, inner, cols), packed);
    gp_strip_add_slopes(lanes, &(gp_strip_slopes){.A = gp_cmat_of(A, rows, inner),
                                                  .W = packed,
                                                  .S = {S, rows, cols, ld_s},
                                                  .X = {X, rows, n_x, ld_x},
                                                  .XH = {got, n_x, cols, width},
                                                  .row_sums = parts});
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < cols; j++) {
            double h = 0;
            for (size_t k = 0; k < inner; k++) h += A[i * inner + k] * W[k * cols + j];
            h *= S[i * ld_s + j];
            sums[i] += h;
            for (size_t k = 0; k < n_x; k++) want[k * width + j] += X[i * ld_x + k] * h;
        }
        for (size_t l = 0; l < GP_STRIP_LANES; l++) got_sums[i] += parts[i * GP_STRIP_LANES + l];
    }
    CHECK_ARRAY(n_x * width, want, got, 1e-12, label);
    CHECK_ARRAY(rows, sums, got_sums, 1e-12, label);
    free(A), free(W), free(S), free(X), free(got), free(want), free(packed), free(parts), free(sums), free(got_sums);
}

static void slopes_and_their_sums_are_right_for_any_size(void **state)
{
    (void)state;
    ask_sizes(ask_slopes);
}

static float *random_floats(gp_rng *rng, size_t n)
{
    float *p = calloc(n + 1, sizeof *p);
    assert_non_null(p);
    for (size_t i = 0; i < n; i++) p[i] = (float)gp_rng_normal(rng);
    return p;
}

// Of vectors of twice as many floats, against sums in double of the same numbers.
static void ask_slopes_in_single(gp_rng *rng, size_t lanes, size_t rows, size_t inner, size_t cols, const char *label)
{
    const size_t width = gp_strip_width(2 * lanes, cols), n_x = inner + 1, ld_x = n_x + 2, ld_s = width + 3;
    float *A = random_floats(rng, rows * inner), *S = random_floats(rng, rows * ld_s);
    float *X = random_floats(rng, rows * ld_x), *got = random_floats(rng, n_x * width);
    float *packed = random_floats(rng, inner * width), *parts = calloc(rows * GP_STRIP_LANES32 + 1, sizeof *parts);
    double *W = random_doubles(rng, inner * cols), *want = doubles(n_x * width), *got_wide = doubles(n_x * width);
    double *sums = doubles(rows + 1), *got_sums = doubles(rows + 1);
    assert_non_null(parts);
    for (size_t i = 0; i < inner * cols; i++) W[i] = (float)W[i];
    for (size_t i = 0; i < n_x * width; i++) want[i] = got[i];
    gp_strip_pack32(2 * lanes, gp_cmat_of(W, inner, cols), packed);
    gp_strip_add_slopes32(2 * lanes, &(gp_strip_slopes32){.A = {A, rows, inner, inner},
                                                          .W = packed,
                                                          .S = {S, rows, cols, ld_s},
                                                          .X = {X, rows, n_x, ld_x},
                                                          .XH = {got, n_x, cols, width},
                                                          .row_sums = parts});
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < cols; j++) {
            double h = 0;
            for (size_t k = 0; k < inner; k++) h += A[i * inner + k] * W[k * cols + j];
            h *= S[i * ld_s + j];
            sums[i] += h;
            for (size_t k = 0; k < n_x; k++) want[k * width + j] += X[i * ld_x + k] * h;
        }
        for (size_t l = 0; l < 2 * lanes; l++) got_sums[i] += parts[i * GP_STRIP_LANES32 + l];
    }
    for (size_t i = 0; i < n_x * width; i++) got_wide[i] = got[i];
    CHECK_ARRAY(n_x * width, want, got_wide, 2e-5, label);
    CHECK_ARRAY(rows, sums, got_sums, 2e-5, label);
    free(A), free(W), free(S), free(X), free(got), free(want), free(packed), free(parts), free(sums), free(got_sums);
    free(got_wide);
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
