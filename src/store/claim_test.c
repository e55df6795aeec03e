// claim_test.c: processes that want the same file: one at a time, also when the one who had it dies.
#include "fixture.h"
#include "store/claim.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES = 8, ROUNDS = 5 };
static char folder[] = "/tmp/advgp-claim-XXXXXX";

static long count_in(const char *path)
{
    long n = 0;
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%ld", &n) != 1) n = -1;
    if (f) fclose(f);
    return n;
}

// Reads a number, takes its time, and writes the next one.
static void count_up(const char *path)
{
    gp_claim claim;
    if (gp_claim_take(path, NULL, NULL, &claim, NULL) != ADVGP_OK || claim.fd < 0) _exit(1);
    const long n = count_in(path);
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    FILE *f = fopen(path, "w");
    if (!f || fprintf(f, "%ld", n + 1) < 1 || fclose(f) != 0) _exit(1);
    gp_claim_release(&claim);
}

static void one_at_a_time(void **state)
{
    (void)state;
    char path[64];
    int status;
    pid_t children[PROCESSES];
    snprintf(path, sizeof path, "%s/count", folder);
    for (size_t i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i]) continue;
        for (int k = 0; k < ROUNDS; k++) count_up(path);
        _exit(0);
    }
    for (size_t i = 0; i < PROCESSES; i++) {
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        CHECK(status == 0, "a process", "ended with %d", status);
    }
    CHECK(count_in(path) == PROCESSES * ROUNDS, "all counts", "%ld", count_in(path));
    unlink(path);
}

static int at_once(void *ctx)
{
    return ++*(int *)ctx > 2;
}

static void who_dies_gives_it_back(void **state)
{
    (void)state;
    char path[64], lock[80], word;
    int way[2], asked = 0;
    gp_claim claim;
    advgp_error err = {0};
    snprintf(path, sizeof path, "%s/other", folder);
    snprintf(lock, sizeof lock, "%s.lock", path);
    assert_int_equal(pipe(way), 0);
    const pid_t child = fork();
    if (!child) {
        if (gp_claim_take(path, NULL, NULL, &claim, NULL) != ADVGP_OK) _exit(1);
        (void)!write(way[1], "x", 1);
        pause();
    }
    assert_int_equal(read(way[0], &word, 1), 1);
    CHECK_FAILS(ADVGP_ESTOPPED, gp_claim_take(path, at_once, &asked, &claim, &err), "while another has it");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK_OK(gp_claim_take(path, NULL, NULL, &claim, &err), "of the dead");
    assert_true(claim.fd >= 0);
    gp_claim_release(&claim);
    CHECK(access(lock, F_OK) != 0, "the file", "is left behind");
    close(way[0]), close(way[1]);
}

static void where_nothing_can_be_written_there_is_none(void **state)
{
    (void)state;
    gp_claim claim;
    advgp_error err = {0};
    CHECK_OK(gp_claim_take("/nowhere/at/all", NULL, NULL, &claim, &err), "no folder");
    assert_int_equal(claim.fd, -1);
    gp_claim_release(&claim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_at_a_time), cmocka_unit_test(who_dies_gives_it_back),
                                       cmocka_unit_test(where_nothing_can_be_written_there_is_none)};
    if (!mkdtemp(folder)) return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
