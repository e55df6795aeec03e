// memory.h: how much memory this process may take.
#pragma once

// Bytes: what the machine has, or less where the control group (a container, a batch job) or the limits of the process
// (ulimit -d, ulimit -v) allow less.
double gp_memory_bytes(void);
// Bytes of address space that ulimit -d and ulimit -v still leave this process, touched or not; infinite without them.
double gp_memory_address_room(void);
