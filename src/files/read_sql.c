// read_sql.c: the files of inputs.h as DuckDB table functions.
#include "files/inputs.h"

#include <string.h>

// DuckDB expands globs in names; these files exist and mean themselves.
void gp_sql_path(gp_buffer *sql, const char *path)
{
    gp_buffer_bytes(sql, "'", 1);
    for (const char *p = path; *p; p++) {
        if (strchr("*?[", *p))
            gp_buffer_add(sql, "[%c]", *p);
        else if (*p == '\'')
            gp_buffer_bytes(sql, "''", 2);
        else
            gp_buffer_bytes(sql, p, 1);
    }
    gp_buffer_bytes(sql, "'", 1);
}

static bool same_dialect(const gp_input_file *a, const gp_input_file *b)
{
    return a->kind == b->kind && strcmp(a->compression, b->compression) == 0 && a->latin1 == b->latin1 &&
           a->delimiter == b->delimiter && a->plain_quotes == b->plain_quotes && a->decimal_comma == b->decimal_comma &&
           a->rare_missing == b->rare_missing && a->no_header == b->no_header && a->skip == b->skip &&
           a->comments == b->comments && a->mixed_ends == b->mixed_ends && a->hive == b->hive;
}

static void add_delimiter(gp_buffer *sql, char delimiter)
{
    if (delimiter == '\t')
        gp_buffer_add(sql, ", delim='\t'");
    else if (delimiter)
        gp_buffer_add(sql, ", delim='%c'", delimiter);
}

static void add_csv_options(gp_buffer *sql, const gp_input_file *file, gp_forced_types forced)
{
    // What stands for "missing" in files people have. In a text column nothing is lost: missing is a value of its own
    // there. Rare ones join them where there are any, infinities too, since DuckDB takes a column of nothing else for
    // one of dates; everywhere they would make reading slower by half.
    gp_buffer_add(sql, ", header=%s", file->no_header ? "false, names=[" : "true");
    for (size_t i = 1; file->no_header && i <= file->n_header; i++)
        gp_buffer_add(sql, "'c%zu'%s", i, i < file->n_header ? ", " : "]");
    gp_buffer_add(sql, ", skip=%zu, comment='%s'", file->skip, file->comments ? "#" : "");
    if (file->dates != GP_DATES_GUESSED)
        gp_buffer_add(sql, ", dateformat='%%Y-%%m-%%d', timestampformat='%%Y-%%m-%%d %%H:%%M:%%S'");
    if (file->mixed_ends) gp_buffer_add(sql, ", strict_mode=false");
    gp_buffer_add(sql, ", nullstr=['','NA','N/A','#N/A','NULL','null','NaN','nan','None','?'");
    for (size_t i = 0; file->na && i < file->na->n; i++) {
        gp_buffer_add(sql, ",");
        gp_buffer_quoted(sql, file->na->items[i], '\'');
    }
    for (size_t i = 0; file->rare_missing && i < gp_rare_missing_size; i++)
        gp_buffer_add(sql, ",'%s','-%s'", gp_rare_missing[i], gp_rare_missing[i]);
    gp_buffer_add(sql, "]");
    gp_buffer_add(sql, ", compression='%s'", file->compression);
    if (file->latin1) gp_buffer_add(sql, ", encoding='latin-1'");
    add_delimiter(sql, file->delimiter);
    if (file->plain_quotes) gp_buffer_add(sql, ", quote='\"', escape='\"'");
    if (file->decimal_comma) gp_buffer_add(sql, ", decimal_separator=','");
    if (forced.n == 0) return;
    gp_buffer_add(sql, ", types={");
    for (size_t i = 0; i < forced.n; i++) {
        if (i) gp_buffer_add(sql, ", ");
        gp_buffer_quoted(sql, forced.names[i], '\'');
        gp_buffer_add(sql, ": '%s'", forced.types[i]);
    }
    gp_buffer_add(sql, "}");
}

