// simd.h: how one C loop serves several CPUs. GP_VARIANTS compiles a function for each level of vector instructions,
// and a call goes to the best that the CPU has. The loops themselves stay plain C, which gcc and clang vectorise alike.
//
//     GP_VARIANTS(scale, (size_t n, double by, double *x), (n, by, x))
//     {
//         for (size_t i = 0; i < n; i++) x[i] *= by;
//     }
//
// makes a static void scale(size_t n, double by, double *x). A sum keeps GP_LANES partial sums, so that its order is
// fixed. ADVGP_SIMD=sse, avx2 or avx512 in the environment holds all of them to that level, to see what another CPU
// would answer; sse is what every x86-64 has, and on other machines the only one.
#pragma once

#include "advgp.h"

typedef enum gp_simd { GP_SIMD_PLAIN, GP_SIMD_AVX2, GP_SIMD_AVX512 } gp_simd;

extern gp_simd gp_simd_now;                   // the level that calls take; set before main
gp_simd gp_simd_best(void);                   // that of this CPU
advgp_status gp_simd_check(advgp_error *err); // fails where ADVGP_SIMD names no level
void gp_simd_limit(gp_simd highest);          // as on a CPU that has no more. Not while others compute
const char *gp_simd_name(gp_simd level);

enum { GP_LANES = 8 };

#define GP_INLINE static inline __attribute__((always_inline))

// Before a loop over the registers of a tile: all of its turns, one after the other, or the tile would be in memory.
#ifdef __clang__
#define GP_UNROLL _Pragma("clang loop unroll(full)")
#else
#define GP_UNROLL _Pragma("GCC unroll 12")
#endif

#if defined(__x86_64__) && defined(__GNUC__)
#define GP_VARIANTS(name, parameters, arguments)                                                  \
    GP_INLINE void name##_loop parameters;                                                        \
    static void name##_plain parameters                                                           \
    {                                                                                             \
        name##_loop arguments;                                                                    \
    }                                                                                             \
    __attribute__((target("avx2,fma"))) static void name##_avx2 parameters                        \
    {                                                                                             \
        name##_loop arguments;                                                                    \
    }                                                                                             \
    __attribute__((target("avx512f,avx512dq,avx512vl,fma"))) static void name##_avx512 parameters \
    {                                                                                             \
        name##_loop arguments;                                                                    \
    }                                                                                             \
    static void name parameters                                                                   \
    {                                                                                             \
        if (gp_simd_now == GP_SIMD_AVX2)                                                          \
            name##_avx2 arguments;                                                                \
        else if (gp_simd_now == GP_SIMD_AVX512)                                                   \
            name##_avx512 arguments;                                                              \
        else                                                                                      \
            name##_plain arguments;                                                               \
    }                                                                                             \
    GP_INLINE void name##_loop parameters
#else
#define GP_VARIANTS(name, parameters, arguments) static void name parameters
#endif
