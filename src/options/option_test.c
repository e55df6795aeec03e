// option_test.c: the table keeps its promises; command lines and config files, good and bad, with the exact message of
// each.
#include "options/option.h"

#include "base/alloc.h"
#include "data/encoding.h"
#include "kernel/kernel.h"
#include "learn/learner.h"
#include "method/method.h"
#include "ps/server.h"
#include "shards/shards.h"
#include "store/modelfile.h"
#include "transport/transport.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST_ARGS = 16 };

// Splits "train a.csv --target y" at blanks; ' stands for nothing, so that "--target= " can be written as "--target='".
static int split(const char *line, char *buffer, size_t room, const char **argv)
{
    snprintf(buffer, room, "%s", line);
    int argc = 0;
    for (char *p = strtok(buffer, " "); p && argc < MOST_ARGS; p = strtok(NULL, " ")) {
        argv[argc++] = p;
        for (char *q; (q = strchr(p, '\''));) memmove(q, q + 1, strlen(q));
    }
    return argc;
}

// The options of a command line that starts with its verb. The texts live until the next call.
static advgp_status parse(const char *line, gp_options **out, advgp_error *err)
{
    static char buffer[4096];
    static const char *argv[MOST_ARGS];
    int argc = split(line, buffer, sizeof buffer, argv);
    advgp_status st = gp_options_new(argv[0], out, err);
    if (st == ADVGP_OK) st = gp_options_parse(*out, argc - 1, argv + 1, err);
    return st;
}

static gp_options *parsed(const char *line)
{
    gp_options *o;
    advgp_error err = {0};
    if (parse(line, &o, &err) != ADVGP_OK) fail_msg("%s: %s", line, err.text);
    return o;
}

// ---- the table itself -----------------------------------------------------------------------------------------------

static void names_are_unique_for_each_verb(void **state)
{
    (void)state;
    for (size_t v = 0; v < gp_verbs_size; v++)
        for (size_t i = 0; i < gp_option_table_size; i++)
            for (size_t j = 0; j < i; j++) {
                const gp_option *a = &gp_option_table[i], *b = &gp_option_table[j];
                if (!gp_verb_takes(&gp_verbs[v], a) || !gp_verb_takes(&gp_verbs[v], b)) continue;
                assert_string_not_equal(a->name, b->name);
                if (a->letter) assert_int_not_equal(a->letter, b->letter);
                if (a->alias) assert_string_not_equal(a->alias, b->name);
                if (b->alias) assert_string_not_equal(b->alias, a->name);
            }
}

static void rows_are_complete(void **state)
{
    (void)state;
    for (size_t i = 0; i < gp_option_table_size; i++) {
        const gp_option *o = &gp_option_table[i];
        bool number = o->kind == GP_OPTION_INTEGER || o->kind == GP_OPTION_REAL;
        bool named = o->value || o->kind == GP_OPTION_FLAG || o->kind == GP_OPTION_CHOICE;
        if (!o->help || !o->verbs || !named || (number && o->min >= o->max) ||
            !o->check != (!o->allowed && !o->allows) || (o->allowed && o->allows) ||
            (o->kind == GP_OPTION_CHOICE && !o->words == !o->family) || (o->kind == GP_OPTION_FLAG && !o->fallback) ||
            strncmp(o->name, "no-", 3) == 0 || strlen(o->name) > 40)
            fail_msg("row %zu (%s) lacks something", i, o->name);
    }
}

static void columns_are_encoded_as_the_table_says(void **state)
{
    (void)state;
    char line[128];
    for (size_t i = 0; gp_encoding_family[i]; i++) {
        if (!gp_encoding_family[i]->asked) continue;
        snprintf(line, sizeof line, "train a.csv --target y --encode a=b=%s", gp_encoding_family[i]->name);
        gp_options_free(parsed(line));
    }
    static const char *const wrong[] = {"b=label", "=onehot", "onehot", "a=time", "a="};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        gp_options *o = NULL;
        advgp_error err = {0};
        char message[128];
        snprintf(line, sizeof line, "train a.csv --encode a=target --encode %s", wrong[i]);
        snprintf(message, sizeof message, "--encode '%s': must be COL=onehot, COL=target", wrong[i]);
        assert_int_equal(parse(line, &o, &err), ADVGP_EINVAL);
        assert_memory_equal(err.text, message, strlen(message));
        gp_options_free(o);
    }
}

