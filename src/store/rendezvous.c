// rendezvous.c: rendezvous.h as JSON.
#define _GNU_SOURCE // explicit_bzero
#include "store/rendezvous.h"
#include "base/temporary.h"
#include "store/atomicfile.h"
#include "store/secretfile.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VERSION = 1, LARGEST = 1 << 14 };
static const char format_name[] = "advgp-rendezvous", what[] = "the rendezvous";

advgp_status gp_rendezvous_of_port(unsigned port, char *path, size_t room, advgp_error *err)
{
    char folder[PATH_MAX];
    path[0] = 0;
    const advgp_status st = gp_temporary_own_folder(folder, sizeof folder, err);
    if (st != ADVGP_OK) return st;
    const int n = snprintf(path, room, "%s/advgp-%ld-%u.rendezvous", folder, (long)geteuid(), port);
    if (n > 0 && (size_t)n < room) return ADVGP_OK;
    path[0] = 0;
    return gp_fail(err, ADVGP_EINVAL, "the name of the folder %.200s is too long for a rendezvous", folder);
}

// ---- writing --------------------------------------------------------------------------------------------------------

static json_t *hex(uint64_t value)
{
    char text[20];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)value);
    return json_string(text);
}

static json_t *to_json(const gp_rendezvous *r)
{
    json_t *o = json_pack("{s:s, s:i, s:s, s:[o, o], s:I, s:s, s:I}", "format", format_name, "version", VERSION,
                          "endpoint", r->endpoint, "run", hex(r->run[0]), hex(r->run[1]), "epoch",
                          (json_int_t)r->generation, "host", r->host, "pid", (json_int_t)r->pid);
    bool good = o != NULL;
    if (good && r->lead_key[0]) good = json_object_set_new(o, "lead_key", json_string(r->lead_key)) == 0;
    if (good && r->worker.secret_key[0])
        good = json_object_set_new(
                   o, "worker",
                   json_pack("{s:s, s:s}", "public", r->worker.public_key, "secret", r->worker.secret_key)) == 0;
    if (good) return o;
    json_decref(o);
    return NULL;
}

advgp_status gp_rendezvous_write(const char *path, const gp_rendezvous *r, advgp_error *err)
{
    gp_rendezvous check;
    gp_atomicfile *file;
    json_t *o = to_json(r);
    char *text = o ? json_dumps(o, JSON_INDENT(1)) : NULL;
    json_decref(o);
    if (!text) return gp_no_memory(err);
    // What is written can be read: a host name that is no text would only be found by the workers.
    advgp_status st = gp_rendezvous_parse(text, strlen(text), &check, err);
    if (st == ADVGP_OK) st = gp_atomicfile_open_private(path, &file, err);
    if (st == ADVGP_OK) {
        st = gp_atomicfile_write(file, text, strlen(text), err);
        if (st == ADVGP_OK) st = gp_atomicfile_write(file, "\n", 1, err);
        if (st == ADVGP_OK)
            st = gp_atomicfile_commit(file, err);
        else
            gp_atomicfile_abandon(file);
    }
    explicit_bzero(text, strlen(text)), explicit_bzero(&check, sizeof check);
    free(text);
    return st;
}

// ---- reading --------------------------------------------------------------------------------------------------------

static advgp_status damaged(const char *field, advgp_error *err)
{
    return gp_fail(err, ADVGP_EFILE, "it is damaged or foreign (%s)", field);
}

static bool read_text(const json_t *o, char *to, size_t room)
{
    const char *text = json_string_value(o);
    if (!text || json_string_length(o) != strlen(text) || strlen(text) >= room) return false;
    memcpy(to, text, strlen(text) + 1);
    return true;
}

static bool read_hex(const json_t *o, uint64_t *out)
{
    const char *text = json_string_value(o);
    if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16) return false;
    *out = strtoull(text, NULL, 16);
    return true;
}

static bool read_key(const json_t *o, char to[GP_ZMQ_KEY])
{
    return read_text(o, to, GP_ZMQ_KEY) && gp_key_is_good(to);
}

// A TCP address with a port; whether anybody is there is another question.
static bool is_endpoint(const char *text)
{
    const char *colon = strrchr(text, ':');
    if (strncmp(text, "tcp://", 6) != 0 || !colon || colon <= text + 6) return false;
    const char *host = text + 6;
    const size_t n = strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:%[]");
    const long port = strspn(colon + 1, "0123456789") == strlen(colon + 1) && strlen(colon + 1) < 6
                          ? strtol(colon + 1, NULL, 10)
                          : 0;
    return n == strlen(host) && port >= 1 && port <= 65535;
}

static bool is_printable(const char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~') return false;
    return true;
}

