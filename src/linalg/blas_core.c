// blas_core.c: cores of OpenBLAS by the vector instructions that they use.
#include "linalg/blas_core.h"
#include "linalg/simd.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

// A name that is in neither list is of an OpenBLAS that knows more than we do: it stays.
static const char *const without_avx2[] = {
    "Katmai", "Coppermine", "Northwood", "Prescott",   "Banias",      "Atom",         "Core2",
    "Penryn", "Dunnington", "Nehalem",   "Athlon",     "Opteron",     "Opteron_SSE3", "Barcelona",
    "Nano",   "Bobcat",     "Bulldozer", "Piledriver", "Steamroller", "Sandybridge",  NULL};
static const char *const with_avx2[] = {"Haswell", "Zen", "Excavator", NULL};

static bool is_among(const char *core, const char *const *names)
{
    while (*names && strcasecmp(core, *names) != 0) names++;
    return *names != NULL;
}

// Zen 4 does 512 bits in two halves: Haswell's and SkylakeX's products are as fast on it (52 GFLOP/s each, where
// Prescott's have 21), and which of the two OpenBLAS takes is no mistake.
static bool has_halved_avx512(void)
{
#ifdef __x86_64__
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(0, &a, &b, &c, &d) || b != signature_AMD_ebx) return false;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return false;
    return (a >> 8 & 15) + (a >> 20 & 255) == 0x19;
#else
    return false;
#endif
}

const char *gp_blas_core_above(const char *core)
{
    const gp_simd cpu = gp_simd_best();
    if (cpu == GP_SIMD_AVX512 && (is_among(core, without_avx2) || (is_among(core, with_avx2) && !has_halved_avx512())))
        return "SkylakeX";
    return cpu == GP_SIMD_AVX2 && is_among(core, without_avx2) ? "Haswell" : NULL;
}

// What the environment said when OpenBLAS was loaded with us: Python takes it back afterwards.
static char was[32], pretended[32];
static bool is_set;

static void keep(const char *variable, char *to, size_t room)
{
    const char *value = getenv(variable);
    if (value && strlen(value) < room) memcpy(to, value, strlen(value) + 1);
}

__attribute__((constructor)) static void remember(void)
{
    const char *set = getenv(GP_CORE_VARIABLE);
    is_set = set && *set;
    keep(GP_CORE_WAS_VARIABLE, was, sizeof was);
    // For tests: as if OpenBLAS, left to itself, had chosen this one.
    if (!is_set) keep("ADVGP_TEST_CORE", pretended, sizeof pretended);
}

gp_blas_core gp_blas_core_now(void)
{
    const char *name = *pretended ? pretended : openblas_get_corename();
    const bool is_ours = is_set && *was, can_choose = strstr(openblas_get_config(), "DYNAMIC_ARCH") != NULL;
    return (gp_blas_core){.name = name,
                          .was = is_ours ? was : NULL,
                          .better = can_choose ? gp_blas_core_above(name) : NULL,
                          .by_user = is_set && !is_ours};
}
