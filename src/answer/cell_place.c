// cell_place.c: distances are those by which rows find their cell.
#include "answer/cell_place.h"
#include "base/width.h"
#include "report/decode.h"
#include "store/runlog.h"

#include <math.h>
#include <string.h>

enum { COLUMNS = 3 };

double gp_cell_centre(const gp_model *model, size_t cell, size_t column)
{
    return gp_schema_shown(model->schema, column, model->cells->centres[cell * model->cells->shape.d + column]);
}

// NULL: a direction is of several.
static const gp_input *input_of(const gp_schema *s, size_t column)
{
    size_t i = 0;
    if (column >= gp_schema_plain(s)) return NULL;
    while (column >= s->inputs[i].first + s->inputs[i].n_encoded) i++;
    return &s->inputs[i];
}

// Which part of a time the column is; GP_TIME_PARTS: none.
static gp_time_part part_of(const gp_input *input, size_t column)
{
    return input ? gp_time_part_at(input, column - input->first) : GP_TIME_PARTS;
}

// The columns that set the cell apart; how many. Angles tell people nothing that day and hour do not.
static size_t find(const gp_model *model, size_t cell, size_t columns[COLUMNS])
{
    const gp_cells *c = model->cells;
    double far[COLUMNS];
    size_t n = 0;
    for (size_t k = 0; k < c->shape.d; k++) {
        const gp_time_part part = part_of(input_of(model->schema, k), k);
        const double off = fabs(c->scale[k] * c->centres[cell * c->shape.d + k]);
        if ((part > GP_TIME_MINUTE && part < GP_TIME_PARTS) || !(off > 0)) continue;
        size_t at = n < COLUMNS ? n++ : COLUMNS;
        for (; at && far[at - 1] < off; at--)
            if (at < COLUMNS) far[at] = far[at - 1], columns[at] = columns[at - 1];
        if (at < COLUMNS) far[at] = off, columns[at] = k;
    }
    return n;
}

json_t *gp_cell_place_json(const gp_model *model, size_t cell)
{
    size_t columns[COLUMNS];
    json_t *o = json_object();
    const size_t n = find(model, cell, columns);
    for (size_t i = 0; i < n; i++)
        json_object_set_new(o, model->schema->x_names[columns[i]],
                            gp_json_real(gp_cell_centre(model, cell, columns[i])));
    return o;
}

static void add_value(const gp_model *model, size_t cell, size_t k, gp_buffer *out)
{
    const gp_schema *s = model->schema;
    const gp_input *input = input_of(s, k);
    const bool days = part_of(input, k) == GP_TIME_DAYS;
    const char *name = days ? input->name : s->x_names[k];
    gp_buffer_printable(out, name, strlen(name), false);
    gp_buffer_add(out, " ");
    if (days)
        gp_decode_text(input, 86400 * round(gp_cell_centre(model, cell, k)), out);
    else
        gp_buffer_add(out, "%.4g", gp_cell_centre(model, cell, k));
}

void gp_cell_place_text(const gp_model *model, size_t cell, size_t columns, gp_buffer *out)
{
    enum { INDENT = 6 };
    size_t traits[COLUMNS];
    const size_t n = find(model, cell, traits);
    gp_buffer text = {0};
    for (size_t i = 0; i < n; i++) {
        gp_buffer_add(&text, i ? ", " : "around ");
        add_value(model, cell, traits[i], &text);
    }
    gp_buffer_add(out, "%*s", INDENT, "");
    gp_buffer_wrapped(out, text.p ? text.p : "", INDENT, columns);
    gp_buffer_add(out, "\n");
    out->failed |= text.failed;
    gp_buffer_fini(&text);
}
