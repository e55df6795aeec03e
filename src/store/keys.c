// keys.c: key files, read and written.
#define _GNU_SOURCE // explicit_bzero, flock
#include "store/keys.h"
#include "base/alloc.h"
#include "base/text.h"
#include "store/atomicfile.h"
#include "store/secretfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LETTERS = GP_ZMQ_KEY - 1 };

// ---- text -----------------------------------------------------------------------------------------------------------

static const char z85[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

bool gp_key_is_good(const char *text)
{
    if (!text || strlen(text) != LETTERS) return false;
    for (size_t i = 0; i < LETTERS; i += 5) {
        uint64_t four_bytes = 0;
        for (size_t k = 0; k < 5; k++) {
            const char *at = strchr(z85, text[i + k]);
            if (!at) return false;
            four_bytes = 85 * four_bytes + (uint64_t)(at - z85);
        }
        if (four_bytes > UINT32_MAX) return false;
    }
    return true;
}

// The next line without the blanks around it; NULL: the end.
static const char *next_line(const char **text, size_t *n)
{
    const char *line = *text;
    if (!*line) return NULL;
    const size_t whole = strcspn(line, "\n");
    *text = line + whole + (line[whole] == '\n');
    const char *end = line + whole;
    while (line < end && strchr(" \t\r", *line)) line++;
    while (end > line && strchr(" \t\r", end[-1])) end--;
    *n = (size_t)(end - line);
    return line;
}

static bool take_key(const char *text, size_t n, char out[GP_ZMQ_KEY])
{
    char key[GP_ZMQ_KEY] = {0};
    if (n != LETTERS) return false;
    memcpy(key, text, n);
    if (!gp_key_is_good(key)) return false;
    memcpy(out, key, sizeof key);
    return true;
}

advgp_status gp_keys_parse(const char *text, const char *name, gp_zmq_identity *out, advgp_error *err)
{
    size_t n, number = 0;
    *out = (gp_zmq_identity){0};
    for (const char *line; (line = next_line(&text, &n));) {
        number++;
        if (n == 0 || line[0] == '#') continue;
        const char *equals = memchr(line, '=', n);
        char *key = equals && !strncmp(line, "public", 6)   ? out->public_key
                    : equals && !strncmp(line, "secret", 6) ? out->secret_key
                                                            : NULL;
        const size_t skip = key ? (size_t)(equals - line) + 1 : 0;
        const size_t blanks = key ? strspn(equals + 1, " \t") : 0;
        if (!key || strspn(line + 6, " \t") != skip - 7 || key[0] ||
            !take_key(line + skip + blanks, n - skip - blanks, key)) {
            explicit_bzero(out, sizeof *out);
            return gp_fail(err, ADVGP_EFILE,
                           "the key file %.200s is damaged in line %zu: it should be `public = KEY` or `secret = KEY`, "
                           "each once, with %d letters of Z85",
                           name, number, LETTERS);
        }
    }
    if (out->public_key[0]) return ADVGP_OK;
    explicit_bzero(out, sizeof *out);
    return gp_fail(err, ADVGP_EFILE, "the key file %.200s is damaged: it has no line `public = KEY`", name);
}

advgp_status gp_keys_parse_allowed(const char *text, const char *name, char (**out)[GP_ZMQ_KEY], size_t *n_out,
                                   advgp_error *err)
{
    size_t n, number = 0;
    *n_out = 0;
    *out = gp_alloc(strlen(text) / LETTERS + 1, GP_ZMQ_KEY);
    if (!*out) return gp_no_memory(err);
    for (const char *line; (line = next_line(&text, &n));) {
        number++;
        if (n == 0 || line[0] == '#') continue; // no key begins so: that would be more than 32 bits
        size_t key = 0;                         // then blanks and a comment may follow
        while (key < n && line[key] != ' ' && line[key] != '\t') key++;
        const char *rest = line + key + strspn(line + key, " \t");
        if (take_key(line, key, (*out)[*n_out]) && (key == n || *rest == '#')) {
            ++*n_out;
            continue;
        }
        gp_free(*out);
        *out = NULL, *n_out = 0;
        return gp_fail(err, ADVGP_EFILE, "line %zu of %.200s is no public key (%d letters of Z85)", number, name,
                       LETTERS);
    }
    return ADVGP_OK;
}

// ---- reading --------------------------------------------------------------------------------------------------------

static bool join(char to[PATH_MAX], const char *dir, const char *name, const char *ending)
{
    const size_t n = strlen(dir);
    const char *slash = n && dir[n - 1] == '/' ? "" : "/";
    const int used = snprintf(to, PATH_MAX, "%s%s%s%s", dir, slash, name, ending);
    return used > 0 && used < PATH_MAX;
}

static advgp_status too_long(const char *dir, advgp_error *err)
{
    return gp_fail(err, ADVGP_EINVAL, "the path %.100s... is too long", dir);
}

static advgp_status missing(const char *what, const char *path, advgp_error *err)
{
    return gp_fail(err, ADVGP_EDATA, "there is no %s %.200s: make it with `advgp keygen DIR`", what, path);
}

static advgp_status read_key(const char *path, bool secret, gp_zmq_identity *out, advgp_error *err)
{
    gp_secretfile file;
    bool found;
    char public_key[GP_ZMQ_KEY];
    *out = (gp_zmq_identity){0};
    advgp_status st = gp_secretfile_read(path, "the key file", &file, &found, err);
    if (st != ADVGP_OK) return st;
    if (!found) return missing("key file", path, err);
    st = gp_keys_parse(file.text, path, out, err);
    if (st == ADVGP_OK && out->secret_key[0])
        st = gp_secretfile_check_private(&file, path, "the key file", err);
    else if (st == ADVGP_OK && secret)
        st = gp_fail(err, ADVGP_EFILE,
                     "the key file %.200s has no line `secret = KEY`: the file with the secret is .key", path);
    gp_secretfile_fini(&file);
    if (st == ADVGP_OK && secret) {
        st = gp_zmq_public_of(out->secret_key, public_key, err);
        if (st == ADVGP_OK && strcmp(public_key, out->public_key) != 0)
            st = gp_fail(err, ADVGP_EFILE,
                         "the key file %.200s is damaged: public and secret key do not belong together", path);
    }
    if (st != ADVGP_OK) explicit_bzero(out, sizeof *out);
    return st;
}

advgp_status gp_keys_read_lead(const char *dir, gp_lead_keys *out, advgp_error *err)
{
    char path[PATH_MAX], list[PATH_MAX];
    gp_secretfile file;
    bool found;
    *out = (gp_lead_keys){0};
    if (!join(path, dir, "server", ".key") || !join(list, dir, "allow", "")) return too_long(dir, err);
    advgp_status st = read_key(path, true, &out->keys, err);
    if (st == ADVGP_OK) st = gp_secretfile_read(list, "the list of keys", &file, &found, err);
    if (st == ADVGP_OK && !found) st = missing("list of keys", list, err);
    if (st == ADVGP_OK) {
        st = gp_keys_parse_allowed(file.text, list, &out->allowed, &out->n_allowed, err);
        gp_secretfile_fini(&file);
    }
    if (st != ADVGP_OK) gp_lead_keys_fini(out);
    return st;
}

void gp_lead_keys_fini(gp_lead_keys *keys)
{
    gp_free(keys->allowed);
    explicit_bzero(keys, sizeof *keys);
}

advgp_status gp_keys_read_worker(const char *path, gp_worker_keys *out, advgp_error *err)
{
    char own[PATH_MAX], lead[PATH_MAX], dir[PATH_MAX];
    struct stat about;
    gp_zmq_identity server;
    *out = (gp_worker_keys){0};
    if (strlen(path) >= PATH_MAX) return too_long(path, err);
    const bool folder = stat(path, &about) == 0 && S_ISDIR(about.st_mode);
    const char *slash = strrchr(path, '/');
    snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - path) + 1 : 0, path);
    if (folder ? !join(own, path, "worker", ".key") || !join(lead, path, "server", ".pub")
               : !snprintf(own, sizeof own, "%s", path) || !join(lead, slash ? dir : ".", "server", ".pub"))
        return too_long(path, err);
    advgp_status st = read_key(own, true, &out->keys, err);
    if (st == ADVGP_OK) st = read_key(lead, false, &server, err);
    if (st == ADVGP_OK) memcpy(out->lead_key, server.public_key, GP_ZMQ_KEY);
    if (st != ADVGP_OK) explicit_bzero(out, sizeof *out);
    return st;
}

