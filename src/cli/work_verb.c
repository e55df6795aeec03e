// work_verb.c: `advgp work`: a worker of a training that another process leads.
#include "cli/cli.h"
#include "cli/entry.h"
#include "linalg/blas.h"

advgp_status gp_cli_work(const gp_options *o, advgp_error *err)
{
    gp_entry *entry = NULL;
    advgp_status st = gp_blas_reserve(1, err); // who cannot compute does not come
    if (st == ADVGP_OK) st = gp_entry_open_worker(o, &entry, err);
    if (st == ADVGP_OK) st = gp_entry_work(entry, err);
    gp_entry_close(entry, NULL);
    return st;
}
