// shards_test.c: shuffling, shards in memory and on disk, and packed files that someone has damaged.
#include "base/rng.h"
#include "data/table_test.h"
#include "shards/packed.h"
#include "shards/reader.h"
#include "shards/shards.h"
#include "shards/shuffle.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { N = 9000, D = 3 };
static double x1[N], x2[N], x3[N], y[N], w[N];

static gp_source *table(size_t n, bool weighted)
{
    gp_source *s = NULL;
    gp_array arrays[] = {{.name = "x1", .number = x1, .stride = 1},
                         {.name = "x2", .number = x2, .stride = 1},
                         {.name = "x3", .number = x3, .stride = 1},
                         {.name = "y", .number = y, .stride = 1},
                         {.name = "w", .number = w, .stride = 1}};
    ASSERT_OK(gp_source_memory_open(arrays, weighted ? 5 : 4, n, 0, &s, err));
    return s;
}

typedef struct prepared {
    gp_source *source;
    gp_schema *schema;
    gp_split split;
} prepared;

static prepared prepare(size_t n, bool weighted)
{
    prepared p = {.source = table(n, weighted)};
    static const char *const features[] = {"x1", "x2", "x3"}; // x2 counts the rows, and is asked for
    gp_schema_options o = {.target = "y", .weights = weighted ? "w" : NULL, .features = features, .n_features = 3};
    ASSERT_OK(gp_split_parse("0.1", 9, &p.split, err));
    ASSERT_OK(gp_schema_fit(p.source, &o, &p.split, NULL, NULL, NULL, &p.schema, err));
    return p;
}

static void done(prepared *p)
{
    gp_source_free(p->source);
    gp_schema_free(p->schema);
}

static gp_shards *in_memory(prepared *p, size_t n_shards, bool float64)
{
    gp_memory_builder *b = NULL;
    gp_encoder *e = NULL;
    ASSERT_OK(gp_memory_builder_new(p->schema->d, n_shards, p->schema->weights != NULL, float64, 9, &b, err));
    ASSERT_OK(gp_encoder_new(p->schema, p->source, GP_ENCODE_TRAIN, &p->split, &e, err));
    ASSERT_OK(gp_encode_all(e, p->source, gp_memory_builder_add, b, NULL, NULL, err));
    gp_encoder_free(e);
    gp_shards *shards = NULL;
    ASSERT_OK(gp_memory_shards_take(b, &shards, err));
    return shards;
}

static gp_shards *on_disk(prepared *p, size_t n_shards, bool float64)
{
    gp_shards *s = NULL;
    gp_pack_options o = {.dir = in_folder("packed"),
                         .n_shards = n_shards,
                         .float64 = float64,
                         .seed = 9,
                         .sql = "SELECT 1",
                         .validation = "0.1"};
    ASSERT_OK(gp_pack(p->source, p->schema, &p->split, &o, NULL, NULL, NULL, err));
    ASSERT_OK(gp_packed_open(o.dir, &s, NULL, NULL, err));
    return s;
}

static void a_shuffle_is_a_permutation(void **state)
{
    (void)state;
    for (size_t n = 1; n < 3000; n += n < 70 ? 1 : 97) {
        unsigned char seen[3000] = {0};
        gp_shuffle s = gp_shuffle_new(n * 77, n);
        for (size_t i = 0; i < n; i++) {
            size_t at = gp_shuffle_at(&s, i);
            assert_true(at < n && !seen[at]);
            seen[at] = 1;
        }
    }
}

