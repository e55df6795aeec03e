// work_verb.c: `advgp work`: a worker of a training that another process leads.
#include "api/participant.h"
#include "cli/cli.h"
#include "linalg/blas.h"

advgp_status gp_cli_work(const gp_options *o, advgp_error *err)
{
    gp_participant *self = NULL;
    advgp_status st = gp_blas_reserve(1, err); // who cannot compute does not come
    if (st == ADVGP_OK) st = gp_participant_open_worker(o, gp_cli_host(o), &self, err);
    if (st == ADVGP_OK) st = gp_participant_work(self, err);
    gp_participant_close(self, NULL);
    return st;
}