// Choices and limits are those of whoever honours them, so that nothing is promised here and refused there.
static void choices_and_limits_come_from_the_tables(void **state)
{
    (void)state;
    gp_options *o;
    advgp_error err = {0};
    char line[128];
    for (size_t i = 0; gp_kernels[i]; i++) {
        snprintf(line, sizeof line, "train a.csv --target y --kernel %s", gp_kernels[i]->name);
        o = parsed(line);
        assert_true(gp_options_is(o, "kernel", gp_kernels[i]->name));
        gp_options_free(o);
    }
    for (size_t i = 0; gp_transports[i]; i++) {
        snprintf(line, sizeof line, "train a.csv --target y --transport %s", gp_transports[i]->name);
        assert_int_equal(parse(line, &o, &err), gp_transports[i]->simulated ? ADVGP_EINVAL : ADVGP_OK);
        gp_options_free(o);
    }
    gp_buffer help = {0};
    const gp_verb *train;
    assert_int_equal(gp_verb_find("train", &train, NULL), ADVGP_OK);
    gp_help_verb(train, 0, &help);
    for (size_t i = 0; gp_methods[i]; i++) {
        snprintf(line, sizeof line, "\n%*s%s: ", 32, "", gp_methods[i]->name);
        if (!strstr(help.p, line)) fail_msg("help says nothing of %s", gp_methods[i]->name);
    }
    gp_buffer_fini(&help);
    const struct {
        const char *option;
        int most;
    } limits[] = {{"pack a.csv -o b --target y --shards", GP_SHARDS_MAX},
                  {"train a.csv --target y --workers", GP_WORKERS_MAX},
                  {"train a.csv --target y --max-workers", GP_WORKERS_MAX},
                  {"simulate --workers 4,", GP_WORKERS_MAX},
                  {"train a.csv --target y --components", GP_COMPONENTS_MAX},
                  {"compare a.csv --target y --inducing 10,", GP_MODEL_INDUCING_MAX}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        for (int beyond = 0; beyond < 2; beyond++) {
            const bool list = limits[i].option[strlen(limits[i].option) - 1] == ',';
            snprintf(line, sizeof line, "%s%s%d", limits[i].option, list ? "" : " ", limits[i].most + beyond);
            assert_int_equal(parse(line, &o, &err), beyond ? ADVGP_EINVAL : ADVGP_OK);
            gp_options_free(o);
        }
}

static void defaults_are_allowed_values(void **state)
{
    (void)state;
    for (size_t v = 0; v < gp_verbs_size; v++) {
        gp_options *o;
        advgp_error err = {0};
        if (gp_options_new(gp_verbs[v].name, &o, &err) != ADVGP_OK) fail_msg("%s: %s", gp_verbs[v].name, err.text);
        for (size_t i = 0; i < o->n_values; i++) {
            const gp_option *option = o->values[i].option;
            assert_int_equal(o->values[i].present, option->fallback != NULL);
            if (!option->before) continue;
            if (gp_options_set_default(o, option->name, option->before, &err) != ADVGP_OK) fail_msg("%s", err.text);
            assert_false(gp_options_given(o, option->name));
            assert_string_equal(gp_options_text(o, option->name), option->before);
        }
        gp_options_free(o);
    }
}

// ---- good command lines ---------------------------------------------------------------------------------------------

static void defaults_are_there_and_not_given(void **state)
{
    (void)state;
    gp_options *o = parsed("train a.csv --target y");
    assert_int_equal(gp_options_int(o, "inducing"), 200);
    assert_false(gp_options_given(o, "inducing"));
    assert_true(gp_options_given(o, "target"));
    assert_true(gp_options_is(o, "components", "auto"));
    assert_true(gp_options_is(o, "kernel", "ard-rbf"));
    assert_false(gp_options_flag(o, "json"));
    assert_null(gp_options_text(o, "checkpoint"));
    assert_string_equal(gp_options_text(o, "output"), "model.safetensors");
    assert_true(gp_options_real(o, "checkpoint-every") == 60);
    char *const *items;
    assert_int_equal(gp_options_list(o, "features", &items), 0);
    gp_options_free(o);
}

static void every_way_to_write_a_value_is_the_same(void **state)
{
    (void)state;
    static const char *const lines[] = {"train a.csv --inducing 64",  "train --inducing=64 a.csv",
                                        "train a.csv -m 64",          "train -m64 a.csv",
                                        "train -m=64 a.csv",          "train a.csv --inducing 6.4e1",
                                        "train --inducing=+64 a.csv", "train -m 64 -- a.csv"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        gp_options *o = parsed(lines[i]);
        assert_int_equal(gp_options_int(o, "inducing"), 64);
        assert_true(gp_options_real(o, "inducing") == 64);
        assert_int_equal(o->n_operands, 1);
        assert_string_equal(o->operands[0], "a.csv");
        gp_options_free(o);
    }
}

static void flags_go_on_and_off(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        bool on;
    } cases[] = {
        {"info", false},           {"info --json", true},   {"info --no-json", false},   {"info --json=off", false},
        {"info --json=yes", true}, {"info --json=1", true}, {"info --json=false", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gp_options *o = parsed(cases[i].line);
        assert_int_equal(gp_options_flag(o, "json"), cases[i].on);
        gp_options_free(o);
    }
    gp_options *o = parsed("train -q a.csv");
    assert_true(gp_options_flag(o, "quiet"));
    gp_options_free(o);
}

// A word, yes or no behind it is the flag's own; anything else is not.
static void a_flag_with_words_may_have_a_value(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        bool on, is_auto;
        size_t operands;
    } cases[] = {{"train a.csv", false, true, 1},
                 {"train a.csv --log-target", true, false, 1},
                 {"train --log-target a.csv", true, false, 1},
                 {"train --log-target no a.csv", false, false, 1},
                 {"train --log-target auto a.csv b.csv", false, true, 2},
                 {"train a.csv --log-target=yes", true, false, 1},
                 {"train a.csv --log-target --quiet", true, false, 1},
                 {"train a.csv --no-log-target", false, false, 1},
                 {"train --no-log-target no", false, false, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gp_options *o = parsed(cases[i].line);
        if (gp_options_flag(o, "log-target") != cases[i].on ||
            gp_options_is(o, "log-target", "auto") != cases[i].is_auto || o->n_operands != cases[i].operands)
            fail_msg("%s", cases[i].line);
        gp_options_free(o);
    }
}

static void lists_add_up_and_keep_escaped_commas(void **state)
{
    (void)state;
    gp_options *o = parsed("train a.csv --features a,b --features c\\,d --features=e\\ --features f");
    char *const *items;
    assert_int_equal(gp_options_list(o, "features", &items), 5);
    static const char *const expected[] = {"a", "b", "c,d", "e\\", "f"};
    for (size_t i = 0; i < 5; i++) assert_string_equal(items[i], expected[i]);
    gp_options_free(o);
}

static void words_stand_in_for_numbers_and_paths(void **state)
{
    (void)state;
    gp_options *o = parsed("train a.csv --batch full --patience inf --validation last:0.2");
    assert_true(gp_options_is(o, "batch", "full"));
    assert_false(gp_options_is(o, "batch", "auto"));
    assert_true(gp_options_is(o, "early-stopping-rounds", "inf"));
    assert_string_equal(gp_options_text(o, "validation"), "last:0.2");
    gp_options_free(o);
    o = parsed("train a.csv --validation held-out.csv");
    assert_string_equal(gp_options_text(o, "validation"), "held-out.csv");
    gp_options_free(o);
}

static void operands_mix_with_options_and_dashes_end_them(void **state)
{
    (void)state;
    gp_options *o = parsed("predict m.safetensors --interval .5 - -o out.csv -- --odd-name.csv");
    assert_int_equal(o->n_operands, 3);
    assert_string_equal(o->operands[1], "-");
    assert_string_equal(o->operands[2], "--odd-name.csv");
    char *const *levels;
    assert_int_equal(gp_options_list(o, "interval", &levels), 1);
    assert_string_equal(levels[0], ".5");
    gp_options_free(o);
}

static void help_needs_nothing_else(void **state)
{
    (void)state;
    gp_options *o = parsed("pack --help --nonsense");
    assert_true(gp_options_flag(o, "help"));
    gp_options_free(o);
    o = parsed("pack -h");
    assert_true(gp_options_flag(o, "help"));
    gp_options_free(o);
}

// ---- bad command lines ----------------------------------------------------------------------------------------------

static void bad_command_lines_say_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"trian a.csv", "unknown verb 'trian'; the nearest is train (see advgp --help)"},
        {"eval a.csv", "unknown verb 'eval'; the nearest is evaluate (see advgp --help)"},
        {"train a.csv --inducin 5",
         "unknown option --inducin of train; the nearest is --inducing (see advgp train --help)"},
        {"train a.csv --feat x", "unknown option --feat of train; the nearest is --features (see advgp train --help)"},
        {"train a.csv --patient 3",
         "unknown option --patient of train; the nearest is --patience (see advgp train --help)"},
        {"train a.csv -x", "unknown option -x of train (see advgp train --help)"},
        {"train a.csv -quiet", "unknown option -quiet of train; the nearest is --quiet (see advgp train --help)"},
        {"train a.csv --no-inducing",
         "unknown option --no-inducing of train; the nearest is --inducing (see advgp train --help)"},
        {"info --no-help", "unknown option --no-help of info; the nearest is --help (see advgp info --help)"},
        {"predict m a.csv --inducing 5", "--inducing is no option of predict; it belongs to train, compare, simulate"},
        {"inspect m --target y", "--target is no option of inspect; it belongs to train, pack, compare, simulate"},
        {"train a.csv --inducing 0", "--inducing '0': must be a whole number from 1 to 20000"},
        {"train a.csv -m 20001", "-m '20001': must be a whole number from 1 to 20000"},
        {"train a.csv --inducing 2.5", "--inducing '2.5': must be a whole number from 1 to 20000"},
        {"train a.csv --inducing -3", "--inducing '-3': must be a whole number from 1 to 20000"},
        {"train a.csv --inducing=", "--inducing '': must be a whole number from 1 to 20000"},
        {"train a.csv --inducing 99999999999999999999",
         "--inducing '99999999999999999999': must be a whole number from 1 to 20000"},
        {"train a.csv --seed -1", "--seed '-1': must be a whole number from 0 to 9007199254740992"},
        {"train a.csv --step nan", "--step 'nan': must be a number from 1e-06 to 1, or auto"},
        {"train a.csv --step 1,5", "--step '1,5': must be a number from 1e-06 to 1, or auto"},
        {"train a.csv --batch half", "--batch 'half': must be a whole number from 1 to 1000000000, auto or full"},
        {"train a.csv --early-stopping-rounds -1",
         "--early-stopping-rounds '-1': must be a whole number from 1 to 1000000, auto or inf"},
        {"train a.csv --trend flat", "--trend 'flat': must be linear, constant or none"},
        {"train a.csv --trend lin", "--trend 'lin': must be linear, constant or none"},
        {"train a.csv --json=maybe", "--json 'maybe': must be true or false"},
        {"train a.csv --no-json=true", "--no-json takes no value"},
        {"train a.csv --target=", "--target '': must be a text that is not empty"},
        {"train a.csv --features a,,b", "--features 'a,,b': must be names separated by commas, none empty"},
        {"train a.csv --features a --features ''", "--features '': must be names separated by commas, none empty"},
        {"train a.csv --validation 5", "--validation '5': must be a fraction of the rows from 0 to 0.5, last:F for the "
                                       "last ones, group:COL for whole "
                                       "groups, or a file"},
        {"train a.csv --validation last:0",
         "--validation 'last:0': must be a fraction of the rows from 0 to 0.5, last:F for the last ones, group:COL for "
         "whole groups, or a file"},
        {"train a.csv --validation group:",
         "--validation 'group:': must be a fraction of the rows from 0 to 0.5, last:F for the last ones, group:COL for "
         "whole groups, or a file"},
        {"predict m a.csv --interval 1", "--interval '1': must be a number from 0.001 to 0.999, or several"},
        {"train a.csv --inducing", "--inducing needs a value: a whole number from 1 to 20000"},
        {"train a.csv --target --json", "--target needs a value: a text that is not empty"},
        {"train a.csv -m", "-m needs a value: a whole number from 1 to 20000"},
        {"train a.csv --inducing 5 -m 6", "-m is given twice: '5', then '6'"},
        {"train a.csv --patience 5 --early-stopping-rounds 6", "--early-stopping-rounds is given twice: '5', then '6'"},
        {"train a.csv --json --no-json", "--no-json is given twice: 'true', then 'false'"},
        {"train --target y",
         "train needs DATA...: CSV, TSV, Parquet or JSON-lines files (also compressed), folders or globs that form one "
         "table, a packed folder, or - for standard input"},
        {"predict m.safetensors",
         "predict needs MODEL DATA...: a model file, then data as for train; every input row "
         "gives one output row, in order, but those that a query in the model drops, which are "
         "counted"},
        {"inspect a b", "inspect takes only MODEL; 'b' is one too many"},
        {"info x", "info takes nothing but options; 'x' is one too many"},
        {"pack a.csv --target y", "pack needs {output} DIR: the folder of the shards"},
        {"train a.csv --zebra", "unknown option --zebra of train (see advgp train --help)"},
        {"zebra a.csv", "unknown verb 'zebra' (see advgp --help)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gp_options *o = NULL;
        advgp_error err = {0};
        assert_int_equal(parse(cases[i].line, &o, &err), ADVGP_EINVAL);
        assert_int_equal(err.status, ADVGP_EINVAL);
        assert_string_equal(err.text, cases[i].message);
        gp_options_free(o);
        o = NULL;
        assert_int_equal(parse(cases[i].line, &o, NULL), ADVGP_EINVAL); // and without a place for the message
        gp_options_free(o);
    }
}

