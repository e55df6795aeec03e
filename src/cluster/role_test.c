// role_test.c: who leads, who works, who serves, and who is told that it cannot be.
#include "cluster/role.h"
#include "fixture.h"
#include "ps/message.h"

#include <string.h>

static gp_role decide(gp_role_facts facts)
{
    gp_role role;
    advgp_error err = {0};
    if (gp_role_decide(&facts, &role, &err) != ADVGP_OK) fail_msg("%s", err.text);
    return role;
}

static void refused(gp_role_facts facts, const char *word)
{
    gp_role role;
    advgp_error err = {0};
    assert_int_equal(gp_role_decide(&facts, &role, &err), ADVGP_EINVAL);
    if (!strstr(err.text, word)) fail_msg("\"%s\" does not say %s", err.text, word);
}

static void who_is_started_by_hand_leads(void **state)
{
    (void)state;
    assert_int_equal(decide((gp_role_facts){.rank = -1}).kind, GP_IS_LEAD);
    assert_int_equal(decide((gp_role_facts){.rank = -1, .rendezvous = GP_RENDEZVOUS_OPEN}).kind, GP_IS_LEAD);
    refused((gp_role_facts){.rank = -1, .rendezvous = GP_RENDEZVOUS_TAKEN}, "lives there already");
}

static void who_names_a_server_works_for_it(void **state)
{
    (void)state;
    const gp_role role = decide((gp_role_facts){.rank = -1, .server_named = true});
    assert_int_equal(role.kind, GP_IS_WORKER);
    assert_true(role.place == GP_ANY_WORKER && !role.yields && !role.late);
    refused((gp_role_facts){.wish = GP_ROLE_LEAD, .rank = -1, .server_named = true}, "{listen}");
}

static void a_worker_must_know_where_its_lead_is(void **state)
{
    (void)state;
    refused((gp_role_facts){.wish = GP_ROLE_WORKER, .rank = -1}, "{rendezvous}");
    refused((gp_role_facts){.launched = true, .rank = 3}, "{server}");
    for (gp_rendezvous_state m = GP_RENDEZVOUS_OPEN; m <= GP_RENDEZVOUS_TAKEN;
         m++) // it waits for one that is not there yet
        assert_int_equal(decide((gp_role_facts){.wish = GP_ROLE_WORKER, .rank = -1, .rendezvous = m}).kind,
                         GP_IS_WORKER);
}

static void ranks_are_a_lead_then_servers_then_workers(void **state)
{
    (void)state;
    gp_role_facts f = {.launched = true, .servers = 2, .rendezvous = GP_RENDEZVOUS_OPEN};
    assert_int_equal(decide(f).kind, GP_IS_LEAD);
    for (f.rank = 1; f.rank <= 2; f.rank++) assert_int_equal(decide(f).kind, GP_IS_SERVER);
    for (f.rank = 3; f.rank <= 6; f.rank++) {
        const gp_role role = decide(f);
        assert_int_equal(role.kind, GP_IS_WORKER);
        assert_true(role.yields && role.place == (uint32_t)f.rank - 3);
    }
    f.rank = 4, f.wish = GP_ROLE_LEAD; // somebody said so
    assert_int_equal(decide(f).kind, GP_IS_LEAD);
}

static void a_task_of_rank_0_that_comes_late_joins(void **state)
{
    (void)state;
    const gp_role role = decide((gp_role_facts){.launched = true, .rendezvous = GP_RENDEZVOUS_TAKEN});
    assert_true(role.kind == GP_IS_WORKER && role.late && role.place == GP_ANY_WORKER && !role.yields);
    refused((gp_role_facts){.wish = GP_ROLE_LEAD, .launched = true, .rendezvous = GP_RENDEZVOUS_TAKEN}, "already");
}

static void only_who_would_lead_looks_at_the_file(void **state)
{
    (void)state;
    assert_true(gp_role_needs_rendezvous(&(gp_role_facts){.rank = -1, .rendezvous = GP_RENDEZVOUS_OPEN}));
    assert_false(gp_role_needs_rendezvous(&(gp_role_facts){.rank = -1}));
    assert_false(
        gp_role_needs_rendezvous(&(gp_role_facts){.launched = true, .rank = 1, .rendezvous = GP_RENDEZVOUS_OPEN}));
    assert_false(gp_role_needs_rendezvous(&(gp_role_facts){.wish = GP_ROLE_WORKER, .rendezvous = GP_RENDEZVOUS_OPEN}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_started_by_hand_leads),
        cmocka_unit_test(who_names_a_server_works_for_it),
        cmocka_unit_test(a_worker_must_know_where_its_lead_is),
        cmocka_unit_test(ranks_are_a_lead_then_servers_then_workers),
        cmocka_unit_test(a_task_of_rank_0_that_comes_late_joins),
        cmocka_unit_test(only_who_would_lead_looks_at_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
