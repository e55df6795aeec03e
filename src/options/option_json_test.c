// option_json_test.c: options become JSON of their kind, or nothing where memory ends.
#include "options/option_json.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void options_become_json_of_their_kind(void **state)
{
    (void)state;
    gp_options *o;
    assert_int_equal(gp_options_new("train", &o, NULL), ADVGP_OK);
    assert_int_equal(gp_options_set(o, "batch", "full", NULL), ADVGP_OK);
    assert_int_equal(gp_options_set(o, "features", "a,b\\,c", NULL), ADVGP_OK);
    assert_int_equal(gp_options_set(o, "early-stopping-rounds", "3", NULL), ADVGP_OK);
    assert_int_equal(gp_options_set(o, "output", "caf\xe9", NULL), ADVGP_OK); // no UTF-8: JSON cannot hold it
    json_t *json = gp_options_json(o);
    assert_non_null(json);
    assert_int_equal(json_integer_value(json_object_get(json, "patience")), 3);
    assert_int_equal(json_integer_value(json_object_get(json, "inducing")), 200);
    assert_string_equal(json_string_value(json_object_get(json, "batch")), "full");
    assert_string_equal(json_string_value(json_array_get(json_object_get(json, "features"), 1)), "b,c");
    assert_string_equal(json_string_value(json_object_get(json, "output")), "caf?");
    assert_true(json_is_false(json_object_get(json, "json")));
    assert_null(json_object_get(json, "help"));
    assert_null(json_object_get(json, "sql"));
    json_decref(json);
    gp_options_free(o);
}

static void *one_block(size_t n)
{
    return gp_alloc(n, 1);
}

// Jansson's heap goes through ours here, so that it fails in turn too.
static void memory_may_end_at_any_call(void **state)
{
    (void)state;
    gp_options *o;
    assert_int_equal(gp_options_new("train", &o, NULL), ADVGP_OK);
    assert_int_equal(gp_options_set(o, "features", "a,b,caf\xe9", NULL), ADVGP_OK);
    json_t *json = NULL;
    json_set_alloc_funcs(one_block, gp_free);
    long live = gp_alloc_count().live;
    for (long calls = 0; !json && calls < 1000; calls++) {
        assert_int_equal(gp_alloc_count().live, live);
        gp_alloc_fail_after(calls);
        json = gp_options_json(o);
        gp_alloc_fail_after(-1);
    }
    assert_non_null(json);
    json_decref(json);
    assert_int_equal(gp_alloc_count().live, live);
    json_set_alloc_funcs(malloc, free);
    gp_options_free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_become_json_of_their_kind),
        cmocka_unit_test(memory_may_end_at_any_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
