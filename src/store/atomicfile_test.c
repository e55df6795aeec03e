// atomicfile_test.c: a file appears whole or not at all, whatever goes wrong.
#define _DEFAULT_SOURCE // mount flags are not POSIX
#include "store/atomicfile.h"

#include "base/alloc.h"
#include "store/scratch_test.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/mount.h>

#include <cmocka.h>

// Writes n bytes in pieces of unequal size, then commits.
static advgp_status write_pattern(const char *path, size_t n, advgp_error *err)
{
    gp_atomicfile *file;
    advgp_status st = gp_atomicfile_open(path, &file, err);
    if (st != ADVGP_OK) return st;
    char piece[100000];
    for (size_t i = 0; i < sizeof piece; i++) piece[i] = (char)(i * 31 % 251);
    for (size_t at = 0, k = 1; at < n && st == ADVGP_OK; k = k * 7 % sizeof piece + 1) {
        size_t part = n - at < k ? n - at : k;
        st = gp_atomicfile_write(file, piece, part, err);
        at += part;
    }
    if (st == ADVGP_OK) return gp_atomicfile_commit(file, err);
    gp_atomicfile_abandon(file);
    return st;
}

static size_t size_of(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 ? (size_t)about.st_size : SIZE_MAX;
}

static void a_file_appears_whole(void **state)
{
    (void)state;
    const char *path = scratch_path("a");
    static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 1000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        advgp_error err = {0};
        if (write_pattern(path, sizes[i], &err) != ADVGP_OK) fail_msg("%s", err.text);
        assert_int_equal(size_of(path), sizes[i]);
        assert_int_equal(scratch_count(), 1);
    }
    unlink(path);
}

static mode_t mode_of(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 ? about.st_mode & 07777 : 0;
}

static void a_private_file_is_its_owners_whatever_was_there(void **state)
{
    (void)state;
    const char *path = scratch_path("secret");
    gp_atomicfile *file;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(gp_atomicfile_open_private(path, &file, NULL), ADVGP_OK);
        assert_int_equal(mode_of(gp_atomicfile_temporary(file)), 0600); // at every moment
        assert_int_equal(gp_atomicfile_write(file, "key", 3, NULL), ADVGP_OK);
        assert_int_equal(gp_atomicfile_commit(file, NULL), ADVGP_OK);
        assert_int_equal(mode_of(path), 0600);
        assert_int_equal(chmod(path, 0666), 0);
    }
    unlink(path);
}

static void a_secret_goes_into_no_link_and_no_pipe(void **state)
{
    (void)state;
    char link[PATH_MAX], thesis[PATH_MAX], bytes[16];
    snprintf(thesis, sizeof thesis, "%s", scratch_path("thesis"));
    snprintf(link, sizeof link, "%s", scratch_path("link"));
    scratch_save(thesis, "one", 3);
    gp_atomicfile *file;
    advgp_error err = {0};
    assert_int_equal(symlink(thesis, link), 0);
    assert_int_equal(gp_atomicfile_open_private(link, &file, &err), ADVGP_EINVAL);
    assert_non_null(strstr(err.text, "a link"));
    assert_int_equal(unlink(link), 0);
    assert_int_equal(mkfifo(link, 0600), 0);
    assert_int_equal(gp_atomicfile_open_private(link, &file, &err), ADVGP_EINVAL); // and does not wait for a reader
    assert_int_equal(scratch_load(thesis, bytes, sizeof bytes), 3);
    unlink(link), unlink(thesis);
}

static void a_new_file_replaces_nothing(void **state)
{
    (void)state;
    const char *path = scratch_path("new");
    char bytes[16];
    gp_atomicfile *file;
    advgp_error err = {0};
    assert_int_equal(gp_atomicfile_open(path, &file, NULL), ADVGP_OK);
    assert_int_equal(gp_atomicfile_write(file, "one", 3, NULL), ADVGP_OK);
    assert_int_equal(gp_atomicfile_commit_new(file, &err), ADVGP_OK);
    assert_int_equal(scratch_count(), 1);
    assert_int_equal(gp_atomicfile_open(path, &file, NULL), ADVGP_OK);
    assert_int_equal(gp_atomicfile_write(file, "two", 3, NULL), ADVGP_OK);
    assert_int_equal(gp_atomicfile_commit_new(file, &err), ADVGP_EINVAL);
    assert_non_null(strstr(err.text, "exists already"));
    assert_int_equal(scratch_load(path, bytes, sizeof bytes), 3);
    assert_memory_equal(bytes, "one", 3);
    assert_int_equal(scratch_count(), 1);
    unlink(path);
}

static void an_abandoned_file_leaves_the_old_one(void **state)
{
    (void)state;
    const char *path = scratch_path("a");
    scratch_save(path, "old", 3);
    gp_atomicfile *file;
    assert_int_equal(gp_atomicfile_open(path, &file, NULL), ADVGP_OK);
    assert_int_equal(gp_atomicfile_write(file, "new text", 8, NULL), ADVGP_OK);
    assert_int_equal(scratch_count(), 2);
    gp_atomicfile_abandon(file);
    gp_atomicfile_abandon(NULL);
    char text[10];
    assert_int_equal(scratch_load(path, text, sizeof text), 3);
    assert_memory_equal(text, "old", 3);
    assert_int_equal(scratch_count(), 1);
    unlink(path);
}

