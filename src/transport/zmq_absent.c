// zmq_absent.c: instead of zmq*.c where advgp is built without ZeroMQ: every call says how to get it.
#include "transport/zmq.h"

#include <string.h>

#define HOW "install libzmq3-dev, configure and build again"

static advgp_status absent(advgp_error *err)
{
    return gp_fail(err, ADVGP_EINVAL, "this advgp was built without ZeroMQ: " HOW);
}

advgp_status gp_zmq_listen(const gp_zmq_listen_options *options, gp_endpoint **out, advgp_error *err)
{
    (void)options;
    *out = NULL;
    return absent(err);
}

advgp_status gp_zmq_connect(const gp_zmq_connect_options *options, gp_endpoint **out, advgp_error *err)
{
    if (options->done) options->done(options->ctx);
    *out = NULL;
    return absent(err);
}

const char *gp_zmq_address(gp_endpoint *lead)
{
    (void)lead;
    return "";
}

void gp_zmq_expect(gp_endpoint *lead, size_t largest)
{
    (void)lead, (void)largest;
}

gp_zmq_counts gp_zmq_count(gp_endpoint *lead)
{
    (void)lead;
    return (gp_zmq_counts){0};
}

advgp_status gp_zmq_keypair(gp_zmq_identity *out, advgp_error *err)
{
    memset(out, 0, sizeof *out);
    return absent(err);
}

advgp_status gp_zmq_public_of(const char *secret_key, char public_key[GP_ZMQ_KEY], advgp_error *err)
{
    (void)secret_key;
    memset(public_key, 0, GP_ZMQ_KEY);
    return absent(err);
}

const gp_transport gp_transport_zmq = {.name = "zmq",
                                       .summary = "workers in other processes and on other machines, over ZeroMQ",
                                       .ordered = true,
                                       .how = HOW};
