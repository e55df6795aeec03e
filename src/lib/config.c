// config.c: what the library found on this machine.
#include "api/config.h"
#include "lib/handles.h"

advgp_status advgp_config_json(char **json, advgp_error *err)
{
    if (!library_has(json, "place for the result", err)) return ADVGP_EINVAL;
    *json = NULL;
    return library_json_take(gp_config_json(), json, err);
}

advgp_status advgp_config_text(char **text, advgp_error *err)
{
    if (!library_has(text, "place for the result", err)) return ADVGP_EINVAL;
    gp_buffer b = {0};
    json_t *o = gp_config_json();
    *text = NULL;
    if (o) gp_config_text(o, &b);
    if (o && !b.failed) *text = gp_text_copy(b.p, b.n);
    gp_buffer_fini(&b);
    json_decref(o);
    return *text ? ADVGP_OK : gp_no_memory(err);
}
