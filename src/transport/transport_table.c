// transport_table.c: the transports there are.
#include "transport/transport.h"

#include <string.h>

const gp_transport *const gp_transports[] = {&gp_transport_inproc, &gp_transport_zmq, &gp_transport_mpi,
                                             &gp_transport_sim, NULL};

bool gp_transport_must_exit_hard(void)
{
    for (const gp_transport *const *t = gp_transports; *t; t++)
        if ((*t)->must_exit_hard && (*t)->must_exit_hard()) return true;
    return false;
}

const gp_transport *gp_transport_named(const char *name)
{
    for (const gp_transport *const *t = gp_transports; *t; t++)
        if (!strcmp((*t)->name, name)) return *t;
    return NULL;
}
