// checkpoint_test.c: a checkpoint through its file: whoever goes on from it has what was there, with as many places for
// workers as it likes; files of before are read.
#include "fixture.h"
#include "ps/message.h"
#include "store/scratch_test.h"
#include "store/tensorfile.h"
#include "train/checkpoint.h"
#include "train/learner.h"

enum { SHARDS = 6, SIZE_MAX_HERE = 64 };

typedef struct rig {
    gp_learner *l;
    double evaluated[SIZE_MAX_HERE];
    gp_run_parts parts;
} rig;

static const gp_run_state course = {.best = 0.5,
                                    .components = 1,
                                    .since_best = 2,
                                    .batch = 5,
                                    .steps = 100,
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
                                      .workers = 2,
                                      .workers_max = workers_max,
                                      .filter = filter};
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
    state.since_best = 0, state.best = HUGE_VAL;
    rig_init(r, workers_max, filter);
    const advgp_status st = gp_checkpoint_load(path, &r->parts, &state, NULL, err);
    if (st == ADVGP_OK) assert_true(state.since_best == 2 && state.best == 0.5);
    return st;
}

static void same_image(gp_server *was, gp_server *is, bool filtered)
{
    const gp_server_image a = gp_server_look(was), b = gp_server_look(is);
    assert_int_equal(b.epoch, a.epoch + 1);
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

// Copies of all places in one array, whoever came: as they were written before.
static void copies_in_one_array_are_read(void **state)
{
    (void)state;
    rig r, next;
    advgp_error err = {0};
    gp_tensorfile *file;
    const char *path = scratch_path("run.ckpt");
    save(&r, path, 0.1);
    CHECK_OK(gp_tensorfile_read(path, &file, &err), "read");
    for (size_t i = 0; i < file->n; i++) {
        gp_tensor *t = &file->tensors[i];
        if (strcmp(t->name, "sent") != 0) continue;
        assert_int_equal(t->rank, 2);
        assert_int_equal(t->shape[0], 3);
        t->rank = 1, t->shape[0] *= t->shape[1];
    }
    // Tensors of one width: the same bytes have the same sum, in any order that the header gives them.
    char metadata[64];
    snprintf(metadata, sizeof metadata, "{\"checkpoint\": 3, \"xxh3\": \"%016llx\"}",
             (unsigned long long)gp_tensors_xxh3(file->tensors, file->n));
    CHECK_OK(gp_tensorfile_write(path, file->tensors, file->n, metadata, &err), "write");
    gp_tensorfile_free(file);
    CHECK_OK(load(&next, path, 5, 0.1, &err), "load");
    same_image(r.parts.server, next.parts.server, true);
    rig_fini(&next), rig_fini(&r);
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
        if (st != ADVGP_OK) CHECK_FAILS(ADVGP_ENOMEM, st, "no memory");
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
        cmocka_unit_test(copies_in_one_array_are_read),
        cmocka_unit_test(loading_fails_cleanly_without_memory),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
