// message.h: the protocol between processes, whole: what is said, by whom, when, and its form in bytes.
//
// A message is a fixed header, little endian, then values, mask, shards and text; a checksum covers all of it. Bytes
// that come from elsewhere are read as hostile: gp_message_decode checks every length before it is used. Magic,
// protocol, kind, flags, checksum, run, worker and token stay where they are in every version of the protocol, so that
// a program of another one can be told that it is.
//
// Who. A training has one lead. Processes that join it are workers, which compute, or servers, which keep a range of
// the parameters each (--servers). A training is several runs, one after the other; with servers the steps are cut into
// intervals, and an interval is a run of each server, by one id.
//
//     worker                                      whoever keeps the parameters: lead, or server
//     HELLO (wish, token, fingerprint)       ->
//                                            <-   WELCOME (worker, incarnation, next sequence; its token)
//     PULL (sequence)                        ->
//                                            <-   PARAMETERS (sequence, version, theta, shards)
//     PUSH (sequence, version, shards, sums) ->        as soon as the version is newer:
//                                            <-   PARAMETERS (sequence + 1, ...)   or BYE, when the run is over
//
//     worker                                      lead
//     ASK (token; its name; the interval it has finished, as run)     ->
//                                            <-   JOB (its token; id of the run; a text, cluster/job.h)
//                                                 then HELLO to the lead, or to every server that the text names
//
//     server                                      lead
//     ASK SERVES (token; name and address)   ->
//                                            <-   JOB (its token; id of the interval; text, values of its range)
//                                                 it serves; when the last version is made:
//     ASK SERVES (next token; run is that interval; values)  ->        until it is answered
//                                            <-   TAKEN (its token): the values have arrived, it may forget them
//
//     worker, between runs                        lead, with tasks that do not depend on each other (cells)
//     ASK (token; its name)                  ->
//                                            <-   TASK (its token; id of the act, number of the task; text, values)
//                                                 it computes
//     ASK (next token; run is that act; number of the task; values)  ->        until it is answered
//                                            <-   TASK (its token; the next one), or TAKEN, and it asks on
//
// One request is outstanding and repeated until it is answered; repeats are known by token (ASK, HELLO) or sequence
// (PULL, PUSH) and are answered again. Anything may be lost, come twice or late. Who may say what, and when:
//
//     kind        from            when, and what counts                                  the answer
//     ASK         worker, server  it has no work. Token: new for each question           JOB, TASK, BYE LAST; none:
//                                                                                        wait
//     ASK FAILED  worker          it could not do the task, and is given no more of them  as to ASK
//     JOB         lead            to an ASK, when there is work. Run, text, values       HELLO, or the service
//     TASK        lead            to an ASK, when there are tasks; again to the same question. Run: of the act;
//                                 sequence: of the task                                  ASK with what came of it
//     TAKEN       lead            to an ASK that brought values. Token                   none
//     HELLO       worker          first in a run, or after REFUSE UNKNOWN                WELCOME, REFUSE
//     WELCOME     lead, server    to HELLO                                               PULL
//     PULL        worker          after WELCOME                                          PARAMETERS, REFUSE, BYE
//     PARAMETERS  lead, server    to PULL or PUSH, once a version is due                 PUSH
//     PUSH        worker          after PARAMETERS, one each                             PARAMETERS, REFUSE, BYE
//     HEARTBEAT   anybody         at any time, every heartbeat: it lives. In an interval worker and server name it to
//                                 the lead (run, worker any), and a worker the act whose task it does: of one that is
//                                 over they are told BYE. One without a run asks whether a lead is there, which answers
//                                 with its own
//     REFUSE      lead, server    to what is not welcome: reason; worker, incarnation, generation and token of what it
//                                 answers                                                HELLO (UNKNOWN), ASK
//                                                                                        (OTHER_RUN, FULL, TAKEN), or
//                                                                                        none
//     BYE         lead, server    the run is over, or given up; or the act of a task     ASK
//     BYE LAST    lead            the training is; the text says what went wrong. Token of the last ASK, or the run
//                                 of what it answers                                     BYE LAST: it has heard it
//     BYE         worker          to whom it has said HELLO: it leaves; text: why        none
//     BYE YIELDS  worker          it came when another server had ended the interval: nothing is lost by it     none
//     BYE LAST    worker, server  to the lead: it ends                                   none
//     BYE SERVES  server          to the lead: it cannot go on with the interval: its status as token, why as text
//
// A message of another protocol is answered, in that one, by BYE LAST (from the lead), or ends a worker: both say which
// versions met.
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
    GP_BYE,
    GP_REFUSE,
    GP_ASK,
    GP_JOB,
    GP_TAKEN,
    GP_TASK,
    GP_MESSAGE_KINDS
} gp_message_kind;

