// completion.c: completion scripts for bash, zsh and fish, from the option table.
#include "cli/docs.h"

#include <string.h>

// Text inside single quotes of any of the three shells, with the characters of `also` escaped for zsh's _arguments.
static void add_quoted(gp_buffer *out, const char *text, const char *also)
{
    for (; *text; text++) {
        if (*text == '\'')
            gp_buffer_add(out, "'\\''");
        else
            gp_buffer_add(out, "%s%c", strchr(also, *text) ? "\\" : "", *text);
    }
}

static void add_words(gp_buffer *out, const gp_option *option)
{
    size_t length = 0;
    const char *word;
    for (size_t i = 0; (word = gp_option_word(option, i, &length)); i++)
        gp_buffer_add(out, "%s%.*s", i ? " " : "", (int)length, word);
}

// Of its own or of a family (kernels, maps).
static bool has_words(const gp_option *option)
{
    size_t length;
    return gp_option_word(option, 0, &length);
}

static void add_verb_names(gp_buffer *out)
{
    for (size_t i = 0; i < gp_verbs_size; i++) gp_buffer_add(out, "%s%s", i ? " " : "", gp_verbs[i].name);
}

static bool can_be_undone(const gp_option *option)
{
    return option->kind == GP_OPTION_FLAG && !option->command_line_only;
}

// ---- bash -----------------------------------------------------------------------------------------------------------

static void bash_names(gp_buffer *out, const gp_verb *verb)
{
    gp_buffer_add(out, "    %s) names='", verb->name);
    for (size_t i = 0; i < gp_option_table_size; i++) {
        const gp_option *option = &gp_option_table[i];
        if (!gp_verb_takes(verb, option)) continue;
        if (option->letter) gp_buffer_add(out, "-%c ", option->letter);
        gp_buffer_add(out, "--%s ", option->name);
        if (option->alias) gp_buffer_add(out, "--%s ", option->alias);
        if (can_be_undone(option)) gp_buffer_add(out, "--no-%s ", option->name);
    }
    gp_buffer_add(out, "' ;;\n");
}

// What may follow an option: words, files, folders, or nothing a shell could know.
static void bash_value(gp_buffer *out, const gp_verb *verb, const gp_option *option)
{
    if (option->kind == GP_OPTION_FLAG) return;
    gp_buffer_add(out, "    %s:--%s", verb->name, option->name);
    if (option->letter) gp_buffer_add(out, "|%s:-%c", verb->name, option->letter);
    if (option->alias) gp_buffer_add(out, "|%s:--%s", verb->name, option->alias);
    gp_buffer_add(out, ") words='");
    add_words(out, option);
    gp_buffer_add(out, "' kind=%s ;;\n",
                  option->kind == GP_OPTION_FILE  ? "file"
                  : option->kind == GP_OPTION_DIR ? "directory"
                                                  : "value");
}

void gp_completion_bash(gp_buffer *out)
{
    gp_buffer_add(
        out, "# bash completion for advgp, written by gendocs from the option table\n"
             "_advgp() {\n"
             "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]}\n"
             "    local names='' words='' kind=''\n"
             "    COMPREPLY=()\n"
             "    if (( COMP_CWORD == 1 )); then\n"
             "        COMPREPLY=($(compgen -W '");
    add_verb_names(out);
    gp_buffer_add(out, " --help --version' -- \"$current\"))\n"
                       "        return\n"
                       "    fi\n"
                       "    # bash cuts --option=value at the equals sign\n"
                       "    if [[ $current == = ]]; then current=''\n"
                       "    elif [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
                       "    case $verb in\n");
    for (size_t v = 0; v < gp_verbs_size; v++) bash_names(out, &gp_verbs[v]);
    gp_buffer_add(out, "    *) return ;;\n    esac\n    case $verb:$previous in\n");
    for (size_t v = 0; v < gp_verbs_size; v++)
        for (size_t i = 0; i < gp_option_table_size; i++)
            if (gp_verb_takes(&gp_verbs[v], &gp_option_table[i])) bash_value(out, &gp_verbs[v], &gp_option_table[i]);
    gp_buffer_add(out, "    esac\n"
                       "    if [[ -z $kind && $current == -* ]]; then\n"
                       "        COMPREPLY=($(compgen -W \"$names\" -- \"$current\"))\n"
                       "        return\n"
                       "    fi\n"
                       "    [[ -n $words ]] && COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
                       "    case ${kind:-file} in\n"
                       "    file) COMPREPLY+=($(compgen -f -- \"$current\")) ;;\n"
                       "    directory) COMPREPLY+=($(compgen -d -- \"$current\")) ;;\n"
                       "    esac\n"
                       "}\n"
                       "complete -o filenames -F _advgp advgp\n");
}

// ---- zsh ------------------------------------------------------------------------------------------------------------

static void zsh_action(gp_buffer *out, const gp_option *option)
{
    gp_buffer_add(out, ":");
    add_quoted(out, option->value ? option->value : option->name, ":[]");
    gp_buffer_add(out, ":");
    if (option->kind == GP_OPTION_FILE && option->words) {
        gp_buffer_add(out, "{ compadd ");
        add_words(out, option);
        gp_buffer_add(out, "; _files }");
    } else if (option->kind == GP_OPTION_FILE) {
        gp_buffer_add(out, "_files");
    } else if (option->kind == GP_OPTION_DIR) {
        gp_buffer_add(out, "_files -/");
    } else if (has_words(option)) {
        gp_buffer_add(out, "(");
        add_words(out, option);
        gp_buffer_add(out, ")");
    } else {
        gp_buffer_add(out, " ");
    }
}

