// address.h: where a lead listens and where others reach it: what people write (a port, a host, an interface) becomes a
// numeric TCP address, and it is said whether that leaves the machine.
#pragma once
#include "base/status.h"

#include <stdbool.h>

typedef struct gp_address {
    char endpoint[96]; // "tcp://10.0.0.3:5555", "tcp://[::1]:5555"
    char host[72];     // the same without the rest: numeric, no brackets
    unsigned port;     // 0: any free one
    bool loopback;     // nobody but this machine reaches it
    bool every;        // 0.0.0.0 or ::, every interface: good to listen at, not to connect to
} gp_address;

// HOST:PORT, HOST, :PORT, PORT or any of them behind tcp://, where HOST is an address (IPv6 in brackets, or alone), the
// name of an interface or of a host, or * for every interface. Without a host: loopback; without a port (or 0, *): any
// free one. A host that is not this machine is refused.
advgp_status gp_address_listen(const char *text, gp_address *out, advgp_error *err);

// The same for whoever connects: HOST:PORT, neither of which may be missing. Names are looked up at every call, since
// what they stand for may move.
advgp_status gp_address_connect(const char *text, gp_address *out, advgp_error *err);

// The same without asking anybody: *is_name where the host is one, and then all of *out but the port is empty.
advgp_status gp_address_numeric(const char *text, gp_address *out, bool *is_name, advgp_error *err);

// What others on the network should use to reach what is bound at `bound` (an endpoint with its real port). Of every
// interface: what this host's name stands for, or the first address that is not loopback; loopback where there is none.
advgp_status gp_address_reach(const char *bound, gp_address *out, advgp_error *err);

// Does anybody listen there? A bare connection that is ended at once; false where it is refused or the time is over.
bool gp_address_answers(const char *text, double seconds);
