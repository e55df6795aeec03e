// query.c: walking the syntax tree of a query.
#include "files/query.h"

#include "base/alloc.h"
#include "base/text.h"

#include <string.h>
#include <strings.h>

// ---- the tree -------------------------------------------------------------------------------------------------------

static const char *text_of(const json_t *node, const char *key)
{
    const char *text = json_string_value(json_object_get(node, key));
    return text ? text : "";
}

static bool is_of_type(const json_t *node, const char *type)
{
    return strcmp(text_of(node, "type"), type) == 0;
}

// The last of f.delay is the column, the one before it what it is qualified by.
static const char *column_of(const json_t *node)
{
    const json_t *names = json_object_get(node, "column_names");
    const char *name = json_string_value(json_array_get(names, json_array_size(names) - 1));
    return is_of_type(node, "COLUMN_REF") && name ? name : NULL;
}

static const char *qualifier_of(const json_t *node)
{
    const json_t *names = json_object_get(node, "column_names");
    const size_t n = json_array_size(names);
    return n > 1 ? json_string_value(json_array_get(names, n - 2)) : NULL;
}

// Calls `visit` with every object below the node and the node itself, until one returns false. The depth is bounded by
// that of DuckDB's parser and, once more, by jansson's.
typedef bool (*visitor)(void *ctx, json_t *node);
static bool walk(json_t *node, visitor visit, void *ctx)
{
    const char *key;
    json_t *child;
    size_t i;
    if (json_is_object(node)) {
        if (!visit(ctx, node)) return false;
        json_object_foreach(node, key, child) if (!walk(child, visit, ctx)) return false;
    }
    json_array_foreach(node, i, child) if (!walk(child, visit, ctx)) return false;
    return true;
}

// ---- what it reads --------------------------------------------------------------------------------------------------

typedef struct survey {
    json_t *with;   // {name: true}, in lower case
    json_t *tables; // [node], every time one is named
    bool failed;    // no memory
    const char *function, *schema;
    bool show; // SHOW, DESCRIBE or SUMMARIZE in the place of a table
} survey;

static json_t *lower(const char *name)
{
    char *copy = gp_text_copy(name, strlen(name));
    for (char *p = copy; p && *p; p++)
        if (*p >= 'A' && *p <= 'Z') *p = (char)(*p - 'A' + 'a');
    json_t *text = copy ? json_string(copy) : NULL;
    gp_free(copy);
    return text;
}

static bool has(const json_t *set, const char *name)
{
    json_t *key = lower(name);
    const bool found = key && json_object_get(set, json_string_value(key));
    json_decref(key);
    return found;
}

static bool put(json_t *set, const char *name, json_t *value) // takes the value; false: no memory
{
    json_t *key = lower(name);
    const bool ok = key && value && json_object_set(set, json_string_value(key), value) == 0;
    json_decref(key);
    json_decref(value);
    return ok;
}

// Functions that make rows from their arguments alone. All others that stand in the place of a table read files, tell
// of the machine, or change how the database runs: one of them writes a log, whatever is locked.
static bool makes_rows_only(const char *function)
{
    static const char *const names[] = {"range", "generate_series", "unnest", "repeat", "json_each", "json_tree"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(names[i], function) == 0) return true;
    return false;
}

static bool note_source(void *ctx, json_t *node)
{
    survey *s = ctx;
    const json_t *map = json_object_get(node, "cte_map");
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(map, "map"), i, entry)
    {
        s->failed |= !put(s->with, text_of(entry, "key"), json_true());
    }
    if (is_of_type(node, "TABLE_FUNCTION")) {
        const json_t *function = json_object_get(node, "function");
        const bool plain = !*text_of(function, "schema") && !*text_of(function, "catalog");
        if (!plain || !makes_rows_only(text_of(function, "function_name")))
            s->function = text_of(function, "function_name");
    }
    const char *called = text_of(node, "function_name"), *column = column_of(node);
    if (!s->function && *called && !gp_query_may_call(called)) s->function = called;
    if (column && !qualifier_of(node) && !gp_query_may_name(column)) s->function = column;
    if (is_of_type(node, "SHOW_REF")) s->show = true;
    if (is_of_type(node, "BASE_TABLE")) {
        if (*text_of(node, "schema_name")) s->schema = text_of(node, "schema_name");
        if (*text_of(node, "catalog_name")) s->schema = text_of(node, "catalog_name");
        s->failed |= json_array_append(s->tables, node) != 0;
    }
    return !s->failed && !s->function && !s->schema && !s->show;
}

bool gp_query_reads(const gp_query *query, const char *table)
{
    for (size_t i = 0; i < query->n_tables; i++)
        if (strcasecmp(query->tables[i], table) == 0) return true;
    return false;
}

typedef struct naming {
    const char *alias, *table;
} naming;

static bool find_alias(void *ctx, json_t *node)
{
    naming *n = ctx;
    const char *alias = text_of(node, "alias"), *table = text_of(node, "table_name");
    if (is_of_type(node, "BASE_TABLE") && strcasecmp(*alias ? alias : table, n->alias) == 0) n->table = table;
    return !n->table;
}

