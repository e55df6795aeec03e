// intervals.c: what a prediction is good for: how much to prepare for, and how likely it is that a limit is passed.
//     intervals MODEL FILE LIMIT
#include <advgp.h>

#include <stdio.h>

enum { SHOWN = 5 };

static void print_table(const advgp_answer *a)
{
    const size_t n = advgp_answer_rows(a), columns = advgp_answer_columns(a);
    for (size_t k = 0; k < columns; k++) printf("%12s", advgp_answer_name(a, k));
    printf("\n");
    for (size_t i = 0; i < n && i < SHOWN; i++) {
        for (size_t k = 0; k < columns; k++) printf("%12.4g", advgp_answer_values(a, k)[i]);
        printf("\n");
    }
    double expected = 0;
    const double *p = advgp_answer_values(a, columns - 1); // p_exceeds, asked for last
    for (size_t i = 0; i < n; i++) expected += p[i];
    printf("of %zu rows %.1f are expected above the limit\n", n, expected);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: intervals MODEL FILE LIMIT\n");
        return 2;
    }
    advgp_error err;
    advgp_model *model = NULL;
    advgp_data *table = NULL;
    advgp_options *options = NULL;
    advgp_answer *answer = NULL;
    const char *path = argv[2];
    advgp_status st = advgp_model_load(argv[1], &model, &err);
    if (st == ADVGP_OK) st = advgp_data_files(&path, 1, &table, &err);
    if (st == ADVGP_OK) st = advgp_options_new("predict", &options, &err);
    if (st == ADVGP_OK) st = advgp_options_set(options, "interval", "0.5,0.9", &err);
    if (st == ADVGP_OK) st = advgp_options_set(options, "exceeds", argv[3], &err);
    if (st == ADVGP_OK) st = advgp_predict_data(model, table, options, NULL, &answer, &err);
    if (st == ADVGP_OK)
        print_table(answer);
    else
        fprintf(stderr, "intervals: %s\n", err.text);
    advgp_answer_free(answer);
    advgp_options_free(options);
    advgp_data_free(table);
    advgp_model_free(model);
    return st == ADVGP_OK ? 0 : 1;
}
