// strings.h: growing text on gp_alloc, and the two things done with names: copying them and finding the nearest one.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// Appending never fails half way: once memory is exhausted `failed` stays true, p keeps what it had, and the caller
// asks once at the end. p is NUL-terminated, or NULL while nothing was appended.
typedef struct gp_string {
    char *p;
    size_t n, capacity; // bytes without the NUL; bytes allocated
    bool failed;
} gp_string;

void gp_string_bytes(gp_string *s, const char *bytes, size_t n);
__attribute__((format(printf, 2, 3))) void gp_string_add(gp_string *s, const char *format, ...);
void gp_string_quoted(gp_string *s, const char *text, char quote); // 'it''s': the quote is doubled inside
void gp_string_fini(gp_string *s);

char *gp_copy_bytes(const char *bytes, size_t n); // NUL-terminated copy; NULL without memory; free with gp_free
char *gp_copy_text(const char *text);

// The name with the fewest edits to `wanted` (letter case costs nothing), or NULL if none is close enough to be meant.
const char *gp_nearest_name(const char *wanted, const char *const *names, size_t n_names);

// Copies UTF-8 text for a message: cut at `capacity`, control bytes shown as '?'. Returns out.
const char *gp_show_text(char *out, size_t capacity, const char *text, size_t n);
