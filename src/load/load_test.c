// load_test.c: from a table that options name to shards: every row once, the same for the same seed, from files, packed
// folders and caches alike; what options contradict is refused by key.
#include "base/rng.h"
#include "base/text.h"
#include "load/load.h"
#include "load/options_test.h"

#include <math.h>

enum { N = 400 };

static char table[256], prices[256], packed[256], packed_prices[256]; // paths

static double target_of(size_t i)
{
    return 3 + 0.5 * (double)i;
}

static int prepare(void **state)
{
    if (enter_folder(state) != 0) return 1;
    gp_buffer text = {0};
    gp_buffer_add(&text, "x,kind,y\n");
    for (size_t i = 0; i < N; i++)
        gp_buffer_add(&text, "%zu,%s,%.3f\n", i * 7 % N, i % 3 ? "red" : "blue", target_of(i));
    write_file("rows.csv", text.p, text.n);
    gp_buffer_fini(&text);
    gp_rng rng = gp_rng_seeded(1, 0);
    gp_buffer_add(&text, "x,z,y\n");
    for (size_t i = 0; i < 3 * N; i++) {
        const double x = gp_rng_normal(&rng), z = gp_rng_normal(&rng);
        gp_buffer_add(&text, "%.6f,%.6f,%.6f\n", x, z, exp(1.5 * sin(2 * x) + 0.75 * z + 0.4 * gp_rng_normal(&rng)));
    }
    write_file("prices.csv", text.p, text.n);
    gp_buffer_fini(&text);
    snprintf(prices, sizeof prices, "%s", in_folder("prices.csv"));
    snprintf(packed_prices, sizeof packed_prices, "%s", in_folder("packed_prices"));
    snprintf(table, sizeof table, "%s", in_folder("rows.csv"));
    snprintf(packed, sizeof packed, "%s", in_folder("packed"));
    return 0;
}

static gp_options *train_on(const char *operand, const char *seed)
{
    const char *const operands[] = {operand};
    const char *const pairs[][2] = {{"seed", seed}, {NULL, NULL}};
    gp_options *o = options_of("train", operands, 1, pairs);
    if (operand == table || operand == prices) ASSERT_OK(gp_options_set(o, "target", "y", err));
    return o;
}

static gp_loaded load(const gp_options *o)
{
    gp_loaded l = {0};
    ASSERT_OK(gp_load_training(o, NULL, NULL, &l, err));
    return l;
}

// All rows of all shards, one after the other. *X and *y for free; how many there are.
static size_t rows_of(const gp_shards *s, double **X, double **y)
{
    size_t n = 0, at = 0;
    for (size_t i = 0; i < s->n_train + 2; i++) n += s->rows[i];
    *X = calloc(n * s->d, sizeof(double)), *y = calloc(n, sizeof(double));
    for (size_t i = 0; i < s->n_train + 2; at += s->rows[i++])
        ASSERT_OK(gp_shards_read(s, i, 0, s->rows[i], *X + at * s->d, *y + at, NULL, err));
    return n;
}

static void assert_same_rows(const gp_loaded *a, const gp_loaded *b)
{
    double *X[2], *y[2];
    const size_t n = rows_of(a->shards, &X[0], &y[0]);
    assert_true(rows_of(b->shards, &X[1], &y[1]) == n && a->shards->d == b->shards->d);
    assert_memory_equal(X[0], X[1], n * a->shards->d * sizeof(double));
    assert_memory_equal(y[0], y[1], n * sizeof(double));
    for (size_t i = 0; i < 2; i++) free(X[i]), free(y[i]);
}

