// keygen_verb.c: `advgp keygen`: a folder of keys, or one worker more in it.
#include "cli/cli.h"
#include "store/keys.h"

#include <stdio.h>
#include <string.h>

static json_t *path_json(const char *dir, const char *name, const char *ending)
{
    const size_t n = strlen(dir);
    return json_sprintf("%s%s%s%s", dir, n && dir[n - 1] == '/' ? "" : "/", name, ending);
}

static json_t *pair_json(const char *dir, const char *name, const char *public_key)
{
    return json_pack("{s:o, s:o, s:s}", "secret_file", path_json(dir, name, ".key"), "public_file",
                     path_json(dir, name, ".pub"), "public_key", public_key);
}

static advgp_status print_json(const char *dir, const char *name, const gp_keys_made *made, advgp_error *err)
{
    json_t *o = json_pack("{s:s, s:s, s:o, s:o}", "folder", dir, "name", name, "worker",
                          pair_json(dir, name, made->worker), "allow", path_json(dir, "allow", ""));
    if (o && made->server[0]) json_object_set_new(o, "server", pair_json(dir, "server", made->server));
    return gp_cli_print_json_take(o, err);
}

static advgp_status print_text(const char *dir, const char *name, const gp_keys_made *made, advgp_error *err)
{
    gp_buffer text = {0};
    if (made->server[0])
        gp_buffer_add(&text,
                      "%s: keys for a lead and its workers\n"
                      "  the lead needs   server.key and allow, the list of workers it lets in\n"
                      "  a worker needs   worker.key and server.pub\n"
                      "The .key files are secret: take them to other machines over a channel you trust.\n",
                      dir);
    else
        gp_buffer_add(&text, "%s: a key for the worker %s, which needs %s.key and server.pub; allow has its line\n",
                      dir, name, name);
    return gp_cli_print_take(&text, err);
}

advgp_status gp_cli_keygen(const gp_options *o, advgp_error *err)
{
    const char *dir = o->operands[0], *name = gp_options_text(o, "worker");
    gp_keys_made made;
    const advgp_status st = name ? gp_keys_add_worker(dir, name, &made, err) : gp_keys_make(dir, &made, err);
    if (st != ADVGP_OK) return st;
    return (gp_options_flag(o, "json") ? print_json : print_text)(dir, name ? name : "worker", &made, err);
}
