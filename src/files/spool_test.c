// spool_test.c: a source that gives nothing, everything, or ends when it should.
#include "data/table_test.h"
#include "files/files.h"
#include "files/inputs.h"

#include <fcntl.h>
#include <sys/stat.h>

static int asked;

static int stop_at_the_third(void *ctx)
{
    (void)ctx;
    return ++asked >= 3;
}

static void the_copy_has_all_bytes_and_no_name(void **state)
{
    (void)state;
    char text[200001], again[200001];
    memset(text, 'x', sizeof text);
    const int fd = open(write_file("all", text, sizeof text), O_RDONLY);
    int copy = -1;
    ASSERT_OK(gp_spool(&(gp_spool_source){.fd = fd, .shown = "all", .temporary = folder}, &copy, err));
    assert_int_equal(pread(copy, again, sizeof again, 0), sizeof again);
    assert_memory_equal(text, again, sizeof text);
    struct stat about;
    assert_int_equal(fstat(copy, &about), 0);
    assert_int_equal(about.st_nlink, 0);
    close(copy);
    close(fd);
}

static void a_pipe_that_gives_nothing_can_be_stopped(void **state)
{
    (void)state;
    int ends[2], copy = 0;
    assert_int_equal(pipe(ends), 0);
    asked = 0;
    const gp_spool_source from = {.fd = ends[0], .shown = "the pipe", .temporary = folder, .stop = stop_at_the_third};
    ASSERT_FAILS(gp_spool(&from, &copy, err), ADVGP_ESTOPPED, "stopped while reading the pipe");
    assert_int_equal(copy, -1);
    close(ends[0]);
    close(ends[1]);
}

static void a_named_pipe_without_a_writer_can_be_stopped(void **state)
{
    (void)state;
    gp_source *source = NULL;
    const char *path = in_folder("fifo.csv");
    assert_int_equal(mkfifo(path, 0600), 0);
    asked = 0;
    const gp_file_options files = {.paths = &path, .n_paths = 1, .stop = stop_at_the_third};
    ASSERT_FAILS(gp_source_files_open(&files, NULL, &source, err), ADVGP_ESTOPPED, "stopped while reading");
    assert_null(source);
}

static void an_endless_source_meets_the_limit(void **state)
{
    (void)state;
    int copy = 0;
    const int fd = open("/dev/zero", O_RDONLY);
    ASSERT_FAILS(
        gp_spool(&(gp_spool_source){.fd = fd, .shown = "zeros", .temporary = folder, .limit_bytes = 3e6}, &copy, err),
        ADVGP_EDATA, "zeros gives more than 0.003 GB");
    assert_int_equal(copy, -1);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_copy_has_all_bytes_and_no_name),
        cmocka_unit_test(a_pipe_that_gives_nothing_can_be_stopped),
        cmocka_unit_test(a_named_pipe_without_a_writer_can_be_stopped),
        cmocka_unit_test(an_endless_source_meets_the_limit),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
