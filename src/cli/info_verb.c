// info_verb.c: advgp info: what this program is made of and what it found on this machine.
#include "api/config.h"
#include "cli/cli.h"

advgp_status gp_cli_info(const gp_options *options, advgp_error *err)
{
    json_t *o = gp_config_json();
    if (gp_options_flag(options, "json")) return gp_cli_print_json_take(o, err);
    gp_buffer text = {.failed = !o};
    if (o) gp_config_text(o, &text);
    json_decref(o);
    return gp_cli_print_take(&text, err);
}
