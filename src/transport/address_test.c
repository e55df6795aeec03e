// address_test.c: what people write after --listen and --server, right and wrong. The interfaces and the host's name
// are those of the machine that runs it.
#include "fixture.h"
#include "transport/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static void a_host_and_a_port_in_every_form(void **state)
{
    (void)state;
    static const struct {
        const char *text, *endpoint;
        unsigned port;
        bool loopback, every;
    } cases[] = {
        {"127.0.0.1:5555", "tcp://127.0.0.1:5555", 5555, true, false},
        {"tcp://127.0.0.1:5555", "tcp://127.0.0.1:5555", 5555, true, false},
        {"127.0.0.1", "tcp://127.0.0.1:0", 0, true, false},
        {"127.0.0.1:*", "tcp://127.0.0.1:0", 0, true, false},
        {"127.0.0.1:0", "tcp://127.0.0.1:0", 0, true, false},
        {"127.1.2.3:65535", "tcp://127.1.2.3:65535", 65535, true, false},
        {":5555", "tcp://127.0.0.1:5555", 5555, true, false},
        {"5555", "tcp://127.0.0.1:5555", 5555, true, false},
        {"0", "tcp://127.0.0.1:0", 0, true, false},
        {"tcp://5555", "tcp://127.0.0.1:5555", 5555, true, false},
        {"lo", "tcp://127.0.0.1:0", 0, true, false},
        {"lo:77", "tcp://127.0.0.1:77", 77, true, false},
        {"*:5555", "tcp://0.0.0.0:5555", 5555, false, true},
        {"*", "tcp://0.0.0.0:0", 0, false, true},
        {"0.0.0.0:5555", "tcp://0.0.0.0:5555", 5555, false, true},
        {"[::1]:5555", "tcp://[::1]:5555", 5555, true, false},
        {"tcp://[::1]:5555", "tcp://[::1]:5555", 5555, true, false},
        {"[::1]", "tcp://[::1]:0", 0, true, false},
        {"::1", "tcp://[::1]:0", 0, true, false},
        {"[::]:5555", "tcp://[::]:5555", 5555, false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        advgp_error err = {0};
        gp_address a;
        CHECK_OK(gp_address_listen(cases[i].text, &a, &err), cases[i].text);
        CHECK(!strcmp(a.endpoint, cases[i].endpoint), cases[i].text, "%s", a.endpoint);
        CHECK(a.port == cases[i].port && a.loopback == cases[i].loopback && a.every == cases[i].every, cases[i].text,
              "port %u", a.port);
    }
}

static void what_is_no_address_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"", "no address"},
        {"tcp://", "no address"},
        {":", "no address"},
        {"127.0.0.1:", "no address"},
        {"127.0.0.1:65536", "65535"},
        {"127.0.0.1:123456", "65535"},
        {"99999", "65535"},
        {"127.0.0.1:http", "no address"},
        {"127.0.0.1:-1", "no address"},
        {"127.0.0.1:1 ", "no address"},
        {"ipc:///tmp/x", "no address"},
        {"udp://127.0.0.1:1", "no address"},
        {"[::1", "no address"},
        {"[]:1", "no address"},
        {"[::1]x", "no address"},
        {"[::1]:x", "no address"},
        {"1:2:3:4", "1:2:3:4"},
        {"eth-none9", "lo (127.0.0.1"},
        {"eth-none9:5", "'eth-none9' is no interface"},
        {"no.such.host.invalid:5", "no.such.host.invalid"},
        {"256.0.0.1:5", "256.0.0.1"},
        {"192.0.2.77:5", "192.0.2.77 is not an address of this machine"},
        {"[2001:db8::77]:5", "2001:db8::77 is not an address of this machine"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        advgp_error err = {0};
        gp_address a;
        CHECK(gp_address_listen(cases[i].text, &a, &err) == ADVGP_EINVAL, cases[i].text, "is taken: %s", a.endpoint);
        CHECK(strstr(err.text, cases[i].said), cases[i].text, "'%s' is not in: %s", cases[i].said, err.text);
        assert_int_equal(a.endpoint[0], 0);
    }
    char longer[1000];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    advgp_error err = {0};
    gp_address a;
    CHECK_FAILS(ADVGP_EINVAL, gp_address_listen(longer, &a, &err), "999 letters");
    CHECK_FAILS(ADVGP_EINVAL, gp_address_listen(NULL, &a, &err), "NULL");
}

