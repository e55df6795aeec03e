// options_test.h: what the tests of this room share: options as a caller sets them, by key, beside the folder of
// table_test.h.
#pragma once
#include "data/table_test.h"
#include "options/option.h"

// Operands, and pairs of key and value up to a NULL, where a value with a dot is a file of the folder.
static inline gp_options *options_of(const char *verb, const char *const *operands, size_t n_operands,
                                     const char *const (*pairs)[2])
{
    gp_options *o = NULL;
    ASSERT_OK(gp_options_new(verb, &o, err));
    o->operands = gp_alloc(n_operands, sizeof *o->operands); // freed with the options
    o->n_operands = n_operands;
    for (size_t i = 0; i < n_operands; i++) o->operands[i] = operands[i];
    for (; (*pairs)[0]; pairs++) {
        const bool file = strchr((*pairs)[1], '.') != NULL;
        ASSERT_OK(gp_options_set(o, (*pairs)[0], file ? in_folder((*pairs)[1]) : (*pairs)[1], err));
    }
    return o;
}
