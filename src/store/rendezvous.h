// rendezvous.h: the file by which workers find their lead: where it listens, which run it leads, with which key, and,
// if the lead made keys for this run alone, the workers' key as well. It is written whole and renamed, 0600, and read
// again whenever the lead is silent, since the next one may be elsewhere.
#pragma once
#include "store/keys.h"

typedef struct gp_rendezvous {
    char endpoint[96]; // "tcp://10.0.0.3:40123"
    uint64_t run[2];
    uint32_t generation;       // which start of the lead this is; `epoch` in the file
    char lead_key[GP_ZMQ_KEY]; // empty: plain
    gp_zmq_identity worker;    // empty: workers bring their own
    char host[256];            // of the lead, for people
    int64_t pid;
} gp_rendezvous;

advgp_status gp_rendezvous_write(const char *path, const gp_rendezvous *rendezvous, advgp_error *err);

// *found false: it is not there (yet), or empty, as mktemp leaves it. EFILE: it is, and is damaged or cannot be
// trusted, with the reason.
advgp_status gp_rendezvous_read(const char *path, gp_rendezvous *out, bool *found, advgp_error *err);

// Deletes it if it is still this one: another lead may have written its own meanwhile.
advgp_status gp_rendezvous_remove(const char *path, const gp_rendezvous *mine, advgp_error *err);

// What a worker connects to. `own`: its keys, which then say what the lead's is as well; NULL: those of the rendezvous.
// EINVAL where it has none and the lead asks for some.
advgp_status gp_rendezvous_target(const gp_rendezvous *rendezvous, const gp_worker_keys *own, gp_zmq_target *out,
                                  advgp_error *err);

// The file of a lead that listens on this machine alone and was given none, by its port: in a folder that is its
// user's alone (gp_temporary_own_folder), else EINVAL and an empty path. So `--server 127.0.0.1:PORT` is enough for
// workers of the same user, and nobody else has the keys.
advgp_status gp_rendezvous_of_port(unsigned port, char *path, size_t room, advgp_error *err);

// For tests: the same from bytes.
advgp_status gp_rendezvous_parse(const char *text, size_t n, gp_rendezvous *out, advgp_error *err);
