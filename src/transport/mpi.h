// mpi.h: a transport over MPI, point to point and without collectives. Rank 0 is the server, the others are workers;
// who is there is settled by the launcher, so nobody can join later.
//
// MPI tells nobody that a peer has died: a send to it never completes, and MPI_Finalize may wait for it for ever. Hence
// two rules for a program over this transport. Whoever has lost a peer says so by gp_mpi_lost before it closes. And the
// very last statement of main is
//     if (gp_transport_must_exit_hard()) _exit(status);
// after everything was written and flushed: where a peer was lost there is no end of MPI, only one of the process. The
// launcher has to allow it: `mpirun --enable-recovery`, or `srun --mpi=pmix --kill-on-bad-exit=0 --wait=0`; with others
// the loss of one process is the end of all.
#pragma once
#include "transport/courier.h"

// What is 0 takes the value in brackets. All ranks must agree on message_max and piece.
typedef struct gp_mpi_options {
    bool among;         // ranks talk to each other as well, not only to rank 0; peers are ranks
    size_t message_max; // bytes of the largest message; who sends a larger one is not heard any more
    size_t piece;       // [64 MB] larger messages travel in pieces of this size, at least 8 bytes
    double sleep_max;   // [0.001 s] between two looks: half the delay of an answer, and what an idle rank costs
    double stuck_after; // [30 s] a peer that has not taken a message for so long gets no further ones until it has
    double silence;     // [10 s] closing: a peer that was not heard of for so long counts as lost,
    double patience;    // [60 s] and one whose endpoint is still open after so long, too
} gp_mpi_options;

// A launcher of MPI programs has started this process: PMIx, PMI or Open MPI's own variables are there.
bool gp_mpi_launched(void);

// Once in a process. Fails with EINVAL and the flag that is missing where the launcher speaks of several processes and
// MPI sees one, where their ranks differ, and where there is one process only. place may be NULL.
advgp_status gp_mpi_open(const gp_mpi_options *options, gp_endpoint **out, gp_ranks *place, advgp_error *err);

// A peer was lost: close will wait for nobody and leave MPI as it is. From the owner, before close.
//
// Without it closing is an agreement: workers say goodbye and wait until the server has heard them all, or was not
// heard of for `silence`; the server waits for workers that are still heard of, and then tells everybody whether MPI is
// ended or left. A worker that closes in the middle of a run therefore waits for the end of the run.
void gp_mpi_lost(gp_endpoint *endpoint);
// After close: MPI was left without an end, so the process must leave by _exit.
bool gp_mpi_must_exit_hard(void);
