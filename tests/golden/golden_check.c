// golden_check.c: compares the library with cases written by an independent oracle.
//     golden_check FILE...     a line for each quantity that fails, then "N passed, N failed"; exit 1 if any failed
// GOLDEN_VERBOSE=1 also prints how much of its tolerance each quantity used.
#include "golden.h"

#include "linalg/blas.h"

#include <stdio.h>
#include <string.h>

static void check_file(const char *file, golden_tally *tally)
{
    json_error_t where;
    json_t *c = json_load_file(file, 0, &where);
    if (!c) {
        printf("%s: line %d: %s\n", file, where.line, where.text);
        tally->failed++;
        return;
    }
    const char *type = json_string_value(json_object_get(c, "type"));
    golden_table got = {0};
    if (!type) type = "";
    if (!strcmp(type, "model") || !strcmp(type, "components"))
        golden_model_case(c, &got);
    else if (!strcmp(type, "trace"))
        golden_trace_case(c, &got);
    else if (!strcmp(type, "snelson"))
        golden_snelson_case(file, c, &got);
    else if (!strcmp(type, "units"))
        golden_units_case(file, c, tally);
    else {
        printf("%s: the type \"%s\" is not known\n", file, type);
        tally->failed++;
    }
    golden_compare(file, json_object_get(c, "expected"), &got, tally);
    golden_table_free(&got);
    json_decref(c);
}

int main(int argc, char **argv)
{
    golden_tally tally = {0};
    if (argc < 2) {
        fprintf(stderr, "usage: golden_check FILE...\n");
        return 2;
    }
    if (gp_blas_reserve(1, NULL) != ADVGP_OK) return 1;
    for (int i = 1; i < argc; i++) check_file(argv[i], &tally);
    printf("%ld passed, %ld failed\n", tally.passed, tally.failed);
    return tally.failed || !tally.passed;
}
