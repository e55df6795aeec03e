// rule_table.c: the rules there are.
#include "ps/rule.h"

#include <string.h>

const gp_rule_ops *const gp_rules[] = {&gp_rule_natural, &gp_rule_prox, NULL};

const gp_rule_ops *gp_rule_named(const char *name)
{
    for (const gp_rule_ops *const *rule = gp_rules; *rule; rule++)
        if (!strcmp((*rule)->name, name)) return *rule;
    return NULL;
}

void gp_rule_free(gp_rule *rule)
{
    if (rule) rule->ops->free(rule);
}
