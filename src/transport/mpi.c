// mpi.c: the transport over MPI: loads the module that has the wire (mpi_wire.c) when somebody asks for MPI. So neither
// program nor library needs MPI's libraries, and a machine without them runs everything else.
#define _GNU_SOURCE // dladdr, setenv
#include "transport/mpi.h"
#include "base/alloc.h"
#include "transport/launch.h"
#include "transport/mpi_wire.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODULE "libadvgp_mpi.so"
#define HOW \
    "install Open MPI (libopenmpi3) where advgp has its " MODULE ", or build advgp where libopenmpi-dev is installed"

// ---- the module -----------------------------------------------------------------------------------------------------

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const gp_mpi_module *module; // NULL: there is none, and
static char reason[256];            // why

// From the folder of the program or library that this code is in: installed, in a wheel, and in a build tree.
static const char *const places[] = {"advgp/", "../" ADVGP_LIBDIR "/advgp/", "", "../"};

// MPI's own plug-ins look for its symbols among the global ones. A module is never closed: MPI does not end well twice.
static void *open_module(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!handle) snprintf(reason, sizeof reason, "%s", dlerror());
    return handle;
}

// Not by the name alone, for which dlopen would look at the RUNPATH of its caller: that is the sanitizer where there is
// one. NULL with an empty reason: there is no such file.
static void *open_beside(const char *file)
{
    char folder[PATH_MAX], path[2 * PATH_MAX];
    if (!realpath(file, folder)) return NULL;
    *(strrchr(folder, '/') + 1) = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s%s" MODULE, folder, places[i]);
        if (access(path, R_OK) == 0) return open_module(path);
    }
    return NULL;
}

static void *find_module(void)
{
    static const char here;
    Dl_info about;
    void *handle = NULL; // the name of a program is what it was called by, perhaps without a folder
    if (dladdr(&here, &about) && strchr(about.dli_fname, '/')) handle = open_beside(about.dli_fname);
    if (!handle && !*reason) handle = open_beside("/proc/self/exe");
    return handle || *reason ? handle : open_module(MODULE);
}

static void load(void)
{
    void *handle = find_module();
    const gp_mpi_module *found = handle ? dlsym(handle, "advgp_mpi_module") : NULL;
    if (handle && !found) snprintf(reason, sizeof reason, MODULE " is not a module of advgp");
    if (found && strcmp(found->built_with(), advgp_version()) != 0)
        snprintf(reason, sizeof reason, MODULE " is of advgp %s, and this is %s", found->built_with(), advgp_version());
    else
        module = found;
}

static const gp_mpi_module *loaded(void)
{
    pthread_once(&once, load);
    return module;
}

static const char *version(void)
{
    return loaded() ? module->library() : NULL;
}

// ---- the owner's side -----------------------------------------------------------------------------------------------

bool gp_mpi_launched(void)
{
    return gp_launch_read().meets;
}

// Asked at the end of every program: whoever has not loaded MPI has nothing to fear.
bool gp_mpi_must_exit_hard(void)
{
    return module && module->must_exit_hard();
}

static double or_else(double value, double otherwise)
{
    return value > 0 ? value : otherwise;
}

static gp_mpi_options filled(const gp_mpi_options *o)
{
    return (gp_mpi_options){.among = o->among,
                            .message_max = o->message_max,
                            .piece = !o->piece                     ? (size_t)64 << 20
                                     : o->piece < sizeof(uint64_t) ? sizeof(uint64_t)
                                                                   : o->piece,
                            .sleep_max = fmin(0.5, or_else(o->sleep_max, 1e-3)),
                            .stuck_after = or_else(o->stuck_after, 30),
                            .silence = or_else(o->silence, 10),
                            .patience = or_else(o->patience, 60)};
}

static advgp_status open_courier(gp_wire *wire, const gp_mpi_options *o, gp_endpoint **out, gp_ranks *place,
                                 advgp_error *err)
{
    const gp_courier_options courier = {.wire = wire, .message_max = o->message_max, .hopeless = module->is_hopeless};
    advgp_status st = gp_courier_open(&courier, out, err);
    if (st != ADVGP_OK) return st; // the courier has closed the wire
    const gp_ranks *ranks = module->place(wire);
    if (ranks->rank == 0) gp_courier_be_server(*out);
    if (place) *place = *ranks;
    if (o->among) st = gp_courier_know(*out, ranks->size, err);
    if (st == ADVGP_OK) return st;
    gp_mpi_lost(*out);
    gp_courier_close(*out);
    *out = NULL;
    return st;
}

advgp_status gp_mpi_open(const gp_mpi_options *given, gp_endpoint **out, gp_ranks *place, advgp_error *err)
{
    *out = NULL;
    if (!loaded()) return gp_fail(err, ADVGP_EINVAL, "MPI cannot be used (%s): " HOW, reason);
    const gp_launch launch = gp_launch_read();
    const advgp_status st = gp_launch_check_before(&launch, err);
    if (st != ADVGP_OK) return st;
    const gp_mpi_options o = filled(given);
    const gp_mpi_host host = {&gp_transport_mpi, gp_alloc, gp_free, gp_launch_check_after};
    gp_wire *wire = module->wire_new(&o, &launch, &host);
    if (!wire) return gp_no_memory(err);
    // Without it ranks that outnumber the cores spin away each other's time. Open MPI reads it in Init.
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    return open_courier(wire, &o, out, place, err);
}

void gp_mpi_lost(gp_endpoint *endpoint)
{
    module->lost(gp_courier_wire(endpoint));
}

// A worker without its server has nobody to end MPI with. A lost worker may have left only: silence tells when closing.
static void lost_peer(gp_endpoint *endpoint, size_t peer)
{
    if (peer == 0) gp_mpi_lost(endpoint);
}

static advgp_status enter(size_t message_max, bool among, gp_endpoint **out, gp_ranks *place, advgp_error *err)
{
    return gp_mpi_open(&(gp_mpi_options){.message_max = message_max, .among = among}, out, place, err);
}

const gp_transport gp_transport_mpi = {.name = "mpi",
                                       .summary = "processes started by mpirun or srun --mpi=pmix",
                                       .available = true,
                                       .how = HOW,
                                       .version = version,
                                       .ordered = true,
                                       .send = gp_courier_send,
                                       .receive = gp_courier_receive,
                                       .wake = gp_courier_wake,
                                       .beat = gp_courier_beat,
                                       .lost = lost_peer,
                                       .close = gp_courier_close,
                                       .enter = enter,
                                       .must_exit_hard = gp_mpi_must_exit_hard};
