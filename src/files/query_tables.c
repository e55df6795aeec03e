// query_tables.c: which file is which table of a query.
#include "base/alloc.h"
#include "files/query.h"

#include <string.h>
#include <strings.h>

static void add_list(gp_buffer *text, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n && i < 8; i++) gp_buffer_add(text, "%s'%.80s'", i ? ", " : "", names[i]);
    if (n > 8) gp_buffer_add(text, " and %zu more", n - 8);
}

static const gp_input_table *find_table(const gp_inputs *inputs, const char *name)
{
    for (size_t i = 0; i < inputs->n_tables; i++)
        if (strcasecmp(inputs->tables[i].name, name) == 0) return &inputs->tables[i];
    return NULL;
}

// Names are fixed: the user wrote the query for these files.
static advgp_status check_names(const gp_query *query, const gp_inputs *inputs, advgp_error *err)
{
    for (size_t k = 0; k < query->n_tables; k++) {
        const char *name = query->tables[k];
        if (find_table(inputs, name) || (inputs->n_tables == 1 && strcasecmp(name, "data") == 0)) continue;
        gp_buffer there = {0};
        const char *names[8];
        for (size_t i = 0; i < inputs->n_tables && i < 8; i++) names[i] = inputs->tables[i].name;
        add_list(&there, names, inputs->n_tables < 8 ? inputs->n_tables : 8);
        const advgp_status st = gp_fail(err, ADVGP_EINVAL,
                                        "{sql}: there is no table '%.80s'; files are tables named by their stems: %s",
                                        name, there.p ? there.p : "there are none");
        gp_buffer_fini(&there);
        return st;
    }
    return ADVGP_OK;
}

static advgp_status does_not_fit(const gp_query *query, size_t n_files, size_t n_tables, advgp_error *err)
{
    gp_buffer tables = {0};
    add_list(&tables, (const char *const *)query->tables, query->n_tables);
    const char *list = tables.p ? tables.p : "none";
    const advgp_status st =
        n_files > n_tables
            ? gp_fail(err, ADVGP_EDATA,
                      "the query reads %s: more files are given than tables; files of one table are given as a folder "
                      "or a glob in quotes",
                      list)
            : gp_fail(err, ADVGP_EDATA,
                      "the query reads %s: name a file for each, in this order or by its name ({table} NAME=FILE)",
                      list);
    gp_buffer_fini(&tables);
    return st;
}

// Gives the file's table the name that the query uses.
static advgp_status take(gp_inputs *inputs, size_t i, const gp_query *query, size_t k, bool *taken, gp_notes *notes,
                         advgp_error *err)
{
    gp_input_table *table = &inputs->tables[i];
    const bool other = strcasecmp(table->name, query->tables[k]) != 0;
    taken[k] = true;
    if (!other) return ADVGP_OK;
    char *name = gp_copy_text(query->tables[k]);
    if (!name) return gp_no_memory(err);
    gp_free(table->name);
    table->name = name;
    if (query->n_tables == 1) return ADVGP_OK; // nothing else could be meant
    return gp_notes_add(notes, err, 1, "%s is the table '%s' of the query", inputs->files[table->first].shown, name);
}

static advgp_status match(const gp_query *query, gp_inputs *inputs, bool *taken, bool *bound, gp_notes *notes,
                          advgp_error *err)
{
    size_t files_left = 0, tables_left = 0;
    for (size_t i = 0; i < inputs->n_tables; i++) {
        const gp_input_table *table = &inputs->tables[i];
        size_t k = 0;
        while (k < query->n_tables && strcasecmp(query->tables[k], table->name) != 0) k++;
        if (k == query->n_tables && table->named)
            return gp_fail(err, ADVGP_EINVAL, "{table} %.80s: the query has no table of that name", table->name);
        if (k < query->n_tables && taken[k] && table->named)
            return gp_fail(err, ADVGP_EINVAL, "{table} %.80s: another file is that table", table->name);
        bound[i] = k < query->n_tables && !taken[k];
        if (bound[i]) taken[k] = true;
        files_left += !bound[i];
    }
    for (size_t k = 0; k < query->n_tables; k++) tables_left += !taken[k];
    if (files_left != tables_left) return does_not_fit(query, files_left, tables_left, err);
    advgp_status st = ADVGP_OK;
    for (size_t i = 0, k = 0; st == ADVGP_OK && i < inputs->n_tables; i++) {
        if (bound[i]) continue;
        while (taken[k]) k++;
        st = take(inputs, i, query, k, taken, notes, err);
    }
    return st;
}

advgp_status gp_query_bind(const gp_query *query, gp_inputs *inputs, bool stored, gp_notes *notes, advgp_error *err)
{
    if (!stored) return check_names(query, inputs, err);
    if (!query->n_tables) // it makes its rows itself
        return gp_notes_add(notes, err, inputs->n_tables, "the query reads no table: the files given are not used");
    bool *taken = gp_alloc(query->n_tables, sizeof *taken), *bound = gp_alloc(inputs->n_tables, sizeof *bound);
    const advgp_status st = taken && bound ? match(query, inputs, taken, bound, notes, err) : gp_no_memory(err);
    gp_free(taken);
    gp_free(bound);
    return st;
}