static void endless_words_are_cut_in_messages(void **state)
{
    (void)state;
    char word[3000];
    memset(word, 'w', sizeof word - 1);
    word[sizeof word - 1] = 0;
    char line[3100];
    static const char *const forms[] = {"train a --%s", "train a -%s", "train a -m %s", "train a --%s=3", "%s"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        gp_options *o = NULL;
        advgp_error err = {0};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(line, sizeof line, forms[i], word);
#pragma GCC diagnostic pop
        assert_int_equal(parse(line, &o, &err), ADVGP_EINVAL);
        assert_true(strlen(err.text) < 300);
        gp_options_free(o);
    }
}

static void a_config_file_that_cannot_be_read_is_a_missing_input(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"train a.csv --config no/such.conf", "cannot open the config file no/such.conf: No such file or directory"},
        {"train a.csv --config /", "cannot read the config file /: Is a directory"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gp_options *o = NULL;
        advgp_error err = {0};
        assert_int_equal(parse(cases[i][0], &o, &err), ADVGP_EDATA);
        assert_string_equal(err.text, cases[i][1]);
        gp_options_free(o);
    }
}

// ---- config files ---------------------------------------------------------------------------------------------------

static advgp_status config(gp_options *o, const char *text, advgp_error *err)
{
    return gp_options_config_text(o, "run.conf", text, strlen(text), err);
}

