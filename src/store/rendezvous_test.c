// rendezvous_test.c: what a lead writes a worker reads; what is not from a lead, or open to others, is refused with its
// reason; a file that is not there is no failure.
#include "store/rendezvous.h"

#include "base/alloc.h"
#include "store/scratch_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static const char key[] = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID";
static advgp_error said;

static gp_rendezvous example(bool lead_key, bool worker)
{
    gp_rendezvous r = {.endpoint = "tcp://10.0.0.3:40123",
                       .run = {0x0123456789abcdefu, UINT64_MAX},
                       .generation = UINT32_MAX,
                       .host = "node17.cluster",
                       .pid = 4711};
    if (lead_key) memcpy(r.lead_key, key, sizeof key);
    if (worker) memcpy(r.worker.public_key, key, sizeof key), memcpy(r.worker.secret_key, key, sizeof key);
    return r;
}

static bool same(const gp_rendezvous *a, const gp_rendezvous *b)
{
    return !strcmp(a->endpoint, b->endpoint) && a->run[0] == b->run[0] && a->run[1] == b->run[1] &&
           a->generation == b->generation && !strcmp(a->lead_key, b->lead_key) &&
           !memcmp(&a->worker, &b->worker, sizeof a->worker) && !strcmp(a->host, b->host) && a->pid == b->pid;
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    const char *path = scratch_path("run");
    for (int i = 0; i < 3; i++) {
        const gp_rendezvous r = example(i > 0, i > 1);
        gp_rendezvous got;
        bool found = false;
        struct stat about;
        if (gp_rendezvous_write(path, &r, &said) != ADVGP_OK) fail_msg("%s", said.text);
        assert_int_equal(stat(path, &about), 0);
        assert_int_equal(about.st_mode & 07777, 0600);
        assert_int_equal(scratch_count(), 1);
        if (gp_rendezvous_read(path, &got, &found, &said) != ADVGP_OK) fail_msg("%s", said.text);
        assert_true(found && same(&r, &got));
        chmod(path, 0644); // and written again it is private again
    }
    unlink(path);
}

static void a_file_that_is_not_there_is_no_failure(void **state)
{
    (void)state;
    gp_rendezvous r;
    bool found = true;
    assert_int_equal(gp_rendezvous_read(scratch_path("later"), &r, &found, &said), ADVGP_OK);
    assert_false(found);
    found = true;
    assert_int_equal(gp_rendezvous_read(scratch_path("no/folder/yet"), &r, &found, &said), ADVGP_OK);
    assert_false(found);
    assert_int_equal(gp_rendezvous_remove(scratch_path("later"), &r, &said), ADVGP_OK);
    found = true;
    scratch_save(scratch_path("later"), "", 0); // as mktemp makes one
    assert_int_equal(gp_rendezvous_read(scratch_path("later"), &r, &found, &said), ADVGP_OK);
    assert_false(found);
    unlink(scratch_path("later"));
    r = example(true, true);
    assert_int_equal(gp_rendezvous_write(scratch_path("no/folder/yet"), &r, &said), ADVGP_EIO);
    assert_non_null(strstr(said.text, "no/folder/yet"));
}

static void check_refused(const char *path, const char *piece)
{
    gp_rendezvous r;
    bool found = false;
    said = (advgp_error){0};
    if (gp_rendezvous_read(path, &r, &found, &said) != ADVGP_EFILE) fail_msg("%s is taken", piece);
    assert_true(found);
    if (!strstr(said.text, piece) || !strstr(said.text, path)) fail_msg("'%s' is not in: %s", piece, said.text);
    assert_int_equal(r.endpoint[0], 0);
    assert_int_equal(r.worker.secret_key[0], 0);
}

static void a_secret_that_others_could_read_is_refused(void **state)
{
    (void)state;
    const char *path = scratch_path("run");
    gp_rendezvous r = example(true, true), got;
    bool found;
    static const mode_t open_modes[] = {0640, 0604, 0610, 0644, 0660, 0602, 0666};
    assert_int_equal(gp_rendezvous_write(path, &r, &said), ADVGP_OK);
    for (size_t i = 0; i < sizeof open_modes / sizeof *open_modes; i++) {
        chmod(path, open_modes[i]);
        check_refused(path, "chmod 600");
    }
    r = example(true, false); // public, but not for others to write
    assert_int_equal(gp_rendezvous_write(path, &r, &said), ADVGP_OK);
    chmod(path, 0644);
    assert_int_equal(gp_rendezvous_read(path, &got, &found, &said), ADVGP_OK);
    chmod(path, 0664);
    check_refused(path, "may be written by others");
    chmod(path, 0600);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
        check_refused(path, "belongs to user 12345");
    }
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    check_refused(path, "is not a file");
    rmdir(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    check_refused(path, "is not a file");
    unlink(path);
}

