// replay_verb.c: `advgp replay`: an asynchronous run again, from its log.
#include "api/logged_run.h"
#include "api/written.h"
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static advgp_status compare(const gp_options *o, const char *then, uint64_t bits, advgp_error *err)
{
    char now[20];
    snprintf(now, sizeof now, "%016" PRIx64, bits);
    if (!then || strcmp(then, now) != 0)
        return gp_fail(err, ADVGP_ENUMERIC, "the replay ended with another model (%s, the log says %s); it is in %s",
                       now, then ? then : "nothing", gp_options_text(o, "output"));
    gp_cli_say(o, "the same model, bit for bit (%s)", now);
    return ADVGP_OK;
}

advgp_status gp_cli_replay(const gp_options *o, advgp_error *err)
{
    gp_logged_run *run = NULL;
    gp_options *train = NULL;
    const gp_replay_feed *feed = NULL;
    uint64_t bits = 0;
    const char *log = o->operands[0], *output = gp_options_text(o, "output");
    advgp_status st = gp_check_written(o, "output", output, GP_WRITTEN_MODEL, err);
    if (st == ADVGP_OK) st = gp_logged_run_open(log, gp_cli_host(o), &run, err);
    if (st == ADVGP_OK) st = gp_logged_run_options(run, o, &train, err);
    if (st == ADVGP_OK && gp_logged_run_was_elsewhere(run))
        gp_cli_say(o, "note: the run was on another CPU, BLAS or version of advgp: the last bits may differ");
    if (st == ADVGP_OK) st = gp_logged_run_feed(run, output, &feed, err);
    if (st == ADVGP_OK) st = gp_cli_training(train, feed, &bits, err);
    if (st == ADVGP_OK) st = compare(o, gp_logged_run_bits(run), bits, err);
    gp_options_free(train);
    gp_logged_run_close(run);
    return st;
}
