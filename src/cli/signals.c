// signals.c: how the program takes signals. SIGINT, SIGTERM and SIGHUP ask it to stop: what it has becomes model and
// checkpoint, and the exit code tells which it was. A second one ends it at once, as any other ending signal does, and
// then too nothing temporary is left. Writing to nobody is an error of that write and no more.
#include "base/temporary.h"
#include "cli/cli.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stop_signal;
static struct timespec stop_time; // written once, before stop_signal

bool gp_cli_stopped(void)
{
    return stop_signal != 0;
}

int gp_cli_stop_signal(void)
{
    return stop_signal;
}

// Also for faults: the instruction that failed fails again, now with nobody to catch it.
static void end_now(int number)
{
    gp_temporary_remove_all();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static double seconds_since(const struct timespec *then)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - then->tv_sec) + 1e-9 * (double)(now.tv_nsec - then->tv_nsec);
}

// Launchers send one to the process and at once to its group: that is one request, heard twice.
static void ask_to_stop(int number)
{
    const double one_request = 0.2;
    if (stop_signal == 0) {
        clock_gettime(CLOCK_MONOTONIC, &stop_time);
        stop_signal = number;
    } else if (number != stop_signal || seconds_since(&stop_time) > one_request) {
        end_now(number);
    }
}

// Unless somebody else, like a sanitizer, has taken it, or it is ignored, as by nohup.
static void take(int number, void (*handler)(int))
{
    struct sigaction now, action = {.sa_handler = handler};
    if (sigaction(number, NULL, &now) != 0 || (now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL) return;
    sigaction(number, &action, NULL);
}

// A file that is opened where standard error should be would get its messages. What is opened here can neither be
// written (1, 2) nor read (0), so that whoever needs it hears of it.
static void fill_standard_descriptors(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0) (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void gp_cli_signals(void)
{
    static const int ending[] = {SIGQUIT, SIGILL,  SIGTRAP, SIGABRT,   SIGBUS,  SIGFPE,  SIGSEGV, SIGSYS,
                                 SIGALRM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGPROF, SIGXCPU, SIGPOLL};
    struct sigaction action = {.sa_handler = ask_to_stop};
    sigaction(SIGINT, &action,
              NULL); // a shell ignores it for what runs in the background, where kill may still send it
    sigaction(SIGTERM, &action, NULL);
    take(SIGHUP, ask_to_stop);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) take(ending[i], end_now);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) take(number, end_now);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); // the write fails and says so
    fill_standard_descriptors();
}