// ---- writing --------------------------------------------------------------------------------------------------------

static advgp_status write_new(const char *path, const char *text, bool secret, advgp_error *err)
{
    gp_atomicfile *file;
    advgp_status st = secret ? gp_atomicfile_open_private(path, &file, err) : gp_atomicfile_open(path, &file, err);
    if (st != ADVGP_OK) return st;
    // Whatever the umask: what the group may write is refused when it is read.
    if (!secret && chmod(gp_atomicfile_temporary(file), 0644) != 0)
        st = gp_fail(err, ADVGP_EIO, "cannot set the permissions of %.300s: %s", path, strerror(errno));
    if (st == ADVGP_OK) st = gp_atomicfile_write(file, text, strlen(text), err);
    if (st == ADVGP_OK) return gp_atomicfile_commit_new(file, err);
    gp_atomicfile_abandon(file);
    return st;
}

static advgp_status exists_already(const char *path, advgp_error *err)
{
    return gp_fail(err, ADVGP_EINVAL,
                   "%.300s exists already, and keys are not replaced: choose another folder, or delete it", path);
}

// NAME.key and NAME.pub; neither where either fails.
static advgp_status write_pair(const char *dir, const char *name, const gp_zmq_identity *keys, advgp_error *err)
{
    char path[PATH_MAX], shown[PATH_MAX], text[400];
    if (!join(path, dir, name, ".key") || !join(shown, dir, name, ".pub")) return too_long(dir, err);
    snprintf(text, sizeof text,
             "# The key of %s, made by advgp keygen. Whoever has this file can pass for it: keep it secret.\n"
             "public = %s\nsecret = %s\n",
             name, keys->public_key, keys->secret_key);
    advgp_status st = write_new(path, text, true, err);
    if (st == ADVGP_OK) {
        snprintf(text, sizeof text, "# The public key of %s, made by advgp keygen.\npublic = %s\n", name,
                 keys->public_key);
        st = write_new(shown, text, false, err);
        if (st != ADVGP_OK) unlink(path);
    }
    explicit_bzero(text, sizeof text);
    return st;
}

