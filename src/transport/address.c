// address.c: reading addresses, with the resolver and the list of interfaces.
#define _GNU_SOURCE // getifaddrs
#include "transport/address.h"
#include "base/whole.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TEXT_MAX = 300 }; // a host name has up to 253 letters

typedef struct parts {
    char host[TEXT_MAX]; // may be empty
    unsigned port;
    bool has_port;
} parts;

// ---- text -----------------------------------------------------------------------------------------------------------

static bool read_port(const char *text, parts *out)
{
    out->has_port = true;
    out->port = 0;
    if (!strcmp(text, "*")) return true;
    const size_t n = strlen(text);
    if (n < 1 || n > 5 || strspn(text, "0123456789") != n) return false;
    for (size_t i = 0; i < n; i++) out->port = 10 * out->port + (unsigned)(text[i] - '0');
    return out->port <= 65535;
}

static bool split(const char *text, parts *out)
{
    *out = (parts){0};
    if (!strncmp(text, "tcp://", 6)) text += 6;
    const size_t n = strlen(text);
    if (n < 1 || n >= TEXT_MAX || strpbrk(text, "/ \t\r\n")) return false;
    const char *end = text + n, *colon;
    if (text[0] == '[') {
        end = strchr(text, ']');
        if (!end || end == text + 1 || (end[1] && end[1] != ':')) return false;
        memcpy(out->host, text + 1, (size_t)(end - text) - 1);
        return !end[1] || read_port(end + 2, out);
    }
    colon = strchr(text, ':');
    if (!colon && strspn(text, "0123456789") == n) return read_port(text, out);
    if (colon && strchr(colon + 1, ':')) colon = NULL; // IPv6 without brackets, so without a port
    memcpy(out->host, text, (size_t)((colon ? colon : end) - text));
    return !colon || read_port(colon + 1, out);
}

static advgp_status not_an_address(const char *text, const char *forms, advgp_error *err)
{
    return gp_fail(err, ADVGP_EINVAL, "'%.100s' is no address: %s", text, forms);
}

// ---- socket addresses -----------------------------------------------------------------------------------------------

static bool is_usable(const struct sockaddr *a)
{
    return a && (a->sa_family == AF_INET || a->sa_family == AF_INET6);
}

static bool is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

static bool is_every(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET) return !((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr;
    return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

static bool is_link_local(const struct sockaddr *a)
{
    return a->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

static bool is_same_host(const struct sockaddr *a, const struct sockaddr *b)
{
    if (a->sa_family != b->sa_family) return false;
    if (a->sa_family == AF_INET)
        return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)(const void *)b)->sin_addr.s_addr;
    return !memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
                   &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr, sizeof(struct in6_addr));
}

// Of several addresses of one thing: what reaches others before loopback, IPv4 before IPv6, link-local last.
static int rank(const struct sockaddr *a)
{
    return (is_loopback(a) ? 4 : 0) + (is_link_local(a) ? 2 : 0) + (a->sa_family == AF_INET6 ? 1 : 0);
}

static bool print_host(const struct sockaddr *a, char *to, size_t room)
{
    const socklen_t n = a->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    return getnameinfo(a, n, to, (socklen_t)room, NULL, 0, NI_NUMERICHOST) == 0;
}

static bool fill(const struct sockaddr *a, unsigned port, gp_address *out)
{
    *out = (gp_address){.port = port, .loopback = is_loopback(a), .every = is_every(a)};
    if (!print_host(a, out->host, sizeof out->host)) return false;
    const bool v6 = a->sa_family == AF_INET6;
    snprintf(out->endpoint, sizeof out->endpoint, v6 ? "tcp://[%s]:%u" : "tcp://%s:%u", out->host, port);
    return true;
}

// ---- interfaces -----------------------------------------------------------------------------------------------------

static advgp_status interfaces(struct ifaddrs **all, advgp_error *err)
{
    if (getifaddrs(all) == 0) return ADVGP_OK;
    *all = NULL;
    return gp_fail(err, ADVGP_EIO, "cannot list the network interfaces of this machine");
}

