// memory.h: how much memory this process may take.
#pragma once

// Bytes: what the machine has, or less where the control group (a container, a batch job) or the limits of the process
// (ulimit -d, ulimit -v) allow less.
double gp_memory_bytes(void);