static void add_json_options(gp_buffer *sql, const gp_input_file *file)
{
    gp_buffer_add(sql, ", format='auto', compression='%s'",
                  strcmp(file->compression, "none") == 0 ? "uncompressed" : file->compression);
}

static void add_group(gp_buffer *sql, const gp_input_file *files, size_t n, gp_forced_types forced)
{
    static const char *const readers[] = {
        [GP_FILE_CSV] = "read_csv", [GP_FILE_PARQUET] = "read_parquet", [GP_FILE_JSON] = "read_json"};
    gp_buffer_add(sql, "SELECT * FROM %s([", readers[files->kind]);
    for (size_t i = 0; i < n; i++) {
        if (i) gp_buffer_add(sql, ", ");
        gp_sql_path(sql, files[i].path);
    }
    gp_buffer_add(sql, "]");
    if (n > 1) gp_buffer_add(sql, ", union_by_name=true");
    gp_buffer_add(sql, ", hive_partitioning=%s", files->hive ? "true" : "false");
    if (files->kind == GP_FILE_CSV) add_csv_options(sql, files, forced);
    if (files->kind == GP_FILE_JSON) add_json_options(sql, files);
    if (files->kind == GP_FILE_JSON && files->dates == GP_DATES_TEXT) // formats that nothing has keep dates texts
        gp_buffer_add(sql, ", dateformat='\x01%%Y', timestampformat='\x01%%Y'");
    gp_buffer_add(sql, ")");
}

void gp_sql_read(gp_buffer *sql, const gp_input_file *files, size_t n, gp_forced_types forced)
{
    for (size_t first = 0; first < n;) {
        size_t length = 1;
        while (first + length < n && same_dialect(&files[first], &files[first + length])) length++;
        if (first) gp_buffer_add(sql, " UNION ALL BY NAME ");
        add_group(sql, files + first, length, forced);
        first += length;
    }
}

void gp_sql_diagnose(gp_buffer *sql, const gp_input_file *csv)
{
    gp_buffer_add(sql, "SELECT count(c0) FROM read_csv(");
    gp_sql_path(sql, csv->path);
    gp_buffer_add(sql, ", auto_detect=false, header=%s, quote='\"', escape='\"', compression='%s'",
                  csv->no_header ? "false" : "true", csv->compression);
    gp_buffer_add(sql, ", skip=%zu, comment='%s'", csv->skip, csv->comments ? "#" : "");
    if (csv->latin1) gp_buffer_add(sql, ", encoding='latin-1'");
    add_delimiter(sql, csv->delimiter);
    gp_buffer_add(sql, ", columns={");
    for (size_t i = 0; i < csv->n_header; i++) gp_buffer_add(sql, "%s'c%zu': 'VARCHAR'", i ? ", " : "", i);
    gp_buffer_add(sql, "})");
}

void gp_sql_parquet_names(gp_buffer *sql, const gp_input_file *parquet)
{
    gp_buffer_add(sql, "SELECT name, coalesce(num_children, 0) FROM parquet_schema(");
    gp_sql_path(sql, parquet->path);
    gp_buffer_add(sql, ")");
}

// The delimiter is a byte that text does not hold, so that a line stays whole; Latin-1 accepts every byte.
void gp_sql_head(gp_buffer *sql, const gp_input_file *csv)
{
    gp_buffer_add(sql, "SELECT line FROM read_csv(");
    gp_sql_path(sql, csv->path);
    gp_buffer_add(sql, ", auto_detect=false, header=false, delim='\x01', quote='', escape='', encoding='latin-1'");
    gp_buffer_add(sql, ", compression='%s', columns={'line': 'VARCHAR'}, strict_mode=false) LIMIT 200",
                  csv->compression);
}

void gp_sql_json_texts(gp_buffer *sql, const gp_input_file *json)
{
    gp_buffer_add(sql, "SELECT CAST(json AS VARCHAR) FROM read_json_objects(");
    gp_sql_path(sql, json->path);
    add_json_options(sql, json);
    gp_buffer_add(sql, ")");
}
