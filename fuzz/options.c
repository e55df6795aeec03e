// options.c: every value that a reader of options accepted is within what the table allows.
#include "options.h"

#include "fuzz.h"

#include <string.h>

gp_options *fuzz_options_new(uint8_t choice)
{
    gp_options *options;
    FUZZ_CHECK(gp_options_new(gp_verbs[choice % gp_verbs_size].name, &options, NULL) == ADVGP_OK);
    return options;
}

static void check_value(const gp_option_value *value)
{
    const gp_option *option = value->option;
    bool number = option->kind == GP_OPTION_INTEGER || option->kind == GP_OPTION_REAL;
    FUZZ_CHECK(value->text[0]);
    if (number && !value->word) FUZZ_CHECK(value->real >= option->min && value->real <= option->max);
    if (option->kind == GP_OPTION_CHOICE) FUZZ_CHECK(value->word != NULL);
    if (option->kind == GP_OPTION_LIST) FUZZ_CHECK(value->n_items > 0);
    for (size_t i = 0; i < value->n_items; i++) FUZZ_CHECK(value->items[i][0]);
}

void fuzz_options_check(const gp_options *options, advgp_status st, const advgp_error *err)
{
    FUZZ_CHECK(st == ADVGP_OK || st == ADVGP_EINVAL);
    FUZZ_CHECK(st == ADVGP_OK || (err->text[0] && memchr(err->text, 0, sizeof err->text)));
    for (size_t i = 0; i < options->n_values; i++)
        if (options->values[i].present) check_value(&options->values[i]);
}