enum {
    GP_FLAG_FULL = 1,   // PARAMETERS: all of them, not a difference; PUSH: was computed from such
    GP_FLAG_FAILED = 2, // PUSH: the worker could not compute at these parameters; ASK: nor this task. No values
    // PARAMETERS and the PUSH that answers them: all rows of the shards (or the first `rows` of them), not a batch
    GP_FLAG_ALL_ROWS = 4,
    GP_FLAG_STATISTICS = 8, // the same: to full precision, and only the statistics are wanted (ps/statistics.h)
    GP_FLAG_LAST = 16,      // BYE: no other run follows; the text, if there is one, says what went wrong
    // HELLO: whoever is there keeps the place that it wishes for; BYE: it gives its place back, and nothing is lost
    GP_FLAG_YIELDS = 64,
    GP_FLAG_SERVES = 32 // ASK, HEARTBEAT, BYE: of a process that serves a range of the parameters
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

enum { GP_PROTOCOL = 6 }; // this program's

// Arrays are borrowed: from the machine that says it until it is told the next thing, from the bytes after decoding.
typedef struct gp_message {
    unsigned protocol; // to encode it for a program of another version; 0: of this one
    gp_message_kind kind;
    unsigned flags;
    uint64_t run[2];      // which run this is of
    uint32_t generation;  // grows when the server is started again from a checkpoint
    uint32_t worker;      // HELLO: the wish, or GP_ANY_WORKER
    uint32_t incarnation; // of the worker, given by the server
    gp_refusal reason;    // REFUSE
    uint64_t sequence;    // of the push that is made, answered or asked for; TASK, ASK: of the task
    uint64_t version;     // of the parameters
    // Pairs an answer with its question (HELLO, WELCOME, REFUSE, ASK, JOB, TASK, TAKEN, BYE LAST); all else that a
    // worker says has its HELLO's, by which it is known.
    uint64_t token;
    uint64_t fingerprint; // HELLO: hash of data and model, which must agree
    double shard_weight;  // PUSH: sum of weights of the rows in the shards, N_k
    double batch_weight;  // PUSH: and of those in the batch, B_k
    uint64_t rows;        // PUSH: rows in the batch; PARAMETERS: rows to take of all, 0: every one
    double heartbeat;     // TASK: seconds between two signs of life
    size_t n_values;      // PARAMETERS: elements sent; PUSH: the sums; TASK, ASK: of the task, and what came of it
    const double *values;
    size_t n_masked;      // PARAMETERS that are not full: elements the mask speaks of
    const uint64_t *mask; // a bit an element: is it among the values?
    size_t n_shards;      // PARAMETERS: the worker's shards from now on; PUSH: those it used
    const uint32_t *shards;
    size_t
        n_text; // ASK: who it is; JOB, TASK: the work; BYE: what went wrong. Bytes as they came, without a 0 at the end
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

// The protocol of a message that another version of this program speaks, and so cannot be decoded, with run, worker
// and token. 0: it is none of that kind.
unsigned gp_message_foreign(const void *bytes, size_t n, gp_message *message);

static inline size_t gp_mask_words(size_t n)
{
    return (n + 63) / 64;
}
