// gendocs.c: a program of the build. Writes man pages and completion scripts from the option table, and lists the table
// and its help for the test that compares them.
//   gendocs man DIR | completion DIR | help [VERB] | options
#include "base/status.h"
#include "cli/docs.h"

#include <stdio.h>
#include <string.h>

static int complain(const char *what, const char *about)
{
    fprintf(stderr, "gendocs: %s %s\n", what, about);
    return 1;
}

static int save(const char *dir, const char *name, gp_buffer *text)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = n > 0 && (size_t)n < sizeof path && !text->failed ? fopen(path, "w") : NULL;
    bool good = file && fwrite(text->p, 1, text->n, file) == text->n;
    if (file) good = fclose(file) == 0 && good;
    gp_buffer_fini(text);
    return good ? 0 : complain("cannot write", path);
}

static int write_man(const char *dir)
{
    gp_buffer page = {0};
    gp_man_program(&page);
    int failed = save(dir, "advgp.1", &page);
    for (size_t i = 0; i < gp_verbs_size; i++) {
        char name[64];
        snprintf(name, sizeof name, "advgp-%s.1", gp_verbs[i].name);
        gp_man_verb(&gp_verbs[i], &page);
        failed |= save(dir, name, &page);
    }
    return failed;
}

static int write_completion(const char *dir)
{
    gp_buffer script = {0};
    gp_completion_bash(&script);
    int failed = save(dir, "advgp.bash", &script);
    gp_completion_zsh(&script);
    failed |= save(dir, "_advgp", &script);
    gp_completion_fish(&script);
    return failed | save(dir, "advgp.fish", &script);
}

static int print_help(const char *name)
{
    gp_buffer help = {0};
    const gp_verb *verb = NULL;
    advgp_error err;
    if (name && gp_verb_find(name, &verb, &err) != ADVGP_OK) return complain(err.text, "");
    if (verb)
        gp_help_verb(verb, 0, &help);
    else
        gp_help_program(0, &help);
    fputs(help.failed ? "" : help.p, stdout);
    gp_buffer_fini(&help);
    return 0;
}

// One line an option and verb: verb, name, letter or -, alias or -, flag or value.
static int print_options(void)
{
    for (size_t v = 0; v < gp_verbs_size; v++)
        for (size_t i = 0; i < gp_option_table_size; i++) {
            const gp_option *o = &gp_option_table[i];
            if (gp_verb_takes(&gp_verbs[v], o))
                printf("%s %s %c %s %s\n", gp_verbs[v].name, o->name, o->letter ? o->letter : '-',
                       o->alias ? o->alias : "-", o->kind == GP_OPTION_FLAG ? "flag" : "value");
        }
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (argc == 3 && strcmp(what, "man") == 0) return write_man(argv[2]);
    if (argc == 3 && strcmp(what, "completion") == 0) return write_completion(argv[2]);
    if (argc <= 3 && strcmp(what, "help") == 0) return print_help(argc == 3 ? argv[2] : NULL);
    if (argc == 2 && strcmp(what, "options") == 0) return print_options();
    fprintf(stderr, "usage: gendocs man DIR | completion DIR | help [VERB] | options\n");
    return 2;
}
