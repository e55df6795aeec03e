// option.c: a set of option values for one verb: found by key, read from text, checked against the table, set, and
// asked for.
#include "options/option.h"

#include "base/alloc.h"
#include "base/status.h"
#include "base/whole.h"
#include "options/option_set.h"

#include <assert.h>
#include <math.h>
#include <string.h>

// ---- verbs and rows -------------------------------------------------------------------------------------------------

advgp_status gp_verb_find(const char *name, const gp_verb **out, advgp_error *err)
{
    const gp_verb *nearest = NULL;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < gp_verbs_size; i++) {
        size_t distance = gp_text_distance(name, gp_verbs[i].name);
        if (strcmp(name, gp_verbs[i].name) == 0) {
            *out = &gp_verbs[i];
            return ADVGP_OK;
        }
        if (distance < least && gp_text_is_near(name, gp_verbs[i].name)) {
            least = distance;
            nearest = &gp_verbs[i];
        }
    }
    *out = NULL;
    return gp_fail(err, ADVGP_EINVAL, "unknown verb '%.80s'%s%s (see advgp --help)", name,
                   nearest ? "; the nearest is " : "", nearest ? nearest->name : "");
}

bool gp_verb_takes(const gp_verb *verb, const gp_option *option)
{
    return (option->verbs & verb->bit) != 0;
}

const char *gp_option_word(const gp_option *option, size_t i, size_t *length)
{
    const char *p = option->words, *summary;
    if (option->family) {
        p = option->family(i, &summary);
        if (p) *length = strlen(p);
        return p;
    }
    for (; p && i; i--) {
        p = strchr(p, '|');
        if (p) p++;
    }
    if (p) *length = strcspn(p, "|");
    return p;
}

static bool is_a_word(const gp_option *option, const char *text)
{
    size_t length = 0;
    const char *word;
    for (size_t i = 0; (word = gp_option_word(option, i, &length)); i++)
        if (strlen(text) == length && memcmp(word, text, length) == 0) return true;
    return false;
}

static void add_words(const gp_option *option, gp_buffer *out)
{
    size_t length = 0, next = 0;
    const char *word;
    for (size_t i = 0; (word = gp_option_word(option, i, &length)); i++) {
        if (i) gp_buffer_add(out, gp_option_word(option, i + 1, &next) ? ", " : " or ");
        gp_buffer_bytes(out, word, length);
    }
}

void gp_option_allowed(const gp_option *option, gp_buffer *out)
{
    if (option->allows) {
        option->allows(out);
        return;
    }
    if (option->check) {
        gp_buffer_add(out, "%s", option->allowed);
        return;
    }
    switch (option->kind) {
    case GP_OPTION_FLAG:
        gp_buffer_add(out, "true or false");
        break;
    case GP_OPTION_INTEGER:
        gp_buffer_add(out, "a whole number from %.0f to %.0f", option->min, option->max);
        break;
    case GP_OPTION_REAL:
        gp_buffer_add(out, "a number from %g to %g", option->min, option->max);
        break;
    case GP_OPTION_CHOICE:
        break;
    case GP_OPTION_TEXT:
        gp_buffer_add(out, "a text that is not empty");
        break;
    case GP_OPTION_FILE:
        gp_buffer_add(out, "the path of a file");
        break;
    case GP_OPTION_DIR:
        gp_buffer_add(out, "the path of a folder");
        break;
    case GP_OPTION_LIST:
        if (option->max > 0)
            gp_buffer_add(out, "whole numbers from %.0f to %.0f", option->min, option->max);
        else
            gp_buffer_add(out, "names separated by commas, none empty");
        break;
    }
    size_t length;
    bool one_word = !gp_option_word(option, 1, &length);
    if (option->words && option->kind != GP_OPTION_CHOICE) gp_buffer_add(out, one_word ? ", or " : ", ");
    add_words(option, out);
}

static bool same_key(const char *typed, const char *name) // - and _ are the same, for Python's sake
{
    if (!name) return false;
    for (; *typed && *name; typed++, name++)
        if (*typed != *name && !(*typed == '_' && *name == '-')) return false;
    return *typed == *name;
}

static bool is_named(const gp_option *option, const char *key)
{
    return same_key(key, option->name) || same_key(key, option->alias);
}

unsigned gp_option_facets(const char *key)
{
    unsigned facets = 0;
    for (size_t i = 0; i < gp_option_table_size; i++)
        if (is_named(&gp_option_table[i], key)) facets |= gp_option_table[i].facets;
    return facets;
}