// "lo (127.0.0.1), eth0 (10.0.0.3)"
static void list_interfaces(const struct ifaddrs *all, char *to, size_t room)
{
    size_t used = 0;
    to[0] = 0;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        char host[72];
        if (!is_usable(i->ifa_addr) || is_link_local(i->ifa_addr) || !print_host(i->ifa_addr, host, sizeof host))
            continue;
        const int n = snprintf(to + used, room - used, "%s%s (%s)", used ? ", " : "", i->ifa_name, host);
        if (n < 0 || (size_t)n >= room - used) {
            to[used] = 0;
            return;
        }
        used += (size_t)n;
    }
    if (!used) snprintf(to, room, "none with an address");
}

// The best address of one interface (name NULL: of any); NULL: there is none.
static const struct sockaddr *best_of_interface(const struct ifaddrs *all, const char *name)
{
    const struct sockaddr *best = NULL;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next)
        if (is_usable(i->ifa_addr) && (name ? !strcmp(i->ifa_name, name) : (i->ifa_flags & IFF_UP) != 0) &&
            (!best || rank(i->ifa_addr) < rank(best)))
            best = i->ifa_addr;
    return best;
}

static bool is_of_this_machine(const struct ifaddrs *all, const struct sockaddr *a)
{
    if (is_loopback(a) || is_every(a)) return true;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next)
        if (is_usable(i->ifa_addr) && is_same_host(i->ifa_addr, a)) return true;
    return false;
}

static bool is_interface(const struct ifaddrs *all, const char *name)
{
    for (const struct ifaddrs *i = all; i; i = i->ifa_next)
        if (!strcmp(i->ifa_name, name)) return true;
    return false;
}

// ---- names ----------------------------------------------------------------------------------------------------------

static struct addrinfo *look_up(const char *host, int flags, int *why)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags}, *found = NULL;
    *why = getaddrinfo(host, NULL, &hints, &found);
    return *why ? NULL : found;
}

static const struct sockaddr *best_of_name(const struct addrinfo *found)
{
    const struct sockaddr *best = NULL;
    for (const struct addrinfo *f = found; f; f = f->ai_next)
        if (is_usable(f->ai_addr) && (!best || rank(f->ai_addr) < rank(best))) best = f->ai_addr;
    return best;
}

static bool is_own_name(const char *name)
{
    char own[256] = {0};
    return gethostname(own, sizeof own - 1) == 0 && !strcmp(own, name);
}

// ---- what others call -----------------------------------------------------------------------------------------------

static advgp_status listen_at_host(const char *text, const parts *p, const struct ifaddrs *all, gp_address *out,
                                   advgp_error *err)
{
    char there[300];
    int why = 0;
    list_interfaces(all, there, sizeof there);
    struct addrinfo *found = NULL;
    const struct sockaddr *a;
    if (is_interface(all, p->host)) {
        a = best_of_interface(all, p->host);
        if (!a)
            return gp_fail(err, ADVGP_EINVAL, "the interface %.20s has no address; the interfaces are %s", p->host,
                           there);
    } else {
        found = look_up(p->host, 0, &why);
        a = best_of_name(found);
        // Debian gives a machine's own name the address 127.0.1.1, which is not what is meant by listening at it.
        if (a && is_loopback(a) && is_own_name(p->host)) a = best_of_interface(all, NULL);
    }
    advgp_status st = ADVGP_OK;
    if (!a)
        st = gp_fail(err, ADVGP_EINVAL, "'%.60s' is no interface, address or host name (%s); the interfaces are %s",
                     p->host, gai_strerror(why), there);
    else if (!fill(a, p->port, out))
        st = gp_fail(err, ADVGP_EINVAL, "'%.100s' has no numeric form", text);
    else if (!is_of_this_machine(all, a))
        st = gp_fail(err, ADVGP_EINVAL, "%.60s is not an address of this machine; the interfaces are %s", out->host,
                     there);
    if (found) freeaddrinfo(found);
    return st;
}

