// keys_test.c: folders of keys: what is made can be read, nothing is replaced, nothing is taken that others could have
// read or written.
#include "store/keys.h"

#include "base/alloc.h"
#include "store/scratch_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static const char *const files[] = {"server.key", "server.pub", "worker.key", "worker.pub", "allow"};
static const char z85_key[] = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"; // of the standard's own example

static int skip_without_zmq(void **state)
{
    (void)state;
    if (!gp_transport_zmq.available) skip();
    return 0;
}

static const char *in_folder(const char *dir, const char *name)
{
    static char paths[4][600];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

static void remove_folder(const char *dir)
{
    DIR *d = opendir(dir);
    if (!d) return;
    for (struct dirent *entry; (entry = readdir(d));) unlink(in_folder(dir, entry->d_name));
    closedir(d);
    assert_int_equal(rmdir(dir), 0);
}

static mode_t mode_of(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 ? about.st_mode & 07777 : 0;
}

static gp_keys_made make(const char *dir)
{
    advgp_error err = {0};
    gp_keys_made made;
    if (gp_keys_make(dir, &made, &err) != ADVGP_OK) fail_msg("%s", err.text);
    return made;
}

static advgp_error said;

// A failure of this status, with a text that has this in it.
#define SAYS(call, status, piece)                                                        \
    do {                                                                                 \
        said = (advgp_error){0};                                                         \
        if ((call) != (status)) fail_msg("%s: not %s: %s", #call, #status, said.text);   \
        if (!strstr(said.text, piece)) fail_msg("'%s' is not in: %s", piece, said.text); \
    } while (0)

// ---- text -----------------------------------------------------------------------------------------------------------

static void keys_are_40_letters_that_stand_for_32_bytes(void **state)
{
    (void)state;
    assert_true(gp_key_is_good(z85_key));
    assert_true(gp_key_is_good("0000000000000000000000000000000000000000"));
    assert_false(gp_key_is_good(NULL));
    assert_false(gp_key_is_good(""));
    assert_false(gp_key_is_good("000000000000000000000000000000000000000"));
    assert_false(gp_key_is_good("00000000000000000000000000000000000000000"));
    assert_false(gp_key_is_good("0000000000000000000000000000000000000 00"));
    assert_false(gp_key_is_good("000000000000000000000000000000000000000\""));
    assert_false(gp_key_is_good("##########00000000000000000000000000000")); // groups beyond 32 bits
    assert_false(gp_key_is_good("00000000000000000000000000000000000#####"));
}

static void key_files_are_read_as_they_may_be_written(void **state)
{
    (void)state;
    char text[600];
    gp_zmq_identity keys;
    snprintf(text, sizeof text, "# a comment = of mine\r\n\n  public   =  %s  \r\n\tsecret=%s", z85_key, z85_key);
    assert_int_equal(gp_keys_parse(text, "k", &keys, NULL), ADVGP_OK);
    assert_string_equal(keys.public_key, z85_key);
    assert_string_equal(keys.secret_key, z85_key);
    snprintf(text, sizeof text, "public = 0#===%.35s\n", z85_key + 5); // # and = are letters
    assert_int_equal(gp_keys_parse(text, "k", &keys, NULL), ADVGP_OK);
    assert_int_equal(keys.secret_key[0], 0);

#define A_KEY "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"
    static const char *const bad[] = {"",
                                      "# nothing\n",
                                      "public = short\n",
                                      "public\n",
                                      "=\n",
                                      "publication = " A_KEY "\n",
                                      "private = " A_KEY "\n",
                                      "public = " A_KEY " x\n",
                                      "public = " A_KEY "\npublic = " A_KEY "\n",
                                      "secret = " A_KEY "\n",
                                      "public = " A_KEY "\nsecret =",
                                      "public = " A_KEY "\nsecret = \n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        SAYS(gp_keys_parse(bad[i], "some.key", &keys, &said), ADVGP_EFILE, "some.key is damaged");
        assert_int_equal(keys.public_key[0], 0);
    }
}

static void the_list_has_comments(void **state)
{
    (void)state;
    char text[600], (*list)[GP_ZMQ_KEY];
    size_t n;
    // # is a letter of Z85, but never the first: 84 * 85^4 is more than 32 bits hold.
    assert_false(gp_key_is_good("#000000000000000000000000000000000000000"));
    assert_true(gp_key_is_good("0####00000000000000000000000000000000000"));
    snprintf(text, sizeof text, "# workers\n%s\n\n   %s  # the second\n#%s\n##\n%s #", z85_key, z85_key, z85_key,
             z85_key);
    assert_int_equal(gp_keys_parse_allowed(text, "allow", &list, &n, NULL), ADVGP_OK);
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n; i++) assert_string_equal(list[i], z85_key);
    gp_free(list);
    assert_int_equal(gp_keys_parse_allowed("", "allow", &list, &n, NULL), ADVGP_OK);
    assert_int_equal(n, 0);
    gp_free(list);
    snprintf(text, sizeof text, "%s\n%s extra\n", z85_key, z85_key);
    SAYS(gp_keys_parse_allowed(text, "allow", &list, &n, &said), ADVGP_EFILE, "line 2 of allow is no public key");
    assert_null(list);
    SAYS(gp_keys_parse_allowed("worker1\n", "allow", &list, &n, &said), ADVGP_EFILE, "line 1 of allow");
}

// ---- folders --------------------------------------------------------------------------------------------------------

static void check_made(void)
{
    const char *dir = scratch_path("keys");
    const gp_keys_made made = make(dir);
    advgp_error err = {0};
    gp_lead_keys lead;
    gp_worker_keys worker, again;
    assert_int_equal(mode_of(dir), 0700);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        assert_int_equal(mode_of(in_folder(dir, files[i])), strstr(files[i], ".pub") ? 0644 : 0600);
    if (gp_keys_read_lead(dir, &lead, &err) != ADVGP_OK) fail_msg("%s", err.text);
    assert_string_equal(lead.keys.public_key, made.server);
    assert_int_equal(lead.n_allowed, 1);
    assert_string_equal(lead.allowed[0], made.worker);
    if (gp_keys_read_worker(dir, &worker, &err) != ADVGP_OK) fail_msg("%s", err.text);
    assert_string_equal(worker.keys.public_key, made.worker);
    assert_string_equal(worker.lead_key, made.server);
    assert_string_not_equal(worker.keys.secret_key, lead.keys.secret_key);
    if (gp_keys_read_worker(in_folder(dir, "worker.key"), &again, &err) != ADVGP_OK) fail_msg("%s", err.text);
    assert_memory_equal(&worker, &again, sizeof worker);
    gp_lead_keys_fini(&lead);
    remove_folder(dir);
}

static void what_is_made_can_be_read_whatever_the_umask(void **state)
{
    (void)state;
    static const mode_t masks[] = {0022, 0002, 0077, 0};
    const mode_t before = umask(0);
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        umask(masks[i]);
        check_made();
    }
    umask(before);
}

