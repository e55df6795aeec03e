// effect_test.c: as an input moves, so do the sums of columns that it is a part of, in its effect, in a surface, and in
// how relevant it is.
#include "data/encoding.h"
#include "data/strings.h"
#include "data/table_test.h"
#include "report/effect.h"
#include "report/input_relevance.h"
#include "store/form.h"

#include <math.h>

enum { INPUTS = 3, ROWS = 50 };

// y = 7 + 3 (2 (a - 10) / 4 - (b - 20) / 5): a line along the one direction, and nothing by a, b and c themselves.
static gp_model *make_model(void)
{
    static const double weights[INPUTS] = {2, -1, 0}, mean[INPUTS] = {10, 20, 30}, scale[INPUTS] = {4, 5, 6};
    gp_schema *s = gp_alloc(1, sizeof *s);
    gp_model *model = NULL;
    s->target = gp_copy_text("y");
    s->n_inputs = INPUTS;
    s->inputs = gp_alloc(INPUTS, sizeof *s->inputs);
    for (size_t i = 0; i < INPUTS; i++) {
        s->inputs[i] = (gp_input){.name = gp_text_copy(&"abc"[i], 1), .encoding = &gp_encoding_number};
        s->inputs[i].range = s->inputs[i].clip = (gp_limits){.lo = -INFINITY, .hi = INFINITY};
    }
    ASSERT_OK(gp_schema_layout(s, err));
    memcpy(s->x_mean, mean, sizeof mean), memcpy(s->x_scale, scale, sizeof scale);
    s->y_mean = 7, s->y_scale = 3;
    ASSERT_OK(gp_schema_add_directions(s, 1, weights, err));
    ASSERT_OK(gp_model_new_linear(s->d, GP_TREND_LINEAR, s, NULL, &model, err));
    model->theta[model->layout.n_rest + 1 + INPUTS] = 1;
    return model;
}

// Their directions are not those of their columns: inducing inputs, which are learned, are such rows.
static void fill(const gp_schema *s, double *x)
{
    for (size_t i = 0; i < ROWS * s->d; i++) x[i] = sin((double)i);
}

static void a_column_moves_the_sums_it_is_a_part_of(void **state)
{
    (void)state;
    static const double slopes[INPUTS] = {3 * 2 / 4.0, -3 / 5.0, 0};
    gp_model *model = make_model();
    gp_predictor *predictor = NULL;
    double x[ROWS * (INPUTS + 1)];
    const gp_typical rows = {.x = x, .n = ROWS};
    gp_effect e;
    fill(model->schema, x);
    ASSERT_OK(model->form->predictor(model, &predictor, err));
    for (size_t i = 0; i < INPUTS; i++) {
        ASSERT_OK(gp_effect_of(model, predictor, rows, i, &e, err));
        assert_true(e.n > 2);
        const gp_effect_point *first = &e.points[0], *last = &e.points[e.n - 1];
        const double slope = (last->mean - first->mean) / (last->value - first->value);
        if (!(fabs(slope - slopes[i]) < 1e-9)) fail_msg("%c: slope %g, not %g", "abc"[i], slope, slopes[i]);
    }
    gp_surface surface = {0};
    ASSERT_OK(gp_surface_of(model, predictor, rows, (const size_t[]){0, 1}, &surface, err));
    const gp_axis *a = &surface.axis[0], *b = &surface.axis[1];
    const double across = surface.mean[(a->n - 1) * b->n + b->n - 1] - surface.mean[0];
    const double want = slopes[0] * (a->value[a->n - 1] - a->value[0]) + slopes[1] * (b->value[b->n - 1] - b->value[0]);
    if (!(fabs(across - want) < 1e-9)) fail_msg("surface: %g, not %g", across, want);
    gp_free(surface.inducing);
    gp_predictor_free(predictor);
    gp_model_free(model);
}

static void columns_are_as_relevant_as_what_they_move(void **state)
{
    (void)state;
    gp_model *model = make_model();
    gp_input_relevance r = {0};
    ASSERT_OK(gp_input_relevance_init(&r, model, err));
    assert_true(r.input[0] > 0 && fabs(r.input[0] - 2 * r.input[1]) < 1e-9 * r.input[0] && r.input[2] == 0);
    assert_true(r.input_order[0] == 0 && r.input_order[1] == 1);
    gp_input_relevance_fini(&r);
    gp_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_column_moves_the_sums_it_is_a_part_of),
        cmocka_unit_test(columns_are_as_relevant_as_what_they_move),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