static void every_row_is_in_one_shard(void **state)
{
    (void)state;
    gp_options *o = train_on(table, "1");
    ASSERT_OK(gp_options_set(o, "method", "advgp", err));
    gp_loaded l = load(o);
    const gp_schema *s = l.schema;
    double *X, *y;
    bool seen[N] = {0};
    assert_int_equal(rows_of(l.shards, &X, &y), N);
    assert_int_equal(s->d, l.shards->d);
    for (size_t i = 0; i < N; i++) { // known by its target
        const long row = lround((s->y_mean + s->y_scale * y[i] - target_of(0)) / 0.5);
        assert_true(row >= 0 && row < N && !seen[row]);
        seen[row] = true;
    }
    const size_t held_out = gp_shards_rows(l.shards, GP_STOP) + gp_shards_rows(l.shards, GP_CALIBRATE);
    assert_true(held_out > 0 && held_out < N / 5 && gp_shards_rows(l.shards, GP_TRAIN) == N - held_out);
    free(X), free(y);
    gp_loaded_fini(&l);
    gp_options_free(o);
}

static void nothing_of_a_small_table_is_held_out_unless_asked(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value;
        bool held_out;
    } asked[] = {{"seed", "1", false},        {"kernel", "matern52", false}, {"validation", "0.05", true},
                 {"inducing", "20", true},    {"method", "advgp", true},     {"method", "exact", false},
                 {"optimizer", "prox", true}, {"workers", "2", false},       {"max-delay", "2", true}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        gp_options *o = train_on(table, "1");
        ASSERT_OK(gp_options_set(o, asked[i].key, asked[i].value, err));
        gp_loaded l = load(o);
        assert_int_equal(gp_shards_rows(l.shards, GP_TRAIN) < N, asked[i].held_out);
        gp_loaded_fini(&l);
        gp_options_free(o);
    }
}

static void the_seed_decides_the_order(void **state)
{
    (void)state;
    gp_options *o = train_on(table, "1"), *other = train_on(table, "2");
    gp_loaded a = load(o), b = load(o), c = load(other);
    double *X[2], *y[2];
    assert_same_rows(&a, &b);
    rows_of(a.shards, &X[0], &y[0]), rows_of(c.shards, &X[1], &y[1]);
    assert_memory_not_equal(y[0], y[1], N * sizeof(double));
    for (size_t i = 0; i < 2; i++) free(X[i]), free(y[i]);
    gp_loaded_fini(&a), gp_loaded_fini(&b), gp_loaded_fini(&c);
    gp_options_free(o), gp_options_free(other);
}

static void a_cache_gives_the_rows_of_the_table(void **state)
{
    (void)state;
    bool found = true;
    gp_options *plain = train_on(table, "1"), *cached = train_on(table, "1");
    ASSERT_OK(gp_options_set(plain, "method", "advgp", err)); // a cache is for every method
    ASSERT_OK(gp_options_set(cached, "cache", in_folder("cache"), err));
    ASSERT_OK(gp_load_cached(cached, &found, err));
    assert_false(found);
    gp_loaded a = load(plain), b = load(cached);
    ASSERT_OK(gp_load_cached(cached, &found, err));
    assert_true(found);
    gp_loaded c = load(cached); // from the folder this time
    assert_same_rows(&b, &c);
    assert_int_equal(gp_shards_rows(a.shards, GP_TRAIN), gp_shards_rows(b.shards, GP_TRAIN));
    gp_loaded_fini(&a), gp_loaded_fini(&b), gp_loaded_fini(&c);
    gp_options_free(plain), gp_options_free(cached);
}

static void a_packed_folder_brings_its_own_schema(void **state)
{
    (void)state;
    const char *const operands[] = {table};
    const char *const pairs[][2] = {{"target", "y"}, {"seed", "1"}, {NULL, NULL}};
    gp_options *pack = options_of("pack", operands, 1, pairs);
    gp_notes notes = {0};
    size_t n = 0;
    ASSERT_OK(gp_options_set(pack, "output", packed, err));
    ASSERT_OK(gp_load_pack(pack, NULL, &notes, &n, err));
    assert_int_equal(n, N);
    gp_options *o = train_on(packed, "1");
    gp_loaded l = load(o);
    double *X, *y;
    assert_int_equal(rows_of(l.shards, &X, &y), N);
    assert_string_equal(l.schema->target, "y");
    free(X), free(y);
    gp_loaded_fini(&l);
    ASSERT_OK(gp_options_set(o, "target", "x", err));
    ASSERT_FAILS(gp_load_training(o, NULL, NULL, &l, err), ADVGP_EINVAL, "{target}");
    gp_loaded_fini(&l);
    gp_notes_fini(&notes);
    gp_options_free(o), gp_options_free(pack);
}

