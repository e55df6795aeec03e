// man.c: manual pages in roff, from the option table.
#include "advgp.h"
#include "cli/docs.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// Text as roff prints it: backslashes and dashes as themselves, and no line that begins like a request.
static void add_escaped(gp_buffer *out, const char *text)
{
    bool line_start = !out->n || out->p[out->n - 1] == '\n';
    if (line_start && (*text == '.' || *text == '\'')) gp_buffer_add(out, "\\&");
    for (; *text; text++) {
        if (*text == '\\')
            gp_buffer_add(out, "\\e");
        else if (*text == '-')
            gp_buffer_add(out, "\\-");
        else if (*text == '\'')
            gp_buffer_add(out, "\\(aq");
        else
            gp_buffer_bytes(out, text, 1);
    }
}

static void add_upper(gp_buffer *out, const char *text)
{
    for (; *text; text++) gp_buffer_add(out, "%c", toupper((unsigned char)*text));
}

static void add_title(gp_buffer *out, const char *verb)
{
    gp_buffer_add(out, ".\\\" written by gendocs from the option table\n.TH ADVGP");
    if (verb) gp_buffer_add(out, "\\-");
    if (verb) add_upper(out, verb);
    gp_buffer_add(out, " 1 \"\" \"advgp %s\" \"advgp manual\"\n", advgp_version());
}

static void add_sentence(gp_buffer *out, const char *text)
{
    size_t start = out->n;
    add_escaped(out, text);
    if (!out->failed && out->n > start) out->p[start] = (char)toupper((unsigned char)out->p[start]);
    gp_buffer_add(out, ".\n");
}

// ---- a verb ---------------------------------------------------------------------------------------------------------

static void add_option_heading(gp_buffer *out, const gp_option *option)
{
    gp_buffer form = {0};
    gp_option_form(option, &form);
    gp_buffer_add(out, ".TP\n");
    if (option->letter) gp_buffer_add(out, "\\fB\\-%c\\fR, ", option->letter);
    gp_buffer_add(out, "\\fB\\-\\-");
    add_escaped(out, option->name);
    gp_buffer_add(out, "\\fR");
    if (option->alias) {
        gp_buffer_add(out, ", \\fB\\-\\-");
        add_escaped(out, option->alias);
        gp_buffer_add(out, "\\fR");
    }
    if (form.n) {
        gp_buffer_add(out, " \\fI");
        add_escaped(out, form.p);
        gp_buffer_add(out, "\\fR");
    }
    gp_buffer_add(out, "\n");
    out->failed |= form.failed;
    gp_buffer_fini(&form);
}

static void add_option_notes(gp_buffer *out, const gp_option *option)
{
    gp_buffer note = {0}, allowed = {0};
    gp_option_note(option, &note);
    gp_option_allowed(option, &allowed);
    if (note.n) add_sentence(out, note.p);
    if (option->kind == GP_OPTION_INTEGER || option->kind == GP_OPTION_REAL || option->check ||
        (option->kind == GP_OPTION_LIST && option->max > 0)) {
        gp_buffer_add(out, "Allowed: ");
        add_escaped(out, allowed.p ? allowed.p : "");
        gp_buffer_add(out, ".\n");
    }
    if (option->kind == GP_OPTION_FLAG && !(option->facets & GP_OF_COMMAND_LINE)) {
        gp_buffer_add(out, "Undone by \\fB\\-\\-no\\-");
        add_escaped(out, option->name);
        gp_buffer_add(out, "\\fR.\n");
    }
    out->failed |= note.failed || allowed.failed;
    gp_buffer_fini(&note);
    gp_buffer_fini(&allowed);
}

static void add_options(gp_buffer *out, const gp_verb *verb, gp_option_group group)
{
    bool any = false;
    for (size_t i = 0; i < gp_option_table_size; i++) {
        const gp_option *option = &gp_option_table[i];
        if (option->group != group || !gp_verb_takes(verb, option)) continue;
        if (!any) gp_buffer_add(out, ".SS %s\n", gp_group_titles[group]);
        any = true;
        add_option_heading(out, option);
        gp_buffer help = {0};
        gp_option_describe(option, &help);
        add_sentence(out, help.p ? help.p : "");
        out->failed |= help.failed;
        gp_buffer_fini(&help);
        const char *name, *summary;
        for (size_t k = 0; option->family && (name = option->family(k, &summary)); k++) {
            gp_buffer_add(out, "\\fB");
            add_escaped(out, name);
            gp_buffer_add(out, "\\fR: ");
            add_sentence(out, summary);
        }
        add_option_notes(out, option);
    }
}