// Every place must be equally likely for every row: chi-squared over keys, for a small n (all pairs) and by position
// for a large one.
static void a_shuffle_is_uniform(void **state)
{
    (void)state;
    enum { SMALL = 10, KEYS = 20000 };
    size_t counts[SMALL][SMALL] = {{0}};
    for (uint64_t key = 0; key < KEYS; key++) {
        gp_shuffle s = gp_shuffle_new(gp_hash_u64(1, key), SMALL);
        for (size_t i = 0; i < SMALL; i++) counts[i][gp_shuffle_at(&s, i)]++;
    }
    double chi = 0, expected = (double)KEYS / SMALL;
    for (size_t i = 0; i < SMALL; i++)
        for (size_t k = 0; k < SMALL; k++) chi += pow((double)counts[i][k] - expected, 2) / expected;
    if (chi > 150) fail_msg("chi-squared %.1f, 81 expected", chi); // 81 degrees of freedom, sd 13

    enum { LARGE = 100000 };
    gp_shuffle s = gp_shuffle_new(5, LARGE);
    double sum = 0, lag = 0, last = 0;
    for (size_t i = 0; i < LARGE; i++) {
        double u = ((double)gp_shuffle_at(&s, i) + 0.5) / LARGE - 0.5;
        sum += u * ((double)i / LARGE - 0.5);
        lag += u * last;
        last = u;
    }
    double sd = sqrt(LARGE) / 12; // of a sum of products of two uniforms
    if (fabs(sum) > 4 * sd || fabs(lag) > 4 * sd) fail_msg("correlations %.2f and %.2f sd", sum / sd, lag / sd);
}

static void dealing_gives_shards_of_equal_size(void **state)
{
    (void)state;
    size_t counts[64] = {0};
    for (size_t i = 0; i < 6400 + 10; i++) counts[gp_shuffle_deal(3, i, 64)]++;
    for (size_t k = 0; k < 64; k++) assert_in_range(counts[k], 100, 101);
}

static void check_same(const gp_shards *a, const gp_shards *b)
{
    assert_int_equal(a->n_train, b->n_train);
    for (size_t k = 0; k < a->n_train + 2; k++) {
        size_t n = a->rows[k];
        assert_int_equal(n, b->rows[k]);
        assert_true(fabs(a->weight[k] - b->weight[k]) < 1e-9);
        double *m = gp_alloc(2 * n * (D + 2), sizeof *m);
        double *X = m, *Y = X + n * D, *W = Y + n, *X2 = W + n, *Y2 = X2 + n * D, *W2 = Y2 + n;
        ASSERT_OK(gp_shards_read(a, k, 0, n, X, Y, W, err));
        for (size_t first = 0, step = 1; first < n; first += step, step = step * 2 + 1) { // stretches of many lengths
            size_t length = step < n - first ? step : n - first;
            ASSERT_OK(gp_shards_read(b, k, first, length, X2 + first * D, Y2 + first, W2 + first, err));
        }
        assert_memory_equal(m, X2, n * (D + 2) * sizeof *m);
        gp_free(m);
    }
}

static void memory_and_disk_give_the_same_rows_in_the_same_order(void **state)
{
    (void)state;
    for (int weighted = 0; weighted < 2; weighted++)
        for (int float64 = 0; float64 < 2; float64++) {
            prepared p = prepare(N, weighted);
            gp_shards *a = in_memory(&p, 5, float64), *b = on_disk(&p, 5, float64);
            assert_int_equal(gp_shards_rows(b, GP_TRAIN) + gp_shards_rows(b, GP_STOP) + gp_shards_rows(b, GP_CALIBRATE),
                             N);
            assert_in_range(gp_shards_rows(b, GP_STOP), 350, 550);
            check_same(a, b);
            gp_shards_free(a);
            gp_shards_free(b);
            done(&p);
        }
}

// A file sorted by its target: each stretch of each shard must look like the whole.
static void a_sorted_file_is_spread_over_every_stretch(void **state)
{
    (void)state;
    prepared p = prepare(N, false);
    gp_shards *s = on_disk(&p, 4, false);
    double X[256 * D], Y[256];
    for (size_t k = 0; k < 4; k++)
        for (size_t first = 0; first + 256 <= s->rows[k]; first += 256) {
            ASSERT_OK(gp_shards_read(s, k, first, 256, X, Y, NULL, err));
            double mean = 0;
            for (size_t i = 0; i < 256; i++) mean += Y[i] / 256;
            if (fabs(mean) > 5 / 16.0)
                fail_msg("shard %zu from row %zu: mean of the target %.2f sd", k, first, mean * 16);
        }
    gp_shards_free(s);
    done(&p);
}