const char *gp_query_table_of(const gp_query *query, const char *alias)
{
    naming n = {.alias = alias};
    (void)walk(query->tree, find_alias, &n);
    return n.table && gp_query_reads(query, n.table) ? n.table : NULL;
}

// The one that the text names first among those that are not in the list yet; NULL: all are.
static const char *next_table(const gp_query *query, const survey *s)
{
    const char *first = NULL;
    double first_at = 0;
    size_t i;
    json_t *node;
    json_array_foreach(s->tables, i, node)
    {
        const char *name = text_of(node, "table_name");
        const double at = json_number_value(json_object_get(node, "query_location"));
        if (has(s->with, name) || gp_query_reads(query, name) || (first && at >= first_at)) continue;
        first = name, first_at = at;
    }
    return first;
}

static advgp_status list_tables(gp_query *query, const survey *s, advgp_error *err)
{
    query->tables = gp_alloc(json_array_size(s->tables), sizeof *query->tables);
    if (!query->tables) return gp_no_memory(err);
    for (const char *name = next_table(query, s); name; name = next_table(query, s)) {
        char *copy = gp_text_copy(name, strlen(name));
        if (!copy) return gp_no_memory(err);
        query->tables[query->n_tables++] = copy;
    }
    return ADVGP_OK;
}

static advgp_status look_at(gp_query *query, advgp_error *err)
{
    survey s = {.with = json_object(), .tables = json_array()};
    s.failed = !s.with || !s.tables;
    if (!s.failed) (void)walk(query->tree, note_source, &s);
    advgp_status st;
    if (s.failed)
        st = gp_no_memory(err);
    else if (s.function)
        st = gp_fail(err, ADVGP_EINVAL,
                     "{sql}: a query reads the files named on the command line, as tables named by their stems, and "
                     "nothing else: it may not call %.80s(); docs/security.md says which functions it may",
                     s.function);
    else if (s.show)
        st = gp_fail(err, ADVGP_EINVAL,
                     "{sql}: a query reads the rows of its tables, and not what the database tells of them: SHOW, "
                     "DESCRIBE and SUMMARIZE are not run");
    else if (s.schema)
        st = gp_fail(err, ADVGP_EINVAL,
                     "{sql}: a query reads the files named on the command line, as tables named by their stems: there "
                     "is no schema '%.80s'",
                     s.schema);
    else
        st = list_tables(query, &s, err);
    json_decref(s.with);
    json_decref(s.tables);
    return st;
}

advgp_status gp_query_init(const char *json, gp_query *out, advgp_error *err)
{
    *out = (gp_query){.tree = json_loads(json, 0, NULL), .exact = true};
    if (!out->tree) *out = (gp_query){.tree = json_loads(json, JSON_DECODE_INT_AS_REAL, NULL)}; // a number above 2^63
    const json_t *tree = out->tree, *statements = json_object_get(tree, "statements");
    advgp_status st;
    if (!tree)
        st = gp_fail(err, ADVGP_EINVAL, "{sql}: the query is nested too deeply");
    else if (json_is_true(json_object_get(tree, "error")) && strcmp(text_of(tree, "error_type"), "parser") == 0)
        st = gp_fail(err, ADVGP_EINVAL, "{sql}: %.400s", text_of(tree, "error_message"));
    else if (json_is_true(json_object_get(tree, "error")) || json_array_size(statements) != 1)
        st = gp_fail(err, ADVGP_EINVAL, "{sql}: a query is one SELECT, and no other statement");
    else
        st = look_at(out, err);
    if (st != ADVGP_OK) gp_query_fini(out);
    return st;
}

void gp_query_fini(gp_query *query)
{
    json_decref(query->tree);
    for (size_t i = 0; i < query->n_tables; i++) gp_free(query->tables[i]);
    gp_free(query->tables);
    *query = (gp_query){0};
}

static const json_t *outermost(const gp_query *query)
{
    return json_object_get(json_array_get(json_object_get(query->tree, "statements"), 0), "node");
}

// ---- what serves a result only --------------------------------------------------------------------------------------

static bool collect(void *ctx, json_t *node)
{
    const char *name = column_of(node), *qualifier = qualifier_of(node);
    return !name || put(ctx, name, qualifier ? json_string(qualifier) : json_null());
}

// What a member of a list of results is called; NULL: nothing in particular.
static const char *result_name(const json_t *item)
{
    return *text_of(item, "alias") ? text_of(item, "alias") : column_of(item);
}

typedef struct mention {
    const char *column;
    bool found;
} mention;

static bool look_for(void *ctx, json_t *node)
{
    mention *m = ctx;
    const char *name = column_of(node);
    m->found |= name && strcasecmp(name, m->column) == 0;
    return !m->found;
}

static bool speaks_of(json_t *node, const char *column)
{
    mention m = {.column = column};
    (void)walk(node, look_for, &m);
    return m.found;
}

