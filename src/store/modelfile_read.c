// modelfile_read.c: a model out of a file that anybody may have made. What the metadata claims is checked against the
// tensors before memory is taken for it; at the end the model must predict its golden rows.
#include "base/alloc.h"
#include "base/memory.h"
#include "store/file_guess.h"
#include "store/form.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double golden_tolerance = 1e-6; // of sd_y

// ---- metadata -------------------------------------------------------------------------------------------------------

static advgp_status read_metadata(const gp_tensorfile *file, json_t **out, advgp_error *err)
{
    json_error_t about;
    *out = file->metadata ? json_loads(file->metadata, JSON_REJECT_DUPLICATES, &about) : NULL;
    const json_t *format = json_object_get(*out, "format");
    if (!file->metadata || (*out && !json_is_integer(format)))
        return gp_fail(err, ADVGP_EFILE, "a safetensors file, but no model of advgp");
    if (!*out) return gp_fail(err, ADVGP_EFILE, "the metadata is no JSON: %.100s", about.text);
    if (json_integer_value(format) > GP_MODEL_FORMAT)
        return gp_fail(err, ADVGP_EFILE,
                       "format version %" JSON_INTEGER_FORMAT " is newer than this advgp (%s, which reads %d): use a "
                       "newer advgp",
                       json_integer_value(format), advgp_version(), GP_MODEL_FORMAT);
    return json_integer_value(format) >= 1 ? ADVGP_OK : gp_metadata_bad(err, "its format version");
}

static advgp_status check_sums(const gp_tensorfile *file, const json_t *o, advgp_error *err)
{
    const char *text = file->metadata, *told = json_string_value(json_object_get(o, "xxh3"));
    const size_t n = strlen(text);
    char tail[GP_TEXT_TAIL_BYTES + 1], hex[17];
    if (n < GP_TEXT_TAIL_BYTES) return gp_metadata_bad(err, "it has no checksum");
    gp_model_text_tail(text, n - GP_TEXT_TAIL_BYTES, tail);
    if (strcmp(tail, text + n - GP_TEXT_TAIL_BYTES) != 0)
        return gp_metadata_bad(err, "its checksum differs; restore the file, or train again");
    snprintf(hex, sizeof hex, "%016llx", (unsigned long long)file->xxh3);
    if (!told || strcmp(told, hex) != 0)
        return gp_fail(err, ADVGP_EFILE,
                       "the tensors are damaged: their checksum is %s, and %.16s was expected; restore the file, or "
                       "train again",
                       hex, told ? told : "none");
    return ADVGP_OK;
}

static advgp_status read_schema(const json_t *o, gp_schema **out, advgp_error *err)
{
    char *text = json_dumps(json_object_get(o, "schema"), JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!text) return gp_metadata_bad(err, "it has no schema");
    advgp_status st = gp_schema_from_json(text, strlen(text), out, err);
    free(text);
    return st;
}

static double number_or_nan(const json_t *o)
{
    return json_is_number(o) ? json_number_value(o) : NAN;
}

static advgp_status read_words(const json_t *o, gp_model *model, advgp_error *err)
{
    const json_t *baseline = json_object_get(o, "baseline");
    json_t *record = json_object_get(o, "record"), *options = json_object_get(o, "options");
    const char *method = json_string_value(json_object_get(o, "method"));
    const char *writer = json_string_value(json_object_get(o, "writer"));
    if (!method || strlen(method) >= sizeof model->method) return gp_metadata_bad(err, "its method");
    if (!writer || strlen(writer) >= sizeof model->writer) return gp_metadata_bad(err, "its writer");
    if (!json_is_object(record) || !json_is_object(options) || !json_is_object(baseline))
        return gp_metadata_bad(err, "record, options or baseline");
    if (!gp_metadata_size(json_object_get(o, "n_calibration"), SIZE_MAX / 2, &model->calibration.rows))
        return gp_metadata_bad(err, "n_calibration");
    model->format = (int)json_integer_value(json_object_get(o, "format"));
    memcpy(model->method, method, strlen(method) + 1);
    memcpy(model->writer, writer, strlen(writer) + 1);
    json_decref(model->record);
    json_decref(model->options);
    model->record = json_incref(record);
    model->options = json_incref(options);
    model->baseline_mean = number_or_nan(json_object_get(baseline, "mean"));
    model->baseline_linear = number_or_nan(json_object_get(baseline, "linear"));
    return ADVGP_OK;
}

