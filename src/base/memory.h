// memory.h: how much memory this process may take.
#pragma once
#include "base/status.h"

// Bytes: what the machine has, or less where the control group (a container, a batch job) or the limits of the process
// (ulimit -d, ulimit -v) allow less.
double gp_memory_bytes(void);
// EINVAL, with the way out, where `what` would take more than that: said before it is taken.
advgp_status gp_memory_check(double bytes, const char *what, const char *way_out, advgp_error *err);