static void a_config_file_sets_what_flags_leave_open(void **state)
{
    (void)state;
    gp_options *o = parsed("train a.csv -m 64 --features p,q");
    advgp_error err = {0};
    static const char text[] = "\xef\xbb\xbf# a run\r\n"
                               "target = arrival delay   # the column\r\n"
                               "\n"
                               "inducing = 100\n"
                               "patience=8\n"
                               "features = x\n"
                               "exclude = a\n"
                               "exclude = b,c\n"
                               "log-target = yes\n"
                               "weights = \" w # \\\"1\\\" \"\n"
                               "test = col#2.csv\n"
                               "sql = select \"a b\" from data where n = 3";
    if (config(o, text, &err) != ADVGP_OK) fail_msg("%s", err.text);
    assert_string_equal(gp_options_text(o, "target"), "arrival delay");
    assert_int_equal(gp_options_int(o, "inducing"), 64);
    assert_int_equal(gp_options_int(o, "early-stopping-rounds"), 8);
    assert_true(gp_options_flag(o, "log_target"));
    assert_string_equal(gp_options_text(o, "weights"), " w # \"1\" ");
    assert_string_equal(gp_options_text(o, "test"), "col#2.csv");
    assert_string_equal(gp_options_text(o, "sql"), "select \"a b\" from data where n = 3");
    char *const *items;
    assert_int_equal(gp_options_list(o, "features", &items), 2);
    assert_string_equal(items[0], "p");
    assert_int_equal(gp_options_list(o, "exclude", &items), 3);
    assert_true(gp_options_given(o, "target"));
    assert_int_equal(config(o, "target = other\nexclude = z", &err), ADVGP_OK); // a second file replaces
    assert_int_equal(gp_options_list(o, "exclude", &items), 1);
    gp_options_free(o);
}

