// option_help.c: the text of --help, from the table.
#include "options/option.h"

#include <string.h>
#include <strings.h>

enum { WIDTH = 100, LEFT = 30 }; // columns of a page, and of it what names the option

void gp_option_form(const gp_option *option, gp_buffer *out)
{
    if (option->kind == GP_OPTION_FLAG) return;
    const char *word, *bar = "";
    size_t length;
    if (option->value) gp_buffer_add(out, "%s", option->value), bar = "|";
    for (size_t i = 0; (word = gp_option_word(option, i, &length)); i++, bar = "|")
        gp_buffer_add(out, "%s%.*s", bar, (int)length, word);
}

void gp_option_describe(const gp_option *option, gp_buffer *out)
{
    gp_buffer_add(out, "%s", option->help);
    if (option->more) option->more(out);
}

void gp_option_note(const gp_option *option, gp_buffer *out)
{
    bool said = !option->unit || (option->value && strcasecmp(option->unit, option->value) == 0); // --time SECONDS
    if (!said) gp_buffer_add(out, "%s", option->unit);
    const char *comma = said ? "" : ", ";
    if (option->required) {
        gp_buffer_add(out, "%srequired", comma);
    } else if (option->kind == GP_OPTION_LIST) {
        gp_buffer_add(out, "%smay be repeated", comma);
        comma = ", ";
    }
    if (!option->required && option->kind != GP_OPTION_FLAG && option->fallback)
        gp_buffer_add(out, "%sdefault %s", comma, option->fallback);
}

// Appends words, breaking lines at `width` and starting each at column `left`; `at` is where the pen stands.
static void add_wrapped(gp_buffer *out, const char *words, size_t at, size_t left)
{
    bool fresh = true;
    while (*words) {
        size_t length = strcspn(words, " ");
        if (!fresh && at + 1 + length > WIDTH) {
            gp_buffer_add(out, "\n%*s", (int)left, "");
            at = left;
            fresh = true;
        }
        gp_buffer_add(out, "%s%.*s", fresh ? "" : " ", (int)length, words);
        at += length + !fresh;
        fresh = false;
        words += length + strspn(words + length, " ");
    }
    gp_buffer_add(out, "\n");
}

static void add_members(const gp_option *option, gp_buffer *out)
{
    const char *name, *summary;
    for (size_t i = 0; option->family && (name = option->family(i, &summary)); i++) {
        const size_t start = out->n;
        gp_buffer_add(out, "%*s%s: ", (int)LEFT + 2, "", name);
        add_wrapped(out, summary, out->n - start, LEFT + 4);
    }
}

static void add_name(const gp_option *option, gp_buffer *out)
{
    if (option->letter)
        gp_buffer_add(out, "  -%c, ", option->letter);
    else
        gp_buffer_add(out, "      ");
    gp_buffer_add(out, "--%s", option->name);
    if (option->kind == GP_OPTION_FLAG) return;
    gp_buffer_add(out, " ");
    gp_option_form(option, out);
}

static void add_option(const gp_option *option, gp_buffer *out)
{
    size_t start = out->n;
    add_name(option, out);
    size_t used = out->n - start;
    if (used + 2 > LEFT) {
        gp_buffer_add(out, "\n");
        used = 0;
    }
    gp_buffer_add(out, "%*s", (int)(LEFT - used), "");
    gp_buffer note = {0}, line = {0};
    gp_option_note(option, &note);
    gp_option_describe(option, &line);
    if (note.n) gp_buffer_add(&line, " (%s)", note.p);
    if (option->alias) gp_buffer_add(&line, "; also --%s", option->alias);
    out->failed |= note.failed || line.failed;
    if (!out->failed) add_wrapped(out, line.p, LEFT, LEFT);
    add_members(option, out);
    gp_buffer_fini(&note);
    gp_buffer_fini(&line);
}

static void add_group(const gp_verb *verb, gp_option_group group, gp_buffer *out)
{
    bool any = false;
    for (size_t i = 0; i < gp_option_table_size; i++) {
        const gp_option *option = &gp_option_table[i];
        if (option->group != group || !gp_verb_takes(verb, option)) continue;
        if (!any) gp_buffer_add(out, "\n%s:\n", gp_group_titles[group]);
        any = true;
        add_option(option, out);
    }
}

void gp_help_verb(const gp_verb *verb, gp_buffer *out)
{
    gp_buffer_add(out, "advgp %s: %s\n\n", verb->name, verb->summary);
    gp_buffer_add(out, "usage: advgp %s %s%s[options]\n", verb->name, verb->operands, *verb->operands ? " " : "");
    if (*verb->operands) {
        gp_buffer_add(out, "\n  %s: ", verb->operands);
        add_wrapped(out, verb->operand_help, strlen(verb->operands) + 4, 2);
    }
    for (gp_option_group group = 0; group < GP_N_GROUPS; group++) add_group(verb, group, out);
    gp_buffer_add(out, "\nExample:\n  %s\n  %s\n", verb->example, verb->example_help);
}

void gp_help_program(gp_buffer *out)
{
    gp_buffer_add(
        out, "advgp: Gaussian process regression for tables of any size\n\nusage: advgp VERB [options]\n\nVerbs:\n");
    for (size_t i = 0; i < gp_verbs_size; i++)
        gp_buffer_add(out, "  %-10s %s\n", gp_verbs[i].name, gp_verbs[i].summary);
    gp_buffer_add(out,
                  "\n  advgp VERB --help   the options of a verb, with an example\n"
                  "  advgp --version     the version\n\n"
                  "Example:\n  %s\n  %s\n",
                  gp_verbs[0].example, gp_verbs[0].example_help);
    gp_buffer_add(out, "\nExit status:\n");
    for (size_t i = 0; i < gp_exit_codes_size; i++) {
        enum { CODE = 17 };
        gp_buffer_add(out, "  %-15s", gp_exit_codes[i].code);
        add_wrapped(out, gp_exit_codes[i].meaning, CODE, CODE);
    }
}
