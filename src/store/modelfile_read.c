// modelfile_read.c: a model out of a file that anybody may have made. What the metadata claims is checked against the
// tensors before memory is taken for it; at the end the model must predict its golden rows.
#include "base/alloc.h"
#include "base/text.h"
#include "linalg/dense.h"
#include "store/modelimage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 24 };
static const double golden_tolerance = 1e-6; // of sd_y

static advgp_status bad(advgp_error *err, const char *what)
{
    return gp_fail(err, ADVGP_EFILE, "the metadata is damaged: %s", what);
}

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
    return json_integer_value(format) == GP_MODEL_FORMAT ? ADVGP_OK : bad(err, "its format version");
}

static advgp_status check_sums(const gp_tensorfile *file, const json_t *o, advgp_error *err)
{
    const char *text = file->metadata, *told = json_string_value(json_object_get(o, "xxh3"));
    const size_t n = strlen(text);
    char tail[GP_TEXT_TAIL_BYTES + 1], hex[17];
    if (n < GP_TEXT_TAIL_BYTES) return bad(err, "it has no checksum");
    gp_model_text_tail(text, n - GP_TEXT_TAIL_BYTES, tail);
    if (strcmp(tail, text + n - GP_TEXT_TAIL_BYTES) != 0)
        return bad(err, "its checksum differs; restore the file, or train again");
    snprintf(hex, sizeof hex, "%016llx", (unsigned long long)file->xxh3);
    if (!told || strcmp(told, hex) != 0)
        return gp_fail(err, ADVGP_EFILE,
                       "the tensors are damaged: their checksum is %s, and %.16s was expected; restore the file, or "
                       "train again",
                       hex, told ? told : "none");
    return ADVGP_OK;
}

static bool read_size(const json_t *o, size_t most, size_t *out)
{
    if (!json_is_integer(o) || json_integer_value(o) < 0) return false;
    *out = (size_t)json_integer_value(o);
    return *out <= most;
}

static advgp_status read_sizes(const json_t *list, size_t **out, size_t *n, advgp_error *err)
{
    *n = json_array_size(list);
    if (!json_is_array(list) || *n == 0 || *n > GP_MODEL_INDUCING_MAX) return bad(err, "the groups of a component");
    gp_free(*out);
    *out = gp_alloc(*n, sizeof **out);
    if (!*out) return gp_fail(err, ADVGP_ENOMEM, "no memory for the groups of a component");
    for (size_t i = 0; i < *n; i++)
        if (!read_size(json_array_get(list, i), GP_MODEL_INDUCING_MAX, &(*out)[i]))
            return bad(err, "the groups of a component");
    return ADVGP_OK;
}

// What gp_model_new copies; the arrays of groups are freed by spec_fini.
typedef struct claims {
    gp_feature_spec spec;
    gp_component_spec *components;
    size_t **group_m, **group_rank; // one a component
    size_t M;                       // features
} claims;

static void claims_fini(claims *c)
{
    for (size_t b = 0; c->group_m && b < c->spec.n_components; b++) gp_free(c->group_m[b]);
    for (size_t b = 0; c->group_rank && b < c->spec.n_components; b++) gp_free(c->group_rank[b]);
    gp_free(c->group_m);
    gp_free(c->group_rank);
    gp_free(c->components);
}

static advgp_status read_component(const json_t *o, claims *c, size_t b, advgp_error *err)
{
    gp_component_spec *to = &c->components[b];
    const char *kernel = json_string_value(json_object_get(o, "kernel"));
    const char *map = json_string_value(json_object_get(o, "map"));
    const json_t *groups = json_object_get(o, "groups"), *ranks = json_object_get(o, "group_ranks");
    if (!kernel || !map) return bad(err, "a component without kernel or map");
    to->kernel = gp_kernel_named(kernel);
    to->map = gp_map_named(map);
    if (!to->kernel || !to->map)
        return gp_fail(err, ADVGP_EFILE, "kernel '%.40s' or map '%.40s' is not known to this advgp (%s)", kernel, map,
                       advgp_version());
    if (!read_size(json_object_get(o, "m"), GP_MODEL_INDUCING_MAX, &to->shape.m) ||
        !read_size(json_object_get(o, "rank"), GP_MODEL_INDUCING_MAX, &to->shape.rank))
        return bad(err, "the size of a component");
    size_t n_ranks = 0;
    advgp_status st = groups ? read_sizes(groups, &c->group_m[b], &to->shape.n_groups, err) : ADVGP_OK;
    if (st == ADVGP_OK && ranks) st = read_sizes(ranks, &c->group_rank[b], &n_ranks, err);
    if (st != ADVGP_OK) return st;
    if (ranks && n_ranks != to->shape.n_groups) return bad(err, "a component with more or fewer ranks than groups");
    to->shape.group_m = c->group_m[b];
    to->shape.group_rank = c->group_rank[b];
    size_t M = 0;
    st = to->map->features(&to->shape, &M, err);
    c->M += M;
    return st == ADVGP_EINVAL ? gp_wrap(err, ADVGP_EFILE, "component %zu", b) : st;
}

