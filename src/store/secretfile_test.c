// secretfile_test.c: a file that changes between being opened and being read, which a network disk shows as ESTALE.
// What is asked of owners and modes is tested with keys and rendezvous.
#define _GNU_SOURCE // RTLD_NEXT
#include "store/secretfile.h"

#include "store/scratch_test.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

// The network disk: these stand before those of the C library.
static int error_of_fstat, error_of_read;

int fstat(int fd, struct stat *about)
{
    errno = error_of_fstat;
    return error_of_fstat ? -1 : fstatat(fd, "", about, AT_EMPTY_PATH);
}

ssize_t read(int fd, void *to, size_t n)
{
    static ssize_t (*real)(int, void *, size_t);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "read");
    errno = error_of_read;
    return error_of_read ? -1 : real(fd, to, n);
}

static advgp_error said;

static advgp_status look(const char *path, bool *found)
{
    gp_secretfile file;
    said = (advgp_error){0};
    *found = false;
    const advgp_status st = gp_secretfile_read(path, "the file", &file, found, &said);
    if (st != ADVGP_OK || !*found) assert_null(file.text);
    gp_secretfile_fini(&file);
    return st;
}

static void a_file_that_is_being_replaced_is_not_there_yet(void **state)
{
    (void)state;
    const char *path = scratch_path("file");
    int *const errors[] = {&error_of_fstat, &error_of_read};
    bool found;
    scratch_save(path, "text", 4);
    chmod(path, 0600);
    for (size_t i = 0; i < 2; i++) {
        *errors[i] = ESTALE;
        assert_int_equal(look(path, &found), ADVGP_OK);
        assert_false(found);
        *errors[i] = EIO;
        assert_int_equal(look(path, &found), ADVGP_EFILE);
        assert_true(found && strstr(said.text, path));
        *errors[i] = 0;
        assert_int_equal(look(path, &found), ADVGP_OK);
        assert_true(found);
    }
}

static void a_file_that_is_shorter_than_it_was_is_not_there_yet(void **state)
{
    (void)state;
    const char *path = "/sys/devices/system/cpu/online"; // always said to have a page, and never has
    struct stat about;
    bool found;
    if (stat(path, &about) != 0 || about.st_size < 4096 || (about.st_mode & 022)) skip();
    assert_int_equal(look(path, &found), ADVGP_OK);
    assert_false(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_being_replaced_is_not_there_yet),
        cmocka_unit_test(a_file_that_is_shorter_than_it_was_is_not_there_yet),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
