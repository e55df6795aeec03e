// pack.c: how fast a Parquet file becomes packed shards, and how fast those are read. Compared in the same run with
// what DuckDB alone takes to scan the file and to write it again as Parquet.
//   build/bench/pack [ROWS [FOLDER]]
#include "base/alloc.h"
#include "base/clock.h"
#include "bench.h"
#include "export_table.h"
#include "files/files.h"
#include "shards/packed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INPUTS = 10, RUNS = 3, BATCH = 4096 };

static char folder[4096], table[4200], again[4200], packed[4200];
static size_t n_rows = 2000000;

static gp_source *open_table(void)
{
    advgp_error err;
    gp_source *source;
    const char *path = table;
    must(gp_source_files_open(&(gp_file_options){.paths = &path, .n_paths = 1}, NULL, &source, &err), &err);
    return source;
}

static void make_table(void)
{
    char sql[2048];
    size_t used = (size_t)snprintf(sql, sizeof sql, "SELECT ");
    for (int j = 1; j <= INPUTS; j++) // hash() rather than random(): the same table every time
        used += (size_t)snprintf(sql + used, sizeof sql - used, "hash(i * %d + %d) / 18446744073709551616.0 AS x%d, ",
                                 INPUTS, j, j);
    snprintf(sql + used, sizeof sql - used,
             "sin(i * 0.001) + hash(i) / 18446744073709551616.0 AS y FROM range(%zu) t(i)", n_rows);
    advgp_error err;
    must(export_table(sql, table, &err), &err);
}

// ---- what is timed --------------------------------------------------------------------------------------------------
static void scan(void)
{
    advgp_error err;
    gp_source *source = open_table();
    const gp_chunk *chunk;
    size_t n = 0;
    do {
        must(gp_source_next(source, &chunk, &err), &err);
        n += chunk ? chunk->n_rows : 0;
    } while (chunk);
    if (n != n_rows) exit(1);
    gp_source_free(source);
}

static void copy(void)
{
    advgp_error err;
    char sql[4300];
    snprintf(sql, sizeof sql, "SELECT * FROM '%s'", table);
    must(export_table(sql, again, &err), &err);
}

static long anonymous_kb; // the most seen while packing; mapped files do not count

static int watch_memory(void *ctx, size_t rows)
{
    (void)ctx;
    if (rows / 2048 % 64) return 0;
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f)) {
        long now = strncmp(line, "RssAnon:", 8) == 0 ? strtol(line + 8, NULL, 10) : 0;
        if (now > anonymous_kb) anonymous_kb = now;
    }
    if (f) fclose(f);
    return 0;
}

static void pack(void)
{
    advgp_error err;
    gp_source *source = open_table();
    gp_schema *schema;
    gp_split split;
    gp_schema_options o = {.target = "y"};
    must(gp_split_parse("0.05", 1, &split, &err), &err);
    must(gp_schema_fit(source, &o, &split, NULL, watch_memory, NULL, &schema, &err), &err);
    must(gp_pack(source, schema, &split, &(gp_pack_options){.dir = packed, .seed = 1}, NULL, watch_memory, NULL, &err),
         &err);
    gp_schema_free(schema);
    gp_source_free(source);
}

static double sum_x, sum_xx, sum_y;

static void read_back(void)
{
    advgp_error err;
    gp_shards *s;
    must(gp_packed_open(packed, &s, NULL, NULL, &err), &err);
    double *X = gp_alloc(BATCH * s->d, sizeof *X), *y = gp_alloc(BATCH, sizeof *y), *w = gp_alloc(BATCH, sizeof *w);
    if (!X || !y || !w) exit(1);
    sum_x = sum_xx = sum_y = 0;
    for (size_t k = 0; k < s->n_train + 2; k++)
        for (size_t first = 0; first < s->rows[k]; first += BATCH) {
            size_t n = s->rows[k] - first < BATCH ? s->rows[k] - first : BATCH;
            must(gp_shards_read(s, k, first, n, X, y, w, &err), &err);
            for (size_t i = 0; i < n; i++) sum_x += X[i * s->d], sum_xx += X[i * s->d] * X[i * s->d], sum_y += y[i];
        }
    gp_free(X);
    gp_free(y);
    gp_free(w);
    gp_shards_free(s);
}

// The fastest of a few runs, in seconds of CPU of all threads: the machine may have other guests.
static double fastest(void (*run)(void), double *wall)
{
    double best = INFINITY;
    for (int i = 0; i < RUNS; i++) {
        double cpu = gp_clock_cpu(), start = gp_clock_wall();
        run();
        cpu = gp_clock_cpu() - cpu;
        double elapsed = gp_clock_wall() - start;
        if (cpu < best) best = cpu;
        if (i == 0 || elapsed < *wall) *wall = elapsed;
    }
    return best;
}

int main(int argc, char **argv)
{
    const char *parent = argc > 2 ? argv[2] : getenv("TMPDIR");
    if (argc > 1) n_rows = (size_t)strtoull(argv[1], NULL, 10);
    snprintf(folder, sizeof folder, "%s/advgp-bench-XXXXXX", parent && *parent ? parent : "/tmp");
    if (n_rows < 1000 || !mkdtemp(folder)) {
        fprintf(stderr, "pack: at least 1000 rows and a folder to write in are needed\n");
        return 1;
    }
    snprintf(table, sizeof table, "%s/table.parquet", folder);
    snprintf(again, sizeof again, "%s/again.parquet", folder);
    snprintf(packed, sizeof packed, "%s/packed", folder);
    make_table();

    // Verified first: every row is there, and columns are standardised.
    pack();
    read_back();
    double n = (double)n_rows;
    bool good = fabs(sum_x / n) < 1e-5 && fabs(sum_xx / n - 1) < 1e-5 && fabs(sum_y / n) < 1e-5;

    double scan_wall, copy_wall, pack_wall, read_wall;
    double scan_cpu = fastest(scan, &scan_wall), pack_cpu = fastest(pack, &pack_wall);
    double copy_cpu = fastest(copy, &copy_wall), read_cpu = fastest(read_back, &read_wall);
    printf("{\"bench\": \"pack\", \"version\": \"%s\", \"rows\": %zu, \"inputs\": %d, \"verified\": %s, "
           "\"pack_rows_per_cpu_second\": %.0f, \"pack_rows_per_second\": %.0f, \"scan_rows_per_cpu_second\": %.0f, "
           "\"parquet_copy_rows_per_cpu_second\": %.0f, \"read_rows_per_cpu_second\": %.0f, \"pack_over_two_scans\": "
           "%.2f, "
           "\"pack_over_parquet_copy\": %.2f, \"peak_anonymous_kb\": %ld}\n",
           advgp_version(), n_rows, INPUTS, good ? "true" : "false", n / pack_cpu, n / pack_wall, n / scan_cpu,
           n / copy_cpu, n / read_cpu, pack_cpu / (2 * scan_cpu), pack_cpu / copy_cpu, anonymous_kb);
    char command[4200];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) fprintf(stderr, "pack: %s is left behind\n", folder);
    return good ? 0 : 1;
}
