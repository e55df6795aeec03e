// place_test.c: what is read is known under any name; what is there stays unless it is of the kind.
#include "store/place.h"

#include "data/source.h"
#include "data/table_test.h"

#include <fcntl.h>
#include <sys/stat.h>

static const char model[] = "\x40\0\0\0\0\0\0\0{\"__metadata__\":{\"advgp\":\"{\\\"format\\\":1}\"}}";
static const char checkpoint[] = "\x40\0\0\0\0\0\0\0{\"__metadata__\":{\"advgp\":\"{\\\"checkpoint\\\": 3}\"}}";

static advgp_status check(const char *path, gp_written kind, bool force, const char *read, advgp_error *err)
{
    return gp_place_check(path, "{output}", kind, force, (gp_reads){.paths = &read, .n = 1}, err);
}

static void the_same_file_is_known_under_any_name(void **state)
{
    (void)state;
    const char *data = write_text("data.csv", "x,y,mean\n1,2,3\n");
    const char *soft = in_folder("soft.csv"), *hard = in_folder("hard.csv");
    char around[400], matching[400];
    snprintf(around, sizeof around, "%s/../%s/data.csv", folder, strrchr(folder, '/') + 1);
    snprintf(matching, sizeof matching, "%s/d*.csv", folder);
    assert_int_equal(symlink("data.csv", soft), 0);
    assert_int_equal(link(data, hard), 0);
    const char *const names[] = {data, soft, hard, around};
    const char *const reads[] = {data, soft, folder, matching};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < sizeof reads / sizeof *reads; k++)
            ASSERT_FAILS(check(names[i], GP_WRITTEN_TABLE, true, reads[k], err), ADVGP_EINVAL,
                         "would overwrite what is read");
    ASSERT_OK(check(in_folder("new.csv"), GP_WRITTEN_TABLE, false, folder, err)); // not there: not read
    ASSERT_OK(check(in_folder("new.csv"), GP_WRITTEN_TABLE, false, "nowhere.csv", err));
    ASSERT_OK(check(in_folder("new.csv"), GP_WRITTEN_TABLE, false, NULL, err));
    unlink(soft);
    unlink(hard);
}

static void standard_input_and_output_are_files_too(void **state)
{
    (void)state;
    const char *data = write_text("in.csv", "x,mean\n1,2\n");
    const int in = dup(STDIN_FILENO), out = dup(STDOUT_FILENO), fd = open(data, O_RDWR);
    assert_true(dup2(fd, STDIN_FILENO) == STDIN_FILENO);
    advgp_error one = {0}, two = {0};
    const advgp_status onto = check(data, GP_WRITTEN_TABLE, true, "-", &one);
    (void)fflush(stdout);
    assert_true(dup2(in, STDIN_FILENO) == STDIN_FILENO && dup2(fd, STDOUT_FILENO) == STDOUT_FILENO);
    const advgp_status from = check("-", GP_WRITTEN_TABLE, true, data, &two);
    assert_true(dup2(out, STDOUT_FILENO) == STDOUT_FILENO);
    assert_int_equal(onto, ADVGP_EINVAL);
    assert_int_equal(from, ADVGP_EINVAL);
    assert_non_null(strstr(two.text, "standard output would overwrite"));
    close(fd);
    close(in);
    close(out);
}

static void what_is_there_is_replaced_by_its_like_or_by_force(void **state)
{
    (void)state;
    static const char *const files[] = {"m", "c", "l", "t.csv", "diary.txt"}; // in the order of gp_written
    write_file("m", model, sizeof model);
    write_file("c", checkpoint, sizeof checkpoint);
    write_text("l", "{\"event\":\"manifest\"}\n");
    write_text("t.csv", "id,mean,sd_f\n1,2,3\n");
    write_text("diary.txt", "Monday,it rained\n");
    for (gp_written kind = GP_WRITTEN_MODEL; kind <= GP_WRITTEN_TABLE; kind++) {
        for (int i = 0; i < 5; i++) {
            if (i == (int)kind)
                ASSERT_OK(check(in_folder(files[i]), kind, false, NULL, err));
            else
                ASSERT_FAILS(check(in_folder(files[i]), kind, false, NULL, err), ADVGP_EINVAL, "{force}");
            ASSERT_OK(check(in_folder(files[i]), kind, true, NULL, err));
        }
        ASSERT_OK(check(write_text("empty", ""), kind, false, NULL, err));
        ASSERT_OK(check("/dev/null", kind, false, NULL, err));
        ASSERT_FAILS(check(in_folder("no/such"), kind, false, NULL, err), ADVGP_EIO, "No such file");
    }
}

static void a_packed_folder_is_read_as_a_whole(void **state)
{
    (void)state;
    const char *dir = in_folder("packed");
    assert_int_equal(mkdir(dir, 0700), 0);
    const char *manifest = write_text("packed/manifest.json", "{\"format\":\"advgp-packed\"}");
    const char *other = in_folder("other");
    assert_int_equal(mkdir(other, 0700), 0);
    ASSERT_FAILS(gp_place_check_folder(dir, "{output}", (gp_reads){.paths = &dir, .n = 1}, err), ADVGP_EINVAL,
                 "what is read");
    ASSERT_FAILS(gp_place_check_folder(dir, "{output}", (gp_reads){.paths = &manifest, .n = 1}, err), ADVGP_EINVAL,
                 "what is read");
    ASSERT_OK(gp_place_check_folder(other, "{output}", (gp_reads){.paths = &manifest, .n = 1}, err));
    ASSERT_OK(gp_place_check_folder(in_folder("new"), "{output}", (gp_reads){.paths = &dir, .n = 1}, err));
}

static void two_names_of_one_file_are_one(void **state)
{
    (void)state;
    char around[400];
    snprintf(around, sizeof around, "%s/../%s/never", folder, strrchr(folder, '/') + 1);
    assert_true(gp_place_same(in_folder("never"), around));
    assert_false(gp_place_same(in_folder("never"), in_folder("ever")));
    const char *there = write_text("there", "x");
    assert_false(gp_place_same(there, around));
    assert_true(gp_place_same(there, there));
    assert_false(gp_place_same("here", "/here"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_file_is_known_under_any_name),
        cmocka_unit_test(standard_input_and_output_are_files_too),
        cmocka_unit_test(what_is_there_is_replaced_by_its_like_or_by_force),
        cmocka_unit_test(a_packed_folder_is_read_as_a_whole),
        cmocka_unit_test(two_names_of_one_file_are_one),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
