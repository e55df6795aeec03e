// text.h: text that grows, numbers read from text whatever the locale, text made safe to print, and how far two words
// are apart.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A growing text, always ended by a zero once anything was added. The first failed allocation sticks: later additions
// do nothing, so that a writer checks `failed` once, at its end. Start from {0}.
typedef struct gp_buffer {
    char *p;
    size_t n; // bytes, without the final zero
    size_t room;
    bool failed;
} gp_buffer;
void gp_buffer_bytes(gp_buffer *text, const char *p, size_t n);
__attribute__((format(printf, 2, 3))) void gp_buffer_add(gp_buffer *text, const char *format, ...);
void gp_buffer_fini(gp_buffer *text);

char *gp_text_copy(const char *p, size_t n); // n bytes and a zero, to be given to gp_free; NULL: no memory

// The whole of `text` as a number: no blanks around it, a point for the decimals in every locale, finite. False if it
// is not.
bool gp_text_real(const char *text, double *out);
bool gp_text_integer(const char *text, int64_t *out);

// Bytes of the UTF-8 character at p, 0 where there is none in the n bytes; *code is its number.
size_t gp_text_decode(const char *p, size_t n, uint32_t *code);
bool gp_text_is_utf8(const char *p, size_t n); // RFC 3629: no overlong forms, no surrogates

// How text is printed that came from a file: names, values, queries, messages with these inside. What would move a
// terminal's cursor, change its colours, rename its window or turn the direction of reading is written out as \n, \x1b
// or \u202e, and so are bytes that are no UTF-8; all other text stays as it is. Writes at most room bytes with the
// final zero, no half of a character or escape; returns the length. Allocates nothing: it prints that there is no
// memory, too.
size_t gp_text_printable(char *out, size_t room, const char *p, size_t n);
// The same at the end of a text; with `lines` line ends stay, for text that is a page of ours.
void gp_buffer_printable(gp_buffer *text, const char *p, size_t n, bool lines);

// Letters to insert, delete, change or swap with their neighbour to turn one word into the other; 1 where `typed` is a
// beginning of `word` (two letters or more), for people shorten what they half remember. Looks at the first 47 letters.
size_t gp_text_distance(const char *typed, const char *word);
// Is the word what somebody meant who typed this? A beginning of it, or at most every third letter wrong.
bool gp_text_is_near(const char *typed, const char *word);