static void another_worker_is_added(void **state)
{
    (void)state;
    const char *dir = scratch_path("keys");
    advgp_error err = {0};
    gp_keys_made made = make(dir), more;
    gp_lead_keys lead;
    gp_worker_keys worker;
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "node-%d.a_b", i);
        if (gp_keys_add_worker(dir, name, &more, &err) != ADVGP_OK) fail_msg("%s", err.text);
        assert_int_equal(more.server[0], 0);
        SAYS(gp_keys_add_worker(dir, name, &made, &said), ADVGP_EINVAL, "node-");
    }
    if (gp_keys_read_lead(dir, &lead, &err) != ADVGP_OK) fail_msg("%s", err.text);
    assert_int_equal(lead.n_allowed, 4);
    assert_string_equal(lead.allowed[3], more.worker);
    if (gp_keys_read_worker(in_folder(dir, "node-2.a_b.key"), &worker, &err) != ADVGP_OK) fail_msg("%s", err.text);
    assert_string_equal(worker.keys.public_key, more.worker);
    assert_string_equal(worker.lead_key, lead.keys.public_key);
    assert_int_equal(mode_of(in_folder(dir, "node-2.a_b.key")), 0600);
    gp_lead_keys_fini(&lead);

    static const char *const bad[] = {
        "",      ".",   "..",      "../x",
        "a/b",   "-n",  ".hidden", "server",
        "allow", "a b", "a\nb",    "0123456789012345678901234567890123456789012345678901234567890123x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        SAYS(gp_keys_add_worker(dir, bad[i], &more, &said), ADVGP_EINVAL, "cannot name a worker's key");
    SAYS(gp_keys_add_worker(scratch_path("nowhere"), "n", &more, &said), ADVGP_EDATA, "nowhere");
    // A list that cannot be read is not added to, and the new key is not left behind.
    scratch_save(in_folder(dir, "allow"), "nonsense\n", 9);
    SAYS(gp_keys_add_worker(dir, "late", &more, &said), ADVGP_EFILE, "line 1");
    assert_int_equal(access(in_folder(dir, "late.key"), F_OK), -1);
    assert_int_equal(access(in_folder(dir, "late.pub"), F_OK), -1);
    unlink(in_folder(dir, "allow"));
    SAYS(gp_keys_add_worker(dir, "late", &more, &said), ADVGP_EDATA, "allow");
    remove_folder(dir);
}