static advgp_status make_model(const gp_tensorfile *file, const json_t *o, gp_model **out, advgp_error *err)
{
    gp_schema *schema = NULL;
    const json_t *sql = json_object_get(o, "sql"), *name = json_object_get(o, "form");
    const gp_model_form *form = name ? gp_model_form_named(json_string_value(name)) : &gp_form_weights;
    if (!form)
        return gp_fail(err, ADVGP_EFILE, "a form of model that this advgp (%s) does not know: use a newer advgp",
                       advgp_version());
    advgp_status st = read_schema(o, &schema, err);
    if (st == ADVGP_OK && !json_is_string(sql) && !json_is_null(sql)) st = gp_metadata_bad(err, "sql");
    if (st == ADVGP_OK) st = form->claim(file, o, schema, json_string_value(sql), out, err);
    if (st != ADVGP_OK) gp_schema_free(schema); // it is taken on success only
    return st == ADVGP_OK ? read_words(o, *out, err) : st;
}

// The scale model is claimed as any other of its form, from tensors whose names begin with noise.
static advgp_status make_noise(const gp_tensorfile *file, const json_t *o, gp_model *model, advgp_error *err)
{
    static const char prefix[] = "noise.";
    const size_t length = sizeof prefix - 1;
    if (!o) return ADVGP_OK;
    if (!json_is_object(o)) return gp_metadata_bad(err, "its noise");
    gp_tensorfile part = *file; // the same tensors under their own names, in the same order
    gp_schema *schema = gp_alloc(1, sizeof *schema);
    part.n = 0;
    part.tensors = gp_alloc(file->n, sizeof *part.tensors);
    advgp_status st = part.tensors && schema ? ADVGP_OK : gp_no_memory(err);
    for (size_t i = 0; st == ADVGP_OK && i < file->n; i++) {
        if (strncmp(file->tensors[i].name, prefix, length) != 0) continue;
        part.tensors[part.n] = file->tensors[i];
        part.tensors[part.n++].name += length;
    }
    // The inputs of the row, with what the model says of it or, in older files, without.
    const bool more = json_integer_value(json_object_get(o, "d")) > (json_int_t)model->spec.d;
    if (st == ADVGP_OK) schema->d = model->spec.d + (more ? GP_SCALE_INPUTS : 0);
    if (st == ADVGP_OK) st = gp_form_weights.claim(&part, o, schema, NULL, &model->noise, err);
    if (st != ADVGP_OK) gp_schema_free(schema);
    gp_free(part.tensors);
    return st;
}

// ---- tensors --------------------------------------------------------------------------------------------------------

static advgp_status copy_tensor(const gp_tensorfile *file, const gp_model_tensor *to, advgp_error *err)
{
    const gp_tensor *t;
    advgp_status st = gp_tensorfile_need(file, to->name, GP_F64, to->rank, to->shape, &t, err);
    if (st == ADVGP_OK) st = gp_tensorfile_finite(file, t, err);
    if (st == ADVGP_OK) memcpy(to->data, t->data, gp_tensor_count(t) * sizeof *to->data);
    return st;
}

static bool has(const gp_model_image *image, const char *name)
{
    size_t k = 0;
    while (k < image->n && strcmp(image->list[k].name, name) != 0) k++;
    return k < image->n;
}

static advgp_status refuse_unknown(const gp_tensorfile *file, const gp_model_image *image, const gp_model_image *noise,
                                   advgp_error *err)
{
    for (size_t i = 0; i < file->n; i++) {
        if (!has(image, file->tensors[i].name) && !has(noise, file->tensors[i].name))
            return gp_fail(err, ADVGP_EFILE, "tensor '%.80s' has no place in this model", file->tensors[i].name);
    }
    return ADVGP_OK;
}

