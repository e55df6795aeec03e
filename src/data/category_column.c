// category_column.c: what the encodings of categories have in common: different texts are counted, and few enough make
// an input.
#include "base/whole.h"
#include "data/encoding_kit.h"
#include "data/strings.h"

#include <math.h>

// ---- the first pass -------------------------------------------------------------------------------------------------
advgp_status gp_category_observe(gp_fit *f, gp_candidate *c, const gp_chunk *chunk, advgp_error *err)
{
    const gp_usable *u = &f->usable;
    const gp_text *texts;
    advgp_status st = gp_coerce_texts(f->source, c->column, chunk, &c->buffer, &texts, err);
    for (size_t k = 0; st == ADVGP_OK && k < u->n; k++) {
        gp_text text = texts[u->rows[k]];
        if (!text.p) {
            st = gp_fit_missing(f, c, chunk, k, err);
            continue;
        }
        long index;
        st = gp_categories_add(&c->categories, text, &index, err);
        if (st != ADVGP_OK || index == GP_NO_CATEGORY) continue;
        gp_category *item = &c->categories.items[index];
        if (item->rows++ == 0) item->first_row = chunk->first_row + u->rows[k];
        item->weight += u->w[k];
        if (gp_split_maybe(f->split, u->before + k, u->group_hash[k]))
            continue; // a held-out target must not leak into a mean
        item->fit_weight += u->w[k];
        item->fit_sum += u->w[k] * u->y[k];
    }
    return st;
}

// A column of text that is numbers but for a few values is a number column with slips in it: better said than encoded.
static advgp_status refuse_slips(const gp_fit *f, const gp_candidate *c, advgp_error *err)
{
    size_t numbers = 0, others = 0;
    const gp_category *slip = NULL;
    for (size_t i = 0; i < c->categories.n; i++) {
        const gp_category *item = &c->categories.items[i];
        double ignored;
        if (gp_parse_number((gp_text){.p = item->text, .n = item->n}, &ignored)) {
            numbers += item->rows;
        } else {
            others += item->rows;
            if (!slip || item->first_row < slip->first_row) slip = item;
        }
    }
    if (!f->options->refuse_dirty || !slip || numbers < 9 * others) return ADVGP_OK;
    char shown[64];
    const char *name = gp_fit_column(f, c)->name;
    return gp_fail(
        err, ADVGP_EDATA,
        "%s, row %zu: column '%s' holds '%s' among numbers (%zu such rows); correct it, leave it empty or "
        "name it with {na} if it is missing, decide with {encode} '%s=target' or {exclude} '%s', or leave out "
        "{dirty} error",
        f->source->label, slip->first_row + 1, name, gp_show_text(shown, sizeof shown, slip->text, slip->n), others,
        name, name);
}

static const char many_texts[] = "are left out: too many different texts";

static advgp_status leave_out_text(const gp_fit *f, const gp_candidate *c, advgp_error *err)
{
    const char *name = gp_fit_column(f, c)->name;
    size_t n = c->categories.n;
    advgp_status st = refuse_slips(f, c, err);
    if (st != ADVGP_OK) return st;
    if (c->categories.overflowed)
        return gp_notes_add_column(f->notes, err, n, name, many_texts,
                                   "column '%s' is left out: more than %zu different texts in %zu rows", name, n,
                                   f->y.n);
    return gp_notes_add_column(
        f->notes, err, n, name, many_texts,
        "column '%s' is left out: %zu different texts in %zu rows, too few of each to learn from", name, n, f->y.n);
}

// Sets *use to whether the text column becomes an input, and its encoding.
advgp_status gp_category_decide(const gp_fit *f, gp_candidate *c, bool *use, advgp_error *err)
{
    size_t n = c->categories.n, limit = f->y.n / GP_ROWS_PER_CATEGORY;
    *use = true;
    if (c->forced) {
        if (c->encoding == &gp_encoding_onehot && n > GP_ONEHOT_FORCED_MAX)
            return gp_fail(err, ADVGP_EDATA,
                           "column '%s' has %zu values, and one-hot takes %d at most; use {encode} '%s=target'",
                           gp_fit_column(f, c)->name, n, GP_ONEHOT_FORCED_MAX, gp_fit_column(f, c)->name);
        if (c->categories.overflowed)
            return gp_fail(err, ADVGP_EDATA,
                           "column '%s' has more than %zu values: too many to encode; use {exclude} '%s'",
                           gp_fit_column(f, c)->name, n, gp_fit_column(f, c)->name);
        return ADVGP_OK;
    }
    if (!c->categories.overflowed && n <= GP_ONEHOT_MAX) {
        c->encoding = &gp_encoding_onehot;
    } else if (!c->categories.overflowed && n <= limit) {
        c->encoding = &gp_encoding_target;
        return refuse_slips(f, c, err);
    } else {
        *use = false;
        return leave_out_text(f, c, err);
    }
    return ADVGP_OK;
}

bool gp_category_is_constant(const gp_candidate *c)
{
    return c->categories.n == 1 && c->n_missing == 0;
}

advgp_status gp_category_fill(const gp_fit *f, gp_candidate *c, gp_input *input, advgp_error *err)
{
    (void)f, (void)err;
    input->categories = c->categories; // moved
    c->categories = (gp_categories){0};
    gp_categories_sort(&input->categories);
    return ADVGP_OK;
}

// ---- rows -----------------------------------------------------------------------------------------------------------
static long find(const gp_input *input, gp_picked v, size_t row, bool *missing)
{
    *missing = v.texts ? !v.texts[row].p : !isfinite(v.numbers[row]);
    if (*missing) return GP_NO_CATEGORY;
    if (v.texts) return gp_categories_find(&input->categories, v.texts[row]);
    const double number = v.numbers[row];
    const size_t n = input->categories.n;
    return number >= 0 && number < (double)n ? (long)gp_index(number, n) : GP_NO_CATEGORY;
}

long gp_category_of(const gp_input *input, gp_picked v, size_t k, bool *missing, gp_oddities *odd)
{
    const long category = find(input, v, v.rows[k], missing);
    odd->n_unseen += category < 0 && !*missing;
    return category;
}

// ---- and back -------------------------------------------------------------------------------------------------------
void gp_category_show(const gp_input *input, double value, gp_buffer *out)
{
    const gp_category *c = &input->categories.items[gp_index(value, input->categories.n - 1)];
    gp_buffer_bytes(out, c->text, c->n);
}

// ---- files ----------------------------------------------------------------------------------------------------------
bool gp_category_write(const gp_input *input, json_t *o)
{
    const gp_categories *c = &input->categories;
    json_t *list = json_array();
    bool ok = list != NULL;
    for (size_t i = 0; ok && i < c->n; i++)
        ok = json_array_append_new(list, json_stringn_nocheck(c->items[i].text, c->items[i].n)) == 0;
    return json_object_set_new(o, "categories", list) == 0 && ok;
}

advgp_status gp_category_read(const json_t *o, gp_input *input, advgp_error *err)
{
    const json_t *list = json_object_get(o, "categories");
    if (!json_is_array(list) || json_array_size(list) == 0)
        return gp_schema_damaged("an input lacks its categories", err);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        if (!json_is_string(item)) return gp_schema_damaged("a category is no text", err);
        long index;
        gp_text text = {.p = json_string_value(item), .n = json_string_length(item)};
        advgp_status st = gp_categories_add(&input->categories, text, &index, err);
        if (st != ADVGP_OK) return st;
        if (index != (long)i) // values go by position
            return gp_schema_damaged("a category appears twice, or there are too many", err);
    }
    return ADVGP_OK;
}
