// temporary_test.c: what is told is removed, what is dropped stays.
#include "base/temporary.h"
#include "fixture.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];

static const char *name_in(const char *name)
{
    static char paths[4][128];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void touch(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/advgp-temporary-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void files_and_folders_are_removed_and_what_was_dropped_stays(void **state)
{
    (void)state;
    touch(name_in("file"));
    touch(name_in("stays"));
    assert_int_equal(mkdir(name_in("d"), 0700), 0);
    for (int i = 0; i < 300; i++) { // more than one look at the folder gives
        char name[64];
        snprintf(name, sizeof name, "d/a-rather-long-name-%d", i);
        touch(name_in(name));
    }
    const int file = gp_temporary_add(name_in("file")), stays = gp_temporary_add(name_in("stays")),
              dir = gp_temporary_add(name_in("d")), absent = gp_temporary_add(name_in("absent"));
    gp_temporary_drop(stays);
    gp_temporary_remove_all();
    assert_int_equal(access(name_in("file"), F_OK), -1);
    assert_int_equal(access(name_in("d"), F_OK), -1);
    assert_int_equal(unlink(name_in("stays")), 0);
    gp_temporary_drop(file);
    gp_temporary_drop(dir);
    gp_temporary_drop(absent);
}

static void too_many_and_too_long_are_no_failure(void **state)
{
    (void)state;
    int tickets[300];
    char *name = calloc(1, 5001);
    assert_non_null(name);
    memset(name, 'x', 5000);
    assert_int_equal(gp_temporary_add(name), GP_NOT_TEMPORARY);
    free(name);
    for (int i = 0; i < 300; i++) tickets[i] = gp_temporary_add(name_in("absent"));
    assert_int_equal(tickets[299], GP_NOT_TEMPORARY);
    for (int i = 0; i < 300; i++) gp_temporary_drop(tickets[i]);
    const int again = gp_temporary_add(name_in("absent"));
    assert_int_not_equal(again, GP_NOT_TEMPORARY);
    gp_temporary_drop(again);
}

static void remove_and_die(int number)
{
    gp_temporary_remove_all();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void a_signal_handler_may_do_it(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGTERM, remove_and_die);
        (void)gp_temporary_add(name_in("file"));
        touch(name_in("file"));
        (void)raise(SIGTERM);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_int_equal(access(name_in("file"), F_OK), -1);
}

static void a_folder_of_ones_own_is_ours_alone(void **state)
{
    (void)state;
    char path[PATH_MAX];
    struct stat about;
    advgp_error err = {0};
    unsetenv("XDG_RUNTIME_DIR");
    assert_true(gp_temporary_make_folder(folder, "mine", path, sizeof path));
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0700);
    char mine[PATH_MAX];
    memcpy(mine, path, sizeof mine);
    setenv("TMPDIR", mine, 1);
    assert_int_equal(gp_temporary_own_folder(path, sizeof path, &err), ADVGP_OK);
    assert_string_equal(path, mine);
    assert_int_equal(chmod(mine, 0755), 0); // one that others may look into is passed over
    if (gp_temporary_own_folder(path, sizeof path, &err) == ADVGP_OK) assert_string_not_equal(path, mine);
    unsetenv("TMPDIR");
    assert_int_equal(rmdir(mine), 0);
    assert_false(gp_temporary_make_folder("/dev/null", "mine", path, sizeof path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_and_folders_are_removed_and_what_was_dropped_stays),
        cmocka_unit_test(too_many_and_too_long_are_no_failure),
        cmocka_unit_test(a_signal_handler_may_do_it),
        cmocka_unit_test(a_folder_of_ones_own_is_ours_alone),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
