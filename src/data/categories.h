// categories.h: the different texts of a column with their sums, in bounded memory: beyond the limits the table says so
// and stops growing, since such a column (names, free text) is left out anyway.
#pragma once
#include "base/status.h"
#include "data/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GP_CATEGORIES_MAX = 100000, GP_CATEGORY_BYTES_MAX = 1 << 25 }; // values and bytes of text a column

typedef struct gp_category {
    char *text; // NUL-terminated; n bytes
    size_t n;
    uint64_t hash;
    size_t rows, first_row;     // first_row from 0, in the source
    double weight;              // of all usable rows
    double fit_weight, fit_sum; // weight and weighted target of the rows a target mean may use
} gp_category;

typedef struct gp_categories {
    gp_category *items; // in order of appearance until sorted
    size_t n, capacity, bytes;
    uint32_t *slots; // index + 1 of the item, 0 where free; a power of two of them
    size_t n_slots;
    bool overflowed;
} gp_categories; // {0} is empty

enum { GP_NO_CATEGORY = -1 };
long gp_categories_find(const gp_categories *c, gp_text text); // index, or GP_NO_CATEGORY
// Finds or adds; *index is GP_NO_CATEGORY where the table is full. ENOMEM is the only failure.
advgp_status gp_categories_add(gp_categories *c, gp_text text, long *index, advgp_error *err);
void gp_categories_sort(gp_categories *c); // by bytes, so that the order of rows never matters
void gp_categories_fini(gp_categories *c);
