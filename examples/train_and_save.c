// train_and_save.c: a model of rows that lie in memory, written to a file that `advgp predict` reads too.
//     train_and_save MODEL
#include <advgp.h>

#include <math.h>
#include <stdio.h>

enum { ROWS = 2000 };

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: train_and_save MODEL\n");
        return 2;
    }
    // A row-major matrix of floats, as it comes from elsewhere, and a target beside it.
    static float rows[ROWS][3];
    static double heat[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        rows[i][0] = (float)(i % 97) / 97;        // speed
        rows[i][1] = (float)(i * 31 % 89) / 89;   // load
        rows[i][2] = (float)(i * 17 % 101) / 101; // cooling
        const double noise = (double)(i * 7919 % 1000) / 1000 - 0.5;
        heat[i] = 60 + 20 * sin(3 * (double)rows[i][0]) + 30 * (double)(rows[i][1] * (1 - rows[i][2])) + 2 * noise;
    }
    const advgp_column columns[] = {{"speed", ADVGP_FLOAT32, &rows[0][0], sizeof rows[0]},
                                    {"load", ADVGP_FLOAT32, &rows[0][1], sizeof rows[0]},
                                    {"cooling", ADVGP_FLOAT32, &rows[0][2], sizeof rows[0]},
                                    {"heat", ADVGP_FLOAT64, heat, 0}};

    advgp_error err;
    advgp_data *table = NULL;
    advgp_options *options = NULL;
    advgp_model *model = NULL;
    char *json = NULL;
    advgp_status st = advgp_data_new(ROWS, &table, &err);
    for (size_t i = 0; st == ADVGP_OK && i < sizeof columns / sizeof *columns; i++)
        st = advgp_data_add(table, &columns[i], &err);
    if (st == ADVGP_OK) st = advgp_options_new("train", &options, &err);
    if (st == ADVGP_OK) st = advgp_options_set(options, "target", "heat", &err);
    // So few rows would get an exact process, which asks all of them for every answer; inducing inputs answer in
    // microseconds.
    if (st == ADVGP_OK) st = advgp_options_set(options, "method", "advgp", &err);
    if (st == ADVGP_OK) st = advgp_options_set(options, "inducing", "100", &err);
    if (st == ADVGP_OK) st = advgp_options_set(options, "epochs", "20", &err);
    if (st == ADVGP_OK) st = advgp_train(table, options, NULL, &model, &err);
    if (st == ADVGP_OK) st = advgp_model_save(model, argv[1], &err);
    if (st == ADVGP_OK) st = advgp_evaluate(model, table, NULL, NULL, &json, &err);
    if (st == ADVGP_OK)
        printf("%s holds a model of %s; on the rows it has seen: %.60s...\n", argv[1], advgp_model_target(model), json);
    else
        fprintf(stderr, "train_and_save: %s\n", err.text);
    advgp_text_free(json);
    advgp_model_free(model);
    advgp_options_free(options);
    advgp_data_free(table);
    return st == ADVGP_OK ? 0 : 1;
}
