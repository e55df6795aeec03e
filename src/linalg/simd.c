// simd.c: what the CPU has, asked once before main.
#include "linalg/simd.h"

gp_simd gp_simd_now;

gp_simd gp_simd_best(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return GP_SIMD_PLAIN;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return GP_SIMD_AVX512;
    return GP_SIMD_AVX2;
#else
    return GP_SIMD_PLAIN;
#endif
}

__attribute__((constructor)) static void choose(void)
{
    gp_simd_now = gp_simd_best();
}

void gp_simd_limit(gp_simd highest)
{
    const gp_simd best = gp_simd_best();
    gp_simd_now = highest < best ? highest : best;
}

const char *gp_simd_name(gp_simd level)
{
    static const char *const names[] = {
        [GP_SIMD_PLAIN] = "baseline", [GP_SIMD_AVX2] = "avx2", [GP_SIMD_AVX512] = "avx512"};
    return names[level];
}
