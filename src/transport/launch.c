// launch.c: the variables of mpirun, PMI, PMIx and Slurm.
#include "transport/launch.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>

static int64_t number_in(const char *variable)
{
    const char *text = getenv(variable);
    int64_t number;
    return text && gp_text_integer(text, &number) ? number : -1;
}

// In a job step the number of its tasks; in the script of a batch job what the job asked for.
static int64_t slurm_tasks(void)
{
    const int64_t step = number_in("SLURM_STEP_NUM_TASKS");
    return getenv("SLURM_STEP_ID") && step > 0 ? step : number_in("SLURM_NTASKS");
}

// The most particular first: mpirun in a Slurm job leaves the variables of the step in which it started its daemons.
gp_launch gp_launch_read(void)
{
    const bool slurm = getenv("SLURM_PROCID");
    if (getenv("OMPI_COMM_WORLD_SIZE"))
        return (gp_launch){"mpirun", number_in("OMPI_COMM_WORLD_RANK"), number_in("OMPI_COMM_WORLD_SIZE"), true};
    if (getenv("PMI_RANK") || getenv("PMI_SIZE"))
        return (gp_launch){slurm ? "srun" : "mpiexec", number_in("PMI_RANK"), number_in("PMI_SIZE"), true};
    if (getenv("PMIX_RANK"))
        return (gp_launch){slurm ? "srun" : "a launcher", number_in("PMIX_RANK"), slurm ? slurm_tasks() : -1, true};
    if (slurm) return (gp_launch){"srun", number_in("SLURM_PROCID"), slurm_tasks(), false};
    return (gp_launch){NULL, -1, -1, false};
}

static advgp_status lacks_pmix(int64_t size, advgp_error *err)
{
    return gp_fail(err, ADVGP_EINVAL,
                   "srun started %" PRId64 " tasks but MPI sees one process: use srun --mpi=pmix (`srun --mpi=list` "
                   "tells what there is), or mpirun in the job",
                   size);
}

advgp_status gp_launch_check_before(const gp_launch *launch, advgp_error *err)
{
    return launch->by && !launch->meets && launch->size > 1 ? lacks_pmix(launch->size, err) : ADVGP_OK;
}

advgp_status gp_launch_check_after(const gp_launch *l, int64_t rank, int64_t size, const char *library,
                                   advgp_error *err)
{
    if (size == 1 && l->size > 1 && getenv("SLURM_PROCID") && !getenv("OMPI_COMM_WORLD_SIZE"))
        return lacks_pmix(l->size, err);
    if (size == 1 && l->size > 1)
        return gp_fail(err, ADVGP_EINVAL,
                       "%s started %" PRId64 " processes but MPI sees one: use the mpirun that belongs to %s", l->by,
                       l->size, library);
    if (size < 2)
        return gp_fail(err, ADVGP_EINVAL,
                       "MPI sees one process, and a server and a worker are two: start with mpirun -n N or srun "
                       "--mpi=pmix -n N, N at least 2");
    if ((l->rank >= 0 && l->rank != rank) || (l->size >= 0 && l->size != size))
        return gp_fail(err, ADVGP_EINVAL,
                       "%s calls this process %" PRId64 " of %" PRId64 ", MPI calls it %" PRId64 " of %" PRId64
                       ": unset variables of an outer mpirun or srun, or use the mpirun that belongs to %s",
                       l->by, l->rank, l->size, rank, size, library);
    return ADVGP_OK;
}