static advgp_status from_json(const json_t *o, gp_rendezvous *out, advgp_error *err)
{
    const json_t *run = json_object_get(o, "run"), *generation = json_object_get(o, "epoch");
    const json_t *pid = json_object_get(o, "pid"), *key = json_object_get(o, "lead_key");
    const json_t *worker = json_object_get(o, "worker");
    const char *format = json_string_value(json_object_get(o, "format"));
    if (!format || strcmp(format, format_name) != 0) return damaged("format", err);
    const json_int_t version = json_integer_value(json_object_get(o, "version"));
    if (version != VERSION)
        return gp_fail(err, ADVGP_EFILE, "it is of version %lld, and this advgp knows %d: use the lead's advgp",
                       (long long)version, VERSION);
    if (!read_text(json_object_get(o, "endpoint"), out->endpoint, sizeof out->endpoint) || !is_endpoint(out->endpoint))
        return damaged("endpoint", err);
    if (json_array_size(run) != 2 || !read_hex(json_array_get(run, 0), &out->run[0]) ||
        !read_hex(json_array_get(run, 1), &out->run[1]))
        return damaged("run", err);
    if (!json_is_integer(generation) || json_integer_value(generation) < 0 ||
        json_integer_value(generation) > UINT32_MAX)
        return damaged("epoch", err);
    out->generation = (uint32_t)json_integer_value(generation);
    if (!read_text(json_object_get(o, "host"), out->host, sizeof out->host) || !is_printable(out->host))
        return damaged("host", err);
    if (!json_is_integer(pid) || json_integer_value(pid) < 0) return damaged("pid", err);
    out->pid = json_integer_value(pid);
    if (key && !read_key(key, out->lead_key)) return damaged("lead_key", err);
    if (worker && (!key || !read_key(json_object_get(worker, "public"), out->worker.public_key) ||
                   !read_key(json_object_get(worker, "secret"), out->worker.secret_key)))
        return damaged("worker", err);
    return ADVGP_OK;
}

advgp_status gp_rendezvous_parse(const char *text, size_t n, gp_rendezvous *out, advgp_error *err)
{
    json_error_t about;
    *out = (gp_rendezvous){0};
    if (n > LARGEST) return gp_fail(err, ADVGP_EFILE, "it has %zu bytes, more than it can have", n);
    json_t *o = json_loadb(text, n, JSON_REJECT_DUPLICATES, &about);
    if (!o) return gp_fail(err, ADVGP_EFILE, "it is damaged or foreign (line %d: %.100s)", about.line, about.text);
    const advgp_status st = from_json(o, out, err);
    if (st != ADVGP_OK) explicit_bzero(out, sizeof *out);
    json_decref(o);
    return st;
}

advgp_status gp_rendezvous_read(const char *path, gp_rendezvous *out, bool *found, advgp_error *err)
{
    gp_secretfile file;
    *out = (gp_rendezvous){0};
    advgp_status st = gp_secretfile_read_itself(path, what, &file, found, err);
    if (st != ADVGP_OK || !*found) return st;
    *found = file.n > 0;
    if (!*found) {
        gp_secretfile_fini(&file);
        return ADVGP_OK;
    }
    st = gp_rendezvous_parse(file.text, file.n, out, err);
    if (st != ADVGP_OK) st = gp_wrap(err, st, "the rendezvous %.200s cannot be used", path);
    if (st == ADVGP_OK && out->worker.secret_key[0]) st = gp_secretfile_check_private(&file, path, what, err);
    if (st != ADVGP_OK) explicit_bzero(out, sizeof *out);
    gp_secretfile_fini(&file);
    return st;
}

advgp_status gp_rendezvous_remove(const char *path, const gp_rendezvous *mine, advgp_error *err)
{
    gp_rendezvous there;
    bool found;
    advgp_status st = gp_rendezvous_read(path, &there, &found, err);
    if (st != ADVGP_OK || !found) return st;
    const bool same = there.run[0] == mine->run[0] && there.run[1] == mine->run[1] &&
                      there.generation == mine->generation && there.pid == mine->pid &&
                      !strcmp(there.host, mine->host) && !strcmp(there.endpoint, mine->endpoint);
    explicit_bzero(&there, sizeof there);
    if (!same || unlink(path) == 0 || errno == ENOENT) return ADVGP_OK;
    return gp_fail(err, ADVGP_EIO, "cannot delete the rendezvous %.200s: %s", path, strerror(errno));
}

advgp_status gp_rendezvous_target(const gp_rendezvous *r, const gp_worker_keys *own, gp_zmq_target *out,
                                  advgp_error *err)
{
    *out = (gp_zmq_target){0};
    if (!own && r->lead_key[0] && !r->worker.secret_key[0])
        return gp_fail(err, ADVGP_EINVAL,
                       "the lead on %.100s lets in only workers with keys: give this one the keys that `advgp keygen` "
                       "made for the lead ({keys} DIR)",
                       r->host);
    memcpy(out->address, r->endpoint, sizeof r->endpoint);
    memcpy(out->lead_key, own ? own->lead_key : r->lead_key, GP_ZMQ_KEY);
    out->keys = own ? own->keys : r->worker;
    return ADVGP_OK;
}