gp_option_value *gp_options_slot(const gp_options *options, const char *key)
{
    for (size_t i = 0; i < options->n_values; i++)
        if (is_named(options->values[i].option, key)) return &options->values[i];
    return NULL;
}

// ---- an unknown key -------------------------------------------------------------------------------------------------

// "train and pack", for an option that other verbs take; nothing where no verb does.
static void add_takers(const char *key, gp_buffer *out)
{
    unsigned takers = 0;
    for (size_t i = 0; i < gp_option_table_size; i++)
        if (is_named(&gp_option_table[i], key)) takers |= gp_option_table[i].verbs;
    for (size_t i = 0; i < gp_verbs_size; i++)
        if (takers & gp_verbs[i].bit) gp_buffer_add(out, "%s%s", out->n ? ", " : "", gp_verbs[i].name);
}

// NULL: none is near.
static const char *nearest_key(const gp_options *options, const char *key)
{
    const char *nearest = NULL;
    size_t least = SIZE_MAX;
    if (strncmp(key, "no-", 3) == 0) key += 3; // before what is no flag
    for (size_t i = 0; i < options->n_values; i++) {
        const char *names[] = {options->values[i].option->name, options->values[i].option->alias};
        for (size_t k = 0; k < 2 && names[k]; k++) {
            size_t distance = gp_text_distance(key, names[k]);
            if (distance < least && gp_text_is_near(key, names[k])) {
                least = distance;
                nearest = names[k];
            }
        }
    }
    return nearest;
}

advgp_status gp_options_unknown(const gp_options *options, const char *dashes, const char *key, advgp_error *err)
{
    gp_buffer takers = {0};
    if (!gp_options_slot(options, key)) add_takers(key, &takers); // else it is -quiet, or --no- before what is no flag
    const char *verb = options->verb->name, *nearest = nearest_key(options, key);
    advgp_status st;
    if (takers.n)
        st = gp_fail(err, ADVGP_EINVAL, "%s%.80s is no option of %s; it belongs to %s", dashes, key, verb, takers.p);
    else if (nearest)
        st = gp_fail(err, ADVGP_EINVAL, "unknown option %s%.80s of %s; the nearest is %s%s (see advgp %s --help)",
                     dashes, key, verb, *dashes ? "--" : "", nearest, verb);
    else
        st = gp_fail(err, ADVGP_EINVAL, "unknown option %s%.80s of %s (see advgp %s --help)", dashes, key, verb, verb);
    gp_buffer_fini(&takers);
    return st;
}

// ---- from text to value ---------------------------------------------------------------------------------------------

static bool read_flag(const char *text, bool *out)
{
    static const char *const words[2][4] = {{"false", "no", "off", "0"}, {"true", "yes", "on", "1"}};
    for (size_t truth = 0; truth < 2; truth++)
        for (size_t i = 0; i < 4; i++)
            if (strcmp(text, words[truth][i]) == 0) {
                *out = truth == 1;
                return true;
            }
    return false;
}

// 1e6 is a whole number too: people write row counts like that.
static bool read_whole(const char *text, int64_t *out)
{
    if (gp_text_integer(text, out)) return true;
    double value;
    if (!gp_text_real(text, &value) || value != floor(value) || fabs(value) > 0x1p53) return false;
    *out = gp_whole(value, INT64_MIN, INT64_MAX);
    return true;
}

static bool read_number(const gp_option *option, const char *text, gp_option_value *out)
{
    if (option->kind == GP_OPTION_INTEGER) {
        if (!read_whole(text, &out->integer)) return false;
        out->real = (double)out->integer;
    } else if (!gp_text_real(text, &out->real)) {
        return false;
    }
    return out->real >= option->min && out->real <= option->max;
}

enum { PART_END = 0x1f }; // ASCII's unit separator, between the parts of a repeated list

// Cuts the copy in items_block at its commas; \, is a comma of the item itself. Blanks around an item are dropped.
static size_t cut_items(char *block, char **items)
{
    size_t n = 0;
    char *write = block;
    for (char *read = block;; read++) {
        read += strspn(read, " \t");
        char *start = write;
        for (; *read && *read != ',' && *read != PART_END; read++) {
            if (read[0] == '\\' && read[1] == ',') read++;
            *write++ = *read;
        }
        bool last = *read == 0; // before the zero below may overwrite it
        while (write > start && (write[-1] == ' ' || write[-1] == '\t')) write--;
        *write++ = 0;
        items[n++] = start;
        if (last) return n;
    }
}

