// interrupt.c: one flag, set by the handler and read by whoever can stop cleanly.
#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t came;

static void note(int signal_number)
{
    came = signal_number;
}

void gp_interrupt_catch(void)
{
    struct sigaction action = {.sa_handler = note,
                               .sa_flags = (int)SA_RESETHAND}; // a second one has its default effect
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int gp_interrupt_signal(void)
{
    return came;
}
