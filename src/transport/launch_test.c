// launch_test.c: every launcher we know is recognised, and worlds of one process among many are not taken for a run.
#include "fixture.h"
#include "transport/launch.h"

static const char *const variables[] = {
    "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "SLURM_NTASKS",
    "SLURM_STEP_ID",        "SLURM_STEP_NUM_TASKS"};

// "NAME=value NAME=value": these and none of the others.
static gp_launch launched_with(const char *settings)
{
    char text[256];
    snprintf(text, sizeof text, "%s", settings);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) unsetenv(variables[i]);
    for (char *rest = text, *one; (one = strtok_r(rest, " ", &rest));) {
        char *value = strchr(one, '=');
        *value++ = 0;
        setenv(one, value, 1);
    }
    return gp_launch_read();
}

static void each_launcher_is_recognised(void **state)
{
    (void)state;
    static const struct {
        const char *settings;
        gp_launch expected;
    } cases[] = {
        {"", {NULL, -1, -1, false}},
        {"OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=2 PMIX_RANK=2", {"mpirun", 2, 4, true}},
        {"PMI_SIZE=3 PMI_RANK=0", {"mpiexec", 0, 3, true}},
        {"PMIX_RANK=5", {"a launcher", 5, -1, true}},
        {"SLURM_PROCID=1 SLURM_NTASKS=8 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 PMIX_RANK=1", {"srun", 1, 4, true}},
        {"SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_STEP_ID=0 PMI_RANK=1 PMI_SIZE=4", {"srun", 1, 4, true}},
        {"SLURM_PROCID=1 SLURM_NTASKS=4", {"srun", 1, 4, false}},
        {"SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_STEP_NUM_TASKS=1", {"srun", 0, 4, false}}, // the script of a batch job
        // mpirun's daemons are tasks of a step of their own
        {"SLURM_PROCID=0 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 OMPI_COMM_WORLD_SIZE=9 OMPI_COMM_WORLD_RANK=8",
         {"mpirun", 8, 9, true}},
        {"OMPI_COMM_WORLD_SIZE=x OMPI_COMM_WORLD_RANK=", {"mpirun", -1, -1, true}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const gp_launch l = launched_with(cases[i].settings), e = cases[i].expected;
        CHECK((!l.by && !e.by) || (l.by && e.by && !strcmp(l.by, e.by)), cases[i].settings, "by %s", l.by);
        CHECK(l.rank == e.rank && l.size == e.size && l.meets == e.meets, cases[i].settings, "%d of %d, meets %d",
              (int)l.rank, (int)l.size, l.meets);
    }
}

static void worlds_of_one_are_refused_and_the_flag_is_named(void **state)
{
    (void)state;
    advgp_error err = {0};
    gp_launch l = launched_with("SLURM_PROCID=1 SLURM_NTASKS=4");
    assert_int_equal(gp_launch_check_before(&l, &err), ADVGP_EINVAL);
    assert_non_null(strstr(err.text, "srun started 4 tasks but MPI sees one process: use srun --mpi=pmix"));
    l = launched_with("SLURM_PROCID=1 SLURM_NTASKS=4 PMIX_RANK=1");
    CHECK_OK(gp_launch_check_before(&l, &err), "with PMIx");
    CHECK_OK(gp_launch_check_after(&l, 1, 4, "an MPI", &err), "with PMIx");
    assert_int_equal(gp_launch_check_after(&l, 0, 1, "an MPI", &err), ADVGP_EINVAL);
    assert_non_null(strstr(err.text, "--mpi=pmix"));

    l = launched_with("PMI_SIZE=3 PMI_RANK=1");
    CHECK_OK(gp_launch_check_before(&l, &err), "mpiexec");
    assert_int_equal(gp_launch_check_after(&l, 0, 1, "Pigeon MPI 2", &err), ADVGP_EINVAL);
    assert_non_null(strstr(err.text, "mpiexec started 3 processes but MPI sees one"));
    assert_non_null(strstr(err.text, "Pigeon MPI 2"));

    l = launched_with("");
    CHECK_OK(gp_launch_check_before(&l, &err), "by hand"); // a launcher we do not know may be there
    CHECK_OK(gp_launch_check_after(&l, 0, 2, "an MPI", &err), "by hand");
    assert_int_equal(gp_launch_check_after(&l, 0, 1, "an MPI", &err), ADVGP_EINVAL);
    assert_non_null(strstr(err.text, "mpirun -n N or srun --mpi=pmix -n N"));

    l = launched_with("OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=2");
    assert_int_equal(gp_launch_check_after(&l, 1, 4, "an MPI", &err), ADVGP_EINVAL);
    assert_int_equal(gp_launch_check_after(&l, 2, 3, "an MPI", &err), ADVGP_EINVAL);
    assert_non_null(strstr(err.text, "2 of 4"));
    l = launched_with("OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0");
    assert_int_equal(gp_launch_check_after(&l, 0, 1, "an MPI", &err), ADVGP_EINVAL);
    assert_non_null(strstr(err.text, "at least 2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_launcher_is_recognised),
        cmocka_unit_test(worlds_of_one_are_refused_and_the_flag_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