static advgp_status check_scales(const gp_model *model, const gp_model_image *image, advgp_error *err)
{
    const gp_schema *s = model->schema;
    const size_t bytes = s->d * sizeof(double);
    if (memcmp(image->x_mean, s->x_mean, bytes) != 0 || memcmp(image->x_scale, s->x_scale, bytes) != 0 ||
        image->y_mean != s->y_mean || image->y_scale != s->y_scale)
        return gp_fail(err, ADVGP_EFILE, "the scales of its tensors and of its schema differ");
    return ADVGP_OK;
}

static advgp_status read_tensors(const gp_tensorfile *file, gp_model *model, gp_model_image *image,
                                 gp_model_image *noise, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    for (size_t i = 0; st == ADVGP_OK && i < image->n; i++) st = copy_tensor(file, &image->list[i], err);
    for (size_t i = 0; st == ADVGP_OK && i < noise->n; i++) st = copy_tensor(file, &noise->list[i], err);
    if (st == ADVGP_OK) st = refuse_unknown(file, image, noise, err);
    if (st == ADVGP_OK) st = check_scales(model, image, err);
    if (st == ADVGP_OK && model->noise) {
        model->noise->schema->y_mean = noise->y_mean;
        model->noise->schema->y_scale = noise->y_scale;
    }
    if (st == ADVGP_OK) st = gp_model_check(model, ADVGP_EFILE, err);
    if (st == ADVGP_OK) st = model->form->unpack(image, model, err);
    return st == ADVGP_OK && model->noise ? model->noise->form->unpack(noise, model->noise, err) : st;
}

// ---- the proof ------------------------------------------------------------------------------------------------------

static advgp_status check_golden(const gp_model *model, const gp_model_image *image, const gp_predictor *predictor,
                                 advgp_error *err)
{
    static const char *const names[3] = {"mean", "sd_f", "sd_y"};
    double got[GP_GOLDEN_VALUES];
    advgp_status st = gp_model_image_golden_y(image, model, predictor, got, err);
    for (size_t i = 0; st == ADVGP_OK && i < GP_GOLDEN_VALUES; i++) {
        const double told = image->golden_y[i], sd_y = got[i / 3 * 3 + 2];
        if (!(fabs(got[i] - told) <= golden_tolerance * sd_y))
            st = gp_fail(err, ADVGP_EFILE,
                         "golden row %zu: %s is %.10g, and %.10g was expected; the file was changed, or this machine "
                         "computes differently: train again",
                         i / 3, names[i % 3], got[i], told);
    }
    return st;
}

static advgp_status prove(const gp_model *model, const gp_model_image *image, advgp_error *err)
{
    gp_predictor *predictor = NULL;
    advgp_status st = gp_model_predictor(model, &predictor, err);
    if (st == ADVGP_OK) st = check_golden(model, image, predictor, err);
    gp_predictor_free(predictor);
    return st;
}

// A share of the memory, and seconds of a core that multiplies as any of the last ten years does. A model of 4,000
// inducing inputs is within them on 8 GB.
static const double share_of_memory = 0.25, seconds_most = 10, flops_a_second = 25e9;

static advgp_status check_cost(const gp_model *model, advgp_error *err)
{
    gp_load_cost c = model->form->cost(model);
    if (model->noise) {
        const gp_load_cost more = model->noise->form->cost(model->noise);
        c.bytes += more.bytes, c.flops += more.flops;
    }
    const double seconds = c.flops / flops_a_second, room = share_of_memory * gp_memory_bytes();
    if (c.bytes <= room && seconds <= seconds_most) return ADVGP_OK;
    return gp_fail(err, ADVGP_EFILE,
                   "to use this model takes about %.2g GB of memory and %.2g s of arithmetic, beyond what a file may "
                   "ask for (%.2g GB, %g s): if you know who made it, say {trust}",
                   c.bytes / 1e9, seconds, room / 1e9, seconds_most);
}

