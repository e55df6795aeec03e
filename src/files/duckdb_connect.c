// duckdb_connect.c: DuckDB with the settings that all of advgp needs.
#include "files/duckdb_connect.h"

#include "base/temporary.h"
#include "data/strings.h"

#include <stdio.h>
#include <unistd.h>

// A folder of its own, 0700: files with the texts of rows go there, which DuckDB makes 0644. Where none can be made,
// the name of one that is not there, for the message of whoever must spill.
static void make_spill(const char *temporary, gp_duckdb *d)
{
    if (d->spill_path[0]) return; // a second connection of the same
    if (gp_temporary_make_folder(temporary, "advgp-duckdb", d->spill_path, sizeof d->spill_path))
        d->spill = gp_temporary_add(d->spill_path);
    else
        snprintf(d->spill_path, sizeof d->spill_path, "/dev/null/advgp-duckdb");
}

advgp_status gp_duckdb_connect(size_t memory_bytes, size_t threads, const char *temporary, bool as_written,
                               gp_duckdb *out, advgp_error *err)
{
    duckdb_config config = NULL;
    char memory[32], count[32];
    snprintf(memory, sizeof memory, "%zuB", memory_bytes ? memory_bytes : (size_t)1 << 30);
    snprintf(count, sizeof count, "%zu", threads ? threads : 1);
    make_spill(temporary, out);
    const char *const settings[][2] = {
        {"memory_limit", memory},
        {"threads", count},
        {"temp_directory", out->spill_path},
        {"preserve_insertion_order", "true"},
        {"autoinstall_known_extensions", "false"}, // nothing is ever fetched from the network
        {"autoload_known_extensions", "false"},
        {"allow_community_extensions", "false"},
        {"disabled_optimizers", as_written ? "join_order,build_side_probe_side" : ""},
    };
    bool ok = duckdb_create_config(&config) == DuckDBSuccess;
    for (size_t i = 0; ok && i < sizeof settings / sizeof *settings; i++)
        ok = duckdb_set_config(config, settings[i][0], settings[i][1]) == DuckDBSuccess;
    char *message = NULL;
    ok = ok && duckdb_open_ext(NULL, &out->db, config, &message) == DuckDBSuccess;
    ok = ok && duckdb_connect(out->db, &out->connection) == DuckDBSuccess;
    advgp_status st = ok ? ADVGP_OK
                         : gp_fail(err, ADVGP_ENOMEM, "DuckDB does not start: %.200s",
                                   message ? message : "no reason given");
    if (message) duckdb_free(message);
    duckdb_destroy_config(&config);
    return st;
}

advgp_status gp_duckdb_lock(gp_duckdb *d, const char *paths, advgp_error *err)
{
    gp_buffer sql = {0};
    // The word user is a column of many tables; where it is none, DuckDB would answer with the name of its session. A
    // macro that wants an argument is refused instead (file_error.c).
    gp_buffer_add(&sql,
                  "CREATE OR REPLACE TEMP MACRO \"user\"(x) AS x; SET TimeZone = 'UTC'; SET allowed_paths = [%s]; SET "
                  "enable_external_access = false; SET lock_configuration = true",
                  paths);
    duckdb_result result = {0};
    advgp_status st = ADVGP_OK;
    if (sql.failed)
        st = gp_no_memory(err);
    else if (duckdb_query(d->connection, sql.p, &result) != DuckDBSuccess)
        st = gp_fail(err, ADVGP_EIO, "DuckDB cannot be kept from other files: %.200s", duckdb_result_error(&result));
    duckdb_destroy_result(&result);
    gp_buffer_fini(&sql);
    return st;
}

void gp_duckdb_disconnect(gp_duckdb *d)
{
    duckdb_disconnect(&d->connection);
    duckdb_close(&d->db);
    if (d->spill_path[0]) (void)rmdir(d->spill_path); // DuckDB has emptied it
    d->spill_path[0] = 0;
    gp_temporary_drop(d->spill);
    d->spill = GP_NOT_TEMPORARY;
}