static void remove_pair(const char *dir, const char *name)
{
    char path[PATH_MAX];
    if (join(path, dir, name, ".key")) unlink(path);
    if (join(path, dir, name, ".pub")) unlink(path);
}

static advgp_status refuse_existing(const char *dir, const char *const *names, advgp_error *err)
{
    for (; *names; names++) {
        char path[PATH_MAX];
        struct stat about;
        if (!join(path, dir, *names, "")) return too_long(dir, err);
        if (lstat(path, &about) == 0) return exists_already(path, err);
    }
    return ADVGP_OK;
}

static advgp_status make_in(const char *dir, const gp_zmq_identity *server, const gp_zmq_identity *worker,
                            advgp_error *err)
{
    static const char *const names[] = {"server.key", "server.pub", "worker.key", "worker.pub", "allow", NULL};
    char path[PATH_MAX], text[400];
    advgp_status st = refuse_existing(dir, names, err);
    if (st != ADVGP_OK) return st;
    if (!join(path, dir, "allow", "")) return too_long(dir, err);
    st = write_pair(dir, "server", server, err);
    if (st != ADVGP_OK) return st;
    st = write_pair(dir, "worker", worker, err);
    if (st != ADVGP_OK) {
        remove_pair(dir, "server");
        return st;
    }
    snprintf(text, sizeof text,
             "# Public keys of the workers that the lead lets in, one a line. To shut one out, delete its line.\n"
             "%s  # worker\n",
             worker->public_key);
    st = write_new(path, text, true, err);
    if (st != ADVGP_OK) remove_pair(dir, "server"), remove_pair(dir, "worker");
    return st;
}