static void tiny_tables_and_many_shards_work(void **state)
{
    (void)state;
    prepared p = prepare(12, true);
    gp_shards *a = in_memory(&p, 64, false), *b = on_disk(&p, 64, false);
    assert_int_equal(gp_shards_rows(b, GP_TRAIN), 12);
    check_same(a, b);
    gp_shards_free(a);
    gp_shards_free(b);
    done(&p);
}

static void the_manifest_gives_back_schema_and_sql(void **state)
{
    (void)state;
    prepared p = prepare(500, true);
    gp_shards_free(on_disk(&p, 2, false));
    assert_true(gp_packed_is(in_folder("packed")));
    assert_false(gp_packed_is(folder));
    gp_shards *s = NULL;
    gp_schema *schema = NULL;
    char *sql = NULL;
    ASSERT_OK(gp_packed_open(in_folder("packed"), &s, &schema, &sql, err));
    char *a = gp_schema_to_json(p.schema), *b = gp_schema_to_json(schema);
    assert_string_equal(a, b);
    assert_string_equal(sql, "SELECT 1");
    gp_free(a);
    gp_free(b);
    gp_free(sql);
    gp_schema_free(schema);
    gp_shards_free(s);
    done(&p);
}

// ---- damage ---------------------------------------------------------------------------------------------------------
static advgp_status read_everything(const char *dir, advgp_error *err)
{
    gp_shards *s = NULL;
    gp_schema *schema = NULL;
    advgp_status st = gp_packed_open(dir, &s, &schema, NULL, err);
    for (size_t k = 0; st == ADVGP_OK && k < s->n_train + 2; k++) {
        double *X = gp_alloc(s->rows[k] * (s->d + 2), sizeof *X);
        st = gp_shards_read(s, k, 0, s->rows[k], X, X + s->rows[k] * s->d, NULL, err);
        gp_free(X);
    }
    gp_schema_free(schema);
    gp_shards_free(s);
    return st;
}

static char *load(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    char *bytes = gp_alloc(*n, 1);
    assert_int_equal(fread(bytes, 1, *n, f), *n);
    fclose(f);
    return bytes;
}

static void damage_is_found_and_named(void **state)
{
    (void)state;
    prepared p = prepare(2000, true);
    gp_shards_free(on_disk(&p, 2, false));
    char dir[128];
    snprintf(dir, sizeof dir, "%s/packed", folder);
    static const char *const files[] = {"packed/shard-0001.bin", "packed/stop.bin", "packed/manifest.json"};
    gp_rng rng = gp_rng_seeded(1, 1);
    for (size_t i = 0; i < 3; i++) {
        size_t n;
        char *bytes = load(in_folder(files[i]), &n);
        for (int cut = 0; cut < 20; cut++) {
            write_file(files[i], bytes, gp_rng_below(&rng, n));
            ASSERT_FAILS(read_everything(dir, err), ADVGP_EFILE, strrchr(files[i], '/') + 1);
        }
        for (size_t flip = 0; flip < 300; flip++) { // the head bit by bit, the rest at random
            size_t at = flip < 120 ? flip % n : gp_rng_below(&rng, n);
            char bit = (char)(1 << gp_rng_below(&rng, 7));
            bytes[at] ^= bit;
            write_file(files[i], bytes, n);
            bytes[at] ^= bit;
            advgp_error err = {0};
            advgp_status st = read_everything(dir, &err);
            assert_true(st == ADVGP_OK || st == ADVGP_EFILE);
            bool shard = i < 2; // a manifest with another letter in a name is another valid manifest
            if (shard && st != ADVGP_EFILE) fail_msg("%s: a flip at byte %zu was not noticed", files[i], at);
            if (shard && !strstr(err.text, strrchr(files[i], '/') + 1)) fail_msg("the file is not named: %s", err.text);
        }
        write_file(files[i], bytes, n);
        gp_free(bytes);
    }
    done(&p);
}

