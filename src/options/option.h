// option.h: the options of advgp. One table (option_table.c) gives every option its name, kind, default, range and
// meaning; the command line, the config file, keys set from C or Python, help, man pages and shell completion all read
// that table. To add an option, add a row there.
#pragma once
#include "advgp.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum gp_option_kind {
    GP_OPTION_FLAG,    // --x, --no-x; elsewhere true or false; or one of the words: --x auto, --x=auto
    GP_OPTION_INTEGER, // from min to max, or one of the words
    GP_OPTION_REAL,    // the same with decimals
    GP_OPTION_CHOICE,  // one of the words
    GP_OPTION_TEXT,    // anything but nothing
    GP_OPTION_FILE,    // a path, or one of the words; shells complete files
    GP_OPTION_DIR,     // a path; shells complete folders
    GP_OPTION_LIST,    // texts separated by commas, \, for a comma inside; repeated options add up
} gp_option_kind;

// The sections of a help page, in their order.
typedef enum gp_option_group {
    GP_GROUP_DATA,
    GP_GROUP_MODEL,
    GP_GROUP_METHOD,
    GP_GROUP_RUN,
    GP_GROUP_CLUSTER,
    GP_GROUP_OUTPUT,
    GP_GROUP_GENERAL,
    GP_N_GROUPS
} gp_option_group;
extern const char *const gp_group_titles[GP_N_GROUPS];

// What else holds of an option. Whoever must treat such options in a way of their own asks by facet, not by name.
typedef enum gp_facet {
    GP_OF_COMMAND_LINE = 1 << 16, // no key of a config file or of C: --help, --config
    GP_OF_PROGRAM = 1 << 17,      // no key of the library: means something to a program alone
    GP_OF_PROCESS = 1 << 18,      // of the process, not of the run: a replay does not take it from the log
    GP_OF_ONCE = 1 << 19,         // whoever wants the same model again leaves it out
    GP_OF_FILES = 1 << 20,        // has no meaning for a table in memory
    GP_OF_PACKED = 1 << 21,       // was settled when packed rows were packed
    GP_OF_GENERATED = 1 << 22,    // of generated rows
    GP_OF_READS = 1 << 23,        // names files that are read: nothing is written over them
    GP_OF_START = 1 << 24,        // names a model that is read, over which a new model may be written
} gp_facet;

// One row of the table. A name may have several rows where verbs differ in default or meaning, but one row per verb.
typedef struct gp_option {
    const char *name;  // without dashes
    const char *alias; // second name, NULL: none
    gp_option_kind kind;
    unsigned verbs;  // bits of the verbs that take it
    unsigned facets; // of gp_facet
    gp_option_group group;
    char letter;          // short form, 0: none
    bool required;        // on the command line
    const char *value;    // what stands for the value in help: N, FILE, COL, ...; NULL for flags and choices
    const char *fallback; // the default, as a user would write it; NULL: no value unless given
    const char *before;   // its value in a run whose log was written before there was this option; NULL: the default
    double min, max;      // both allowed; for numbers, and for a list of whole numbers
    const char *unit;     // where `value` does not say it: rows, versions, ...; NULL: none
    const char *words;    // "auto|full": the choices, or the words allowed instead of a number or path
    // The choices are the members of a family: name and summary of the i-th, NULL after the last. Then no `words`.
    const char *(*family)(size_t i, const char **summary);
    // For what kind and range cannot say: is this value (this item of a list) good? Then `allowed` says what is, or
    // `allows` of a family.
    bool (*check)(const char *value);
    const char *allowed;
    void (*allows)(gp_buffer *out);
    const char *help;             // one line, no full stop
    void (*more)(gp_buffer *out); // adds to it what a family knows: "auto: " and its numbers; NULL: nothing
} gp_option;
extern const gp_option gp_option_table[];
extern const size_t gp_option_table_size;

typedef struct gp_verb {
    const char *name;
    unsigned bit;
    const char *summary;      // one line, no full stop
    const char *operands;     // what stands without dashes: "MODEL DATA..."
    const char *operand_help; // one sentence
    size_t operands_min, operands_max;
    const char *example; // a command line that works, and only that
    const char *example_help;
} gp_verb;
extern const gp_verb gp_verbs[];
extern const size_t gp_verbs_size;

// What the program's exit status means, for help and man page: one rule for all verbs.
typedef struct gp_exit_code {
    const char *code, *meaning; // "129, 130, 143"; one sentence, no full stop
} gp_exit_code;
extern const gp_exit_code gp_exit_codes[];
extern const size_t gp_exit_codes_size;

