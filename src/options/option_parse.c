// option_parse.c: the command line behind the verb: --opt value, --opt=value, -m 200, -m200, --no-flag, -- and
// operands.
#include "base/alloc.h"
#include "base/status.h"
#include "options/option.h"
#include "options/option_set.h"

#include <ctype.h>
#include <string.h>

typedef struct cursor {
    int argc;
    const char *const *argv;
    int next;
} cursor;

// One option as it was written: --name=value, --no-name, -x, -xvalue.
typedef struct written {
    char shown[64];    // for messages: "--max-delay"
    const char *value; // NULL: not attached
    bool negated;
    gp_option_value *slot;
} written;

static advgp_status find_long(gp_options *options, const char *arg, written *out, advgp_error *err)
{
    const char *name = arg + 2;
    size_t length = strcspn(name, "=");
    char key[sizeof out->shown - 2] = "";
    memcpy(key, name, length < sizeof key ? length : sizeof key - 1); // a longer one is unknown whatever its end
    memcpy(out->shown, "--", 2);
    memcpy(out->shown + 2, key, sizeof key);
    out->value = name[length] ? name + length + 1 : NULL;
    out->slot = gp_options_slot(options, key);
    if (!out->slot && strncmp(key, "no-", 3) == 0) {
        out->slot = gp_options_slot(options, key + 3);
        out->negated = true;
        if (out->slot && (out->slot->option->kind != GP_OPTION_FLAG || out->slot->option->facets & GP_OF_COMMAND_LINE))
            out->slot = NULL;
    }
    return out->slot ? ADVGP_OK : gp_options_unknown(options, "--", key, err);
}

static advgp_status find_short(gp_options *options, const char *arg, written *out, advgp_error *err)
{
    for (size_t i = 0; i < options->n_values && !out->slot; i++)
        if (options->values[i].option->letter == arg[1]) out->slot = &options->values[i];
    const char *rest = arg + 2;
    if (!out->slot || (*rest && out->slot->option->kind == GP_OPTION_FLAG))
        return gp_options_unknown(options, "-", arg + 1, err);
    memcpy(out->shown, arg, 2);
    if (*rest) out->value = *rest == '=' ? rest + 1 : rest;
    return ADVGP_OK;
}

// A single - is standard input, and -3 is a number; anything else behind a dash is the next option.
static bool may_be_a_value(const char *arg)
{
    return arg[0] != '-' || !arg[1] || isdigit((unsigned char)arg[1]) || arg[1] == '.';
}

static advgp_status missing_value(const written *w, advgp_error *err)
{
    gp_buffer allowed = {0};
    gp_option_allowed(w->slot->option, &allowed);
    advgp_status st = allowed.failed ? gp_no_memory(err)
                                     : gp_fail(err, ADVGP_EINVAL, "%s needs a value: %s", w->shown, allowed.p);
    gp_buffer_fini(&allowed);
    return st;
}

// A flag that has words takes what follows if it is one of them, yes or no: --log-target no. Else it stands alone.
static bool has_own_value(const cursor *at, const written *w)
{
    return w->slot->option->words && at->next < at->argc &&
           gp_options_check(w->slot, w->shown, at->argv[at->next], NULL) == ADVGP_OK;
}

static advgp_status take_value(cursor *at, written *w, advgp_error *err)
{
    if (w->slot->option->kind == GP_OPTION_FLAG) {
        if (w->negated && w->value) return gp_fail(err, ADVGP_EINVAL, "%s takes no value", w->shown);
        if (!w->value && !w->negated && has_own_value(at, w)) w->value = at->argv[at->next++];
        if (!w->value) w->value = w->negated ? "false" : "true";
        return ADVGP_OK;
    }
    if (w->value) return ADVGP_OK;
    if (at->next >= at->argc || !may_be_a_value(at->argv[at->next])) return missing_value(w, err);
    w->value = at->argv[at->next++];
    return ADVGP_OK;
}

static advgp_status take_option(gp_options *options, cursor *at, const char *arg, advgp_error *err)
{
    written w = {.shown = ""};
    advgp_status st = arg[1] == '-' ? find_long(options, arg, &w, err) : find_short(options, arg, &w, err);
    if (st != ADVGP_OK || !w.slot) return st;
    st = take_value(at, &w, err);
    if (st != ADVGP_OK) return st;
    bool again = w.slot->origin == GP_FROM_USER, list = w.slot->option->kind == GP_OPTION_LIST;
    if (again && !list)
        return gp_fail(err, ADVGP_EINVAL, "%s is given twice: '%.80s', then '%.80s'", w.shown, w.slot->text, w.value);
    gp_option_source from = {.shown = w.shown, .origin = GP_FROM_USER, .append = again && list};
    return gp_options_store(w.slot, &from, w.value, err);
}

static advgp_status take_all(gp_options *options, cursor *at, advgp_error *err)
{
    bool only_operands = false;
    while (at->next < at->argc) {
        const char *arg = at->argv[at->next++];
        if (only_operands || arg[0] != '-' || !arg[1]) {
            options->operands[options->n_operands++] = arg;
        } else if (strcmp(arg, "--") == 0) {
            only_operands = true;
        } else {
            advgp_status st = take_option(options, at, arg, err);
            if (st != ADVGP_OK || gp_options_flag(options, "help")) return st;
        }
    }
    return ADVGP_OK;
}

static advgp_status check_operands(const gp_options *options, advgp_error *err)
{
    const gp_verb *verb = options->verb;
    if (options->n_operands < verb->operands_min)
        return gp_fail(err, ADVGP_EINVAL, "%s needs %s: %s", verb->name, verb->operands, verb->operand_help);
    if (options->n_operands > verb->operands_max)
        return gp_fail(err, ADVGP_EINVAL, "%s takes %s%s; '%.80s' is one too many", verb->name,
                       verb->operands_max ? "only " : "nothing but options", verb->operands,
                       options->operands[verb->operands_max]);
    return ADVGP_OK;
}

static advgp_status check_required(const gp_options *options, advgp_error *err)
{
    for (size_t i = 0; i < options->n_values; i++) {
        const gp_option *option = options->values[i].option;
        if (option->required && !options->values[i].present)
            return gp_fail(err, ADVGP_EINVAL, "%s needs {%s} %s: %s", options->verb->name, option->name, option->value,
                           option->help);
    }
    return ADVGP_OK;
}

static advgp_status read_config_if_given(gp_options *options, advgp_error *err)
{
    const gp_option_value *config = gp_options_slot(options, "config");
    if (!config || !config->present) return ADVGP_OK;
    return gp_options_read_config(options, config->text, err);
}

advgp_status gp_options_parse(gp_options *options, int argc, const char *const *argv, advgp_error *err)
{
    gp_free(options->operands);
    options->n_operands = 0;
    options->operands = gp_alloc(argc > 0 ? (size_t)argc : 0, sizeof *options->operands);
    if (!options->operands) return gp_no_memory(err);
    advgp_status st = take_all(options, &(cursor){.argc = argc, .argv = argv}, err);
    if (st != ADVGP_OK || gp_options_flag(options, "help")) return st;
    st = read_config_if_given(options, err);
    if (st == ADVGP_OK) st = check_required(options, err);
    return st == ADVGP_OK ? check_operands(options, err) : st;
}