static bool is_noted(const gp_notes *notes, const char *words)
{
    for (size_t i = 0; i < notes->n; i++)
        if (strstr(notes->items[i].text, words)) return true;
    return false;
}

static void the_logarithm_of_a_price_is_taken_unless_somebody_decides(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value;
        bool logarithm, noted;
    } cases[] = {{"seed", "1", true, true},          {"log-target", "auto", true, true},
                 {"log-target", "no", false, false}, {"log-target", "yes", true, false},
                 {"method", "linear", false, false}, // pilots are processes
                 {"cache", NULL, true, true}};       // but packed rows are for every method
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gp_options *o = train_on(prices, "1");
        const char *value = cases[i].value ? cases[i].value : in_folder("cached_prices");
        ASSERT_OK(gp_options_set(o, cases[i].key, value, err));
        gp_loaded l = load(o);
        assert_int_equal(l.schema->log_target, cases[i].logarithm);
        assert_int_equal(is_noted(&l.notes, "{log-target} no leaves it"), cases[i].noted);
        const bool bounded = l.schema->bounded && isfinite(l.schema->bounds.hi);
        assert_int_equal(bounded, cases[i].noted); // at twice the largest, where nobody asked for it
        gp_loaded_fini(&l);
        gp_options_free(o);
    }
    gp_options *o = train_on(table, "1"); // not skewed
    gp_loaded l = load(o);
    assert_false(l.schema->log_target);
    gp_loaded_fini(&l);
    gp_options_free(o);
}