static void a_bad_block_is_named(void **state)
{
    (void)state;
    prepared p = prepare(N, false);
    gp_shards_free(on_disk(&p, 1, false));
    size_t n;
    char *bytes = load(in_folder("packed/shard-0000.bin"), &n);
    bytes[n - 100] ^= 1;
    write_file("packed/shard-0000.bin", bytes, n);
    ASSERT_FAILS(read_everything(in_folder("packed"), err), ADVGP_EFILE,
                 "packed/shard-0000.bin: block 1 of 2 is damaged");
    gp_free(bytes);
    done(&p);
}

// ---- opened when they are read --------------------------------------------------------------------------------------

// How many files of that name the process has open.
static size_t count_open(const char *name)
{
    size_t n = 0;
    DIR *d = opendir("/proc/self/fd");
    for (struct dirent *entry; (entry = readdir(d));) {
        char target[4096] = {0};
        n += readlinkat(dirfd(d), entry->d_name, target, sizeof target - 1) > 0 && strstr(target, name);
    }
    closedir(d);
    return n;
}

static advgp_status read_some(const gp_shards *s, size_t shard, advgp_error *err)
{
    double X[10 * D], Y[10], W[10];
    return gp_shards_read(s, shard, 5, 10, X, Y, W, err);
}

static void only_shards_that_are_read_are_opened(void **state)
{
    (void)state;
    prepared p = prepare(N, true);
    gp_shards_free(on_disk(&p, 6, false));
    size_t n;
    char *bytes = load(in_folder("packed/shard-0001.bin"), &n);
    bytes[20] ^= 1;
    write_file("packed/shard-0001.bin", bytes, n);
    write_file("packed/stop.bin", "cut off", 7);
    assert_int_equal(rename(in_folder("packed/shard-0000.bin"), in_folder("packed/away")), 0);
    gp_shards *s = NULL;
    ASSERT_OK(gp_packed_open(in_folder("packed"), &s, NULL, NULL, err));
    assert_int_equal(count_open("/packed/"), 0);
    assert_true(s->rows[0] > 100 && s->weight[0] > 100); // known from the manifest
    ASSERT_OK(read_some(s, 3, err));
    ASSERT_OK(read_some(s, 5, err));
    ASSERT_OK(read_some(s, 3, err));
    assert_int_equal(count_open("/packed/"), 2);
    assert_int_equal(count_open("packed/shard-0003.bin") + count_open("packed/shard-0005.bin"), 2);
    ASSERT_FAILS(read_some(s, 0, err), ADVGP_EFILE, "packed/shard-0000.bin: No such file");
    ASSERT_FAILS(read_some(s, 1, err), ADVGP_EFILE, "packed/shard-0001.bin: its head is damaged");
    ASSERT_FAILS(read_some(s, s->n_train, err), ADVGP_EFILE, "packed/stop.bin has not the");
    ASSERT_FAILS(gp_packed_check(s, err), ADVGP_EFILE, "packed/shard-0000.bin");
    assert_int_equal(count_open("/packed/"), 2); // what was refused is not kept
    assert_int_equal(rename(in_folder("packed/away"), in_folder("packed/shard-0000.bin")), 0);
    ASSERT_OK(read_some(s, 0, err)); // it is asked again
    bytes[20] ^= 1;
    write_file("packed/shard-0001.bin", bytes, n);
    ASSERT_FAILS(gp_packed_check(s, err), ADVGP_EFILE, "packed/stop.bin");
    assert_int_equal(count_open("/packed/"), 6); // all before it
    gp_shards_free(s);
    assert_int_equal(count_open("/packed/"), 0);
    gp_source *source = NULL;
    ASSERT_FAILS(gp_source_packed_open(in_folder("packed"), &source, err), ADVGP_EFILE, "packed/stop.bin");
    gp_free(bytes);
    done(&p);
}