static void what_is_no_rendezvous_is_refused(void **state)
{
    (void)state;
#define HEAD  "{\"format\":\"advgp-rendezvous\",\"version\":1,"
#define WHERE "\"endpoint\":\"tcp://127.0.0.1:5\","
#define RUN   "\"run\":[\"0000000000000000\",\"00000000000000ff\"],"
#define EPOCH "\"epoch\":0,"
#define WHO   "\"host\":\"h\",\"pid\":1"
#define A_KEY "\"Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID\""
    static const struct {
        const char *text, *said;
    } cases[] = {
        {HEAD WHERE RUN EPOCH WHO "}", NULL},
        {HEAD WHERE RUN EPOCH WHO ",\"lead_key\":" A_KEY "}", NULL},
        {HEAD WHERE RUN EPOCH WHO ",\"lead_key\":" A_KEY ",\"worker\":{\"public\":" A_KEY ",\"secret\":" A_KEY "}}",
         NULL},
        {HEAD "\"endpoint\":\"tcp://[fe80::1%eth0]:5\"," RUN EPOCH WHO "}", NULL},
        {" ", "line"},
        {"[]", "format"},
        {"null", "line"},
        {"{\"format\":\"advgp-rendezvous\",\"version\":1", "line"},
        {"{}", "format"},
        {"{\"format\":\"something\",\"version\":1}", "format"},
        {"{\"format\":\"advgp-rendezvous\",\"version\":2}", "version 2"},
        {HEAD RUN EPOCH WHO "}", "endpoint"},
        {HEAD "\"endpoint\":\"ipc:///tmp/x:5\"," RUN EPOCH WHO "}", "endpoint"},
        {HEAD "\"endpoint\":\"tcp://127.0.0.1\"," RUN EPOCH WHO "}", "endpoint"},
        {HEAD "\"endpoint\":\"tcp://127.0.0.1:0\"," RUN EPOCH WHO "}", "endpoint"},
        {HEAD "\"endpoint\":\"tcp://127.0.0.1:65536\"," RUN EPOCH WHO "}", "endpoint"},
        {HEAD "\"endpoint\":\"tcp://:5\"," RUN EPOCH WHO "}", "endpoint"},
        {HEAD "\"endpoint\":\"tcp://a b:5\"," RUN EPOCH WHO "}", "endpoint"},
        {HEAD "\"endpoint\":\"tcp://a\\u0000b:5\"," RUN EPOCH WHO "}", "damaged"},
        {HEAD "\"endpoint\":7," RUN EPOCH WHO "}", "endpoint"},
        {HEAD WHERE EPOCH WHO "}", "run"},
        {HEAD WHERE "\"run\":[\"0000000000000000\"]," EPOCH WHO "}", "run"},
        {HEAD WHERE "\"run\":[1,2]," EPOCH WHO "}", "run"},
        {HEAD WHERE "\"run\":[\"000000000000000G\",\"0000000000000000\"]," EPOCH WHO "}", "run"},
        {HEAD WHERE RUN WHO "}", "epoch"},
        {HEAD WHERE RUN "\"epoch\":-1," WHO "}", "epoch"},
        {HEAD WHERE RUN "\"epoch\":4294967296," WHO "}", "epoch"},
        {HEAD WHERE RUN "\"epoch\":1.5," WHO "}", "epoch"},
        {HEAD WHERE RUN EPOCH "\"pid\":1}", "host"},
        {HEAD WHERE RUN EPOCH "\"host\":\"a\\u001bb\",\"pid\":1}", "host"},
        {HEAD WHERE RUN EPOCH "\"host\":\"h\"}", "pid"},
        {HEAD WHERE RUN EPOCH "\"host\":\"h\",\"pid\":-1}", "pid"},
        {HEAD WHERE RUN EPOCH WHO ",\"lead_key\":\"short\"}", "lead_key"},
        {HEAD WHERE RUN EPOCH WHO ",\"lead_key\":null}", "lead_key"},
        {HEAD WHERE RUN EPOCH WHO ",\"worker\":{\"public\":" A_KEY ",\"secret\":" A_KEY "}}", "worker"},
        {HEAD WHERE RUN EPOCH WHO ",\"lead_key\":" A_KEY ",\"worker\":{\"public\":" A_KEY "}}", "worker"},
        {HEAD WHERE RUN EPOCH WHO ",\"lead_key\":" A_KEY ",\"worker\":[]}", "worker"},
        {HEAD WHERE WHERE RUN EPOCH WHO "}", "duplicate"},
        {HEAD WHERE RUN EPOCH WHO "} x", "line"},
    };
    const char *path = scratch_path("run");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gp_rendezvous r;
        bool found;
        scratch_save(path, cases[i].text, strlen(cases[i].text));
        chmod(path, 0600);
        if (cases[i].said)
            check_refused(path, cases[i].said);
        else if (gp_rendezvous_read(path, &r, &found, &said) != ADVGP_OK || !found)
            fail_msg("%s: %s", cases[i].text, said.text);
    }
    char *large = calloc(1, 1 << 21);
    assert_non_null(large);
    memset(large, ' ', 1 << 21);
    scratch_save(path, large, 1 << 15);
    check_refused(path, "32768 bytes");
    scratch_save(path, large, 1 << 21);
    check_refused(path, "2097152 bytes");
    free(large);
    unlink(path);
}