static void bad_config_lines_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"inducin = 5",
         "run.conf:1: unknown option inducin of train; the nearest is inducing (see advgp train --help)"},
        {"\n# x\ninducing = many", "run.conf:3: inducing 'many': must be a whole number from 1 to 20000"},
        {"trend = flat\n", "run.conf:1: trend 'flat': must be linear, constant or none"},
        {"patience = x", "run.conf:1: patience 'x': must be a whole number from 1 to 1000000, auto or inf"},
        {"target", "run.conf:1: 'target' is not of the form key = value"},
        {"= 5", "run.conf:1: '= 5' is not of the form key = value"},
        {"target =", "run.conf:1: target '': must be a text that is not empty"},
        {"target = \"y", "run.conf:1: target: the quoted value does not end with its quote"},
        {"target = \"y\" z", "run.conf:1: target: the quoted value does not end with its quote"},
        {"inducing = 5\nkernel = matern32\ninducing = 6", "run.conf:3: inducing is given twice, first in line 1"},
        {"early-stopping-rounds = 5\npatience = 6", "run.conf:2: patience is given twice, first in line 1"},
        {"batch = -1", "run.conf:1: batch '-1': must be a whole number from 1 to 1000000000, auto or full"},
        {"config = other.conf", "run.conf:1: config belongs on the command line, not into a config file"},
        {"help = true", "run.conf:1: help belongs on the command line, not into a config file"},
        {"interval = 0.9", "run.conf:1: interval is no option of train; it belongs to predict"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gp_options *o = parsed("train a.csv --batch 10"); // a wrong line is wrong even where the command line wins
        advgp_error err = {0};
        assert_int_equal(config(o, cases[i].text, &err), ADVGP_EINVAL);
        assert_string_equal(err.text, cases[i].message);
        gp_options_free(o);
    }
    gp_options *o = parsed("train a.csv");
    advgp_error err = {0};
    assert_int_equal(gp_options_config_text(o, "run.conf", "seed = 1\n\0\0", 11, &err), ADVGP_EINVAL);
    assert_string_equal(err.text, "run.conf:2: a zero byte: is this a text file?");
    gp_options_free(o);
}