// A process of few descriptors keeps some files, and opens the others whenever they are read.
static void a_file_that_changes_while_it_is_read_is_an_error_that_names_it(void **state)
{
    (void)state;
    enum { SHARDS = 12, DESCRIPTORS = 32 };
    prepared p = prepare(N, true);
    gp_shards *s = NULL, *wanted = in_memory(&p, SHARDS, false);
    gp_shards_free(on_disk(&p, SHARDS, false));
    struct rlimit before, few;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before, few.rlim_cur = DESCRIPTORS;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    ASSERT_OK(gp_packed_open(in_folder("packed"), &s, NULL, NULL, err));
    ASSERT_OK(gp_packed_check(s, err));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(count_open("/packed/"), DESCRIPTORS / 4);
    for (size_t k = 0; k < SHARDS; k++) {
        double X[2][50 * D], Y[2][50], W[2][50];
        ASSERT_OK(gp_shards_read(s, k, 3, 50, X[0], Y[0], W[0], err));
        ASSERT_OK(gp_shards_read(wanted, k, 3, 50, X[1], Y[1], W[1], err));
        assert_memory_equal(X[0], X[1], sizeof X[0]);
        assert_memory_equal(Y[0], Y[1], sizeof Y[0]);
        assert_memory_equal(W[0], W[1], sizeof W[0]);
    }
    assert_int_equal(count_open("/packed/"), DESCRIPTORS / 4);
    // Cut off: one that is open, one that is not.
    assert_int_equal(truncate(in_folder("packed/shard-0002.bin"), 128), 0);
    assert_int_equal(truncate(in_folder("packed/shard-0010.bin"), 128), 0);
    ASSERT_FAILS(read_some(s, 2, err), ADVGP_EFILE, "packed/shard-0002.bin: it was cut off while it was read");
    ASSERT_FAILS(read_some(s, 10, err), ADVGP_EFILE, "packed/shard-0010.bin has not the");
    // Replaced, by one of the same size: who has it open reads on, the other would read different rows.
    for (size_t k = 3; k < 12; k += 8) {
        char name[64];
        size_t n;
        snprintf(name, sizeof name, "packed/shard-%04zu.bin", k);
        char *bytes = load(in_folder(name), &n);
        assert_int_equal(rename(in_folder(name), in_folder("former")), 0);
        write_file(name, bytes, n);
        gp_free(bytes);
    }
    ASSERT_OK(read_some(s, 3, err));
    ASSERT_FAILS(read_some(s, 11, err), ADVGP_EFILE, "packed/shard-0011.bin: it was replaced while it was read");
    gp_shards_free(s);
    gp_shards_free(wanted);
    assert_int_equal(count_open("/packed/"), 0);
    done(&p);
}

typedef struct reader {
    const gp_shards *s;
    const gp_shards *wanted;
    pthread_barrier_t *start;
    bool same;
} reader;

static void *read_at_once(void *ctx)
{
    reader *r = ctx;
    double X[50 * D], Y[50], W[50], X2[50 * D], Y2[50], W2[50];
    r->same = true;
    for (size_t k = 0; k < r->s->n_train; k++) {
        pthread_barrier_wait(r->start);
        r->same &= gp_shards_read(r->s, k, 3, 50, X, Y, W, NULL) == ADVGP_OK;
        r->same &= gp_shards_read(r->wanted, k, 3, 50, X2, Y2, W2, NULL) == ADVGP_OK;
        r->same &= memcmp(X, X2, sizeof X) == 0 && memcmp(Y, Y2, sizeof Y) == 0 && memcmp(W, W2, sizeof W) == 0;
    }
    return NULL;
}

