// written.h: what the verbs ask before they write a file.
#pragma once
#include "options/option.h"
#include "store/place.h"

// May `path`, given by --option, be written? By place.h, where what is read are the operands and the files of --test,
// --validation, --config and, unless it is the model that may take its place, --start. --force counts.
advgp_status gp_check_written(const gp_options *options, const char *option, const char *path, gp_written kind,
                              advgp_error *err);
// The same for standard output, where results are printed: `advgp evaluate model rows.csv >> rows.csv`.
advgp_status gp_check_printed(const gp_options *options, advgp_error *err);
