// terminal.c: what the program knows about the terminal it talks to.
#define _DEFAULT_SOURCE // struct winsize
#include "base/text.h"
#include "cli/cli.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

size_t gp_cli_columns(void)
{
    struct winsize size = {0};
    int64_t columns = 0;
    const char *told = getenv("COLUMNS");
    if (told && gp_text_integer(told, &columns) && columns > 0 && columns < 10000) return (size_t)columns;
    if (!isatty(STDOUT_FILENO)) return 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col) return size.ws_col;
    return 80;
}
