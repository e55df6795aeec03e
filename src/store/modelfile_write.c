// modelfile_write.c: a model into its file: the metadata as JSON, the tensors, the checksums.
#include "base/alloc.h"
#include "base/text.h"
#include "linalg/dense.h"
#include "store/form.h"
#include "store/runlog.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- metadata -------------------------------------------------------------------------------------------------------

static json_t *schema_json(const gp_schema *schema)
{
    char *text = gp_schema_to_json(schema);
    json_t *o = text ? json_loads(text, 0, NULL) : NULL;
    gp_free(text);
    return o;
}

// What makes its features, as the model itself has it.
static json_t *noise_json(const gp_model *noise)
{
    json_t *o = json_pack("{s:I, s:s}", "d", (json_int_t)noise->spec.d, "trend", gp_trend_name(noise->spec.trend));
    if (o && noise->form->describe(noise, o)) return o;
    json_decref(o);
    return NULL;
}

static json_t *metadata_json(const gp_model *model, uint64_t xxh3)
{
    char hex[17];
    snprintf(hex, sizeof hex, "%016llx", (unsigned long long)xxh3);
    json_t *o = json_pack("{s:i, s:s, s:s, s:s, s:I, s:s}", "format", GP_MODEL_FORMAT, "writer", advgp_version(),
                          "method", model->method, "form", model->form->name, "d", (json_int_t)model->spec.d, "trend",
                          gp_trend_name(model->spec.trend));
    json_t *rest = json_pack("{s:o, s:s?, s:O, s:O, s:{s:o, s:o}, s:I, s:s}", "schema", schema_json(model->schema),
                             "sql", model->sql, "options", model->options, "record", model->record, "baseline", "mean",
                             gp_json_real(model->baseline_mean), "linear", gp_json_real(model->baseline_linear),
                             "n_calibration", (json_int_t)model->calibration.rows, "xxh3", hex);
    if (!o || !rest || !model->form->describe(model, o) || json_object_update(o, rest) < 0) {
        json_decref(o);
        o = NULL;
    }
    json_decref(rest);
    if (o && model->noise && json_object_set_new(o, "noise", noise_json(model->noise)) < 0) {
        json_decref(o);
        o = NULL;
    }
    return o;
}

// The text with its own checksum at the end. Free with gp_free; NULL: no memory.
static char *metadata_text(const gp_model *model, uint64_t xxh3)
{
    json_t *o = metadata_json(model, xxh3);
    char *text = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
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
    memcpy(image->x_mean, s->x_mean, s->d * sizeof *s->x_mean);
    memcpy(image->x_scale, s->x_scale, s->d * sizeof *s->x_scale);
    image->y_mean = s->y_mean;
    image->y_scale = s->y_scale;
    gp_model_image_golden_x(image, model);
    st = model->form->pack(image, model, predictor, err);
    if (st == ADVGP_OK) st = gp_model_image_golden_y(image, model, predictor, image->golden_y, err);
    gp_predictor_free(predictor);
    return st;
}

static advgp_status fill_noise(gp_model_image *image, const gp_model *model, advgp_error *err)
{
    gp_predictor *predictor = NULL;
    advgp_status st = gp_model_predictor(model->noise, &predictor, err);
    if (st != ADVGP_OK) return st;
    image->y_mean = model->noise->schema->y_mean;
    image->y_scale = model->noise->schema->y_scale;
    st = model->noise->form->pack(image, model->noise, predictor, err);
    gp_predictor_free(predictor);
    return st;
}

static advgp_status take_tensors(const gp_model_image *image, gp_tensor *tensors, const char *path, advgp_error *err)
{
    for (size_t i = 0; i < image->n; i++) {
        const gp_model_tensor *t = &image->list[i];
        tensors[i] = (gp_tensor){.name = t->name, .dtype = GP_F64, .rank = t->rank, .data = t->data};
        memcpy(tensors[i].shape, t->shape, sizeof t->shape);
        if (!gp_all_finite(gp_tensor_count(&tensors[i]), t->data))
            return gp_fail(err, ADVGP_ENUMERIC, "%.200s is not written: '%s' of the model is not finite", path,
                           t->name);
    }
    return ADVGP_OK;
}

static advgp_status write_tensors(const gp_model *model, const gp_model_image *image, const gp_model_image *noise,
                                  const char *path, bool private, advgp_error *err)
{
    const size_t n = image->n + noise->n;
    gp_tensor *tensors = gp_alloc(n, sizeof *tensors);
    if (!tensors) return gp_no_memory(err);
    advgp_status st = take_tensors(image, tensors, path, err);
    if (st == ADVGP_OK) st = take_tensors(noise, tensors + image->n, path, err);
    char *metadata = st == ADVGP_OK ? metadata_text(model, gp_tensors_xxh3(tensors, n)) : NULL;
    if (st == ADVGP_OK && !metadata)
        st = gp_no_memory(err);
    else if (st == ADVGP_OK)
        st = private ? gp_tensorfile_write_private(path, tensors, n, metadata, err)
                     : gp_tensorfile_write(path, tensors, n, metadata, err);
    gp_free(metadata);
    gp_free(tensors);
    return st;
}

static advgp_status save(const gp_model *model, const char *path, bool private, advgp_error *err)
{
    if (!model || !path) return gp_fail(err, ADVGP_EINVAL, "model: nothing to save, or nowhere");
    gp_model_image image = {0}, noise = {0};
    advgp_status st = gp_model_check(model, ADVGP_ENUMERIC, err);
    if (st != ADVGP_OK) return gp_wrap(err, st, "%.200s is not written, since it could not be read", path);
    st = gp_model_image_init(&image, model, err);
    if (st == ADVGP_OK) st = fill_image(&image, model, err);
    if (st == ADVGP_OK && model->noise) st = gp_model_image_noise(&noise, model, err);
    if (st == ADVGP_OK && model->noise) st = fill_noise(&noise, model, err);
    if (st == ADVGP_OK) st = write_tensors(model, &image, &noise, path, private, err);
    gp_model_image_fini(&noise);
    gp_model_image_fini(&image);
    return st;
}

advgp_status gp_model_save(const gp_model *model, const char *path, advgp_error *err)
{
    return save(model, path, false, err);
}

advgp_status gp_model_save_private(const gp_model *model, const char *path, advgp_error *err)
{
    return save(model, path, true, err);
}
