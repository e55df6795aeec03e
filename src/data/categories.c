// categories.c: open addressing over XXH3, at most half full.
#include "data/categories.h"

#include "base/alloc.h"
#include "data/strings.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static size_t slot_of(const gp_categories *c, uint64_t hash, gp_text text)
{
    size_t i = hash & (c->n_slots - 1);
    for (; c->slots[i]; i = (i + 1) & (c->n_slots - 1)) {
        const gp_category *item = &c->items[c->slots[i] - 1];
        if (item->hash == hash && item->n == text.n && memcmp(item->text, text.p, text.n) == 0) break;
    }
    return i;
}

long gp_categories_find(const gp_categories *c, gp_text text)
{
    if (c->n_slots == 0) return GP_NO_CATEGORY;
    size_t slot = slot_of(c, XXH3_64bits(text.p, text.n), text);
    return (long)c->slots[slot] - 1;
}

static void fill_slots(gp_categories *c)
{
    memset(c->slots, 0, c->n_slots * sizeof *c->slots);
    for (size_t k = 0; k < c->n; k++) {
        size_t i = c->items[k].hash & (c->n_slots - 1);
        while (c->slots[i]) i = (i + 1) & (c->n_slots - 1);
        c->slots[i] = (uint32_t)k + 1;
    }
}

static bool grow(gp_categories *c)
{
    size_t capacity = c->capacity ? 2 * c->capacity : 32;
    gp_category *items = gp_alloc(capacity, sizeof *items);
    uint32_t *slots = gp_alloc(2 * capacity, sizeof *slots);
    if (!items || !slots) {
        gp_free(items);
        gp_free(slots);
        return false;
    }
    if (c->n) memcpy(items, c->items, c->n * sizeof *items);
    gp_free(c->items);
    gp_free(c->slots);
    c->items = items;
    c->slots = slots;
    c->capacity = capacity;
    c->n_slots = 2 * capacity;
    fill_slots(c);
    return true;
}

advgp_status gp_categories_add(gp_categories *c, gp_text text, long *index, advgp_error *err)
{
    uint64_t hash = XXH3_64bits(text.p, text.n);
    size_t slot = c->n_slots ? slot_of(c, hash, text) : 0;
    *index = c->n_slots ? (long)c->slots[slot] - 1 : GP_NO_CATEGORY;
    if (*index != GP_NO_CATEGORY) return ADVGP_OK;
    if (c->n == GP_CATEGORIES_MAX || c->bytes + text.n > GP_CATEGORY_BYTES_MAX) {
        c->overflowed = true;
        return ADVGP_OK;
    }
    char *copy = gp_text_copy(text.p, text.n);
    if (!copy || (c->n == c->capacity && !grow(c))) {
        gp_free(copy);
        return gp_no_memory(err);
    }
    slot = slot_of(c, hash, text);
    c->items[c->n] = (gp_category){.text = copy, .n = text.n, .hash = hash};
    c->slots[slot] = (uint32_t)++c->n;
    c->bytes += text.n;
    *index = (long)c->n - 1;
    return ADVGP_OK;
}

static int by_bytes(const void *a, const void *b)
{
    const gp_category *x = a, *y = b;
    int order = memcmp(x->text, y->text, x->n < y->n ? x->n : y->n);
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

void gp_categories_sort(gp_categories *c)
{
    if (c->n == 0) return;
    qsort(c->items, c->n, sizeof *c->items, by_bytes);
    fill_slots(c);
}

void gp_categories_fini(gp_categories *c)
{
    for (size_t i = 0; i < c->n; i++) gp_free(c->items[i].text);
    gp_free(c->items);
    gp_free(c->slots);
    *c = (gp_categories){0};
}
