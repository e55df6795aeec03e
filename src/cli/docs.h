// docs.h: pages and shell scripts written from the option table, at build time. gendocs.c is the program around them.
#pragma once
#include "options/option.h"

void gp_man_program(gp_buffer *out);                   // advgp.1
void gp_man_verb(const gp_verb *verb, gp_buffer *out); // advgp-VERB.1

void gp_completion_bash(gp_buffer *out);
void gp_completion_zsh(gp_buffer *out);
void gp_completion_fish(gp_buffer *out);