static void threads_that_come_first_together_share_one_file(void **state)
{
    (void)state;
    enum { THREADS = 6, SHARDS = 8, ROUNDS = 10 };
    prepared p = prepare(N, true);
    gp_shards *wanted = in_memory(&p, SHARDS, false), *s = on_disk(&p, SHARDS, false);
    for (size_t round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        pthread_barrier_t start;
        reader readers[THREADS];
        gp_shards_free(s);
        ASSERT_OK(gp_packed_open(in_folder("packed"), &s, NULL, NULL, err));
        pthread_barrier_init(&start, NULL, THREADS);
        gp_alloc_freeze(true);
        for (size_t i = 0; i < THREADS; i++) {
            readers[i] = (reader){.s = s, .wanted = wanted, .start = &start};
            assert_int_equal(pthread_create(&threads[i], NULL, read_at_once, &readers[i]), 0);
        }
        for (size_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
        gp_alloc_freeze(false);
        for (size_t i = 0; i < THREADS; i++) assert_true(readers[i].same);
        pthread_barrier_destroy(&start);
        assert_int_equal(count_open("shard-"), SHARDS);
    }
    gp_shards_free(s);
    gp_shards_free(wanted);
    done(&p);
}

static void a_data_set_has_a_fingerprint_and_a_place(void **state)
{
    (void)state;
    prepared p = prepare(500, false);
    gp_shards *memory = in_memory(&p, 2, false), *a = on_disk(&p, 2, false), *b = NULL, *c = NULL;
    assert_int_equal(gp_packed_fingerprint(memory), 0);
    assert_null(gp_packed_dir(memory));
    ASSERT_OK(gp_packed_open(in_folder("packed"), &b, NULL, NULL, err));
    assert_true(gp_packed_fingerprint(a) == gp_packed_fingerprint(b) && gp_packed_fingerprint(a) != 0);
    const gp_pack_options o = {.dir = in_folder("other"), .n_shards = 2, .seed = 9, .validation = "0.1"};
    x1[0] += 1; // one number of one row
    ASSERT_OK(gp_pack(p.source, p.schema, &p.split, &o, NULL, NULL, NULL, err));
    x1[0] -= 1;
    ASSERT_OK(gp_packed_open(o.dir, &c, NULL, NULL, err));
    assert_true(gp_packed_fingerprint(a) != gp_packed_fingerprint(c));
    assert_int_equal(gp_packed_dir(a)[0], '/');
    assert_string_equal(strrchr(gp_packed_dir(a), '/'), "/packed");
    gp_shards_free(b);
    // Whoever goes elsewhere before it reads still reads the same folder.
    char here[4096];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(folder), 0);
    ASSERT_OK(gp_packed_open("packed", &b, NULL, NULL, err));
    assert_int_equal(chdir("/"), 0);
    advgp_error problem = {0};
    const advgp_status st = read_some(b, 1, &problem);
    assert_int_equal(chdir(here), 0);
    if (st != ADVGP_OK) fail_msg("%s", problem.text);
    assert_string_equal(gp_packed_dir(a), gp_packed_dir(b));
    gp_shards_free(memory), gp_shards_free(a), gp_shards_free(b), gp_shards_free(c);
    done(&p);
}

// ---- failure --------------------------------------------------------------------------------------------------------
static size_t count_entries(const char *path)
{
    DIR *d = opendir(path);
    size_t n = 0;
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n;
}

static int stop_at_once(void *ctx, size_t rows)
{
    (void)ctx;
    return rows > 3000;
}