static void keys_are_never_replaced(void **state)
{
    (void)state;
    const char *dir = scratch_path("keys");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        gp_keys_made made;
        assert_int_equal(mkdir(dir, 0700), 0);
        scratch_save(in_folder(dir, files[i]), "mine", 4);
        SAYS(gp_keys_make(dir, &made, &said), ADVGP_EINVAL, files[i]);
        char bytes[16];
        assert_int_equal(scratch_load(in_folder(dir, files[i]), bytes, sizeof bytes), 4);
        for (size_t k = 0; k < sizeof files / sizeof *files; k++)
            assert_int_equal(access(in_folder(dir, files[k]), F_OK), k == i ? 0 : -1);
        remove_folder(dir);
    }
    gp_keys_made made;
    scratch_save(dir, "a file", 6);
    SAYS(gp_keys_make(dir, &made, &said), ADVGP_EIO, "keys");
    unlink(dir);
    SAYS(gp_keys_make(scratch_path("no/such/folder"), &made, &said), ADVGP_EIO, "no/such/folder");
}

static void what_others_could_have_read_or_written_is_refused(void **state)
{
    (void)state;
    const char *dir = scratch_path("keys");
    gp_lead_keys lead;
    gp_worker_keys worker;
    make(dir);
    static const mode_t open_modes[] = {0640, 0604, 0620, 0602, 0610, 0644, 0666, 0777};
    for (size_t i = 0; i < sizeof open_modes / sizeof *open_modes; i++) {
        assert_int_equal(chmod(in_folder(dir, "server.key"), open_modes[i]), 0);
        assert_int_equal(chmod(in_folder(dir, "worker.key"), open_modes[i]), 0);
        SAYS(gp_keys_read_lead(dir, &lead, &said), ADVGP_EFILE, "chmod 600");
        SAYS(gp_keys_read_worker(dir, &worker, &said), ADVGP_EFILE, "chmod 600");
        assert_null(lead.allowed);
        assert_int_equal(lead.keys.secret_key[0], 0);
        assert_int_equal(worker.keys.secret_key[0], 0);
    }
    chmod(in_folder(dir, "server.key"), 0400), chmod(in_folder(dir, "worker.key"), 0600);
    assert_int_equal(gp_keys_read_lead(dir, &lead, NULL), ADVGP_OK);
    gp_lead_keys_fini(&lead);
    chmod(in_folder(dir, "allow"), 0644); // public, but not for others to write
    assert_int_equal(gp_keys_read_lead(dir, &lead, NULL), ADVGP_OK);
    gp_lead_keys_fini(&lead);
    chmod(in_folder(dir, "allow"), 0664);
    SAYS(gp_keys_read_lead(dir, &lead, &said), ADVGP_EFILE, "allow may be written by others");
    chmod(in_folder(dir, "server.pub"), 0666);
    SAYS(gp_keys_read_worker(dir, &worker, &said), ADVGP_EFILE, "server.pub may be written by others");
    remove_folder(dir);
}