static void long_tails_are_ranks_where_asked_or_where_it_pays(void **state)
{
    (void)state;
    gp_buffer text = {0};
    gp_rng rng = gp_rng_seeded(5, 0);
    gp_buffer_add(&text, "x,z,y\n");
    for (size_t i = 0; i < 3 * N; i++) {
        const double x = gp_rng_normal(&rng), z = gp_rng_normal(&rng);
        gp_buffer_add(&text, "%.6f,%.6f,%.6f\n", exp(1.5 * x), z, sin(2 * x) + 0.5 * z + 0.2 * gp_rng_normal(&rng));
    }
    const char *tails = write_file("tails.csv", text.p, text.n);
    gp_buffer_fini(&text);
    static const struct {
        const char *warp;
        bool ranks, noted;
    } cases[] = {{"auto", true, true}, {"none", false, false}, {"ranks", true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gp_options *o = train_on(tails, "1");
        ASSERT_OK(gp_options_set(o, "target", "y", err));
        ASSERT_OK(gp_options_set(o, "warp", cases[i].warp, err));
        gp_loaded l = load(o);
        assert_int_equal(l.schema->inputs[0].warp.n > 0, cases[i].ranks);
        assert_int_equal(l.schema->inputs[1].warp.n, 0); // normal
        assert_int_equal(is_noted(&l.notes, "{warp} none leaves"), cases[i].noted);
        gp_loaded_fini(&l);
        gp_options_free(o);
    }
}

// y is of x less z, turns often, and a tenth of what it spans is noise.
static const char *sums_table(size_t n)
{
    gp_buffer text = {0};
    gp_rng rng = gp_rng_seeded(7, 0);
    gp_buffer_add(&text, "x,z,kind,y\n");
    for (size_t i = 0; i < n; i++) {
        const double x = gp_rng_normal(&rng), z = gp_rng_normal(&rng);
        gp_buffer_add(&text, "%.6f,%.6f,%s,%.6f\n", 20 + 5 * x, z, i % 3 ? "red" : "blue",
                      sin(3 * (x - z)) + 0.1 * gp_rng_normal(&rng));
    }
    const char *path = write_file("sums.csv", text.p, text.n);
    gp_buffer_fini(&text);
    return path;
}

static gp_options *train_on_sums(const char *path, const char *directions)
{
    gp_options *o = train_on(path, "1");
    ASSERT_OK(gp_options_set(o, "target", "y", err));
    ASSERT_OK(gp_options_set(o, "directions", directions, err));
    return o;
}

static void sums_of_columns_stand_beside_them_where_asked_or_where_it_pays(void **state)
{
    (void)state;
    const char *path = sums_table(3 * N);
    static const struct {
        const char *directions;
        size_t least, most;
        bool noted;
    } cases[] = {{"auto", 1, 3, true}, {"none", 0, 0, false}, {"1", 1, 1, true}, {"2", 1, 2, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gp_options *o = train_on_sums(path, cases[i].directions);
        gp_loaded l = load(o), again = load(o);
        const gp_schema *s = l.schema;
        assert_true(s->n_directions >= cases[i].least && s->n_directions <= cases[i].most);
        assert_int_equal(s->d, 4 + s->n_directions); // x, z, two kinds
        assert_int_equal(l.shards->d, s->d);
        assert_int_equal(is_noted(&l.notes, "sums of columns stand beside them"), cases[i].noted);
        if (s->n_directions) {
            const double *weights = s->directions;
            assert_true(weights[0] * weights[1] < 0 && fabs(weights[0] + weights[1]) < 0.2 * fabs(weights[0]));
            assert_true(weights[2] == 0 && weights[3] == 0); // which kind it is
            const bool named = !strcmp(s->x_names[4], "direction 1 (x - z)") ||
                               !strcmp(s->x_names[4], "direction 1 (z - x)");
            if (!named) fail_msg("%s", s->x_names[4]);
        }
        assert_same_rows(&l, &again);
        gp_loaded_fini(&l), gp_loaded_fini(&again);
        gp_options_free(o);
    }
    gp_options *o = train_on(prices, "1"); // a sum of functions of each
    ASSERT_OK(gp_options_set(o, "directions", "auto", err));
    gp_loaded l = load(o);
    assert_int_equal(l.schema->n_directions, 0);
    gp_loaded_fini(&l);
    gp_options_free(o);
}

static void directions_that_cannot_be_had_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *words;
        size_t rows;
    } cases[] = {{"method", "linear", "fits no process", 3 * N},
                 {"features", "x,kind", "two to 128", 3 * N},
                 {"seed", "1", "300 rows", N / 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gp_options *o = train_on_sums(sums_table(cases[i].rows), "2");
        ASSERT_OK(gp_options_set(o, cases[i].key, cases[i].value, err));
        gp_loaded l = load(o);
        assert_int_equal(l.schema->n_directions, 0);
        if (!is_noted(&l.notes, "{directions}") || !is_noted(&l.notes, cases[i].words))
            fail_msg("no note says \"%s\"", cases[i].words);
        gp_loaded_fini(&l);
        gp_options_free(o);
        o = train_on_sums(sums_table(cases[i].rows), "auto"); // who does not ask is not told
        ASSERT_OK(gp_options_set(o, cases[i].key, cases[i].value, err));
        l = load(o);
        assert_false(l.schema->n_directions || is_noted(&l.notes, "{directions}"));
        gp_loaded_fini(&l);
        gp_options_free(o);
    }
}

static void packing_decides_about_directions(void **state)
{
    (void)state;
    const char *const operands[] = {sums_table(3 * N)};
    char folder_of_sums[256];
    snprintf(folder_of_sums, sizeof folder_of_sums, "%s", in_folder("packed_sums"));
    const char *const pairs[][2] = {{"target", "y"}, {"output", folder_of_sums}, {"seed", "1"}, {NULL, NULL}};
    gp_options *pack = options_of("pack", operands, 1, pairs), *direct = train_on_sums(operands[0], "auto");
    gp_notes notes = {0};
    size_t n = 0;
    ASSERT_OK(gp_options_set(direct, "method", "advgp", err)); // what is packed is for every method: rows are held out
    ASSERT_OK(gp_load_pack(pack, NULL, &notes, &n, err));
    assert_true(is_noted(&notes, "sums of columns stand beside them"));
    gp_options *o = train_on(folder_of_sums, "2");
    gp_loaded l = load(o), of_table = load(direct);
    const gp_schema *a = l.schema, *b = of_table.schema;
    assert_true(a->n_directions && a->n_directions == b->n_directions && a->d == l.shards->d);
    assert_memory_equal(a->directions, b->directions, a->n_directions * gp_schema_plain(a) * sizeof(double));
    gp_loaded_fini(&l), gp_loaded_fini(&of_table);
    ASSERT_OK(gp_options_set(o, "directions", "none", err));
    ASSERT_FAILS(gp_load_training(o, NULL, NULL, &l, err), ADVGP_EINVAL, "{directions}");
    gp_loaded_fini(&l);
    gp_notes_fini(&notes);
    gp_options_free(o), gp_options_free(pack), gp_options_free(direct);
}

static void packing_decides_about_the_logarithm(void **state)
{
    (void)state;
    const char *const operands[] = {prices};
    const char *const pairs[][2] = {{"target", "y"}, {"output", packed_prices}, {NULL, NULL}};
    gp_options *pack = options_of("pack", operands, 1, pairs);
    gp_notes notes = {0};
    size_t n = 0;
    ASSERT_OK(gp_load_pack(pack, NULL, &notes, &n, err));
    assert_true(is_noted(&notes, "its logarithm is fitted"));
    gp_options *o = train_on(packed_prices, "2");
    gp_loaded l = load(o);
    assert_true(l.schema->log_target);
    gp_loaded_fini(&l);
    ASSERT_OK(gp_options_set(o, "log-target", "no", err));
    ASSERT_FAILS(gp_load_training(o, NULL, NULL, &l, err), ADVGP_EINVAL, "{log-target}");
    gp_loaded_fini(&l);
    gp_notes_fini(&notes);
    gp_options_free(o), gp_options_free(pack);
}

static void what_is_not_there_is_named(void **state)
{
    (void)state;
    gp_loaded l = {0};
    gp_options *o = train_on(table, "1");
    ASSERT_OK(gp_options_set(o, "target", "yy", err));
    ASSERT_FAILS(gp_load_training(o, NULL, NULL, &l, err), ADVGP_EDATA, "'yy'");
    gp_loaded_fini(&l);
    o->operands[0] = "/nowhere/rows.csv";
    ASSERT_FAILS(gp_load_training(o, NULL, NULL, &l, err), ADVGP_EDATA, "/nowhere/rows.csv");
    gp_loaded_fini(&l);
    gp_options_free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_in_one_shard),
        cmocka_unit_test(nothing_of_a_small_table_is_held_out_unless_asked),
        cmocka_unit_test(the_seed_decides_the_order),
        cmocka_unit_test(a_cache_gives_the_rows_of_the_table),
        cmocka_unit_test(a_packed_folder_brings_its_own_schema),
        cmocka_unit_test(the_logarithm_of_a_price_is_taken_unless_somebody_decides),
        cmocka_unit_test(long_tails_are_ranks_where_asked_or_where_it_pays),
        cmocka_unit_test(sums_of_columns_stand_beside_them_where_asked_or_where_it_pays),
        cmocka_unit_test(directions_that_cannot_be_had_are_told),
        cmocka_unit_test(packing_decides_about_directions),
        cmocka_unit_test(packing_decides_about_the_logarithm),
        cmocka_unit_test(what_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, prepare, leave_folder);
}