static void a_failed_packing_leaves_nothing_and_spoils_nothing(void **state)
{
    (void)state;
    prepared p = prepare(N, false);
    gp_shards_free(on_disk(&p, 2, false));
    size_t before = count_entries(folder);
    gp_pack_options o = {.dir = in_folder("packed"), .n_shards = 3};
    ASSERT_FAILS(gp_pack(p.source, p.schema, &p.split, &o, NULL, stop_at_once, NULL, err), ADVGP_ESTOPPED, "stopped");
    assert_int_equal(count_entries(folder), before);
    ASSERT_OK(read_everything(o.dir, err));
    mkdir(in_folder("photos"), 0700);
    write_text("photos/one.jpg", "x");
    o.dir = in_folder("photos");
    ASSERT_FAILS(gp_pack(p.source, p.schema, &p.split, &o, NULL, NULL, NULL, err), ADVGP_EINVAL, "is no packed data");
    o.dir = in_folder("packed");
    write_text("packed/shard-0000.binary", "notes");
    ASSERT_FAILS(gp_pack(p.source, p.schema, &p.split, &o, NULL, NULL, NULL, err), ADVGP_EINVAL, "shard-0000.binary");
    assert_int_equal(unlink(in_folder("packed/shard-0000.binary")), 0);
    mkdir(in_folder("packed/notes"), 0700);
    ASSERT_FAILS(gp_pack(p.source, p.schema, &p.split, &o, NULL, NULL, NULL, err), ADVGP_EINVAL,
                 "notes in it is no part");
    assert_int_equal(rmdir(in_folder("packed/notes")), 0);
    o.dir = in_folder("link");
    assert_int_equal(symlink("packed", o.dir), 0);
    ASSERT_FAILS(gp_pack(p.source, p.schema, &p.split, &o, NULL, NULL, NULL, err), ADVGP_EINVAL, "is a link");
    ASSERT_OK(read_everything(in_folder("packed"), err));
    o.dir = in_folder("no/such/place");
    ASSERT_FAILS(gp_pack(p.source, p.schema, &p.split, &o, NULL, NULL, NULL, err), ADVGP_EIO, "cannot make the folder");
    done(&p);
}

static void failing_memory_is_a_status_everywhere(void **state)
{
    (void)state;
    prepared p = prepare(500, true);
    gp_shards_free(on_disk(&p, 2, false));
    long before = gp_alloc_count().live;
    for (long allowed = 0;; allowed++) {
        gp_alloc_fail_after(allowed);
        gp_shards *s = NULL;
        gp_schema *schema = NULL;
        gp_source *again = NULL;
        gp_memory_builder *b = NULL;
        gp_encoder *e = NULL;
        gp_pack_options o = {.dir = in_folder("packed"), .n_shards = 2, .sql = "SELECT 1"};
        advgp_status st = gp_pack(p.source, p.schema, &p.split, &o, NULL, NULL, NULL, NULL);
        if (st == ADVGP_OK) st = gp_packed_open(o.dir, &s, &schema, NULL, NULL);
        if (st == ADVGP_OK) st = gp_source_packed_open(o.dir, &again, NULL);
        if (st == ADVGP_OK) st = gp_memory_builder_new(p.schema->d, 2, true, false, 9, &b, NULL);
        if (st == ADVGP_OK) st = gp_encoder_new(p.schema, p.source, GP_ENCODE_TRAIN, &p.split, &e, NULL);
        if (st == ADVGP_OK) st = gp_encode_all(e, p.source, gp_memory_builder_add, b, NULL, NULL, NULL);
        gp_shards *in_memory = NULL;
        if (st == ADVGP_OK)
            st = gp_memory_shards_take(b, &in_memory, NULL);
        else
            gp_memory_builder_free(b);
        gp_alloc_fail_after(-1);
        gp_encoder_free(e);
        gp_shards_free(in_memory);
        gp_source_free(again);
        gp_schema_free(schema);
        gp_shards_free(s);
        assert_int_equal(gp_alloc_count().live, before);
        if (st == ADVGP_OK) break;
        assert_int_equal(st, ADVGP_ENOMEM);
    }
    ASSERT_OK(read_everything(in_folder("packed"), err));
    done(&p);
}

static void reading_allocates_nothing(void **state)
{
    (void)state;
    prepared p = prepare(N, false);
    gp_shards *a = in_memory(&p, 4, false), *b = on_disk(&p, 4, false);
    double X[100 * D], Y[100], W[100];
    gp_alloc_freeze(true);
    advgp_status sa = gp_shards_read(a, 2, 50, 100, X, Y, W, NULL), sb = gp_shards_read(b, 2, 50, 100, X, Y, W, NULL);
    gp_alloc_freeze(false);
    assert_int_equal(sa, ADVGP_OK);
    assert_int_equal(sb, ADVGP_OK);
    gp_shards_free(a);
    gp_shards_free(b);
    done(&p);
}

