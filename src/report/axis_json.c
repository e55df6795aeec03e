// axis_json.c: see axis_json.h.
#include "report/axis_json.h"
#include "data/encoding.h"
#include "report/decode.h"
#include "report/html.h"
#include "store/runlog.h"

#include <math.h>

json_t *gp_axis_value(const gp_input *input, double value)
{
    if (input->encoding->kind == ADVGP_KIND_TIME)
        return gp_json_real((value + 946684800) * 1000); // milliseconds since 1970
    if (!gp_input_is_discrete(input)) return gp_json_real(value);
    gp_buffer text = {0};
    gp_decode_text(input, value, &text);
    json_t *name = gp_chart_text(text.p ? text.p : "");
    gp_buffer_fini(&text);
    return name;
}

const char *gp_axis_type(const gp_input *input)
{
    return gp_input_is_discrete(input)                ? "nominal"
           : input->encoding->kind == ADVGP_KIND_TIME ? "temporal"
                                                      : "quantitative";
}

json_t *gp_axis_scale(const gp_input *input)
{
    if (gp_input_is_discrete(input)) return NULL;
    if (input->encoding->kind == ADVGP_KIND_TIME) return json_pack("{s:s, s:b}", "type", "utc", "nice", 0);
    return json_pack("{s:b, s:b}", "zero", 0, "nice", 0);
}

json_t *gp_axis_format(double lo, double hi)
{
    const double size = fmax(fabs(lo), fabs(hi));
    return size >= 1000 && size < 10000 ? json_string(".4~f") : NULL;
}

json_t *gp_axis_input_format(const gp_input *input)
{
    const bool number = input->encoding->kind == ADVGP_KIND_NUMBER;
    return number ? gp_axis_format(input->range.lo, input->range.hi) : NULL;
}
