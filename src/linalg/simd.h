// simd.h: how one C loop serves several CPUs. A function marked GP_CLONES is compiled for each of them, and the loader
// picks the best once, at start. The loops themselves stay plain C that both compilers vectorise.
#pragma once

// x86-64-v3 is AVX2 with FMA. clang 14 compiles the clones but its resolver picks the plain one, so it is spared them.
#if defined(__x86_64__) && defined(__ELF__) && defined(__GNUC__) && !defined(__clang__) && !defined(GP_NO_CLONES)
#define GP_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define GP_CLONES
#endif