static void a_disk_that_fills_up_at_any_byte_changes_nothing(void **state)
{
    (void)state;
    const char *path = scratch_path("a");
    scratch_save(path, "old", 3);
    for (rlim_t limit = 0; limit < 200000; limit = limit * 2 + 1) {
        advgp_error err = {0};
        scratch_limit(limit);
        advgp_status st = write_pattern(path, 200000, &err);
        scratch_limit(RLIM_INFINITY);
        assert_int_equal(st, ADVGP_EIO);
        assert_non_null(strstr(err.text, path));
        assert_non_null(strstr(err.text, "File too large"));
        assert_int_equal(size_of(path), 3);
        assert_int_equal(scratch_count(), 1);
    }
    unlink(path);
}

static void a_full_disk_is_told(void **state)
{
    (void)state;
    advgp_error err = {0};
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(write_pattern("/dev/full", 10, &err), ADVGP_EIO);
        assert_string_equal(err.text, "cannot write /dev/full: No space left on device");
    }
    const char *disk = scratch_path("disk");
    assert_int_equal(mkdir(disk, 0700), 0);
    if (mount("tmpfs", disk, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k") != 0) {
        print_message("skipped on a small tmpfs: cannot mount one (%s)\n", strerror(errno));
        rmdir(disk);
        skip();
    }
    char path[200];
    snprintf(path, sizeof path, "%s/a", disk);
    advgp_status small = write_pattern(path, 1000, &err), large = write_pattern(path, 100000, &err);
    size_t left = size_of(path);
    umount(disk);
    rmdir(disk);
    assert_int_equal(small, ADVGP_OK);
    assert_int_equal(large, ADVGP_EIO);
    assert_non_null(strstr(err.text, "No space left on device"));
    assert_int_equal(left, 1000);
}

static void targets_that_cannot_be_written_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *path, *message;
    } cases[] = {{"no/such/folder/a", "cannot write no/such/folder/a: No such file or directory"},
                 {"/", "cannot write /: Is a directory"},
                 {"/dev/null/a", "cannot write /dev/null/a: Not a directory"},
                 {"", "a file to write needs a name"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        advgp_error err = {0};
        gp_atomicfile *file;
        assert_int_not_equal(gp_atomicfile_open(cases[i].path, &file, &err), ADVGP_OK);
        assert_null(file);
        assert_string_equal(err.text, cases[i].message);
    }
}

static void a_device_is_written_and_stays(void **state)
{
    (void)state;
    struct stat about;
    assert_int_equal(write_pattern("/dev/null", 100000, NULL), ADVGP_OK);
    assert_int_equal(stat("/dev/null", &about), 0);
    assert_true(S_ISCHR(about.st_mode));
}

static void links_are_followed_and_permissions_kept(void **state)
{
    (void)state;
    const char *path = scratch_path("real"), *link = scratch_path("link");
    scratch_save(path, "old", 3);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink("real", link), 0);
    assert_int_equal(write_pattern(link, 50, NULL), ADVGP_OK);
    struct stat about;
    assert_int_equal(lstat(link, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_size, 50);
    assert_int_equal(about.st_mode & 07777, 0640);
    unlink(link);
    unlink(path);
}

static void another_writer_may_fill_the_temporary_file(void **state)
{
    (void)state;
    const char *path = scratch_path("a");
    gp_atomicfile *file;
    assert_int_equal(gp_atomicfile_open(path, &file, NULL), ADVGP_OK);
    scratch_save(gp_atomicfile_temporary(file), "by path", 7);
    assert_int_equal(gp_atomicfile_commit(file, NULL), ADVGP_OK);
    assert_int_equal(size_of(path), 7);
    assert_int_equal(scratch_count(), 1);
    unlink(path);
}

static void memory_may_end_at_any_call(void **state)
{
    (void)state;
    const char *path = scratch_path("a");
    advgp_status st = ADVGP_ENOMEM;
    for (long calls = 0; st != ADVGP_OK && calls < 100; calls++) {
        long live = gp_alloc_count().live;
        gp_alloc_fail_after(calls);
        st = write_pattern(path, 100, NULL);
        gp_alloc_fail_after(-1);
        assert_true(st == ADVGP_OK || st == ADVGP_ENOMEM);
        assert_int_equal(gp_alloc_count().live, live);
        assert_int_equal(scratch_count(), st == ADVGP_OK);
    }
    assert_int_equal(st, ADVGP_OK);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_appears_whole),
        cmocka_unit_test(a_private_file_is_its_owners_whatever_was_there),
        cmocka_unit_test(a_secret_goes_into_no_link_and_no_pipe),
        cmocka_unit_test(a_new_file_replaces_nothing),
        cmocka_unit_test(an_abandoned_file_leaves_the_old_one),
        cmocka_unit_test(a_disk_that_fills_up_at_any_byte_changes_nothing),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(targets_that_cannot_be_written_are_named),
        cmocka_unit_test(a_device_is_written_and_stays),
        cmocka_unit_test(links_are_followed_and_permissions_kept),
        cmocka_unit_test(another_writer_may_fill_the_temporary_file),
        cmocka_unit_test(memory_may_end_at_any_call),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
