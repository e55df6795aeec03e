// file_guess.h: what a file may be that was given where a model is wanted, by its first bytes.
#pragma once

typedef enum gp_file_guess { GP_GUESS_OTHER, GP_GUESS_MODEL, GP_GUESS_TABLE } gp_file_guess;

// OTHER too where it cannot be read. A damaged model is seldom a TABLE: text, Parquet, or either compressed.
gp_file_guess gp_guess_file(const char *path);
