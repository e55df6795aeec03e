// model.c: models of callers: loaded, saved, asked what they are.
#include "api/inspect.h"
#include "base/alloc.h"
#include "data/encoding.h"
#include "lib/handles.h"
#include "linalg/blas.h"

#include <string.h>

advgp_status library_model_take(gp_model *model, advgp_model **out, advgp_error *err)
{
    *out = NULL;
    advgp_model *m = gp_alloc(1, sizeof *m);
    if (!m) {
        gp_model_free(model);
        return gp_no_memory(err);
    }
    const gp_schema *schema = model->schema;
    m->model = model;
    m->inverse_scale = gp_alloc(schema->d, sizeof *m->inverse_scale);
    advgp_status st = m->inverse_scale ? gp_model_predictor(model, &m->predictor, err) : gp_no_memory(err);
    for (size_t j = 0; st == ADVGP_OK && j < schema->d; j++) m->inverse_scale[j] = 1 / schema->x_scale[j];
    if (st != ADVGP_OK) {
        advgp_model_free(m);
        return st;
    }
    *out = m;
    return ADVGP_OK;
}

// What is to be loaded: a file, or the n bytes of one.
typedef struct place {
    const char *path;
    gp_trust trust; // of a file
    const void *bytes;
    size_t n;
} place;

static advgp_status load(place from, advgp_model **out, advgp_error *err)
{
    gp_model *model = NULL;
    gp_blas_enter();
    advgp_status st = gp_blas_reserve(1, err); // its golden rows are computed
    if (st == ADVGP_OK)
        st = from.path ? gp_model_load_as(from.path, from.trust, &model, err)
                       : gp_model_load_memory(from.bytes, from.n, &model, err);
    if (st == ADVGP_OK) st = library_model_take(model, out, err);
    gp_blas_leave();
    return library_said(st, err);
}

advgp_status advgp_model_load(const char *path, advgp_model **out, advgp_error *err)
{
    if (!library_has(out, "place for the result", err)) return ADVGP_EINVAL;
    *out = NULL;
    if (!path) return gp_fail(err, ADVGP_EINVAL, "model: no file to load");
    return load((place){.path = path, .trust = GP_BOUNDED}, out, err);
}

advgp_status advgp_model_load_trusted(const char *path, advgp_model **out, advgp_error *err)
{
    if (!library_has(out, "place for the result", err)) return ADVGP_EINVAL;
    *out = NULL;
    if (!path) return gp_fail(err, ADVGP_EINVAL, "model: no file to load");
    return load((place){.path = path, .trust = GP_TRUSTED}, out, err);
}

advgp_status advgp_model_load_memory(const void *bytes, size_t n, advgp_model **out, advgp_error *err)
{
    if (!library_has(out, "place for the result", err)) return ADVGP_EINVAL;
    *out = NULL;
    return load((place){.bytes = bytes, .n = n}, out, err);
}

advgp_status advgp_model_save(const advgp_model *model, const char *path, advgp_error *err)
{
    if (!library_has(model, "model", err)) return ADVGP_EINVAL;
    if (!library_has(path, "name of a file", err)) return ADVGP_EINVAL;
    gp_blas_enter();
    advgp_status st = gp_blas_reserve(1, err);
    if (st == ADVGP_OK) st = gp_model_save(model->model, path, err);
    gp_blas_leave();
    return library_said(st, err);
}

void advgp_model_free(advgp_model *model)
{
    if (!model) return;
    gp_predictor_free(model->predictor);
    gp_free(model->inverse_scale);
    gp_model_free(model->model);
    gp_free(model);
}

advgp_status advgp_model_inspect(const advgp_model *model, char **json, advgp_error *err)
{
    if (!library_has(json, "place for the result", err)) return ADVGP_EINVAL;
    json_t *object;
    *json = NULL;
    if (!library_has(model, "model", err)) return ADVGP_EINVAL;
    const advgp_status st = gp_inspect_json(model->model, NULL, &object, err);
    return library_said(st == ADVGP_OK ? library_json_take(object, json, err) : st, err);
}

static size_t lines_of(const gp_buffer *text)
{
    size_t n = 0;
    for (size_t i = 0; i < text->n; i++) n += text->p[i] == '\n';
    return n;
}

// As many columns as there is room for.
static advgp_status describe(const gp_model *model, gp_buffer *out, advgp_error *err)
{
    enum { LINES = 60 };
    advgp_status st = ADVGP_OK;
    for (size_t shown = LINES / 2; st == ADVGP_OK && shown; shown--) {
        gp_buffer_fini(out);
        st = gp_inspect_text(model, NULL, (gp_inspect_page){.shown = shown, .brief = true}, out, err);
        if (lines_of(out) <= LINES) break;
    }
    return st;
}

advgp_status advgp_model_describe(const advgp_model *model, char **text, advgp_error *err)
{
    if (!library_has(text, "place for the result", err)) return ADVGP_EINVAL;
    gp_buffer b = {0};
    *text = NULL;
    if (!library_has(model, "model", err)) return ADVGP_EINVAL;
    advgp_status st = describe(model->model, &b, err);
    if (st == ADVGP_OK && !b.failed) *text = gp_text_copy(b.p, b.n);
    gp_buffer_fini(&b);
    if (st == ADVGP_OK && !*text) st = gp_no_memory(err);
    return library_said(st, err);
}

// ---- its columns ----------------------------------------------------------------------------------------------------

const char *advgp_model_target(const advgp_model *model)
{
    return model ? model->model->schema->target : NULL;
}

size_t advgp_model_inputs(const advgp_model *model)
{
    return model ? model->model->schema->n_inputs : 0;
}

const char *advgp_model_input(const advgp_model *model, size_t i, advgp_kind *kind)
{
    const gp_schema *s = model ? model->model->schema : NULL;
    if (!s || i >= s->n_inputs) return NULL;
    if (kind) *kind = s->inputs[i].encoding->kind;
    return s->inputs[i].name;
}

double advgp_model_category(const advgp_model *model, size_t i, const char *text)
{
    const gp_schema *s = model ? model->model->schema : NULL;
    if (!s || i >= s->n_inputs || !text) return GP_NO_CATEGORY;
    return (double)gp_categories_find(&s->inputs[i].categories, (gp_text){.p = text, .n = strlen(text)});
}
