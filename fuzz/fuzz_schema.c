// fuzz_schema.c: any text as a schema. What is accepted can be written, and read again to the same text.
#include "base/alloc.h"
#include "data/schema.h"
#include "fuzz.h"

#include <math.h>
#include <string.h>

static void check_accepted(const gp_schema *schema)
{
    FUZZ_CHECK(schema->d > 0 && schema->n_inputs > 0 && schema->target);
    size_t next = 0;
    for (size_t i = 0; i < schema->n_inputs; i++) {
        FUZZ_CHECK(schema->inputs[i].first == next);
        next += schema->inputs[i].n_encoded;
    }
    FUZZ_CHECK(next == gp_schema_plain(schema) && schema->n_directions <= GP_DIRECTIONS_MAX);
    for (size_t k = 0; k < schema->n_directions * next; k++) FUZZ_CHECK(isfinite(schema->directions[k]));
    for (size_t j = 0; j < schema->d; j++)
        FUZZ_CHECK(schema->x_names[j] && isfinite(schema->x_mean[j]) && schema->x_scale[j] > 0);

    char *once = gp_schema_to_json(schema);
    gp_schema *again = NULL;
    advgp_error err = {0};
    FUZZ_CHECK(once != NULL);
    FUZZ_CHECK(gp_schema_from_json(once, strlen(once), &again, &err) == ADVGP_OK);
    char *twice = gp_schema_to_json(again);
    FUZZ_CHECK(twice && strcmp(once, twice) == 0);
    gp_free(once);
    gp_free(twice);
    gp_schema_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const long live = gp_alloc_count().live;
    gp_schema *schema;
    advgp_error err = {0};
    const advgp_status st = gp_schema_from_json((const char *)bytes, n, &schema, &err);
    FUZZ_CHECK(st == ADVGP_OK || st == ADVGP_EFILE);
    FUZZ_CHECK((st == ADVGP_OK) == (schema != NULL) && (st == ADVGP_OK || err.text[0]));
    if (schema) check_accepted(schema);
    gp_schema_free(schema);
    FUZZ_CHECK(gp_alloc_count().live == live);
    return 0;
}
