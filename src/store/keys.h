// keys.h: the folder of keys that `advgp keygen` makes: a pair for the lead, a pair for each worker (or one that all
// share), and the list of those who are let in. A key file is text: comments, then `public = KEY` and `secret = KEY`,
// where a key is 40 letters of Z85.
//
//     DIR/server.key, server.pub    the lead's        DIR/allow    public keys of workers, one a line
//     DIR/worker.key, worker.pub    the workers'      DIR/NAME.key, NAME.pub    one worker's own
//
// The lead needs the whole folder but the workers' secrets; a worker needs its own .key and server.pub beside it.
#pragma once
#include "transport/zmq.h"

bool gp_key_is_good(const char *text); // 40 letters of Z85 that stand for 32 bytes

// ---- making ---------------------------------------------------------------------------------------------------------

typedef struct gp_keys_made {
    char server[GP_ZMQ_KEY], worker[GP_ZMQ_KEY]; // public; of the server empty where it was there already
} gp_keys_made;

// EINVAL names a file that exists: keys are never replaced. What a failure leaves is what was there before.
advgp_status gp_keys_make(const char *dir, gp_keys_made *made, advgp_error *err);
// Letters, digits, dot, dash and underscore.
advgp_status gp_keys_add_worker(const char *dir, const char *name, gp_keys_made *made, advgp_error *err);

// ---- reading --------------------------------------------------------------------------------------------------------
// EDATA: what is missing; EFILE: what is damaged, or open to others (with the chmod that mends it).

typedef struct gp_lead_keys {
    gp_zmq_identity keys;
    char (*allowed)[GP_ZMQ_KEY];
    size_t n_allowed;
} gp_lead_keys;
advgp_status gp_keys_read_lead(const char *dir, gp_lead_keys *out, advgp_error *err);
void gp_lead_keys_fini(gp_lead_keys *keys);

// `path`: the folder, for worker.key, or one worker's own key file.
typedef struct gp_worker_keys {
    gp_zmq_identity keys;
    char lead_key[GP_ZMQ_KEY];
} gp_worker_keys;
advgp_status gp_keys_read_worker(const char *path, gp_worker_keys *out, advgp_error *err);

// ---- for tests: the same from bytes ---------------------------------------------------------------------------------

// A key file; the secret stays empty where there is none.
advgp_status gp_keys_parse(const char *text, const char *name, gp_zmq_identity *out, advgp_error *err);
// The list, to be given to gp_free.
advgp_status gp_keys_parse_allowed(const char *text, const char *name, char (**out)[GP_ZMQ_KEY], size_t *n,
                                   advgp_error *err);