static advgp_status read_components(const json_t *list, claims *c, advgp_error *err)
{
    const size_t n = json_array_size(list);
    if (!json_is_array(list) || n > GP_MODEL_COMPONENTS_MAX) return bad(err, "its list of components");
    c->components = gp_alloc(n, sizeof *c->components);
    c->group_m = gp_alloc(n, sizeof *c->group_m);
    c->group_rank = gp_alloc(n, sizeof *c->group_rank);
    if (!c->components || !c->group_m || !c->group_rank)
        return gp_fail(err, ADVGP_ENOMEM, "no memory for %zu components", n);
    c->spec.components = c->components;
    c->spec.n_components = n;
    size_t m = 0;
    for (size_t b = 0; b < n; b++) {
        advgp_status st = read_component(json_array_get(list, b), c, b, err);
        if (st != ADVGP_OK) return st;
        m += c->components[b].shape.m;
    }
    return m <= GP_MODEL_INDUCING_MAX ? ADVGP_OK : bad(err, "too many inducing inputs");
}

static advgp_status read_claims(const json_t *o, claims *c, advgp_error *err)
{
    const char *trend = json_string_value(json_object_get(o, "trend"));
    const json_t *jitter = json_object_get(o, "jitter");
    if (!read_size(json_object_get(o, "d"), 1000000, &c->spec.d) || !c->spec.d) return bad(err, "its number of inputs");
    if (!trend || !json_is_number(jitter)) return bad(err, "its trend or jitter");
    c->spec.jitter = json_number_value(jitter);
    if (strcmp(trend, "linear") == 0)
        c->spec.trend = GP_TREND_LINEAR;
    else if (strcmp(trend, "constant") == 0)
        c->spec.trend = GP_TREND_CONSTANT;
    else if (strcmp(trend, "none") != 0)
        return bad(err, "its trend");
    c->M = c->spec.trend == GP_TREND_LINEAR ? 1 + c->spec.d : c->spec.trend == GP_TREND_CONSTANT ? 1 : 0;
    return read_components(json_object_get(o, "components"), c, err);
}

// The tensors that cost a writer as much as a reader: whoever claims a size must have sent it.
static advgp_status check_claims(const gp_tensorfile *file, const claims *c, advgp_error *err)
{
    const gp_tensor *t;
    advgp_status st = gp_tensorfile_need(file, "u", GP_F64, 1, (size_t[]){c->M * (c->M + 1) / 2}, &t, err);
    for (size_t b = 0; st == ADVGP_OK && b < c->spec.n_components; b++) {
        char name[NAME_BYTES];
        snprintf(name, sizeof name, c->spec.n_components > 1 ? "z.%zu" : "z", b);
        st = gp_tensorfile_need(file, name, GP_F64, 2, (size_t[]){c->components[b].shape.m, c->spec.d}, &t, err);
    }
    return st;
}