static void whoever_connects_must_say_where(void **state)
{
    (void)state;
    static const struct {
        const char *text, *endpoint;
        advgp_status st;
    } cases[] = {
        {"127.0.0.1:5555", "tcp://127.0.0.1:5555", ADVGP_OK},
        {"tcp://127.0.0.1:5555", "tcp://127.0.0.1:5555", ADVGP_OK},
        {"[::1]:5555", "tcp://[::1]:5555", ADVGP_OK},
        {"192.0.2.77:5", "tcp://192.0.2.77:5", ADVGP_OK}, // another machine
        {"127.0.0.1", "", ADVGP_EINVAL},
        {"127.0.0.1:0", "", ADVGP_EINVAL},
        {"127.0.0.1:*", "", ADVGP_EINVAL},
        {":5555", "", ADVGP_EINVAL},
        {"5555", "", ADVGP_EINVAL},
        {"0.0.0.0:5555", "", ADVGP_EINVAL},
        {"[::]:5555", "", ADVGP_EINVAL},
        {"no.such.host.invalid:5", "", ADVGP_ECLUSTER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        advgp_error err = {0};
        gp_address a;
        const advgp_status st = gp_address_connect(cases[i].text, &a, &err);
        CHECK(st == cases[i].st && !strcmp(a.endpoint, cases[i].endpoint), cases[i].text, "status %d, %s, %s", st,
              a.endpoint, err.text);
        CHECK(st == ADVGP_OK || err.text[0], cases[i].text, "says nothing");
    }
}

static void others_are_told_an_address_that_is_one(void **state)
{
    (void)state;
    advgp_error err = {0};
    gp_address a, again;
    CHECK_OK(gp_address_reach("tcp://127.0.0.1:5555", &a, &err), "loopback");
    assert_string_equal(a.endpoint, "tcp://127.0.0.1:5555");
    CHECK_OK(gp_address_reach("tcp://0.0.0.0:5555", &a, &err), "every interface");
    CHECK(!a.every && a.port == 5555, a.endpoint, "every interface");
    CHECK_OK(gp_address_listen(a.endpoint, &again, &err), "it is of this machine"); // and can be written anywhere
    CHECK_OK(gp_address_connect(a.endpoint, &again, &err), "it can be connected to");
    assert_string_equal(again.endpoint, a.endpoint);
}

// Debian's own 127.0.1.1 must not be what `--listen $(hostname)` comes to, where there is anything better.
static void the_hosts_own_name_is_what_others_reach(void **state)
{
    (void)state;
    char own[256] = {0};
    advgp_error err = {0};
    gp_address a, outside;
    assert_int_equal(gethostname(own, sizeof own - 1), 0);
    if (gp_address_listen(own, &a, &err) != ADVGP_OK) {
        CHECK(strstr(err.text, own), own, "%s", err.text);
        return; // a machine that does not know its own name
    }
    CHECK_OK(gp_address_reach("*:1", &outside, &err), own);
    CHECK(!a.loopback || outside.loopback, own, "%s, though there is %s", a.endpoint, outside.endpoint);
}

static void somebody_listens_or_nobody_does(void **state)
{
    (void)state;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    char text[64];
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    snprintf(text, sizeof text, "tcp://127.0.0.1:%u", ntohs(a.sin_port));
    assert_false(gp_address_answers(text, 2)); // bound, so that nobody else gets the port
    assert_int_equal(listen(fd, 1), 0);
    assert_true(gp_address_answers(text, 2));
    close(fd);
    assert_false(gp_address_answers("tcp://no.such.host.invalid:5555", 2));
    assert_false(gp_address_answers("nonsense", 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_and_a_port_in_every_form),
        cmocka_unit_test(what_is_no_address_is_named),
        cmocka_unit_test(whoever_connects_must_say_where),
        cmocka_unit_test(others_are_told_an_address_that_is_one),
        cmocka_unit_test(the_hosts_own_name_is_what_others_reach),
        cmocka_unit_test(somebody_listens_or_nobody_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
