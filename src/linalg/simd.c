// simd.c: what the CPU has and ADVGP_SIMD allows, asked once before main.
#include "linalg/simd.h"

#include "base/status.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

gp_simd gp_simd_now;

static const char *const names[] = {[GP_SIMD_PLAIN] = "sse", [GP_SIMD_AVX2] = "avx2", [GP_SIMD_AVX512] = "avx512"};

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

// The level that the environment names; *known is false where it names something else. Without a name, the highest.
static gp_simd asked(bool *known)
{
    const char *word = getenv("ADVGP_SIMD");
    *known = !word || !*word;
    for (int level = GP_SIMD_PLAIN; !*known && level <= GP_SIMD_AVX512; level++)
        if (strcmp(word, names[level]) == 0) return *known = true, (gp_simd)level;
    return GP_SIMD_AVX512;
}

__attribute__((constructor)) static void choose(void)
{
    bool known;
    gp_simd_limit(asked(&known)); // a wrong word is told by whoever can: gp_simd_check
}

advgp_status gp_simd_check(advgp_error *err)
{
    bool known;
    asked(&known);
    if (known) return ADVGP_OK;
    return gp_fail(err, ADVGP_EINVAL, "the environment has ADVGP_SIMD=%s; it takes sse, avx2 or avx512",
                   getenv("ADVGP_SIMD"));
}

void gp_simd_limit(gp_simd highest)
{
    const gp_simd best = gp_simd_best();
    gp_simd_now = highest < best ? highest : best;
}

const char *gp_simd_name(gp_simd level)
{
    return names[level];
}
