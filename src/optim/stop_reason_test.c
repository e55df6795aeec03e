// stop_reason_test.c: the words of logs and models that exist name the same reasons for ever.
#include "fixture.h"
#include "optim/stop_reason.h"

static void words_and_reasons_belong_together(void **state)
{
    (void)state;
    static const struct {
        gp_stop_reason reason;
        const char *words;
    } written[] = {
        {GP_STOPPED_NO_GAIN, "no gain on held-out rows"},
        {GP_STOPPED_SCHEDULE, "the schedule ended"},
        {GP_STOPPED_TIME, "time is up"},
        {GP_STOPPED_INTERRUPTED, "interrupted"},
        {GP_STOPPED_LOG_ENDED, "the log ended"},
        {GP_STOPPED_CONVERGED, "converged"},
        {GP_STOPPED_ITERATION_LIMIT, "iteration limit"},
        {GP_STOPPED_NO_DESCENT, "no further descent"},
        {GP_STOPPED_ITERATIONS, "the iterations ended"},
        {GP_STOPPED_MAXIMUM, "the evidence is at its maximum"},
        {GP_STOPPED_CLOSED_FORM, "it has a closed form"},
    };
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        assert_string_equal(gp_stop_reason_words(written[i].reason), written[i].words);
        assert_int_equal(gp_stop_reason_named(written[i].words), written[i].reason);
    }
}

static void other_words_are_no_reason(void **state)
{
    (void)state;
    assert_int_equal(gp_stop_reason_named(NULL), GP_NOT_STOPPED);
    assert_int_equal(gp_stop_reason_named("because"), GP_NOT_STOPPED);
    assert_null(gp_stop_reason_words(GP_NOT_STOPPED));
    assert_null(gp_stop_reason_words((gp_stop_reason)99));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_and_reasons_belong_together),
        cmocka_unit_test(other_words_are_no_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
