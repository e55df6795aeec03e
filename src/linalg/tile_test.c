// tile_test.c: the products of tile.h against sums in order, for every number of rows and columns around a tile, at
// every level of vector instructions that this CPU has.
#include "fixture.h"
#include "linalg/simd.h"
#include "linalg/tile.h"

typedef void (*question)(gp_rng *rng, size_t rows, size_t inner, size_t cols, const char *label);

static void ask_sizes(question ask)
{
    for (int level = GP_SIMD_PLAIN; level <= (int)gp_simd_best(); level++) {
        gp_simd_limit((gp_simd)level);
        gp_rng rng = gp_rng_seeded(5, (uint64_t)level);
        for (size_t rows = 0; rows <= 13; rows++)
            for (size_t inner = 0; inner <= 12; inner += 3)
                for (size_t cols = 0; cols <= 17; cols++) ask(&rng, rows, inner, cols, gp_simd_name((gp_simd)level));
    }
    gp_simd_limit(GP_SIMD_AVX512);
}

static double *random_doubles(gp_rng *rng, size_t n)
{
    double *p = doubles(n + 1);
    for (size_t i = 0; i < n; i++) p[i] = gp_rng_normal(rng);
    return p;
}

static void ask_product(gp_rng *rng, size_t rows, size_t inner, size_t cols, const char *label)
{
    inner += 2;
    const size_t ld_a = inner + 2, ld_b = gp_tile_width(cols), ld_c = cols + 3;
    double *A = random_doubles(rng, rows * ld_a), *B = random_doubles(rng, inner * ld_b);
    for (size_t i = 0; i < rows; i++) A[i * ld_a] = 1;
    for (size_t j = 0; j < ld_b; j++) B[(inner - 1) * ld_b + j] = 1;
    double *got = random_doubles(rng, rows * ld_c), *want = doubles(rows * ld_c + 1);
    memcpy(want, got, rows * ld_c * sizeof *want); // what is beside the view stays
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            want[i * ld_c + j] = 0;
            for (size_t k = 0; k < inner; k++) want[i * ld_c + j] += A[i * ld_a + k] * B[k * ld_b + j];
        }
    gp_tile_product((gp_cmat){A, rows, inner, ld_a}, (gp_cmat){B, inner, cols, ld_b}, (gp_mat){got, rows, cols, ld_c});
    CHECK_ARRAY(rows * ld_c, want, got, 1e-14, label);
    free(A), free(B), free(got), free(want);
}

static void products_of_any_size_are_right_and_nothing_beside_them_is_touched(void **state)
{
    (void)state;
    ask_sizes(ask_product);
}

static void ask_dots(gp_rng *rng, size_t rows, size_t inner, size_t cols, const char *label)
{
    const size_t n = inner + cols, ld = n + 1;
    double *A = random_doubles(rng, rows * ld), *x = random_doubles(rng, n);
    double got[16], want[16] = {0}, alone;
    gp_tile_dots((gp_cmat){A, rows, n, ld}, x, got);
    for (size_t i = 0; i < rows; i++) {
        for (size_t k = 0; k < n; k++) want[i] += A[i * ld + k] * x[k];
        gp_tile_dots((gp_cmat){A + i * ld, 1, n, ld}, x, &alone);
        CHECK_BITS(1, &got[i], &alone, label); // whatever rows are beside it
    }
    CHECK_ARRAY(rows, want, got, 1e-13, label);
    free(A), free(x);
}

static void dots_of_any_size_are_right_whatever_rows_are_beside(void **state)
{
    (void)state;
    ask_sizes(ask_dots);
}

static void ask_squares(gp_rng *rng, size_t rows, size_t inner, size_t M, const char *label)
{
    for (int upper = 0; upper < 2; upper++) {
        const size_t n = upper ? M : inner;
        double *TT = random_doubles(rng, n * M), *A = random_doubles(rng, rows * n);
        double *packed = random_doubles(rng, gp_tile_packed(M, n, upper));
        double got[16], want[16] = {0}, alone;
        gp_tile_pack(gp_cmat_of(TT, n, M), upper, packed);
        gp_tile_squares(M, upper, packed, gp_cmat_of(A, rows, n), got);
        for (size_t i = 0; i < rows; i++) {
            for (size_t f = 0; f < M; f++) {
                double sum = 0;
                for (size_t j = upper ? f : 0; j < n; j++) sum += TT[j * M + f] * A[i * n + j];
                want[i] += sum * sum;
            }
            gp_tile_squares(M, upper, packed, gp_cmat_of(A + i * n, 1, n), &alone);
            CHECK_BITS(1, &got[i], &alone, label);
        }
        CHECK_ARRAY(rows, want, got, 1e-13, label);
        free(TT), free(A), free(packed);
    }
}

static void squares_of_any_size_are_right_triangular_or_not(void **state)
{
    (void)state;
    ask_sizes(ask_squares);
}

static void a_limit_is_no_more_than_the_cpu_has(void **state)
{
    (void)state;
    gp_simd_limit(GP_SIMD_AVX512);
    assert_int_equal(gp_simd_now, gp_simd_best());
    gp_simd_limit(GP_SIMD_PLAIN);
    assert_int_equal(gp_simd_now, GP_SIMD_PLAIN);
    gp_simd_limit(GP_SIMD_AVX512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_any_size_are_right_and_nothing_beside_them_is_touched),
        cmocka_unit_test(dots_of_any_size_are_right_whatever_rows_are_beside),
        cmocka_unit_test(squares_of_any_size_are_right_triangular_or_not),
        cmocka_unit_test(a_limit_is_no_more_than_the_cpu_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
