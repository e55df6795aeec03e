// checkpoint_test.c: a checkpoint through its file: whoever goes on from it has what was there, with as many places for
// workers as it likes; files of before are read.
#include "fixture.h"
#include "learn/checkpoint.h"
#include "learn/learner.h"
#include "ps/message.h"
#include "store/scratch_test.h"
#include "store/tensorfile.h"

enum { SHARDS = 6, SIZE_MAX_HERE = 64 };

typedef struct rig {
    gp_learner *l;
    double evaluated[SIZE_MAX_HERE];
    gp_run_parts parts;
} rig;

static const gp_run_state course = {.best = 0.5,
                                    .components = 1,
                                    .batch = 5,
                                    .steps = 100,
                                    .every = 10,
                                    .n_rows = 20,
                                    .workers = 2,
                                    .seed = 1,
                                    .data = 0x1234,
                                    .settings = 0x5678};

static void rig_init(rig *r, size_t workers_max, double filter)
{
    static const double points[] = {-1, 0.5, 1, -0.5}, weight[SHARDS] = {7, 7, 6, 7, 7, 6};
    advgp_error err = {0};
    *r = (rig){0};
    const gp_learner_options options = {.d = 2,
                                        .m = 2,
                                        .components = 1,
                                        .kernel = &gp_kernel_ard_rbf,
                                        .map = &gp_map_cholesky,
                                        .trend = GP_TREND_LINEAR,
                                        .length_scale = 1,
                                        .inducing = gp_cmat_of(points, 2, 2)};
    CHECK_OK(gp_learner_new(&options, &r->l, &err), "a learner");
    assert_true(r->l->layout.size <= SIZE_MAX_HERE);
    r->parts = (gp_run_parts){.best = r->l->best, .evaluated = r->evaluated};
    const gp_rule_options rule = {.layout = r->l->layout, .range = gp_range_all(r->l->layout), .natural_rate = 0.2};
    CHECK_OK(gp_rule_natural.make(&rule, &r->parts.rule, &err), "a rule");
    const gp_server_options server = {.rule = r->parts.rule,
                                      .theta = r->l->theta,
                                      .n_shards = SHARDS,
                                      .shard_weight = weight,
                                      .schedule.workers = 2,
                                      .workers_max = workers_max,
                                      .schedule.filter = filter};
    CHECK_OK(gp_server_new(&server, &r->parts.server, &err), "a server");
}

static void rig_fini(rig *r)
{
    gp_server_free(r->parts.server);
    gp_rule_free(r->parts.rule);
    gp_learner_free(r->l);
}

static void come(rig *r, uint32_t worker)
{
    const gp_message hello = {.kind = GP_HELLO, .worker = worker, .token = worker + 1};
    const gp_message pull = {.kind = GP_PULL, .worker = worker, .incarnation = 1};
    size_t peer;
    gp_message answer;
    advgp_error err = {0};
    CHECK_OK(gp_server_on_message(r->parts.server, 0, worker, &hello, &err), "hello");
    CHECK_OK(gp_server_on_message(r->parts.server, 0, worker, &pull, &err), "pull");
    while (gp_server_next(r->parts.server, 0, &peer, &answer)) {}
}

// Two of five workers came, the highest of them worker 2.
static void save(rig *r, const char *path, double filter)
{
    advgp_error err = {0};
    rig_init(r, 5, filter);
    come(r, 2), come(r, 0);
    assert_true(gp_server_begun(r->parts.server));
    CHECK_OK(gp_checkpoint_save(path, &r->parts, &course, NULL, &err), "save");
}

static advgp_status load(rig *r, const char *path, size_t workers_max, double filter, advgp_error *err)
{
    gp_run_state state = course;
    state.since_best = 2, state.best = HUGE_VAL;
    rig_init(r, workers_max, filter);
    const advgp_status st = gp_checkpoint_load(path, &r->parts, &state, NULL, err);
    if (st == ADVGP_OK) assert_true(state.since_best == 0 && state.best == 0.5);
    return st;
}

