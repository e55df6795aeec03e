// role.c: rank 0 of a launcher leads, unless somebody said otherwise or a lead lives already.
#include "cluster/role.h"
#include "ps/message.h"

gp_role gp_role_of_rank(size_t rank, size_t servers)
{
    if (rank == 0) return (gp_role){.kind = GP_IS_LEAD, .place = GP_ANY_WORKER};
    if (rank <= servers) return (gp_role){.kind = GP_IS_SERVER, .place = GP_ANY_WORKER};
    return (gp_role){.kind = GP_IS_WORKER, .place = (uint32_t)(rank - 1 - servers), .yields = true};
}

static bool wants_to_lead(const gp_role_facts *f)
{
    if (f->wish != GP_ROLE_AUTO) return f->wish == GP_ROLE_LEAD;
    return !f->server_named && !(f->launched && f->rank > 0);
}

bool gp_role_needs_rendezvous(const gp_role_facts *f)
{
    return wants_to_lead(f) && !f->server_named && f->rendezvous != GP_RENDEZVOUS_NONE;
}

advgp_status gp_role_decide(const gp_role_facts *f, gp_role *out, advgp_error *err)
{
    *out = (gp_role){.kind = GP_IS_WORKER, .place = GP_ANY_WORKER};
    if (!wants_to_lead(f)) {
        if (!f->server_named && f->rendezvous == GP_RENDEZVOUS_NONE)
            return gp_fail(err, ADVGP_EINVAL,
                           "a worker must find its lead: name it with {server} HOST:PORT, or a file on a "
                           "shared disk with {rendezvous} FILE");
        if (f->launched && f->rank > 0) *out = gp_role_of_rank((size_t)f->rank, f->servers);
        return ADVGP_OK;
    }
    if (f->server_named)
        return gp_fail(err, ADVGP_EINVAL, "{server} is for workers: a server says with {listen} where it is");
    if (f->rendezvous != GP_RENDEZVOUS_TAKEN) {
        out->kind = GP_IS_LEAD;
        return ADVGP_OK;
    }
    // A task that Slurm added to a running job is of rank 0 again. Who was told to lead, or started by hand, is not.
    if (f->wish == GP_ROLE_LEAD || !f->launched)
        return gp_fail(err, ADVGP_EINVAL,
                       "a lead lives there already; join it with advgp work --rendezvous, or name another file");
    out->late = true;
    return ADVGP_OK;
}