static advgp_status read_schema(const json_t *o, gp_schema **out, advgp_error *err)
{
    char *text = json_dumps(json_object_get(o, "schema"), JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!text) return bad(err, "it has no schema");
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
    if (!method || strlen(method) >= sizeof model->method) return bad(err, "its method");
    if (!writer || strlen(writer) >= sizeof model->writer) return bad(err, "its writer");
    if (!json_is_object(record) || !json_is_object(options) || !json_is_object(baseline))
        return bad(err, "record, options or baseline");
    if (!read_size(json_object_get(o, "n_calibration"), SIZE_MAX / 2, &model->n_calibration))
        return bad(err, "n_calibration");
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
    claims c = {0};
    gp_schema *schema = NULL;
    const json_t *sql = json_object_get(o, "sql");
    advgp_status st = read_claims(o, &c, err);
    if (st == ADVGP_OK) st = check_claims(file, &c, err);
    if (st == ADVGP_OK) st = read_schema(o, &schema, err);
    if (st == ADVGP_OK && !json_is_string(sql) && !json_is_null(sql)) st = bad(err, "sql");
    if (st == ADVGP_OK) st = gp_model_new(&c.spec, schema, json_string_value(sql), out, err);
    if (st != ADVGP_OK) gp_schema_free(schema); // gp_model_new takes it on success only
    claims_fini(&c);
    return st == ADVGP_OK ? read_words(o, *out, err) : st;
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

static advgp_status refuse_unknown(const gp_tensorfile *file, const gp_model_image *image, advgp_error *err)
{
    for (size_t i = 0; i < file->n; i++) {
        size_t k = 0;
        while (k < image->n && strcmp(image->list[k].name, file->tensors[i].name) != 0) k++;
        if (k == image->n)
            return gp_fail(err, ADVGP_EFILE, "tensor '%.80s' has no place in this model", file->tensors[i].name);
    }
    return ADVGP_OK;
}

static advgp_status check_values(const gp_model *model, const gp_model_image *image, advgp_error *err)
{
    const gp_schema *s = model->schema;
    const size_t bytes = s->d * sizeof(double);
    if (memcmp(image->x_mean, s->x_mean, bytes) != 0 || memcmp(image->x_scale, s->x_scale, bytes) != 0 ||
        image->y_mean != s->y_mean || image->y_scale != s->y_scale)
        return gp_fail(err, ADVGP_EFILE, "the scales of its tensors and of its schema differ");
    for (size_t i = 0; model->calibration && i < GP_CALIBRATION_LEVELS; i++)
        if (!(model->calibration[i] >= (i ? model->calibration[i - 1] : 0)))
            return gp_fail(err, ADVGP_EFILE, "its calibration falls at level %zu", i);
    if (!(model->stats.n >= 0 && model->stats.yy >= 0))
        return gp_fail(err, ADVGP_EFILE, "its statistics are of no data: n %g, yy %g", model->stats.n, model->stats.yy);
    for (size_t b = 0; b < model->spec.n_components; b++)
        if (!(image->jitter[b] >= 0 && image->jitter[b] <= 1e-2))
            return gp_fail(err, ADVGP_EFILE, "the jitter of component %zu is %g", b, image->jitter[b]);
    return ADVGP_OK;
}

static advgp_status read_tensors(const gp_tensorfile *file, gp_model *model, gp_model_image *image, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    for (size_t i = 0; st == ADVGP_OK && i < image->n; i++) st = copy_tensor(file, &image->list[i], err);
    if (st == ADVGP_OK) st = refuse_unknown(file, image, err);
    if (st == ADVGP_OK) st = check_values(model, image, err);
    if (st != ADVGP_OK) return st;
    gp_upper_unpack(model->layout.M, image->stat_a, model->stats.A);
    gp_mat_mirror_upper(model->stats.A);
    for (size_t b = 0; b < model->spec.n_components; b++) model->rungs[b] = image->jitter[b];
    return ADVGP_OK;
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

static advgp_status build(const gp_tensorfile *file, const json_t *o, gp_model **out, advgp_error *err)
{
    gp_model_image image = {0};
    advgp_status st = make_model(file, o, out, err);
    gp_model *model = *out;
    if (st == ADVGP_OK && model->n_calibration) {
        model->calibration = gp_alloc(GP_CALIBRATION_LEVELS, sizeof *model->calibration);
        if (!model->calibration) st = gp_fail(err, ADVGP_ENOMEM, "no memory for the calibration");
    }
    if (st == ADVGP_OK) st = gp_model_image_init(&image, model, err);
    if (st == ADVGP_OK) st = read_tensors(file, model, &image, err);
    if (st == ADVGP_OK) st = prove(model, &image, err);
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

advgp_status gp_model_load(const char *path, gp_model **out, advgp_error *err)
{
    *out = NULL;
    if (!path) return gp_fail(err, ADVGP_EINVAL, "model: no file to load");
    gp_tensorfile *file = NULL;
    json_t *o = NULL;
    gp_model *model = NULL;
    advgp_status st = gp_tensorfile_read(path, &file, err);
    if (st == ADVGP_OK) st = read_metadata(file, &o, err);
    if (st == ADVGP_OK) st = check_sums(file, o, err);
    if (st == ADVGP_OK) st = build(file, o, &model, err);
    json_decref(o);
    gp_tensorfile_free(file);
    if (st == ADVGP_OK)
        *out = model;
    else
        gp_model_free(model);
    return blame(path, st, err);
}