static void same_image(gp_server *was, gp_server *is, bool filtered)
{
    const gp_server_image a = gp_server_look(was), b = gp_server_look(is);
    assert_int_equal(b.generation, a.generation + 1);
    assert_int_equal(b.n_workers, a.n_workers);
    CHECK_BITS(a.size, a.theta, b.theta, "theta");
    for (size_t i = 0; i < SHARDS; i++) assert_true(a.owner[i] == b.owner[i]);
    for (size_t k = 0; k < a.n_workers; k++) {
        assert_true(a.sequence[k] == b.sequence[k] && a.incarnation[k] == b.incarnation[k]);
        if (filtered && a.incarnation[k]) CHECK_BITS(a.size, a.sent[k], b.sent[k], "a worker's copy");
    }
}

static void places_for_workers_are_no_part_of_a_checkpoint(void **state)
{
    (void)state;
    const char *path = scratch_path("run.ckpt");
    const size_t places[] = {3, 5, 1000};
    for (int filtered = 0; filtered < 2; filtered++) {
        rig r, next;
        advgp_error err = {0};
        const double filter = filtered ? 0.1 : 0;
        save(&r, path, filter);
        for (size_t i = 0; i < 3; i++) {
            CHECK_OK(load(&next, path, places[i], filter, &err), "load");
            same_image(r.parts.server, next.parts.server, filtered);
            rig_fini(&next);
        }
        CHECK_FAILS(ADVGP_EINVAL, load(&next, path, 2, filter, &err), "a worker without a place");
        rig_fini(&next), rig_fini(&r);
    }
    unlink(path);
}

static void a_checkpoint_before_anybody_came_is_one(void **state)
{
    (void)state;
    rig r, next;
    advgp_error err = {0};
    const char *path = scratch_path("run.ckpt");
    rig_init(&r, 5, 0.1);
    CHECK_OK(gp_checkpoint_save(path, &r.parts, &course, NULL, &err), "save");
    CHECK_OK(load(&next, path, 2, 0.1, &err), "load");
    same_image(r.parts.server, next.parts.server, true);
    rig_fini(&next), rig_fini(&r);
    unlink(path);
}

// ---- files that no run has written ----------------------------------------------------------------------------------

// Writes a file again with a checksum that is right.
static void write_again(const char *path, gp_tensorfile *file)
{
    char metadata[64];
    advgp_error err = {0};
    snprintf(metadata, sizeof metadata, "{\"checkpoint\": 4, \"xxh3\": \"%016llx\"}",
             (unsigned long long)gp_tensors_xxh3(file->tensors, file->n));
    CHECK_OK(gp_tensorfile_write(path, file->tensors, file->n, metadata, &err), "write");
}

typedef struct forgery {
    const char *tensor;
    size_t at;
    double real; // of a tensor of doubles
    uint64_t count;
    const char *says; // NULL: it is as good as before
} forgery;

// One number changed; the file is otherwise as it was written, checksum included.
static void forge(const char *path, const char *from, const forgery *f)
{
    gp_tensorfile *file;
    advgp_error err = {0};
    CHECK_OK(gp_tensorfile_read(from, &file, &err), "read");
    const gp_tensor *t = gp_tensorfile_find(file, f->tensor);
    assert_non_null(t);
    unsigned char *number = (unsigned char *)(uintptr_t)t->data + 8 * f->at;
    if (t->dtype == GP_F64)
        memcpy(number, &f->real, 8);
    else
        memcpy(number, &f->count, 8);
    write_again(path, file);
    gp_tensorfile_free(file);
}

static const uint64_t huge = UINT64_C(1) << 63;

// The places of the counts, as checkpoint.c has them.
enum {
    VERSION,
    OLDEST,
    CANDIDATE_VERSION,
    GENERATION,
    HAS_VALUE,
    JUMPS,
    DEALT,
    RULE_COUNTER,
    SINCE_BEST,
    EVALUATED,
    EVALUATING
};
enum { COMPONENTS = EVALUATING + 1, INDUCING, BATCH, STEPS, ROWS, WORKERS, SEED, DATA, SETTINGS };