advgp_status gp_keys_make(const char *dir, gp_keys_made *made, advgp_error *err)
{
    gp_zmq_identity server, worker;
    *made = (gp_keys_made){0};
    advgp_status st = gp_zmq_keypair(&server, err);
    if (st == ADVGP_OK) st = gp_zmq_keypair(&worker, err);
    if (st != ADVGP_OK) return st;
    const bool created = mkdir(dir, 0700) == 0;
    if (!created && errno != EEXIST)
        st = gp_fail(err, ADVGP_EIO, "cannot make the folder %.300s: %s", dir, strerror(errno));
    if (st == ADVGP_OK) st = make_in(dir, &server, &worker, err);
    if (st == ADVGP_OK) {
        memcpy(made->server, server.public_key, GP_ZMQ_KEY);
        memcpy(made->worker, worker.public_key, GP_ZMQ_KEY);
    } else if (created) {
        rmdir(dir);
    }
    explicit_bzero(&server, sizeof server), explicit_bzero(&worker, sizeof worker);
    return st;
}

// ---- one worker more ------------------------------------------------------------------------------------------------

static bool is_good_name(const char *name)
{
    static const char *const taken[] = {"server", "allow"};
    const size_t n = strlen(name);
    if (n < 1 || n > 64 || name[0] == '.' || name[0] == '-') return false;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (!strcmp(name, taken[i])) return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == n;
}

static advgp_status extend_list(const char *list, const char *name, const char *key, advgp_error *err)
{
    gp_secretfile old;
    bool found;
    char(*allowed)[GP_ZMQ_KEY];
    size_t n;
    gp_buffer text = {0};
    gp_atomicfile *file;
    advgp_status st = gp_secretfile_read(list, "the list of keys", &old, &found, err);
    if (st == ADVGP_OK && !found) st = missing("list of keys", list, err);
    if (st != ADVGP_OK) return st;
    st = gp_keys_parse_allowed(old.text, list, &allowed, &n, err); // nothing is added to what cannot be read
    if (st == ADVGP_OK) {
        gp_free(allowed);
        const bool open_end = old.n && old.text[old.n - 1] != '\n';
        gp_buffer_add(&text, "%s%s%s  # %s\n", old.text, open_end ? "\n" : "", key, name);
        if (text.failed) st = gp_no_memory(err);
    }
    gp_secretfile_fini(&old);
    if (st == ADVGP_OK) st = gp_atomicfile_open_private(list, &file, err);
    if (st == ADVGP_OK) {
        st = gp_atomicfile_write(file, text.p, text.n, err);
        if (st == ADVGP_OK)
            st = gp_atomicfile_commit(file, err);
        else
            gp_atomicfile_abandon(file);
    }
    gp_buffer_fini(&text);
    return st;
}

static advgp_status add_to(const char *dir, const char *name, const gp_zmq_identity *keys, advgp_error *err)
{
    char list[PATH_MAX], key[80], shown[80];
    snprintf(key, sizeof key, "%s.key", name);
    snprintf(shown, sizeof shown, "%s.pub", name);
    const char *const names[] = {key, shown, NULL};
    if (!join(list, dir, "allow", "")) return too_long(dir, err);
    if (access(list, F_OK) != 0) return missing("list of keys", list, err);
    advgp_status st = refuse_existing(dir, names, err);
    if (st == ADVGP_OK) st = write_pair(dir, name, keys, err);
    if (st != ADVGP_OK) return st;
    st = extend_list(list, name, keys->public_key, err);
    if (st != ADVGP_OK) remove_pair(dir, name);
    return st;
}

advgp_status gp_keys_add_worker(const char *dir, const char *name, gp_keys_made *made, advgp_error *err)
{
    gp_zmq_identity keys;
    *made = (gp_keys_made){0};
    if (!is_good_name(name))
        return gp_fail(err, ADVGP_EINVAL,
                       "'%.80s' cannot name a worker's key: up to 64 letters, digits, dots, dashes and underscores, "
                       "beginning with a letter or digit, and not server or allow",
                       name);
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return gp_fail(err, ADVGP_EDATA, "cannot open the folder of keys %.200s: %s; `advgp keygen DIR` makes one", dir,
                       strerror(errno));
    flock(fd, LOCK_EX); // two that add a worker at once would each write the list without the other's line
    advgp_status st = gp_zmq_keypair(&keys, err);
    if (st == ADVGP_OK) st = add_to(dir, name, &keys, err);
    if (st == ADVGP_OK) memcpy(made->worker, keys.public_key, GP_ZMQ_KEY);
    explicit_bzero(&keys, sizeof keys);
    close(fd);
    return st;
}
