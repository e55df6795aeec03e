// decode.c: see decode.h.
#include "report/decode.h"
#include "base/whole.h"

#include <math.h>
#include <time.h>

static const int64_t times_max = INT64_C(1) << 56; // seconds; gmtime knows no more years

// The category whose one-hot column stands out, or whose target mean is nearest.
static double category_of(const gp_schema *s, const gp_input *input, const double *x)
{
    size_t best = 0;
    double off, least = INFINITY;
    for (size_t k = 0; k < input->categories.n; k++) {
        const bool onehot = input->encoding == GP_ENCODING_ONEHOT;
        const size_t at = input->first + (onehot ? k : 0);
        off = fabs(gp_schema_input(s, at, x[at]) - (onehot ? 1 : input->category_values[k]));
        if (off < least) best = k, least = off;
    }
    return least < 1e-3 * (input->encoding == GP_ENCODING_ONEHOT ? 1 : s->x_scale[input->first]) ? (double)best : NAN;
}

double gp_decode(const gp_schema *s, const gp_input *input, const double *x)
{
    const size_t last = input->first + input->n_encoded - 1;
    if (input->indicator && gp_schema_input(s, last, x[last]) > 0.5) return NAN;
    if (input->encoding == GP_ENCODING_ONEHOT || input->encoding == GP_ENCODING_TARGET) return category_of(s, input, x);
    const double first = gp_schema_input(s, input->first, x[input->first]);
    if (input->type == GP_BOOLEAN) return round(first);
    if (input->encoding != GP_ENCODING_TIME) return gp_schema_shown(s, input->first, x[input->first]);
    return input->time_parts & 1U << GP_TIME_DAYS ? round(first * 86400) : NAN;
}

bool gp_input_is_discrete(const gp_input *input)
{
    return input->type == GP_BOOLEAN || input->encoding == GP_ENCODING_ONEHOT || input->encoding == GP_ENCODING_TARGET;
}

const char *gp_time_text(double seconds, char out[GP_TIME_TEXT_BYTES])
{
    const time_t since_1970 = (time_t)gp_whole(seconds, -times_max, times_max) + 946684800;
    const char *format = fmod(seconds, 86400) == 0 ? "%Y-%m-%d" : "%Y-%m-%d %H:%M";
    struct tm parts;
    *out = 0;
    if (gmtime_r(&since_1970, &parts)) (void)strftime(out, GP_TIME_TEXT_BYTES, format, &parts);
    return out;
}

void gp_decode_text(const gp_input *input, double value, gp_buffer *out)
{
    if (!isfinite(value)) {
        gp_buffer_add(out, "\u2013");
    } else if (input->encoding == GP_ENCODING_ONEHOT || input->encoding == GP_ENCODING_TARGET) {
        const gp_category *c = &input->categories.items[gp_index(value, input->categories.n - 1)];
        gp_buffer_bytes(out, c->text, c->n);
    } else if (input->encoding == GP_ENCODING_TIME) {
        char text[GP_TIME_TEXT_BYTES];
        gp_buffer_add(out, "%s", gp_time_text(value, text));
    } else if (input->type == GP_BOOLEAN) {
        gp_buffer_add(out, value != 0 ? "true" : "false");
    } else {
        gp_buffer_add(out, "%.6g", value);
    }
}