static void zsh_spec(gp_buffer *out, const gp_option *option, const char *dashes, const char *name)
{
    bool flag = option->kind == GP_OPTION_FLAG, is_long = strlen(dashes) > 1;
    gp_buffer_add(out, "        '%s%s%s%s[", option->kind == GP_OPTION_LIST ? "*" : "", dashes, name,
                  flag      ? ""
                  : is_long ? "="
                            : "+");
    gp_buffer help = {0};
    gp_option_describe(option, &help);
    out->failed |= help.failed;
    if (!help.failed) add_quoted(out, help.p, ":[]");
    gp_buffer_fini(&help);
    gp_buffer_add(out, "]");
    if (!flag) zsh_action(out, option);
    gp_buffer_add(out, "' \\\n");
}

static void zsh_option(gp_buffer *out, const gp_option *option)
{
    zsh_spec(out, option, "--", option->name);
    if (option->alias) zsh_spec(out, option, "--", option->alias);
    if (option->letter) zsh_spec(out, option, "-", (const char[]){option->letter, 0});
    if (can_be_undone(option)) zsh_spec(out, option, "--no-", option->name);
}

void gp_completion_zsh(gp_buffer *out)
{
    gp_buffer_add(out, "#compdef advgp\n# zsh completion for advgp, written by gendocs from the option table\n\n"
                       "_advgp() {\n    if (( CURRENT == 2 )); then\n        local -a verbs=(\n");
    for (size_t v = 0; v < gp_verbs_size; v++) {
        gp_buffer_add(out, "            '%s:", gp_verbs[v].name);
        add_quoted(out, gp_verbs[v].summary, ":");
        gp_buffer_add(out, "'\n");
    }
    gp_buffer_add(out, "        )\n        _describe verb verbs\n        return\n    fi\n"
                       "    local verb=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $verb in\n");
    for (size_t v = 0; v < gp_verbs_size; v++) {
        gp_buffer_add(out, "    %s)\n        _arguments -s \\\n", gp_verbs[v].name);
        for (size_t i = 0; i < gp_option_table_size; i++)
            if (gp_verb_takes(&gp_verbs[v], &gp_option_table[i])) zsh_option(out, &gp_option_table[i]);
        gp_buffer_add(out, "        '*:file:_files'\n        ;;\n");
    }
    gp_buffer_add(out, "    esac\n}\n\n"
                       "# fpath calls this file as the function itself; sourced, it registers the function\n"
                       "if [[ $funcstack[1] == _advgp ]]; then _advgp \"$@\"; else compdef _advgp advgp; fi\n");
}

// ---- fish -----------------------------------------------------------------------------------------------------------

static void fish_option(gp_buffer *out, const gp_verb *verb, const gp_option *option, const char *prefix,
                        const char *name)
{
    gp_buffer_add(out, "complete -c advgp -n '__fish_seen_subcommand_from %s' -l %s%s", verb->name, prefix, name);
    if (option->letter && name == option->name && !*prefix) gp_buffer_add(out, " -s %c", option->letter);
    if (option->kind == GP_OPTION_DIR)
        gp_buffer_add(out, " -x -a '(__fish_complete_directories)'");
    else if (option->kind == GP_OPTION_FILE)
        gp_buffer_add(out, " -r -F");
    else if (option->kind != GP_OPTION_FLAG)
        gp_buffer_add(out, " -x");
    if (has_words(option) && !*prefix) {
        gp_buffer_add(out, " -a '");
        add_words(out, option);
        gp_buffer_add(out, "'");
    }
    gp_buffer_add(out, " -d '");
    gp_buffer help = {0};
    gp_option_describe(option, &help);
    out->failed |= help.failed;
    for (const char *p = help.failed ? "" : help.p; *p; p++)
        gp_buffer_add(out, "%s%c", strchr("'\\", *p) ? "\\" : "", *p);
    gp_buffer_fini(&help);
    gp_buffer_add(out, "'\n");
}

void gp_completion_fish(gp_buffer *out)
{
    gp_buffer_add(out, "# fish completion for advgp, written by gendocs from the option table\n");
    for (size_t v = 0; v < gp_verbs_size; v++)
        gp_buffer_add(out, "complete -c advgp -f -n __fish_use_subcommand -a %s -d '%s'\n", gp_verbs[v].name,
                      gp_verbs[v].summary);
    gp_buffer_add(out, "complete -c advgp -f -n __fish_use_subcommand -l help -d 'show the verbs'\n"
                       "complete -c advgp -f -n __fish_use_subcommand -l version -d 'show the version'\n");
    for (size_t v = 0; v < gp_verbs_size; v++)
        for (size_t i = 0; i < gp_option_table_size; i++) {
            const gp_option *option = &gp_option_table[i];
            if (!gp_verb_takes(&gp_verbs[v], option)) continue;
            fish_option(out, &gp_verbs[v], option, "", option->name);
            if (option->alias) fish_option(out, &gp_verbs[v], option, "", option->alias);
            if (can_be_undone(option)) fish_option(out, &gp_verbs[v], option, "no-", option->name);
        }
}