static void what_is_missing_or_mixed_up_is_named(void **state)
{
    (void)state;
    const char *dir = scratch_path("keys");
    gp_lead_keys lead;
    gp_worker_keys worker;
    SAYS(gp_keys_read_lead(dir, &lead, &said), ADVGP_EDATA, "advgp keygen DIR");
    SAYS(gp_keys_read_worker(dir, &worker, &said), ADVGP_EDATA, "advgp keygen DIR");
    const gp_keys_made made = make(dir);
    SAYS(gp_keys_read_worker(in_folder(dir, "worker.pub"), &worker, &said), ADVGP_EFILE, "no line `secret = KEY`");
    char text[300];
    gp_zmq_identity other;
    assert_int_equal(gp_zmq_keypair(&other, NULL), ADVGP_OK);
    const int n = snprintf(text, sizeof text, "public = %s\nsecret = %s\n", made.worker, other.secret_key);
    scratch_save(in_folder(dir, "worker.key"), text, (size_t)n);
    SAYS(gp_keys_read_worker(dir, &worker, &said), ADVGP_EFILE, "do not belong together");
    unlink(in_folder(dir, "worker.key"));
    SAYS(gp_keys_read_worker(dir, &worker, &said), ADVGP_EDATA, "worker.key");
    unlink(in_folder(dir, "allow"));
    SAYS(gp_keys_read_lead(dir, &lead, &said), ADVGP_EDATA, "allow");
    unlink(in_folder(dir, "server.key"));
    assert_int_equal(mkfifo(in_folder(dir, "server.key"), 0600), 0); // nobody waits for it
    SAYS(gp_keys_read_lead(dir, &lead, &said), ADVGP_EFILE, "is not a file");
    unlink(in_folder(dir, "server.key"));
    scratch_save(in_folder(dir, "server.key"), "public\0= x", 10);
    chmod(in_folder(dir, "server.key"), 0600);
    SAYS(gp_keys_read_lead(dir, &lead, &said), ADVGP_EFILE, "is not text");
    remove_folder(dir);
}

static void memory_and_disk_may_end_at_any_moment(void **state)
{
    (void)state;
    const char *dir = scratch_path("keys");
    const long live = gp_alloc_count().live;
    advgp_status st = ADVGP_ENOMEM;
    gp_keys_made made;
    advgp_error err = {0};
    for (long calls = 0; st != ADVGP_OK; calls++) {
        gp_alloc_fail_after(calls);
        st = gp_keys_make(dir, &made, &err);
        gp_alloc_fail_after(-1);
        assert_int_equal(gp_alloc_count().live, live);
        assert_true(st == ADVGP_OK || (st == ADVGP_ENOMEM && access(dir, F_OK) != 0));
    }
    st = ADVGP_ENOMEM;
    for (long calls = 0; st != ADVGP_OK; calls++) {
        gp_alloc_fail_after(calls);
        st = gp_keys_add_worker(dir, "more", &made, &err);
        gp_alloc_fail_after(-1);
        assert_int_equal(gp_alloc_count().live, live);
        assert_true(st == ADVGP_OK || (st == ADVGP_ENOMEM && access(in_folder(dir, "more.key"), F_OK) != 0));
    }
    st = ADVGP_ENOMEM;
    for (long calls = 0; st != ADVGP_OK; calls++) {
        gp_lead_keys lead;
        gp_alloc_fail_after(calls);
        st = gp_keys_read_lead(dir, &lead, &err);
        gp_alloc_fail_after(-1);
        if (st == ADVGP_OK) gp_lead_keys_fini(&lead);
        assert_true(st == ADVGP_OK || st == ADVGP_ENOMEM);
        assert_int_equal(gp_alloc_count().live, live);
    }
    remove_folder(dir);
    scratch_limit(100); // a disk that is full after a few bytes
    st = gp_keys_make(dir, &made, &err);
    scratch_limit(RLIM_INFINITY);
    assert_int_equal(st, ADVGP_EIO);
    assert_int_equal(access(dir, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_40_letters_that_stand_for_32_bytes),
        cmocka_unit_test(key_files_are_read_as_they_may_be_written),
        cmocka_unit_test(the_list_has_comments),
        cmocka_unit_test_setup(what_is_made_can_be_read_whatever_the_umask, skip_without_zmq),
        cmocka_unit_test_setup(another_worker_is_added, skip_without_zmq),
        cmocka_unit_test_setup(keys_are_never_replaced, skip_without_zmq),
        cmocka_unit_test_setup(what_others_could_have_read_or_written_is_refused, skip_without_zmq),
        cmocka_unit_test_setup(what_is_missing_or_mixed_up_is_named, skip_without_zmq),
        cmocka_unit_test_setup(memory_and_disk_may_end_at_any_moment, skip_without_zmq),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
