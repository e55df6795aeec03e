// form_table.c: the list of model forms, one line each, and what they share.
#include "store/form.h"

#include "base/alloc.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const gp_model_form *const gp_model_forms[] = {
    &gp_form_weights,
    &gp_form_linear,
    &gp_form_exact,
    NULL,
};

const gp_model_form *gp_model_form_named(const char *name)
{
    for (const gp_model_form *const *form = gp_model_forms; *form; form++)
        if (name && !strcmp((*form)->name, name)) return *form;
    return NULL;
}

advgp_status gp_model_alloc(const gp_model_form *form, size_t n_theta, const char *sql, gp_model **out,
                            advgp_error *err)
{
    gp_model *m = gp_alloc(1, sizeof *m);
    *out = NULL;
    if (!m) return gp_no_memory(err);
    m->form = form;
    m->format = GP_MODEL_FORMAT;
    gp_calibration_init(&m->calibration);
    m->theta = gp_alloc(n_theta, sizeof *m->theta);
    m->sql = sql ? gp_text_copy(sql, strlen(sql)) : NULL;
    m->record = json_object();
    m->options = json_object();
    m->baseline_mean = m->baseline_linear = NAN;
    memcpy(m->method, "advgp", sizeof "advgp");
    snprintf(m->writer, sizeof m->writer, "%s", advgp_version());
    if (m->theta && (m->sql || !sql) && m->record && m->options) {
        *out = m;
        return ADVGP_OK;
    }
    gp_model_free(m);
    return gp_no_memory(err);
}

// ---- metadata -------------------------------------------------------------------------------------------------------

static const char *const trends[] = {
    [GP_TREND_NONE] = "none", [GP_TREND_CONSTANT] = "constant", [GP_TREND_LINEAR] = "linear"};

const char *gp_trend_name(gp_trend trend)
{
    return trends[trend];
}

advgp_status gp_metadata_bad(advgp_error *err, const char *what)
{
    return gp_fail(err, ADVGP_EFILE, "the metadata is damaged: %s", what);
}

bool gp_metadata_size(const json_t *o, size_t most, size_t *out)
{
    if (!json_is_integer(o) || json_integer_value(o) < 0) return false;
    *out = (size_t)json_integer_value(o);
    return *out <= most;
}

advgp_status gp_metadata_d_and_trend(const json_t *metadata, size_t *d, gp_trend *trend, advgp_error *err)
{
    const char *name = json_string_value(json_object_get(metadata, "trend"));
    if (!gp_metadata_size(json_object_get(metadata, "d"), 1000000, d) || !*d)
        return gp_metadata_bad(err, "its number of inputs");
    for (size_t i = 0; name && i < sizeof trends / sizeof *trends; i++)
        if (!strcmp(name, trends[i])) {
            *trend = (gp_trend)i;
            return ADVGP_OK;
        }
    return gp_metadata_bad(err, "its trend or jitter");
}
