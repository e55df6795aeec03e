// machine.h: what this process may use of the machine it runs on.
#pragma once
#include <stddef.h>
#include <stdint.h>

size_t gp_cores(void); // that the process may run on, at least 1: what taskset, cgroups' cpusets and Slurm leave it

uint64_t gp_random_u64(void); // a number that nobody else has: for names, never for results

// open(2). Where all descriptors are in use it waits for one for some seconds: strangers who connect to a lead's port
// and say nothing take them, and are sent away after five (transport/zmq_wire.c).
int gp_open(const char *path, int flags, unsigned mode);