typedef struct visited {
    size_t n, pieces, largest, smallest;
    double y[N];
} visited;

static advgp_status note_piece(void *ctx, gp_batch rows, advgp_error *e)
{
    (void)e;
    visited *v = ctx;
    memcpy(v->y + v->n, rows.y, rows.X.rows * sizeof *v->y);
    v->n += rows.X.rows;
    if (rows.X.rows > v->largest) v->largest = rows.X.rows;
    if (!v->pieces++ || rows.X.rows < v->smallest) v->smallest = rows.X.rows;
    return ADVGP_OK;
}

// However many shards there are, pieces are full but for the last, and rows come in the order of the shards.
static void pieces_are_full_whatever_the_shards(void **state)
{
    (void)state;
    enum { CAPACITY = 1000, SOME = 2500 };
    static visited all, some;
    static double in_order[N];
    prepared p = prepare(N, false);
    gp_shards *shards = in_memory(&p, 16, true);
    gp_reader pieces = {0};
    double x[D], unused;
    size_t rows = 0;
    for (size_t s = 0; s < shards->n_train; s++)
        for (size_t i = 0; i < shards->rows[s]; i++)
            ASSERT_OK(gp_shards_read(shards, s, i, 1, x, &in_order[rows++], &unused, err));
    ASSERT_OK(gp_reader_new(shards, CAPACITY, &pieces, err));
    ASSERT_OK(gp_reader_visit(&pieces, GP_TRAIN, 0, note_piece, &all, err));
    assert_int_equal(all.n, rows);
    assert_int_equal(all.pieces, (rows + CAPACITY - 1) / CAPACITY);
    assert_int_equal(all.largest, CAPACITY);
    assert_memory_equal(all.y, in_order, rows * sizeof *in_order);
    ASSERT_OK(gp_reader_visit(&pieces, GP_TRAIN, SOME, note_piece, &some, err));
    assert_int_equal(some.n, SOME);
    assert_int_equal(some.pieces, 3);
    assert_int_equal(some.smallest, SOME % CAPACITY);
    assert_memory_equal(some.y, in_order, SOME * sizeof *in_order);
    gp_reader_fini(&pieces);
    gp_shards_free(shards);
    done(&p);
}

int main(void)
{
    gp_rng rng = gp_rng_seeded(2, 0);
    for (size_t i = 0; i < N; i++) {
        x1[i] = gp_rng_normal(&rng);
        x2[i] = (double)i;
        x3[i] = gp_rng_uniform(&rng);
        y[i] = (double)i; // sorted
        w[i] = 0.5 + x3[i];
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shuffle_is_a_permutation),
        cmocka_unit_test(a_shuffle_is_uniform),
        cmocka_unit_test(dealing_gives_shards_of_equal_size),
        cmocka_unit_test(pieces_are_full_whatever_the_shards),
        cmocka_unit_test(memory_and_disk_give_the_same_rows_in_the_same_order),
        cmocka_unit_test(a_sorted_file_is_spread_over_every_stretch),
        cmocka_unit_test(tiny_tables_and_many_shards_work),
        cmocka_unit_test(the_manifest_gives_back_schema_and_sql),
        cmocka_unit_test(damage_is_found_and_named),
        cmocka_unit_test(a_bad_block_is_named),
        cmocka_unit_test(only_shards_that_are_read_are_opened),
        cmocka_unit_test(a_file_that_changes_while_it_is_read_is_an_error_that_names_it),
        cmocka_unit_test(threads_that_come_first_together_share_one_file),
        cmocka_unit_test(a_data_set_has_a_fingerprint_and_a_place),
        cmocka_unit_test(a_failed_packing_leaves_nothing_and_spoils_nothing),
        cmocka_unit_test(failing_memory_is_a_status_everywhere),
        cmocka_unit_test(reading_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
