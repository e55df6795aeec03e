// interrupt.h: Ctrl-C and SIGTERM, turned into a question that a long loop asks. The second one ends the program at
// once.
#pragma once

void gp_interrupt_catch(void); // from here on, signals are noted
int gp_interrupt_signal(void); // 0, or the signal that came
