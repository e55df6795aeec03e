// option_help.c: the text of --help, from the table.
#include "base/width.h"
#include "options/option.h"

#include <stdio.h>
#include <string.h>

// Columns of a page: of the terminal, but no more than can be read well, nor fewer than a word needs; and of it what
// names the option.
enum { WIDTH = 80, WIDTH_LEAST = 30, WIDTH_MOST = 100, LEFT = 30, LEFT_NARROW = 8, NARROW = 70 };

typedef struct page {
    gp_buffer *out;
    size_t width, left;
} page;

static page page_of(gp_buffer *out, size_t columns)
{
    const size_t width = !columns                ? WIDTH
                         : columns > WIDTH_MOST  ? WIDTH_MOST
                         : columns < WIDTH_LEAST ? WIDTH_LEAST
                                                 : columns;
    return (page){.out = out, .width = width, .left = width < NARROW ? LEFT_NARROW : LEFT};
}

void gp_option_form(const gp_option *option, gp_buffer *out)
{
    const bool flag = option->kind == GP_OPTION_FLAG;
    if (flag && !option->words) return;
    const char *word, *bar = "";
    size_t length;
    if (flag) gp_buffer_add(out, "[yes|no"), bar = "|";
    if (option->value) gp_buffer_add(out, "%s", option->value), bar = "|";
    for (size_t i = 0; (word = gp_option_word(option, i, &length)); i++, bar = "|")
        gp_buffer_add(out, "%s%.*s", bar, (int)length, word);
    if (flag) gp_buffer_add(out, "]");
}

void gp_option_describe(const gp_option *option, gp_buffer *out)
{
    gp_buffer_add(out, "%s", option->help);
    if (option->more) option->more(out);
}

void gp_option_note(const gp_option *option, gp_buffer *out)
{
    if (option->unit) gp_buffer_add(out, "%s", option->unit);
    const char *comma = option->unit ? ", " : "";
    if (option->required) {
        gp_buffer_add(out, "%srequired", comma);
    } else if (option->kind == GP_OPTION_LIST) {
        gp_buffer_add(out, "%smay be repeated", comma);
        comma = ", ";
    }
    const bool alone = option->kind == GP_OPTION_FLAG && !option->words; // it is off unless it is there
    if (!option->required && !alone && option->fallback) gp_buffer_add(out, "%sdefault %s", comma, option->fallback);
}

// Words, and the end of their last line.
static void add_wrapped(page p, const char *words, size_t left)
{
    gp_buffer_wrapped(p.out, words, left, p.width);
    gp_buffer_add(p.out, "\n");
}

// A command line that may be copied: where it is broken the shell is told.
static void add_command(page p, const char *command)
{
    enum { INDENT = 2, FURTHER = 6 };
    size_t at = INDENT;
    gp_buffer_add(p.out, "%*s", INDENT, "");
    while (*command) {
        const char *quote = strchr("'\"", *command) ? strchr(command + 1, *command) : NULL;
        const size_t n = quote ? (size_t)(quote - command) + 1 : strcspn(command, " ");
        const char *next = command + n + strspn(command + n, " ");
        if (at > INDENT && at + 1 + n + (*next ? 2 : 0) > p.width) {
            gp_buffer_add(p.out, " \\\n%*s", FURTHER, "");
            at = FURTHER;
        } else if (at > INDENT) {
            gp_buffer_add(p.out, " ");
            at++;
        }
        gp_buffer_add(p.out, "%.*s", (int)n, command);
        at += n, command = next;
    }
    gp_buffer_add(p.out, "\n");
}

static void add_members(const gp_option *option, page p)
{
    const char *name, *summary;
    for (size_t i = 0; option->family && (name = option->family(i, &summary)); i++) {
        gp_buffer_add(p.out, "%*s%s: ", (int)p.left + 2, "", name);
        add_wrapped(p, summary, p.left + 4);
    }
}