static void a_config_file_is_read_from_disk(void **state)
{
    (void)state;
    char path[] = "option_test_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "output = d\nshards = 3\n", 22), 22);
    char line[100];
    snprintf(line, sizeof line, "pack a.csv --config %s", path);
    gp_options *o = parsed(line); // also fills what is required
    assert_int_equal(gp_options_int(o, "shards"), 3);
    gp_options_free(o);

    assert_int_equal(ftruncate(fd, (1 << 20) + 1), 0);
    advgp_error err = {0};
    assert_int_equal(parse(line, &o, &err), ADVGP_EINVAL);
    assert_non_null(strstr(err.text, "is larger than 1048576 bytes: not a config file"));
    gp_options_free(o);
    close(fd);
    unlink(path);
}

// ---- keys set one by one --------------------------------------------------------------------------------------------

static void keys_are_set_replaced_and_refused(void **state)
{
    (void)state;
    gp_options *o;
    advgp_error err = {0};
    assert_int_equal(gp_options_new("train", &o, &err), ADVGP_OK);
    assert_int_equal(gp_options_set(o, "early_stopping_rounds", "3", &err), ADVGP_OK);
    assert_int_equal(gp_options_set(o, "patience", "4", &err), ADVGP_OK);
    assert_int_equal(gp_options_int(o, "early-stopping-rounds"), 4);
    assert_int_equal(gp_options_set(o, "early-stopping-rounds", "x", &err), ADVGP_EINVAL);
    assert_string_equal(err.text, "early-stopping-rounds 'x': must be a whole number from 1 to 1000000, auto or inf");
    assert_int_equal(gp_options_int(o, "early-stopping-rounds"), 4);
    assert_int_equal(gp_options_set(o, "features", "a,b", &err), ADVGP_OK);
    assert_int_equal(gp_options_set(o, "features", "c", &err), ADVGP_OK);
    char *const *items;
    assert_int_equal(gp_options_list(o, "features", &items), 1);
    assert_int_equal(gp_options_set(o, "n_inducing", "3", &err), ADVGP_EINVAL);
    assert_string_equal(err.text,
                        "unknown option n_inducing of train; the nearest is inducing (see advgp train --help)");
    assert_int_equal(gp_options_set(o, "help", "true", &err), ADVGP_EINVAL);
    assert_int_equal(gp_options_set(o, NULL, "3", &err), ADVGP_EINVAL);
    assert_int_equal(gp_options_set(o, "seed", NULL, &err), ADVGP_EINVAL);
    gp_options_free(o);
    gp_options_free(NULL);
}