static void every_number_of_a_file_has_its_range(void **state)
{
    (void)state;
    const forgery forgeries[] = {
        {"counts", VERSION, 0, 3, NULL}, // a checkpoint of version 3: as the others
        {"counts", VERSION, 0, 101, "its version"},
        {"counts", VERSION, 0, huge, "its version"},
        {"counts", VERSION, 0, 11, "beyond the evaluation that was due after 0"},
        {"counts", OLDEST, 0, 1, "oldest version"},
        {"counts", OLDEST, 0, huge, "oldest version"},
        {"counts", CANDIDATE_VERSION, 0, 1, "version of the candidate"},
        {"counts", CANDIDATE_VERSION, 0, UINT64_MAX, "version of the candidate"},
        {"counts", GENERATION, 0, UINT32_MAX, "generation"},
        {"counts", GENERATION, 0, huge, "generation"},
        {"counts", HAS_VALUE, 0, 2, "flags"},
        {"counts", DEALT, 0, 2, "flags"},
        {"counts", EVALUATING, 0, 2, "flags"},
        {"counts", JUMPS, 0, 1, "number of jumps"},
        {"counts", JUMPS, 0, huge, "number of jumps"},
        {"counts", RULE_COUNTER, 0, 1, "number of steps"},
        {"counts", RULE_COUNTER, 0, huge, "number of steps"},
        {"counts", SINCE_BEST, 0, 1, "number of evaluations"},
        {"counts", SINCE_BEST, 0, huge, "number of evaluations"},
        {"counts", EVALUATED, 0, 1, "evaluated version"},
        {"counts", EVALUATED, 0, huge, "evaluated version"},
        {"counts", COMPONENTS, 0, 1000000, "number of components"},
        {"counts", INDUCING, 0, huge, "inducing inputs"},
        {"counts", BATCH, 0, huge, "batch"},
        {"counts", STEPS, 0, huge, "steps"},
        {"counts", ROWS, 0, huge, "training rows"},
        {"counts", WORKERS, 0, 0, "number of workers"},
        {"counts", WORKERS, 0, huge, "number of workers"},
        {"counts", SEED, 0, huge, "seed"},
        {"counts", DATA, 0, huge, "other data"},
        {"counts", SETTINGS, 0, huge, "another kernel"},
        {"scalars", 0, NAN, 0, "element 0 of tensor"},
        {"scalars", 1, 7, 0, "neither 0 nor 1"},
        {"scalars", 2, 0, 0, "damping"},
        {"scalars", 2, 1e-300, 0, "damping"},
        {"scalars", 2, 1.5, 0, "damping"},
        {"scalars", 3, INFINITY, 0, "element 3 of tensor"},
        {"scalars", 4, NAN, 0, "element 4 of tensor"},
        {"scalars", 5, -1, 0, "value of the bound"},
        {"theta", 0, NAN, 0, "element 0 of tensor"},
        {"kept", 1, INFINITY, 0, "element 1 of tensor"},
        {"candidate", 2, NAN, 0, "element 2 of tensor"},
        {"best", 0, NAN, 0, "element 0 of tensor"},
        {"judged", 0, NAN, 0, "element 0 of tensor"},
        {"sent", 3, NAN, 0, "element 3 of tensor"},
        {"adam_m", 0, NAN, 0, "element 0 of tensor"},
        {"adam_v", 0, -1, 0, "negative"},
        {"owner", 0, 0, 3, "shard 0 to a worker"},
        {"owner", SHARDS - 1, 0, huge, "shard 5 to a worker"},
        {"sequence", 0, 0, huge, "numbers of worker 0"},
        {"incarnation", 2, 0, huge, "numbers of worker 2"},
        {"incarnation", 2, 0, UINT32_MAX, "numbers of worker 2"},
    };
    const char *path = scratch_path("run.ckpt");
    char forged[512];
    snprintf(forged, sizeof forged, "%s.forged", path);
    rig r;
    save(&r, path, 0.1);
    for (size_t i = 0; i < sizeof forgeries / sizeof *forgeries; i++) {
        const forgery *f = &forgeries[i];
        rig next;
        gp_run_state back = course;
        advgp_error err = {0};
        forge(forged, path, f);
        rig_init(&next, 5, 0.1);
        const advgp_status st = gp_checkpoint_load(forged, &next.parts, &back, NULL, &err);
        if (f->says)
            CHECK((st == ADVGP_EFILE || st == ADVGP_EINVAL) && strstr(err.text, f->says), f->tensor, "%zu: \"%s\"",
                  f->at, err.text);
        else
            CHECK(st == ADVGP_OK, f->tensor, "%zu: \"%s\"", f->at, err.text);
        rig_fini(&next);
    }
    unlink(forged);
    rig_fini(&r);
    unlink(path);
}