static void add_name(const gp_option *option, gp_buffer *out)
{
    if (option->letter)
        gp_buffer_add(out, "  -%c, ", option->letter);
    else
        gp_buffer_add(out, "      ");
    gp_buffer_add(out, "--%s", option->name);
    if (option->kind == GP_OPTION_FLAG && !option->words) return;
    gp_buffer_add(out, " ");
    gp_option_form(option, out);
}

static void add_option(const gp_option *option, page p)
{
    gp_buffer name = {0}, note = {0}, line = {0};
    add_name(option, &name);
    gp_option_note(option, &note);
    gp_option_describe(option, &line);
    if (note.n) gp_buffer_add(&line, " (%s)", note.p);
    if (option->alias) gp_buffer_add(&line, "; also --%s", option->alias);
    p.out->failed |= name.failed || note.failed || line.failed;
    if (!p.out->failed) {
        const bool beside = name.n + 2 <= p.left;
        gp_buffer_folded(p.out, name.p, name.n, p.width);
        if (!beside) gp_buffer_add(p.out, "\n");
        gp_buffer_add(p.out, "%*s", (int)(p.left - (beside ? name.n : 0)), "");
        add_wrapped(p, line.p, p.left);
    }
    add_members(option, p);
    gp_buffer_fini(&name);
    gp_buffer_fini(&note);
    gp_buffer_fini(&line);
}

static void add_group(const gp_verb *verb, gp_option_group group, page p)
{
    bool any = false;
    for (size_t i = 0; i < gp_option_table_size; i++) {
        const gp_option *option = &gp_option_table[i];
        if (option->group != group || !gp_verb_takes(verb, option)) continue;
        if (!any) gp_buffer_add(p.out, "\n%s:\n", gp_group_titles[group]);
        any = true;
        add_option(option, p);
    }
}

static void add_example(const gp_verb *verb, page p)
{
    gp_buffer_add(p.out, "\nExample:\n");
    add_command(p, verb->example);
    gp_buffer_add(p.out, "  ");
    add_wrapped(p, verb->example_help, 2);
}

void gp_help_verb(const gp_verb *verb, size_t columns, gp_buffer *out)
{
    const page p = page_of(out, columns);
    gp_buffer_add(out, "advgp %s: ", verb->name);
    add_wrapped(p, verb->summary, 2);
    char usage[80];
    snprintf(usage, sizeof usage, "usage: advgp %s %s [options]", verb->name, verb->operands);
    gp_buffer_add(out, "\n");
    add_wrapped(p, usage, 2);
    if (*verb->operands) {
        gp_buffer_add(out, "\n  %s: ", verb->operands);
        add_wrapped(p, verb->operand_help, 2);
    }
    for (gp_option_group group = 0; group < GP_N_GROUPS; group++) add_group(verb, group, p);
    add_example(verb, p);
}

void gp_help_program(size_t columns, gp_buffer *out)
{
    enum { VERB = 13, CODE = 17 };
    const page p = page_of(out, columns);
    add_wrapped(p, "advgp: Gaussian process regression for tables of any size", 2);
    gp_buffer_add(out, "\nusage: advgp VERB [options]\n\nVerbs:\n");
    for (size_t i = 0; i < gp_verbs_size; i++) {
        gp_buffer_add(out, "  %-10s ", gp_verbs[i].name);
        add_wrapped(p, gp_verbs[i].summary, VERB);
    }
    gp_buffer_add(out, "\n");
    add_wrapped(p, "advgp VERB --help shows the options of a verb, with an example; advgp --version the version.", 0);
    add_example(&gp_verbs[0], p);
    gp_buffer_add(out, "\nExit status:\n");
    for (size_t i = 0; i < gp_exit_codes_size; i++) {
        gp_buffer_add(out, "  %-15s", gp_exit_codes[i].code);
        add_wrapped(p, gp_exit_codes[i].meaning, CODE);
    }
}