static bool item_is_good(const gp_option *option, const char *item)
{
    int64_t number;
    if (!*item || (option->check && !option->check(item))) return false;
    return !(option->max > 0) || is_a_word(option, item) ||
           (read_whole(item, &number) && (double)number >= option->min && (double)number <= option->max);
}

static bool items_are_good(const gp_option *option, const gp_option_value *value)
{
    for (size_t i = 0; i < value->n_items; i++)
        if (!item_is_good(option, value->items[i])) return false;
    return true;
}

static bool read_list(const gp_option *option, const char *text, gp_option_value *out, bool *no_memory)
{
    size_t most = 1;
    for (const char *p = text; *p; p++) most += *p == ',' || *p == PART_END;
    out->items = gp_alloc(most, sizeof *out->items);
    out->items_block = gp_text_copy(text, strlen(text));
    *no_memory = !out->items || !out->items_block;
    if (*no_memory) return false;
    out->n_items = cut_items(out->items_block, out->items);
    return items_are_good(option, out);
}

static void value_fini(gp_option_value *value)
{
    gp_free(value->text);
    gp_free(value->items);
    gp_free(value->items_block);
}

static bool read_kind(const gp_option *option, const char *text, gp_option_value *out, bool *no_memory)
{
    if (option->kind != GP_OPTION_LIST && is_a_word(option, text)) {
        out->word = out->text;
        return true;
    }
    switch (option->kind) {
    case GP_OPTION_FLAG:
        return read_flag(text, &out->flag);
    case GP_OPTION_INTEGER:
    case GP_OPTION_REAL:
        return read_number(option, text, out);
    case GP_OPTION_CHOICE:
        return false;
    case GP_OPTION_LIST:
        return read_list(option, text, out, no_memory);
    case GP_OPTION_TEXT:
    case GP_OPTION_FILE:
    case GP_OPTION_DIR:
        break;
    }
    return *text && (!option->check || option->check(text));
}

static advgp_status refuse(const gp_option *option, const char *shown, const char *text, advgp_error *err)
{
    gp_buffer allowed = {0};
    gp_option_allowed(option, &allowed);
    bool cut = strlen(text) > 80;
    advgp_status st = allowed.failed ? gp_no_memory(err)
                                     : gp_fail(err, ADVGP_EINVAL, "%s '%.80s%s': must be %s", shown, text,
                                               cut ? "..." : "", allowed.p);
    gp_buffer_fini(&allowed);
    return st;
}

static advgp_status read_value(const gp_option *option, const char *shown, const char *text, gp_option_value *out,
                               advgp_error *err)
{
    *out = (gp_option_value){.option = option, .present = true};
    out->text = gp_text_copy(text, strlen(text));
    bool no_memory = !out->text;
    if (!no_memory && read_kind(option, text, out, &no_memory)) return ADVGP_OK;
    value_fini(out);
    if (no_memory) return gp_no_memory(err);
    return refuse(option, shown, text, err);
}

// ---- setting --------------------------------------------------------------------------------------------------------

advgp_status gp_options_check(const gp_option_value *slot, const char *shown, const char *text, advgp_error *err)
{
    gp_option_value passing;
    advgp_status st = read_value(slot->option, shown, text, &passing, err);
    if (st == ADVGP_OK) value_fini(&passing);
    return st;
}

// The parts of a repeated list are joined by a separator that no one types, so that a part ending in \ stays as it is.
static advgp_status read_joined(const gp_option_value *slot, const char *shown, const char *part, gp_option_value *out,
                                advgp_error *err)
{
    advgp_status st = gp_options_check(slot, shown, part, err); // a bad part is named alone
    if (st != ADVGP_OK) return st;
    gp_buffer all = {0};
    gp_buffer_add(&all, "%s%c%s", slot->text, PART_END, part);
    st = all.failed ? gp_no_memory(err) : read_value(slot->option, shown, all.p, out, err);
    gp_buffer_fini(&all);
    return st;
}

advgp_status gp_options_store(gp_option_value *slot, const gp_option_source *from, const char *text, advgp_error *err)
{
    gp_option_value fresh;
    advgp_status st = from->append ? read_joined(slot, from->shown, text, &fresh, err)
                                   : read_value(slot->option, from->shown, text, &fresh, err);
    if (st != ADVGP_OK) return st;
    fresh.origin = from->origin;
    fresh.line = from->line;
    value_fini(slot);
    *slot = fresh;
    return ADVGP_OK;
}