// Any number in any place, with a checksum that is right: refused with a sentence, or a run of finite numbers.
static void no_forged_number_gets_past_the_checks(void **state)
{
    (void)state;
    static const double reals[] = {NAN, INFINITY, -1, 0, 1e300, -1e300, 5e-324};
    static const uint64_t counts[] = {0, 1, 2, 255, UINT32_MAX, (uint64_t)INT64_MAX, UINT64_MAX};
    enum { VALUES = 7 };
    const char *path = scratch_path("run.ckpt");
    char forged[512];
    snprintf(forged, sizeof forged, "%s.forged", path);
    rig r;
    save(&r, path, 0.1);
    gp_tensorfile *file;
    advgp_error err = {0};
    CHECK_OK(gp_tensorfile_read(path, &file, &err), "read");
    size_t tried = 0, refused = 0;
    for (size_t k = 0; k < file->n; k++) {
        const size_t n = gp_tensor_count(&file->tensors[k]);
        for (size_t at = 0; at<n; at += n> 20 ? n / 4 : 1)
            for (size_t v = 0; v < VALUES; v++, tried++) {
                rig next;
                gp_run_state back = course;
                forge(forged, path, &(forgery){file->tensors[k].name, at, reals[v], counts[v], NULL});
                rig_init(&next, 5, 0.1);
                const advgp_status st = gp_checkpoint_load(forged, &next.parts, &back, NULL, &err);
                CHECK(st == ADVGP_OK || ((st == ADVGP_EFILE || st == ADVGP_EINVAL) && err.text[0]),
                      file->tensors[k].name, "%zu: \"%s\"", at, err.text);
                if (st == ADVGP_OK)
                    for (size_t i = 0; i < next.l->layout.size; i++)
                        CHECK(isfinite(gp_server_theta(next.parts.server)[i]), file->tensors[k].name, "%zu", at);
                refused += st != ADVGP_OK;
                rig_fini(&next);
            }
    }
    CHECK(tried >= 300 && refused >= tried / 4, "forged", "%zu tried, %zu refused", tried, refused);
    gp_tensorfile_free(file);
    unlink(forged);
    rig_fini(&r);
    unlink(path);
}

static void loading_fails_cleanly_without_memory(void **state)
{
    (void)state;
    rig r, next;
    advgp_error err = {0};
    const char *path = scratch_path("run.ckpt");
    save(&r, path, 0.1);
    advgp_status st = ADVGP_ENOMEM;
    for (long calls = 0; st != ADVGP_OK; calls++) {
        gp_run_state back = course;
        rig_init(&next, 5, 0.1);
        gp_alloc_fail_after(calls);
        st = gp_checkpoint_load(path, &next.parts, &back, NULL, &err);
        gp_alloc_fail_after(-1);
        if (st != ADVGP_OK) CHECK_FAILS(ADVGP_ENOMEM, st, "out of memory");
        rig_fini(&next);
    }
    rig_fini(&r);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_for_workers_are_no_part_of_a_checkpoint),
        cmocka_unit_test(a_checkpoint_before_anybody_came_is_one),
        cmocka_unit_test(every_number_of_a_file_has_its_range),
        cmocka_unit_test(no_forged_number_gets_past_the_checks),
        cmocka_unit_test(loading_fails_cleanly_without_memory),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
