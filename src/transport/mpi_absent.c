// mpi_absent.c: instead of mpi.c where advgp is built without MPI: every call says how to get it.
#include "transport/launch.h"
#include "transport/mpi.h"

#define HOW "install libopenmpi-dev, configure and build again"

bool gp_mpi_launched(void)
{
    return gp_launch_read().meets;
}

advgp_status gp_mpi_open(const gp_mpi_options *options, gp_endpoint **out, gp_ranks *place, advgp_error *err)
{
    (void)options, (void)place;
    *out = NULL;
    return gp_fail(err, ADVGP_EINVAL, "this advgp was built without MPI: " HOW);
}

void gp_mpi_lost(gp_endpoint *endpoint)
{
    (void)endpoint;
}

bool gp_mpi_must_exit_hard(void)
{
    return false;
}

static advgp_status enter(size_t message_max, bool among, gp_endpoint **out, gp_ranks *place, advgp_error *err)
{
    (void)message_max, (void)among;
    return gp_mpi_open(NULL, out, place, err);
}

const gp_transport gp_transport_mpi = {.name = "mpi",
                                       .summary = "processes started by mpirun or srun --mpi=pmix",
                                       .ordered = true,
                                       .how = HOW,
                                       .enter = enter};