// Is it a result, made from other columns, and so none of a table? What the outermost query makes is unknown to the
// inner ones: where they speak of it, they mean a table's.
static bool look_for_maker(void *ctx, json_t *node)
{
    mention *m = ctx;
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(node, "select_list"), i, item)
    {
        m->found |= strcasecmp(text_of(item, "alias"), m->column) == 0 && !speaks_of(item, m->column);
    }
    return !m->found;
}

static bool is_made(const gp_query *query, const char *column)
{
    mention m = {.column = column};
    json_t *from = json_object_get(outermost(query), "from_table"),
           *with = json_object_get(outermost(query), "cte_map");
    if (speaks_of(from, column) || speaks_of(with, column))
        (void)(walk(from, look_for_maker, &m) && walk(with, look_for_maker, &m));
    else
        (void)walk(query->tree, look_for_maker, &m);
    return m.found;
}

typedef struct division {
    json_t *named;         // the results that were asked for
    json_t *mine, *others; // columns in what gives them, and in what gives other results
    const json_t *top;     // the outermost query: its results are results; those of inner ones are columns to it
    bool failed;
} division;

static bool divide(void *ctx, json_t *node)
{
    division *d = ctx;
    const json_t *wanted = node == d->top ? d->named : d->mine;
    size_t i, k;
    json_t *item, *entry;
    json_array_foreach(json_object_get(node, "select_list"), i, item)
    {
        const char *name = result_name(item);
        if (!is_of_type(item, "STAR"))
            d->failed |= !walk(item, collect, name && has(wanted, name) ? d->mine : d->others);
        json_array_foreach(json_object_get(item, "replace_list"), k, entry) // SELECT * REPLACE (log(y) AS y)
        {
            const bool is_mine = has(wanted, text_of(entry, "key"));
            d->failed |= !walk(json_object_get(entry, "value"), collect, is_mine ? d->mine : d->others);
        }
    }
    return !d->failed;
}

// A column may be a result of an inner query under its own name: again, until nothing is added.
json_t *gp_query_only_for(const gp_query *query, const char *const *results, size_t n)
{
    division d = {.named = json_object(), .mine = json_object(), .top = outermost(query)};
    for (size_t i = 0; i < n; i++)
        d.failed |= !put(d.named, results[i], json_null()) || !put(d.mine, results[i], json_null());
    for (size_t before = 0; !d.failed && d.mine && before != json_object_size(d.mine);) {
        before = json_object_size(d.mine);
        json_decref(d.others);
        d.others = json_object();
        if (!d.others || !walk(query->tree, divide, &d)) d.failed = true;
    }
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(d.mine, next, key, value)
    {
        if (has(d.others, key) || !speaks_of(query->tree, key) || is_made(query, key)) json_object_del(d.mine, key);
    }
    json_decref(d.named);
    json_decref(d.others);
    if (d.failed) json_decref(d.mine);
    return d.failed ? NULL : d.mine;
}

// ---- conditions that cannot be asked --------------------------------------------------------------------------------

typedef struct forgetting {
    json_t *names; // in lower case: the column, and results that are made from it
    size_t n;
    bool failed;
} forgetting;

static bool speaks_of_any(json_t *node, json_t *names)
{
    const char *name;
    json_t *value;
    json_object_foreach(names, name, value) if (speaks_of(node, name)) return true;
    return false;
}

static bool name_results(void *ctx, json_t *node)
{
    forgetting *f = ctx;
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(node, "select_list"), i, item)
    {
        const char *alias = text_of(item, "alias");
        if (*alias && !has(f->names, alias) && speaks_of_any(item, f->names))
            f->failed |= !put(f->names, alias, json_null());
    }
    return !f->failed;
}

// The conditions of one clause, joined by AND.
static void forget_in(json_t *node, const char *clause, forgetting *f)
{
    json_t *all = json_object_get(node, clause);
    if (!json_is_object(all) || !speaks_of_any(all, f->names)) return;
    json_t *children = is_of_type(all, "CONJUNCTION_AND") ? json_object_get(all, "children") : NULL;
    for (size_t i = json_array_size(children); i-- > 0;)
        if (speaks_of_any(json_array_get(children, i), f->names)) {
            (void)json_array_remove(children, i);
            f->n++;
        }
    f->n += !children;
    if (json_array_size(children) == 1) // an AND has two or more
        (void)json_object_set(node, clause, json_array_get(children, 0));
    else if (json_array_size(children) == 0)
        (void)json_object_set_new(node, clause, json_null());
}

static bool forget(void *ctx, json_t *node)
{
    static const char *const clauses[] = {"where_clause", "having", "qualify"};
    for (size_t i = 0; i < sizeof clauses / sizeof *clauses; i++) forget_in(node, clauses[i], ctx);
    return true;
}

size_t gp_query_forget(gp_query *query, const char *column)
{
    forgetting f = {.names = json_object()};
    f.failed = !f.names || !put(f.names, column, json_null());
    for (size_t before = 0; !f.failed && before != json_object_size(f.names);) { // results made from results
        before = json_object_size(f.names);
        (void)walk(query->tree, name_results, &f);
    }
    if (!f.failed) (void)walk(query->tree, forget, &f);
    json_decref(f.names);
    return f.n;
}
