// message.h: what server and workers say to each other, and its form in bytes. A message is a fixed header, little
// endian, then values, mask, shards and text; a checksum covers all of it. Bytes that come from elsewhere are read as
// hostile: gp_message_decode checks every length before it is used.
//
//     worker                                      server
//     ASK (its name)                         ->        between processes, before each run: which work is it?
//                                            <-   JOB (a text that describes it)
//     HELLO (who I want to be, nonce)        ->
//                                            <-   WELCOME (worker, incarnation, next sequence)
//     PULL (sequence)                        ->
//                                            <-   PARAMETERS (sequence, version, theta, shards)
//     PUSH (sequence, version, shards, sums) ->        as soon as the version is newer:
//                                            <-   PARAMETERS (sequence + 1, ...)   or BYE, when the run is over
//
// A worker has one request outstanding and repeats it until it is answered; whoever is not welcome is told REFUSE.
#pragma once
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum gp_message_kind {
    GP_HELLO = 1,
    GP_WELCOME,
    GP_PULL,
    GP_PARAMETERS,
    GP_PUSH,
    GP_HEARTBEAT,
    GP_BYE, // from the server: the run is over; from a worker: it leaves
    GP_REFUSE,
    GP_ASK,
    GP_JOB,
    GP_MESSAGE_KINDS
} gp_message_kind;

enum {
    GP_FLAG_FULL = 1,   // PARAMETERS: all of them, not a difference; PUSH: was computed from such
    GP_FLAG_FAILED = 2, // PUSH: the worker could not compute at these parameters; there are no values
    // PARAMETERS and the PUSH that answers them: all rows of the shards (or the first `rows` of them), not a batch
    GP_FLAG_ALL_ROWS = 4,
    GP_FLAG_STATISTICS = 8, // the same: to full precision, and only the statistics are wanted (ps/statistics.h)
    GP_FLAG_LAST = 16,      // BYE: no other run follows; the text, if there is one, says what went wrong
    GP_FLAG_YIELDS = 64,    // HELLO: whoever is there keeps the place that it wishes for
    GP_FLAG_SERVES = 32     // ASK: it serves a range of the parameters, and brings the last one if it had any
};

// Why a message was refused. The text is what a user reads.
#define GP_REFUSALS(X)                                                                              \
    X(UNKNOWN, "the server does not know this worker (any more): it must say hello again")          \
    X(REPLACED, "another worker has taken this one's place")                                        \
    X(OTHER_RUN, "this is a worker of another run: check the run id and the address")               \
    X(OTHER_DATA, "the worker has other data or another model than the server: use the same files") \
    X(NOT_FINITE, "the push had a value that is not finite")                                        \
    X(FULL, "the run has all the workers it can take")                                              \
    X(TAKEN, "the place that this worker wishes for is another's, who lives")                       \
    X(WEIGHTS, "its sums are not of the rows of its shards")                                        \
    X(ABSURD, "its sums are absurd beside those of the others")                                     \
    X(AGAIN, "it has answered wrongly again and again: look at its messages, its memory, its program")
typedef enum gp_refusal {
    GP_NOT_REFUSED,
#define X(name, text) GP_REFUSED_##name,
    GP_REFUSALS(X)
#undef X
        GP_N_REFUSALS
} gp_refusal;
const char *gp_refusal_text(gp_refusal reason);

#define GP_ANY_WORKER UINT32_MAX

// Arrays are borrowed: from the machine that says it until it is told the next thing, from the bytes after decoding.
typedef struct gp_message {
    gp_message_kind kind;
    unsigned flags;
    uint64_t run[2];      // which run this is of
    uint32_t epoch;       // grows when the server is started again from a checkpoint
    uint32_t worker;      // HELLO: the wish, or GP_ANY_WORKER
    uint32_t incarnation; // of the worker, given by the server
    gp_refusal reason;    // REFUSE
    uint64_t sequence;    // of the push that is made, answered or asked for
    uint64_t version;     // of the parameters
    uint64_t token;       // HELLO and WELCOME: a number that pairs them, and that all else of the worker is known by
    uint64_t fingerprint; // HELLO: hash of data and model, which must agree
    double shard_weight;  // PUSH: sum of weights of the rows in the shards, N_k
    double batch_weight;  // PUSH: and of those in the batch, B_k
    uint64_t rows;        // PUSH: rows in the batch; PARAMETERS: rows to take of all, 0: every one
    size_t n_values;      // PARAMETERS: elements sent; PUSH: the sums
    const double *values;
    size_t n_masked;      // PARAMETERS that are not full: elements the mask speaks of
    const uint64_t *mask; // a bit an element: is it among the values?
    size_t n_shards;      // PARAMETERS: the worker's shards from now on; PUSH: those it used
    const uint32_t *shards;
    size_t n_text; // ASK: who it is; JOB: the work; BYE: what went wrong. Bytes as they came, without a 0 at the end
    const char *text;
} gp_message;

// What a receiver accepts; a message beyond is refused before anything is read from it.
typedef struct gp_message_limits {
    size_t values, masked, shards, text;
} gp_message_limits;

size_t gp_message_size(const gp_message *message);           // bytes it takes
size_t gp_message_size_max(const gp_message_limits *limits); // bytes the largest takes
void gp_message_encode(const gp_message *message, void *bytes);
// `bytes` must be aligned to 8. EFILE says what is wrong; nothing outside bytes[0 .. n - 1] is touched, whatever they
// hold. Values are not looked at: whoever uses them checks that they are finite.
advgp_status gp_message_decode(const void *bytes, size_t n, const gp_message_limits *limits, gp_message *message,
                               advgp_error *err);

static inline size_t gp_mask_words(size_t n)
{
    return (n + 63) / 64;
}
