// source_table.c: every kind of source there is.
#include "files/files.h"

const gp_source_ops *const gp_source_family[] = {&gp_source_duckdb, &gp_source_memory, &gp_source_packed,
                                                 &gp_source_synthetic, NULL};