static advgp_status set(gp_options *options, const char *key, const char *value, gp_option_origin origin,
                        advgp_error *err)
{
    if (!options || !key || !value) return gp_fail(err, ADVGP_EINVAL, "an option needs a key and a value");
    gp_option_value *slot = gp_options_slot(options, key);
    if (!slot || slot->option->facets & GP_OF_COMMAND_LINE) return gp_options_unknown(options, "", key, err);
    return gp_options_store(slot, &(gp_option_source){.shown = key, .origin = origin}, value, err);
}

advgp_status gp_options_set(gp_options *options, const char *key, const char *value, advgp_error *err)
{
    return set(options, key, value, GP_FROM_USER, err);
}

advgp_status gp_options_set_default(gp_options *options, const char *key, const char *value, advgp_error *err)
{
    return set(options, key, value, GP_FROM_DEFAULT, err);
}

// ---- the set --------------------------------------------------------------------------------------------------------

static advgp_status fill_defaults(gp_options *options, advgp_error *err)
{
    for (size_t i = 0; i < gp_option_table_size; i++) {
        const gp_option *option = &gp_option_table[i];
        if (!gp_verb_takes(options->verb, option)) continue;
        gp_option_value *slot = &options->values[options->n_values++];
        slot->option = option;
        if (!option->fallback) continue;
        gp_option_source from = {.shown = option->name, .origin = GP_FROM_DEFAULT};
        advgp_status st = gp_options_store(slot, &from, option->fallback, err);
        if (st != ADVGP_OK) return st;
    }
    return ADVGP_OK;
}

advgp_status gp_options_new(const char *verb, gp_options **out, advgp_error *err)
{
    *out = NULL;
    const gp_verb *found;
    advgp_status st = gp_verb_find(verb, &found, err);
    if (!found) return st;
    gp_options *options = gp_alloc(1, sizeof *options);
    if (options) options->values = gp_alloc(gp_option_table_size, sizeof *options->values);
    if (!options || !options->values) {
        gp_options_free(options);
        return gp_no_memory(err);
    }
    options->verb = found;
    st = fill_defaults(options, err);
    if (st == ADVGP_OK)
        *out = options;
    else
        gp_options_free(options);
    return st;
}

void gp_options_free(gp_options *options)
{
    if (!options) return;
    for (size_t i = 0; options->values && i < options->n_values; i++) value_fini(&options->values[i]);
    gp_free(options->values);
    gp_free(options->operands);
    gp_free(options);
}

// ---- asking ---------------------------------------------------------------------------------------------------------

enum { ANY_KIND = -1, NUMBER = 1 << GP_OPTION_INTEGER | 1 << GP_OPTION_REAL };

static const gp_option_value *asked(const gp_options *options, const char *key, int kinds)
{
    static const gp_option_value nothing;
    const gp_option_value *slot = gp_options_slot(options, key);
    bool known = slot && (1 << slot->option->kind & kinds);
    assert(known && "no such option of this kind for this verb");
    return known ? slot : &nothing;
}

bool gp_options_flag(const gp_options *options, const char *key)
{
    return asked(options, key, 1 << GP_OPTION_FLAG)->flag;
}

int64_t gp_options_int(const gp_options *options, const char *key)
{
    return asked(options, key, 1 << GP_OPTION_INTEGER)->integer;
}

double gp_options_real(const gp_options *options, const char *key)
{
    return asked(options, key, NUMBER)->real;
}

const char *gp_options_text(const gp_options *options, const char *key)
{
    return asked(options, key, ANY_KIND)->text;
}

bool gp_options_is(const gp_options *options, const char *key, const char *word)
{
    const gp_option_value *value = asked(options, key, ANY_KIND);
    assert(is_a_word(value->option, word) && "not a word of this option");
    return value->word && strcmp(value->word, word) == 0;
}

size_t gp_options_list(const gp_options *options, const char *key, char *const **items)
{
    const gp_option_value *value = asked(options, key, 1 << GP_OPTION_LIST);
    *items = value->items;
    return value->n_items;
}

bool gp_options_given(const gp_options *options, const char *key)
{
    return asked(options, key, ANY_KIND)->origin != GP_FROM_DEFAULT;
}

const char *gp_options_given_of(const gp_options *options, gp_facet facet)
{
    for (size_t i = 0; i < options->n_values; i++)
        if (options->values[i].origin != GP_FROM_DEFAULT && options->values[i].option->facets & facet)
            return options->values[i].option->name;
    return NULL;
}
