// machine.h: what this process may use of the machine it runs on.
#pragma once
#include <stddef.h>
#include <stdint.h>

size_t gp_cores(void); // that the process may run on, at least 1: what taskset, cgroups' cpusets and Slurm leave it

uint64_t gp_random_u64(void); // a number that nobody else has: for names, never for results
