// main.c: the program: finds the verb, reads its options, runs it, and turns the status into an exit code. Nothing else
// decides how the process ends.
#include "api/written.h"
#include "cli/cli.h"
#include "linalg/simd.h"
#include "options/option.h"
#include "transport/transport.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    advgp_status (*run)(const gp_options *options, advgp_error *err);
} verbs[] = {
#define X(name) {#name, gp_cli_##name},
    GP_CLI_VERBS(X)
#undef X
};

static int exit_code(advgp_status status)
{
    switch (status) {
    case ADVGP_OK:
        return 0;
    case ADVGP_EINVAL:
        return 2;
    case ADVGP_EDATA:
        return 3;
    case ADVGP_EFILE:
        return 4;
    case ADVGP_ENUMERIC:
        return 5;
    case ADVGP_ECLUSTER:
        return 6;
    case ADVGP_ESTOPPED:
        return 128 + (gp_cli_stop_signal() ? gp_cli_stop_signal() : SIGINT);
    case ADVGP_ENOMEM:
    case ADVGP_EIO:
        break;
    }
    return 1;
}

static int end(advgp_status status, const advgp_error *err)
{
    advgp_error late = {0};
    gp_cli_live_clear();
    if (status == ADVGP_OK) status = gp_cli_flush(&late), err = &late;
    if (status == ADVGP_EIO && gp_cli_nobody_reads()) return 128 + SIGPIPE; // as every filter, without a word
    if (status != ADVGP_OK) gp_cli_complain(err->text);
    return exit_code(status);
}

static int help(const gp_verb *verb)
{
    gp_buffer text = {0};
    advgp_error err = {0};
    if (verb)
        gp_help_verb(verb, gp_cli_columns(), &text);
    else
        gp_help_program(gp_cli_columns(), &text);
    return end(gp_cli_print_take(&text, &err), &err);
}

static advgp_status run(const gp_options *options, advgp_error *err)
{
    advgp_status st = gp_simd_check(err);
    if (st == ADVGP_OK) st = gp_check_printed(options, err);
    if (st != ADVGP_OK) return st;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(verbs[i].name, options->verb->name) == 0) return verbs[i].run(options, err);
    return gp_fail(err, ADVGP_EINVAL, "%s is not part of this build", options->verb->name);
}

static int run_verb(const gp_verb *verb, int argc, const char *const *argv)
{
    gp_options *options = NULL;
    advgp_error err = {0};
    advgp_status st = gp_options_new(verb->name, &options, &err);
    if (st == ADVGP_OK) st = gp_options_parse(options, argc, argv, &err);
    int code;
    if (st != ADVGP_OK)
        code = end(st, &err);
    else if (gp_options_flag(options, "help"))
        code = help(verb);
    else
        code = end(run(options, &err), &err);
    gp_options_free(options);
    if (gp_transport_must_exit_hard()) _exit(code);
    return code;
}

int main(int argc, char **argv)
{
    gp_cli_best_core(argv);
    gp_cli_signals();
    advgp_error err = {0};
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word)
        return end(gp_fail(&err, ADVGP_EINVAL, "a verb is needed: advgp VERB [options] (see advgp --help)"), &err);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) return help(NULL);
    if (strcmp(word, "--version") == 0) {
        gp_buffer text = {0};
        gp_buffer_add(&text, "advgp %s\n", advgp_version());
        return end(gp_cli_print_take(&text, &err), &err);
    }
    const gp_verb *verb = NULL;
    advgp_status st = gp_verb_find(word, &verb, &err);
    if (st != ADVGP_OK) return end(st, &err);
    return run_verb(verb, argc - 2, (const char *const *)argv + 2);
}
