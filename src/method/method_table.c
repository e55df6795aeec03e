// method_table.c: the list of methods.
#include "method/method.h"

#include <string.h>

const gp_method *const gp_methods[] = {
#define X(name) &gp_method_##name,
    GP_METHOD_LIST(X)
#undef X
        NULL,
};

const gp_method *gp_method_named(const char *name)
{
    for (const gp_method *const *method = gp_methods; *method; method++)
        if (name && !strcmp((*method)->name, name)) return *method;
    return NULL;
}

bool gp_method_takes(const gp_method *method, const char *option)
{
    if (!method->options) return true;
    for (const char *const *name = method->options; *name; name++)
        if (!strcmp(*name, option)) return true;
    return false;
}
