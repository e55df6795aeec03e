// work_verb.c: `advgp work`: a worker of a training that another process leads.
#include "api/entry.h"
#include "cli/cli.h"
#include "linalg/dense.h"

advgp_status gp_cli_work(const gp_options *o, advgp_error *err)
{
    gp_entry *entry = NULL;
    gp_blas_threads(1);
    advgp_status st = gp_entry_open_worker(o, gp_cli_host(o), &entry, err);
    if (st == ADVGP_OK) st = gp_entry_work(entry, err);
    gp_entry_close(entry, NULL);
    return st;
}
