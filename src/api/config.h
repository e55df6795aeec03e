// config.h: what this advgp is made of, and what it found on this machine: `advgp info`, advgp_config.
#pragma once
#include "base/text.h"

#include <jansson.h>

json_t *gp_config_json(void);                         // NULL: no memory
void gp_config_text(const json_t *o, gp_buffer *out); // the same for people