// The verb of that name; EINVAL names the nearest one.
advgp_status gp_verb_find(const char *name, const gp_verb **out, advgp_error *err);
// The facets of the options of this name, of any verb.
unsigned gp_option_facets(const char *key);
// Whether the verb takes the option of this row.
bool gp_verb_takes(const gp_verb *verb, const gp_option *option);
// The i-th word of "a|b|c", or member of the family, and its length; NULL when there are no more.
const char *gp_option_word(const gp_option *option, size_t i, size_t *length);
// What the option allows, in a user's words: "a whole number from 1 to 100000, or auto".
void gp_option_allowed(const gp_option *option, gp_buffer *out);

// How help and man pages show it: "J|auto" for its value, "seconds, default 60" behind its help; either may be empty.
void gp_option_form(const gp_option *option, gp_buffer *out);
// Its help, whole; what the members of its family are is told beside it, one after the other.
void gp_option_describe(const gp_option *option, gp_buffer *out);
void gp_option_note(const gp_option *option, gp_buffer *out);

// Rooms below write an option into a sentence as {max-delay}, whoever reads it. In place: --max-delay where they type
// dashes, else max-delay. Braces around anything else, or inside of a longer word, stay.
void gp_options_named(char *text, bool dashes);

// ---- a set of options for one verb ----------------------------------------------------------------------------------

typedef enum gp_option_origin { GP_FROM_DEFAULT, GP_FROM_CONFIG, GP_FROM_USER } gp_option_origin; // later ones win

typedef struct gp_option_value {
    const gp_option *option;
    gp_option_origin origin;
    bool present;     // false: not given and without a default; the rest is then zero
    char *text;       // as given; a list that was given in parts: all of it
    const char *word; // the same text where it is one of the option's words, else NULL
    bool flag;
    int64_t integer;
    double real;  // integers have it too
    char **items; // of a list; they live in items_block
    size_t n_items;
    char *items_block;
    size_t line; // of the config file, 0: not from there
} gp_option_value;

typedef struct gp_options {
    const gp_verb *verb;
    gp_option_value *values; // one for each option of the verb, in the order of the table
    size_t n_values;
    const char **operands; // point into argv, which the caller keeps
    size_t n_operands;
} gp_options;

advgp_status gp_options_new(const char *verb, gp_options **out, advgp_error *err); // all defaults
void gp_options_free(gp_options *options);

// Reads what follows the verb on a command line, then the file of --config, whose values yield to those of the command
// line. Returns at once, with nothing checked further, when it meets --help. On failure the set is still to be freed,
// and no more.
advgp_status gp_options_parse(gp_options *options, int argc, const char *const *argv, advgp_error *err);

// Reads key = value lines: # starts a comment, "..." keeps blanks and #, - and _ in keys are the same. Messages name
// file:line.
advgp_status gp_options_read_config(gp_options *options, const char *path, advgp_error *err);
advgp_status gp_options_config_text(gp_options *options, const char *name, const char *text, size_t n,
                                    advgp_error *err);

// Sets one option by key, as the C API and Python do; a second call replaces the first. On failure the old value stays.
advgp_status gp_options_set(gp_options *options, const char *key, const char *value, advgp_error *err);
// Another default for this set: nobody gave it.
advgp_status gp_options_set_default(gp_options *options, const char *key, const char *value, advgp_error *err);

// Values by key. Asking for a key the verb does not have, or for the wrong kind, is a mistake in the program: an
// assertion, and without assertions the zero of the type. A number that was given as a word ("auto", "full", "inf")
// reads as 0: ask for the word first.
bool gp_options_flag(const gp_options *options, const char *key);
int64_t gp_options_int(const gp_options *options, const char *key);
double gp_options_real(const gp_options *options, const char *key);
const char *gp_options_text(const gp_options *options, const char *key); // NULL: not given and without a default
bool gp_options_is(const gp_options *options, const char *key, const char *word);
size_t gp_options_list(const gp_options *options, const char *key, char *const **items); // how many; may be 0
bool gp_options_given(const gp_options *options, const char *key);                       // by the user or a config file
// The first option of this facet that was given, NULL: none.
const char *gp_options_given_of(const gp_options *options, gp_facet facet);

// ---- help -----------------------------------------------------------------------------------------------------------

// advgp --help and advgp VERB --help, for a terminal of so many columns; 0: 80.
void gp_help_program(size_t columns, gp_buffer *out);
void gp_help_verb(const gp_verb *verb, size_t columns, gp_buffer *out);
