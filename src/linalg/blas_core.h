// blas_core.h: which of its cores OpenBLAS computes with. It knows CPUs by their model, and takes one that is younger
// than itself for something old: it then multiplies at a sixth of the rate. The variable OPENBLAS_CORETYPE, read when
// it is loaded, names another core; whoever can still load it once more sets it (cli/best_core.c,
// python/advgp/_library.py).
#pragma once
#include <stdbool.h>

#define GP_CORE_VARIABLE     "OPENBLAS_CORETYPE"
#define GP_CORE_WAS_VARIABLE "ADVGP_CORE_WAS" // by whoever sets that one: the core in whose place it stands

typedef struct gp_blas_core {
    const char *name;   // "SkylakeX"
    const char *was;    // the one that OpenBLAS had chosen, where this process was begun with another; else NULL
    const char *better; // one that uses more of this CPU; NULL: there is none, or OpenBLAS was built for one core
    bool by_user;       // OPENBLAS_CORETYPE was set, and not by us
} gp_blas_core;
gp_blas_core gp_blas_core_now(void);

// The core, which the CPU (gp_simd_best) could do better than; NULL: it could not.
const char *gp_blas_core_above(const char *core);