// ---- help and memory ------------------------------------------------------------------------------------------------

// Without line ends, their backslashes, and more than one blank: what a page says, however it is broken.
static void flatten(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        const char c = *from == '\n' || (*from == '\\' && from[1] == '\n') ? ' ' : *from;
        if (c != ' ' || to == text || to[-1] != ' ') *to++ = c;
    }
    *to = 0;
}

static void check_lines(const char *page, const char *of, size_t columns)
{
    for (const char *line = page; *line;) {
        const size_t n = strcspn(line, "\n");
        const size_t blanks = strspn(line, " ");
        const bool one_word = blanks + strcspn(line + blanks, " \n") >= n; // broken by who prints it (gp_buffer_folded)
        if (n > columns && !(one_word && columns < 80))
            fail_msg("help of %s for %zu columns has a long line: %.*s", of, columns, (int)n, line);
        line += n + (line[n] != 0);
    }
}

static void help_shows_every_option_of_its_verb_and_no_other(void **state)
{
    (void)state;
    for (size_t v = 0; v < gp_verbs_size; v++) {
        gp_buffer help = {0}, page = {0};
        gp_help_verb(&gp_verbs[v], 0, &help);
        gp_help_verb(&gp_verbs[v], 0, &page);
        assert_false(help.failed || page.failed);
        check_lines(help.p, gp_verbs[v].name, 80);
        flatten(help.p);
        assert_non_null(strstr(help.p, gp_verbs[v].example));
        for (size_t i = 0; i < gp_option_table_size; i++) {
            const gp_option *o = &gp_option_table[i];
            char name[64];
            snprintf(name, sizeof name, " --%s%s", o->name, o->kind == GP_OPTION_FLAG ? "" : " ");
            bool elsewhere = false; // another row of that name is the verb's
            for (size_t k = 0; k < gp_option_table_size; k++)
                elsewhere |= !strcmp(gp_option_table[k].name, o->name) &&
                             gp_verb_takes(&gp_verbs[v], &gp_option_table[k]);
            if (gp_verb_takes(&gp_verbs[v], o) && (!strstr(help.p, name) || !strstr(help.p, o->help)))
                fail_msg("help of %s lacks%s", gp_verbs[v].name, name);
            snprintf(name, sizeof name, "     --%s%s", o->name, o->kind == GP_OPTION_FLAG ? "" : " ");
            if (!gp_verb_takes(&gp_verbs[v], o) && !elsewhere && strstr(page.p, name))
                fail_msg("help of %s shows%s", gp_verbs[v].name, name);
        }
        gp_buffer_fini(&page);
        gp_buffer_fini(&help);
    }
    gp_buffer help = {0};
    gp_help_program(0, &help);
    check_lines(help.p, "the program", 80);
    flatten(help.p);
    for (size_t v = 0; v < gp_verbs_size; v++) assert_non_null(strstr(help.p, gp_verbs[v].summary));
    gp_buffer_fini(&help);
}

