// width.h: how wide text is on a terminal, in columns: a letter has one, most Chinese, Japanese and Korean characters
// two, a combining accent none, whatever the number of bytes and whatever the locale of the program.
#pragma once
#include "base/text.h"

size_t gp_text_width(const char *p, size_t n);
// How many of the n bytes fit into so many columns, whole characters with their accents.
size_t gp_text_fitting(const char *p, size_t n, size_t columns);

// The text of a cell of a table, made printable: padded to so many columns, or cut, with an ellipsis for what is gone.
typedef enum gp_align { GP_LEFT, GP_RIGHT } gp_align;
void gp_buffer_cell(gp_buffer *out, const char *text, size_t columns, gp_align align);

// Words from where the last line stands, broken before `columns`; further lines begin with `indent` blanks. A word that
// is longer than a line has one of its own. Columns 0: never broken. Line ends in the text stay.
void gp_buffer_wrapped(gp_buffer *out, const char *text, size_t indent, size_t columns);
// A page whose lines are kept as they are where they fit, and else go on in further ones, two blanks further in.
void gp_buffer_folded(gp_buffer *out, const char *page, size_t n, size_t columns);