advgp_status gp_address_listen(const char *text, gp_address *out, advgp_error *err)
{
    parts p;
    *out = (gp_address){0};
    if (!text || !split(text, &p))
        return not_an_address(text ? text : "",
                              "HOST:PORT, PORT, an interface, a host name, or [IPv6]:PORT; ports go up to 65535", err);
    if (!p.host[0]) snprintf(p.host, sizeof p.host, "127.0.0.1");
    if (!strcmp(p.host, "*")) snprintf(p.host, sizeof p.host, "0.0.0.0");
    struct ifaddrs *all;
    advgp_status st = interfaces(&all, err);
    if (st == ADVGP_OK) st = listen_at_host(text, &p, all, out, err);
    if (st != ADVGP_OK) *out = (gp_address){0};
    if (all) freeifaddrs(all);
    return st;
}

static advgp_status connect_to(const char *text, int flags, gp_address *out, bool *is_name, advgp_error *err)
{
    parts p;
    int why;
    *out = (gp_address){0};
    *is_name = false;
    if (!text || !split(text, &p) || !p.host[0] || !p.port)
        return not_an_address(text ? text : "", "HOST:PORT or [IPv6]:PORT, with a port from 1 to 65535", err);
    struct addrinfo *found = look_up(p.host, flags, &why);
    const struct sockaddr *a = best_of_name(found);
    advgp_status st = ADVGP_OK;
    if (!a && flags)
        *is_name = true, out->port = p.port;
    else if (!a)
        st = gp_fail(err, ADVGP_ECLUSTER, "cannot find the host '%.100s': %s", p.host, gai_strerror(why));
    else if (is_every(a))
        st = gp_fail(err, ADVGP_EINVAL, "'%.100s' stands for every interface: name one that the lead listens at", text);
    else if (!fill(a, p.port, out))
        st = gp_fail(err, ADVGP_EINVAL, "'%.100s' has no numeric form", text);
    if (found) freeaddrinfo(found);
    return st;
}

advgp_status gp_address_connect(const char *text, gp_address *out, advgp_error *err)
{
    bool is_name;
    return connect_to(text, 0, out, &is_name, err);
}

advgp_status gp_address_numeric(const char *text, gp_address *out, bool *is_name, advgp_error *err)
{
    return connect_to(text, AI_NUMERICHOST, out, is_name, err);
}

advgp_status gp_address_reach(const char *bound, gp_address *out, advgp_error *err)
{
    struct ifaddrs *all = NULL;
    struct addrinfo *found = NULL;
    char own[256] = {0};
    int why;
    advgp_status st = gp_address_listen(bound, out, err);
    if (st != ADVGP_OK || !out->every) return st;
    const unsigned port = out->port;
    st = interfaces(&all, err);
    if (st == ADVGP_OK) {
        if (gethostname(own, sizeof own - 1) == 0) found = look_up(own, 0, &why);
        const struct sockaddr *a = best_of_name(found);
        // A name may stand for an address that is not here: of a router, or of former times.
        if (!a || is_loopback(a) || !is_of_this_machine(all, a)) a = best_of_interface(all, NULL);
        if (!a || !fill(a, port, out))
            st = gp_fail(err, ADVGP_ECLUSTER,
                         "this machine has no address at which others could reach it: use {listen}");
    }
    if (found) freeaddrinfo(found);
    if (all) freeifaddrs(all);
    return st;
}

bool gp_address_answers(const char *text, double seconds)
{
    gp_address at;
    char port[12];
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    struct addrinfo *a = NULL;
    if (gp_address_connect(text, &at, NULL) != ADVGP_OK) return false;
    snprintf(port, sizeof port, "%u", at.port);
    if (getaddrinfo(at.host, port, &hints, &a) != 0) return false;
    struct pollfd p = {.fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), .events = POLLOUT};
    int why = 0;
    socklen_t n = sizeof why;
    const bool answers = connect(p.fd, a->ai_addr, a->ai_addrlen) == 0 ||
                         (errno == EINPROGRESS && poll(&p, 1, (int)gp_whole(1000 * seconds, 0, INT32_MAX)) == 1 &&
                          getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &why, &n) == 0 && !why);
    if (p.fd >= 0) close(p.fd);
    freeaddrinfo(a);
    return answers;
}