static void help_fits_its_terminal(void **state)
{
    (void)state;
    static const size_t widths[] = {40, 60, 80, 100, 200};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (size_t v = 0; v <= gp_verbs_size; v++) {
            gp_buffer help = {0};
            if (v < gp_verbs_size)
                gp_help_verb(&gp_verbs[v], widths[w], &help);
            else
                gp_help_program(widths[w], &help);
            check_lines(help.p, v < gp_verbs_size ? gp_verbs[v].name : "the program",
                        widths[w] < 100 ? widths[w] : 100);
            gp_buffer_fini(&help);
        }
}

static void sentences_name_options_for_who_reads_them(void **state)
{
    (void)state;
    static const struct {
        const char *said, *dashes, *plain;
    } cases[] = {
        {"{sql}: no SELECT", "--sql: no SELECT", "sql: no SELECT"},
        {"raise {max-delay}, or lower {workers}", "raise --max-delay, or lower --workers",
         "raise max-delay, or lower workers"},
        {"leave it out ({features}, {exclude})", "leave it out (--features, --exclude)",
         "leave it out (features, exclude)"},
        {"start without {resume}.", "start without --resume.", "start without resume."},
        {"{output}.csv and /a/{time}/{} {no-key} {", NULL, NULL}, // names of files, not of options
        {"", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[100];
        snprintf(text, sizeof text, "%s", cases[i].said);
        gp_options_named(text, true);
        assert_string_equal(text, cases[i].dashes ? cases[i].dashes : cases[i].said);
        snprintf(text, sizeof text, "%s", cases[i].said);
        gp_options_named(text, false);
        assert_string_equal(text, cases[i].plain ? cases[i].plain : cases[i].said);
    }
}

// One failure at every allocation in turn: a status, nothing leaked, and success once memory suffices.
static void memory_may_end_at_any_call(void **state)
{
    (void)state;
    static const char *const lines[] = {"train a.csv --features a --features b,c -m 5", "train a.csv -m 0",
                                        "predict m --inducing", "train a.csv --seed", "trian"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        gp_options *once = NULL;
        advgp_status st = ADVGP_ENOMEM, honest = parse(lines[i], &once, NULL);
        gp_options_free(once);
        long calls = 0;
        for (; st != honest && calls < 1000; calls++) {
            long live = gp_alloc_count().live;
            gp_options *o = NULL;
            advgp_error err = {0};
            gp_alloc_fail_after(calls);
            st = parse(lines[i], &o, &err);
            if (st == ADVGP_OK) st = config(o, "exclude = a\nexclude = b\ntarget = y", &err);
            gp_alloc_fail_after(-1);
            assert_true(st == ADVGP_ENOMEM || st == honest);
            gp_options_free(o);
            assert_int_equal(gp_alloc_count().live, live);
        }
        assert_true(calls < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_unique_for_each_verb),
        cmocka_unit_test(rows_are_complete),
        cmocka_unit_test(choices_and_limits_come_from_the_tables),
        cmocka_unit_test(defaults_are_allowed_values),
        cmocka_unit_test(defaults_are_there_and_not_given),
        cmocka_unit_test(every_way_to_write_a_value_is_the_same),
        cmocka_unit_test(flags_go_on_and_off),
        cmocka_unit_test(a_flag_with_words_may_have_a_value),
        cmocka_unit_test(lists_add_up_and_keep_escaped_commas),
        cmocka_unit_test(words_stand_in_for_numbers_and_paths),
        cmocka_unit_test(operands_mix_with_options_and_dashes_end_them),
        cmocka_unit_test(help_needs_nothing_else),
        cmocka_unit_test(columns_are_encoded_as_the_table_says),
        cmocka_unit_test(bad_command_lines_say_what_is_wrong),
        cmocka_unit_test(endless_words_are_cut_in_messages),
        cmocka_unit_test(a_config_file_that_cannot_be_read_is_a_missing_input),
        cmocka_unit_test(a_config_file_sets_what_flags_leave_open),
        cmocka_unit_test(bad_config_lines_are_named),
        cmocka_unit_test(a_config_file_is_read_from_disk),
        cmocka_unit_test(keys_are_set_replaced_and_refused),
        cmocka_unit_test(help_shows_every_option_of_its_verb_and_no_other),
        cmocka_unit_test(help_fits_its_terminal),
        cmocka_unit_test(sentences_name_options_for_who_reads_them),
        cmocka_unit_test(memory_may_end_at_any_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