static void add_example(gp_buffer *out, const gp_verb *verb)
{
    gp_buffer_add(out, ".SH EXAMPLE\n.nf\n.RS\n");
    add_escaped(out, verb->example);
    gp_buffer_add(out, "\n.RE\n.fi\n.PP\n");
    add_escaped(out, verb->example_help);
    gp_buffer_add(out, "\n");
}

void gp_man_verb(const gp_verb *verb, gp_buffer *out)
{
    add_title(out, verb->name);
    gp_buffer_add(out, ".SH NAME\nadvgp\\-%s \\- ", verb->name);
    add_escaped(out, verb->summary);
    gp_buffer_add(out, "\n.SH SYNOPSIS\n\\fBadvgp %s\\fR ", verb->name);
    if (*verb->operands) gp_buffer_add(out, "\\fI%s\\fR ", verb->operands);
    gp_buffer_add(out, "[\\fIoptions\\fR]\n.SH DESCRIPTION\n");
    add_sentence(out, verb->summary);
    if (*verb->operands) {
        gp_buffer_add(out, ".TP\n\\fI%s\\fR\n", verb->operands);
        add_sentence(out, verb->operand_help);
    }
    gp_buffer_add(out, ".SH OPTIONS\n");
    for (gp_option_group group = 0; group < GP_N_GROUPS; group++) add_options(out, verb, group);
    add_example(out, verb);
    gp_buffer_add(out, ".SH SEE ALSO\n.BR advgp (1)\n");
}

// ---- the program ----------------------------------------------------------------------------------------------------

void gp_man_program(gp_buffer *out)
{
    add_title(out, NULL);
    gp_buffer_add(out, ".SH NAME\nadvgp \\- Gaussian process regression for tables of any size\n"
                       ".SH SYNOPSIS\n\\fBadvgp\\fR \\fIVERB\\fR [\\fIoptions\\fR]\n"
                       ".br\n\\fBadvgp\\fR \\fIVERB\\fR \\fB\\-\\-help\\fR\n.br\n\\fBadvgp \\-\\-version\\fR\n"
                       ".SH DESCRIPTION\nTurns a table into a Gaussian process with calibrated intervals.\n"
                       "Results go to standard output or a file, everything else to standard error.\n.SH VERBS\n");
    for (size_t i = 0; i < gp_verbs_size; i++) {
        gp_buffer_add(out, ".TP\n.BR advgp\\-%s (1)\n", gp_verbs[i].name);
        add_sentence(out, gp_verbs[i].summary);
    }
    gp_buffer_add(
        out, ".SH CONFIG FILE\nA file given by \\fB\\-\\-config\\fR has lines of the form \\fIkey\\fR = \\fIvalue\\fR,"
             " with the long names of the options as keys; flags take true or false.\n"
             "What follows a # is a comment; a value in double quotes keeps blanks and #.\n"
             "The command line wins over the file.\n.SH EXIT STATUS\n");
    for (size_t i = 0; i < gp_exit_codes_size; i++) {
        gp_buffer_add(out, ".TP\n.B %s\n", gp_exit_codes[i].code);
        add_sentence(out, gp_exit_codes[i].meaning);
    }
    gp_buffer_add(
        out,
        ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nIf set, nothing is coloured.\n"
        ".TP\n.B OPENBLAS_CORETYPE\nThe core of OpenBLAS to compute with, as it is. Unset, the program begins once "
        "more with another one where OpenBLAS has chosen one that is below what the CPU can; see\n"
        ".BR advgp\\-info (1).\n"
        ".TP\n.B TMPDIR\nThe folder for temporary copies and for a model that has no other place; /tmp without it.\n"
        ".TP\n.B ADVGP_SIMD\nsse, avx2 or avx512: holds our own loops to that level, as on a CPU that has no more.\n");
    add_example(out, &gp_verbs[0]);
    gp_buffer_add(out, ".SH SEE ALSO\n");
    for (size_t i = 0; i < gp_verbs_size; i++)
        gp_buffer_add(out, ".BR advgp\\-%s (1)%s\n", gp_verbs[i].name, i + 1 < gp_verbs_size ? "," : "");
}
