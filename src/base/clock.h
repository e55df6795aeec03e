// clock.h: the two clocks of advgp: wall time for people, CPU time for measurements. Only drivers and benchmarks read
// them; nothing that decides a result may.
#pragma once

double gp_clock_wall(void); // seconds since an arbitrary start, never jumps
double gp_clock_cpu(void);  // CPU seconds of the whole process
