// modelfile_write.c: a model into its file: the metadata as JSON, the tensors, the checksums.
#include "base/alloc.h"
#include "base/text.h"
#include "linalg/dense.h"
#include "model/theta.h"
#include "store/modelimage.h"
#include "store/runlog.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- metadata -------------------------------------------------------------------------------------------------------

static json_t *sizes_json(const size_t *sizes, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(list, json_integer((json_int_t)sizes[i]));
    return list;
}

static json_t *component_json(const gp_component_spec *c)
{
    json_t *o = json_pack("{s:s, s:s, s:I, s:I}", "kernel", c->kernel->name, "map", c->map->name, "m",
                          (json_int_t)c->shape.m, "rank", (json_int_t)c->shape.rank);
    if (o && c->shape.group_m) json_object_set_new(o, "groups", sizes_json(c->shape.group_m, c->shape.n_groups));
    if (o && c->shape.group_rank)
        json_object_set_new(o, "group_ranks", sizes_json(c->shape.group_rank, c->shape.n_groups));
    return o;
}

static json_t *components_json(const gp_model *model)
{
    json_t *list = json_array();
    for (size_t b = 0; b < model->spec.n_components; b++)
        json_array_append_new(list, component_json(&model->components[b]));
    return list;
}

static json_t *schema_json(const gp_schema *schema)
{
    char *text = gp_schema_to_json(schema);
    json_t *o = text ? json_loads(text, 0, NULL) : NULL;
    gp_free(text);
    return o;
}

static json_t *metadata_json(const gp_model *model, uint64_t xxh3)
{
    static const char *const trends[] = {"none", "constant", "linear"};
    char hex[17];
    snprintf(hex, sizeof hex, "%016llx", (unsigned long long)xxh3);
    return json_pack("{s:i, s:s, s:s, s:I, s:s, s:f, s:o, s:o, s:s?, s:O, s:O, s:{s:o, s:o}, s:I, s:s}", "format",
                     GP_MODEL_FORMAT, "writer", advgp_version(), "method", model->method, "d",
                     (json_int_t)model->spec.d, "trend", trends[model->spec.trend], "jitter", model->spec.jitter,
                     "components", components_json(model), "schema", schema_json(model->schema), "sql", model->sql,
                     "options", model->options, "record", model->record, "baseline", "mean",
                     gp_json_real(model->baseline_mean), "linear", gp_json_real(model->baseline_linear),
                     "n_calibration", (json_int_t)model->n_calibration, "xxh3", hex);
}

// The text with its own checksum at the end. Free with gp_free; NULL: no memory.
static char *metadata_text(const gp_model *model, uint64_t xxh3)
{
    json_t *o = metadata_json(model, xxh3);
    bool whole = o && json_array_size(json_object_get(o, "components")) == model->spec.n_components;
    char *text = whole ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    gp_buffer out = {0};
    if (text) {
        size_t n = strlen(text) - 1; // without the last }
        char tail[GP_TEXT_TAIL_BYTES + 1];
        gp_model_text_tail(text, n, tail);
        gp_buffer_bytes(&out, text, n);
        gp_buffer_add(&out, "%s", tail);
    }
    free(text);
    json_decref(o);
    if (out.failed) gp_buffer_fini(&out);
    return out.p;
}

// ---- tensors --------------------------------------------------------------------------------------------------------

static advgp_status fill_image(gp_model_image *image, const gp_model *model, advgp_error *err)
{
    const gp_schema *s = model->schema;
    gp_predictor *predictor = NULL;
    advgp_status st = gp_model_predictor(model, &predictor, err);
    if (st != ADVGP_OK) return st;
    const gp_features *f = gp_predictor_features(predictor);
    for (size_t b = 0; b < f->n_components; b++) image->jitter[b] = f->components[b].rung.jitter;
    memcpy(image->x_mean, s->x_mean, s->d * sizeof *s->x_mean);
    memcpy(image->x_scale, s->x_scale, s->d * sizeof *s->x_scale);
    image->y_mean = s->y_mean;
    image->y_scale = s->y_scale;
    gp_upper_pack(gp_ro(model->stats.A), image->stat_a);
    gp_model_image_golden_x(image, model);
    st = gp_model_image_golden_y(image, model, predictor, image->golden_y, err);
    gp_predictor_free(predictor);
    return st;
}

static advgp_status write_tensors(const gp_model *model, const gp_model_image *image, const char *path,
                                  advgp_error *err)
{
    gp_tensor *tensors = gp_alloc(image->n, sizeof *tensors);
    if (!tensors) return gp_fail(err, ADVGP_ENOMEM, "no memory to write %.200s", path);
    advgp_status st = ADVGP_OK;
    for (size_t i = 0; i < image->n && st == ADVGP_OK; i++) {
        const gp_model_tensor *t = &image->list[i];
        tensors[i] = (gp_tensor){.name = t->name, .dtype = GP_F64, .rank = t->rank, .data = t->data};
        memcpy(tensors[i].shape, t->shape, sizeof t->shape);
        if (!gp_all_finite(gp_tensor_count(&tensors[i]), t->data))
            st = gp_fail(err, ADVGP_ENUMERIC, "%.200s is not written: '%s' of the model is not finite", path, t->name);
    }
    char *metadata = st == ADVGP_OK ? metadata_text(model, gp_tensors_xxh3(tensors, image->n)) : NULL;
    if (st == ADVGP_OK)
        st = metadata ? gp_tensorfile_write(path, tensors, image->n, metadata, err)
                      : gp_fail(err, ADVGP_ENOMEM, "no memory to write %.200s", path);
    gp_free(metadata);
    gp_free(tensors);
    return st;
}

advgp_status gp_model_save(const gp_model *model, const char *path, advgp_error *err)
{
    if (!model || !path) return gp_fail(err, ADVGP_EINVAL, "model: nothing to save, or nowhere");
    gp_model_image image;
    advgp_status st = gp_model_image_init(&image, model, err);
    if (st == ADVGP_OK) st = fill_image(&image, model, err);
    if (st == ADVGP_OK) st = write_tensors(model, &image, path, err);
    gp_model_image_fini(&image);
    return st;
}