static advgp_status build(const gp_tensorfile *file, const json_t *o, gp_trust trust, gp_model **out, advgp_error *err)
{
    gp_model_image image = {0}, noise = {0};
    advgp_status st = make_model(file, o, out, err);
    gp_model *model = *out;
    if (st == ADVGP_OK) st = make_noise(file, json_object_get(o, "noise"), model, err);
    if (st == ADVGP_OK && trust != GP_TRUSTED) {
        const advgp_status within = check_cost(model, trust == GP_SEEN ? NULL : err);
        model->unproven = within != ADVGP_OK;
        if (trust == GP_BOUNDED) st = within;
    }
    if (st == ADVGP_OK)
        st = gp_calibration_expect(&model->calibration, gp_tensorfile_find(file, "calibration_tails"),
                                   gp_tensorfile_find(file, "group_calibration"), err);
    if (st == ADVGP_OK) st = gp_model_image_init(&image, model, err);
    if (st == ADVGP_OK && model->noise) st = gp_model_image_noise(&noise, model, err);
    if (st == ADVGP_OK) st = read_tensors(file, model, &image, &noise, err);
    if (st == ADVGP_OK) gp_calibration_ready(&model->calibration);
    if (st == ADVGP_OK && !model->unproven) st = prove(model, &image, err);
    gp_model_image_fini(&noise);
    gp_model_image_fini(&image);
    return st;
}

// Messages of the rooms below, which know no file, begin with its name; whatever they call it, a file is to blame.
static advgp_status blame(const char *path, advgp_status st, advgp_error *err)
{
    if (st == ADVGP_OK || st == ADVGP_ENOMEM) return st;
    if (err && strncmp(err->text, path, strlen(path)) != 0) (void)gp_wrap(err, st, "%.200s", path);
    if (err) err->status = ADVGP_EFILE;
    return ADVGP_EFILE;
}

// Takes the file, which was read with this status.
static advgp_status load(const char *path, gp_trust trust, gp_tensorfile *file, advgp_status st, gp_model **out,
                         advgp_error *err)
{
    json_t *o = NULL;
    gp_model *model = NULL;
    if (st == ADVGP_OK) st = read_metadata(file, &o, err);
    if (st == ADVGP_OK) st = check_sums(file, o, err);
    if (st == ADVGP_OK) st = build(file, o, trust, &model, err);
    json_decref(o);
    gp_tensorfile_free(file);
    if (st == ADVGP_OK)
        *out = model;
    else
        gp_model_free(model);
    return blame(path, st, err);
}

advgp_status gp_model_load(const char *path, gp_model **out, advgp_error *err)
{
    return gp_model_load_as(path, GP_BOUNDED, out, err);
}

advgp_status gp_model_load_as(const char *path, gp_trust trust, gp_model **out, advgp_error *err)
{
    *out = NULL;
    if (!path) return gp_fail(err, ADVGP_EINVAL, "model: no file to load");
    gp_tensorfile *file = NULL;
    const advgp_status st = gp_tensorfile_read(path, &file, err);
    if (st == ADVGP_EDATA) return st; // there is no file to blame
    if (st == ADVGP_EFILE && gp_guess_file(path) == GP_GUESS_TABLE)
        return gp_fail(err, st, "%.200s is a table, not a model", path);
    return load(path, trust, file, st, out, err);
}

advgp_status gp_model_load_memory(const void *bytes, size_t n, gp_model **out, advgp_error *err)
{
    static const char name[] = "the model in memory";
    *out = NULL;
    if (!bytes) return gp_fail(err, ADVGP_EINVAL, "model: no bytes to load");
    gp_tensorfile *file = NULL;
    const advgp_status st = gp_tensorfile_read_memory(bytes, n, name, &file, err);
    return load(name, GP_BOUNDED, file, st, out, err);
}
