// option_set.h: what the readers of options (command line, config file) share. Nothing else includes it.
#pragma once
#include "options/option.h"

// Where a value comes from and how messages name its key.
typedef struct gp_option_source {
    const char *shown; // "--inducing", "-m", "inducing"
    gp_option_origin origin;
    size_t line; // of a config file
    bool append; // to the list that is there
} gp_option_source;

gp_option_value *gp_options_slot(const gp_options *options, const char *key); // NULL: the verb has no such option
advgp_status gp_options_unknown(const gp_options *options, const char *dashes, const char *key, advgp_error *err);
advgp_status gp_options_store(gp_option_value *slot, const gp_option_source *from, const char *text, advgp_error *err);
advgp_status gp_options_check(const gp_option_value *slot, const char *shown, const char *text, advgp_error *err);
