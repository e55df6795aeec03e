// zmq.c: the transport's entry in the table, and keys.
#include "transport/zmq.h"
#include "transport/zmq_wire.h"

#include <stdio.h>
#include <string.h>

static advgp_status no_curve(advgp_error *err)
{
    return gp_fail(err, ADVGP_EINVAL, "this ZeroMQ has no encryption: install one with CURVE (libsodium)");
}

advgp_status gp_zmq_keypair(gp_zmq_identity *out, advgp_error *err)
{
    memset(out, 0, sizeof *out);
    return zmq_curve_keypair(out->public_key, out->secret_key) == 0 ? ADVGP_OK : no_curve(err);
}

advgp_status gp_zmq_public_of(const char *secret_key, char public_key[GP_ZMQ_KEY], advgp_error *err)
{
    unsigned char bytes[32];
    memset(public_key, 0, GP_ZMQ_KEY);
    if (!secret_key || strlen(secret_key) != GP_ZMQ_KEY - 1 || !zmq_z85_decode(bytes, secret_key))
        return gp_fail(err, ADVGP_EINVAL, "a secret key has %d letters of Z85, and this is none", GP_ZMQ_KEY - 1);
    memset(bytes, 0, sizeof bytes);
    return zmq_curve_public(public_key, secret_key) == 0 ? ADVGP_OK : no_curve(err);
}

static const char *version(void)
{
    static char text[48];
    int major, minor, patch;
    zmq_version(&major, &minor, &patch);
    snprintf(text, sizeof text, "ZeroMQ %d.%d.%d%s", major, minor, patch, zmq_has("curve") ? "" : " without keys");
    return text;
}

const gp_transport gp_transport_zmq = {.name = "zmq",
                                       .summary = "workers in other processes and on other machines, over ZeroMQ",
                                       .ordered = true,
                                       .available = true,
                                       .version = version,
                                       .send = gp_courier_send,
                                       .receive = gp_courier_receive,
                                       .wake = gp_courier_wake,
                                       .beat = gp_courier_beat,
                                       .gone = gp_zmq_gone,
                                       .close = gp_courier_close};
