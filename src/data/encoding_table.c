// encoding_table.c: the list of encodings.
#include "data/encoding_kit.h"

#include <string.h>

const gp_encoding *const gp_encoding_family[] = {
#define X(name) &gp_encoding_##name,
    GP_ENCODING_LIST(X)
#undef X
        NULL,
};

const gp_encoding *gp_encoding_named(const char *name, gp_column_type type)
{
    for (const gp_encoding *const *e = gp_encoding_family; *e; e++)
        if (name && (*e)->types >> type & 1 && strcmp((*e)->name, name) == 0) return *e;
    return NULL;
}

const gp_encoding *gp_encoding_suggested(gp_column_type type)
{
    const gp_encoding *const *e = gp_encoding_family;
    while (*e && !((*e)->suggested >> type & 1)) e++;
    return *e;
}

bool gp_encoding_is_asked(const char *name)
{
    for (const gp_encoding *const *e = gp_encoding_family; *e; e++)
        if ((*e)->asked && strcmp((*e)->name, name) == 0) return true;
    return false;
}

void gp_encoding_choices(const char *prefix, const char *last, gp_buffer *out)
{
    size_t n = 0, k = 0;
    for (const gp_encoding *const *e = gp_encoding_family; *e; e++) n += (*e)->asked;
    for (const gp_encoding *const *e = gp_encoding_family; *e; e++)
        if ((*e)->asked) gp_buffer_add(out, "%s%s%s", !k ? "" : k + 1 < n ? ", " : last, prefix, (*e)->name), k++;
}

size_t gp_one_column(const gp_input *input)
{
    (void)input;
    return 1;
}
