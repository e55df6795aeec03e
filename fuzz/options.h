// options.h: what the two harnesses of options share.
#pragma once
#include "options/option.h"

#include <stdint.h>

gp_options *fuzz_options_new(uint8_t choice); // of the verb that the byte picks
void fuzz_options_check(const gp_options *options, advgp_status st, const advgp_error *err);
