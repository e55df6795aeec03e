// export_table.c: what export_table.h promises.
#include "export_table.h"
#include "base/text.h"
#include "data/strings.h"
#include "files/duckdb_connect.h"

#include <string.h>

static const char *format_of(const char *path)
{
    if (strstr(path, ".parquet")) return "FORMAT parquet";
    return strstr(path, ".json") ? "FORMAT json" : "FORMAT csv, HEADER true";
}

advgp_status export_table(const char *sql, const char *path, advgp_error *err)
{
    gp_duckdb d = {0};
    gp_buffer copy = {0};
    duckdb_result result = {0};
    const size_t n = strlen(path);
    advgp_status st = gp_duckdb_connect(0, 0, NULL, false, &d, err);
    if (st != ADVGP_OK) return st;
    gp_buffer_add(&copy, "COPY (%s) TO ", sql);
    gp_buffer_quoted(&copy, path, '\'');
    gp_buffer_add(&copy, " (%s%s)", format_of(path), n > 3 && !strcmp(path + n - 3, ".gz") ? ", COMPRESSION gzip" : "");
    if (duckdb_query(d.connection, copy.p, &result) != DuckDBSuccess)
        st = gp_fail(err, ADVGP_EIO, "%s", duckdb_result_error(&result));
    duckdb_destroy_result(&result);
    gp_buffer_fini(&copy);
    gp_duckdb_disconnect(&d);
    return st;
}