static void what_could_not_be_read_is_not_written(void **state)
{
    (void)state;
    const char *path = scratch_path("run");
    gp_rendezvous r = example(true, true);
    snprintf(r.host, sizeof r.host, "a\nb");
    assert_int_equal(gp_rendezvous_write(path, &r, &said), ADVGP_EFILE);
    r = example(true, true);
    snprintf(r.endpoint, sizeof r.endpoint, "here");
    assert_int_equal(gp_rendezvous_write(path, &r, &said), ADVGP_EFILE);
    assert_int_equal(access(path, F_OK), -1);
}

static void a_worker_connects_with_its_own_keys_or_those_of_the_rendezvous(void **state)
{
    (void)state;
    gp_rendezvous r = example(true, true);
    gp_zmq_target t;
    gp_worker_keys own = {.lead_key = "lead", .keys = {"public", "secret"}};
    assert_int_equal(gp_rendezvous_target(&r, NULL, &t, &said), ADVGP_OK);
    assert_string_equal(t.address, r.endpoint);
    assert_string_equal(t.lead_key, key);
    assert_string_equal(t.keys.secret_key, key);
    assert_int_equal(gp_rendezvous_target(&r, &own, &t, &said), ADVGP_OK);
    assert_string_equal(t.lead_key, "lead");
    assert_string_equal(t.keys.secret_key, "secret");
    r = example(true, false);
    assert_int_equal(gp_rendezvous_target(&r, NULL, &t, &said), ADVGP_EINVAL);
    assert_non_null(strstr(said.text, "{keys} DIR"));
    assert_int_equal(gp_rendezvous_target(&r, &own, &t, &said), ADVGP_OK);
    r = example(false, false);
    assert_int_equal(gp_rendezvous_target(&r, NULL, &t, &said), ADVGP_OK);
    assert_int_equal(t.lead_key[0], 0);
}

static void only_ones_own_is_removed(void **state)
{
    (void)state;
    const char *path = scratch_path("run");
    const gp_rendezvous r = example(true, true);
    gp_rendezvous other = r;
    other.generation--;
    assert_int_equal(gp_rendezvous_write(path, &r, &said), ADVGP_OK);
    assert_int_equal(gp_rendezvous_remove(path, &other, &said), ADVGP_OK); // it has been replaced: it stays
    assert_int_equal(access(path, F_OK), 0);
    other = r, other.pid++;
    assert_int_equal(gp_rendezvous_remove(path, &other, &said), ADVGP_OK);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(gp_rendezvous_remove(path, &r, &said), ADVGP_OK);
    assert_int_equal(access(path, F_OK), -1);
}

static void memory_may_end_at_any_call(void **state)
{
    (void)state;
    const char *path = scratch_path("run");
    const long live = gp_alloc_count().live;
    const gp_rendezvous r = example(true, true);
    for (int write = 1; write >= 0; write--) {
        advgp_status st = ADVGP_ENOMEM;
        for (long calls = 0; st != ADVGP_OK; calls++) {
            gp_rendezvous got;
            bool found;
            gp_alloc_fail_after(calls);
            st = write ? gp_rendezvous_write(path, &r, &said) : gp_rendezvous_read(path, &got, &found, &said);
            gp_alloc_fail_after(-1);
            assert_true(st == ADVGP_OK || st == ADVGP_ENOMEM);
            assert_int_equal(gp_alloc_count().live, live);
        }
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(a_file_that_is_not_there_is_no_failure),
        cmocka_unit_test(a_secret_that_others_could_read_is_refused),
        cmocka_unit_test(what_is_no_rendezvous_is_refused),
        cmocka_unit_test(what_could_not_be_read_is_not_written),
        cmocka_unit_test(a_worker_connects_with_its_own_keys_or_those_of_the_rendezvous),
        cmocka_unit_test(only_ones_own_is_removed),
        cmocka_unit_test(memory_may_end_at_any_call),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
