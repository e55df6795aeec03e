// mpi_wire.h: what the module libadvgp_mpi.so gives to whoever loads it (mpi.c): the wire of a courier, over MPI.
#pragma once
#include "transport/launch.h"
#include "transport/mpi.h"

// What the module has of its loader: one door to the heap, and what is known of launchers.
typedef struct gp_mpi_host {
    const gp_transport *transport;
    void *(*alloc)(size_t n, size_t size);
    void (*free)(void *p);
    advgp_status (*check_after)(const gp_launch *launch, int64_t rank, int64_t size, const char *library,
                                advgp_error *err);
} gp_mpi_host;

typedef struct gp_mpi_module {
    const char *(*built_with)(void); // the version of advgp that it belongs to: another's has other structures
    const char *(*library)(void);    // "Open MPI v4.1.4"
    // options: all of them given. NULL: no memory. The wire is the courier's, which closes it.
    gp_wire *(*wire_new)(const gp_mpi_options *options, const gp_launch *launch, const gp_mpi_host *host);
    const gp_ranks *(*place)(const gp_wire *wire); // once it is open
    void (*lost)(gp_wire *wire);
    bool (*is_hopeless)(void); // MPI's end should have come back long ago
    bool (*must_exit_hard)(void);
} gp_mpi_module;

extern const gp_mpi_module advgp_mpi_module; // its one symbol
