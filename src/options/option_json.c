// option_json.c: options as JSON, each of its kind.
#include "options/option_json.h"
#include "store/runlog.h"

static json_t *list_json(const gp_option_value *value)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < value->n_items; i++)
        if (json_array_append_new(list, gp_json_text(value->items[i])) != 0) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

static json_t *value_json(const gp_option_value *value)
{
    if (value->word) return json_string(value->word);
    switch (value->option->kind) {
    case GP_OPTION_FLAG:
        return json_boolean(value->flag);
    case GP_OPTION_INTEGER:
        return json_integer(value->integer);
    case GP_OPTION_REAL:
        return json_real(value->real);
    case GP_OPTION_LIST:
        return list_json(value);
    case GP_OPTION_CHOICE:
    case GP_OPTION_TEXT:
    case GP_OPTION_FILE:
    case GP_OPTION_DIR:
        break;
    }
    return gp_json_text(value->text);
}

json_t *gp_options_json(const gp_options *options)
{
    json_t *object = json_object();
    for (size_t i = 0; object && i < options->n_values; i++) {
        const gp_option_value *value = &options->values[i];
        if (!value->present || value->option->facets & GP_OF_COMMAND_LINE) continue;
        if (json_object_set_new(object, value->option->name, value_json(value)) != 0) {
            json_decref(object);
            object = NULL;
        }
    }
    return object;
}
