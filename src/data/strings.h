// strings.h: what this room does with names and texts, beyond base/text.h: quoting, copying, finding the nearest,
// showing.
#pragma once
#include "base/text.h"

void gp_buffer_quoted(gp_buffer *out, const char *text, char quote); // 'it''s': the quote is doubled inside
char *gp_copy_text(const char *text);                                // NULL without memory; free with gp_free
// How many of the n bytes end with a whole UTF-8 character, where the last one may be cut.
size_t gp_utf8_whole(const unsigned char *p, size_t n);

// The name with the fewest edits to `wanted` (letter case costs nothing), or NULL if none is close enough to be meant.
const char *gp_nearest_name(const char *wanted, const char *const *names, size_t n_names);

// Copies UTF-8 text for a message: cut at `capacity`, with dots. Returns out.
const char *gp_show_text(char *out, size_t capacity, const char *text, size_t n);
