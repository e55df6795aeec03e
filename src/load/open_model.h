// open_model.h: the model that a command line names first.
#pragma once
#include "options/option.h"
#include "store/modelfile.h"

// Of the first operand. Where that is a table, the message says so, and in which order the arguments are meant.
advgp_status gp_open_model(const gp_options *options, gp_model **out, advgp_error *err);
