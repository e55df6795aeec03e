// launch.h: what the launcher of this process says of it in the environment, and whether MPI agrees.
#pragma once
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct gp_launch {
    const char *by;     // "mpirun", "srun", "a launcher"; NULL: the process was started by hand, as far as one can tell
    int64_t rank, size; // negative: not told
    bool meets;         // the processes can find each other: PMIx, PMI or Open MPI's own variables are there
} gp_launch;

gp_launch gp_launch_read(void);

// Slurm without the flag for PMIx: Open MPI would abort the process in MPI_Init, MPICH would start worlds of one.
advgp_status gp_launch_check_before(const gp_launch *launch, advgp_error *err);
// What MPI says must be what the launcher says, and there must be more than one process. library: MPI's own name.
advgp_status gp_launch_check_after(const gp_launch *launch, int64_t rank, int64_t size, const char *library,
                                   advgp_error *err);
