// encoding_time.c: a date as up to ten numbers: the day itself, and its places in the year, the week and the day.
#include "base/whole.h"
#include "data/encoding_kit.h"

#include <math.h>
#include <string.h>
#include <time.h>

// ---- the calendar ---------------------------------------------------------------------------------------------------
const char *gp_time_part_name(gp_time_part part)
{
    static const char *const names[] = {"days",
                                        "day of year",
                                        "weekday",
                                        "minute of day",
                                        "sine of the year",
                                        "cosine of the year",
                                        "sine of the week",
                                        "cosine of the week",
                                        "sine of the day",
                                        "cosine of the day"};
    return names[part];
}

// The year of a day, by the 400-year cycle of the Gregorian calendar counted from March, so that a leap day is the last
// of its year.
static double day_of_year(double days)
{
    double z = days + 730425;       // days since 0000-03-01
    double era = floor(z / 146097); // 400 years
    double doe = z - era * 146097;  // day of the era
    double yoe = floor((doe - floor(doe / 1460) + floor(doe / 36524) - floor(doe / 146096)) / 365);
    double doy = doe - (365 * yoe + floor(yoe / 4) - floor(yoe / 100)); // 0 on 1 March
    double year = yoe + 400 * era + (doy >= 306 ? 1 : 0);
    bool leap = fmod(year, 4) == 0 && (fmod(year, 100) != 0 || fmod(year, 400) == 0);
    return doy >= 306 ? doy - 305 : doy + 60 + leap;
}

void gp_time_split(double seconds, double parts[GP_TIME_PARTS])
{
    double day = floor(seconds / 86400);
    double weekday = fmod(day + 5, 7); // 2000-01-01 was a Saturday; Monday is 1
    parts[GP_TIME_DAYS] = seconds / 86400;
    parts[GP_TIME_YEARDAY] = day_of_year(day);
    parts[GP_TIME_WEEKDAY] = (weekday < 0 ? weekday + 7 : weekday) + 1;
    parts[GP_TIME_MINUTE] = (seconds - day * 86400) / 60;
    static const double two_pi = 6.283185307179586;
    const double turns[] = {(parts[GP_TIME_YEARDAY] - 1) / 365.25, (parts[GP_TIME_WEEKDAY] - 1) / 7,
                            parts[GP_TIME_MINUTE] / 1440};
    for (int i = 0; i < 3; i++) {
        parts[GP_TIME_YEAR_SINE + 2 * i] = sin(two_pi * turns[i]);
        parts[GP_TIME_YEAR_COSINE + 2 * i] = cos(two_pi * turns[i]);
    }
}

static const int64_t times_max = INT64_C(1) << 56; // seconds; gmtime knows no more years

const char *gp_time_text(double seconds, char out[GP_TIME_TEXT_BYTES])
{
    const time_t since_1970 = (time_t)gp_whole(seconds, -times_max, times_max) + 946684800;
    const char *format = fmod(seconds, 86400) == 0 ? "%Y-%m-%d" : "%Y-%m-%d %H:%M";
    struct tm parts;
    *out = 0;
    if (gmtime_r(&since_1970, &parts)) (void)strftime(out, GP_TIME_TEXT_BYTES, format, &parts);
    return out;
}

// ---- the first pass -------------------------------------------------------------------------------------------------
static advgp_status observe(gp_fit *f, gp_candidate *c, const gp_chunk *chunk, advgp_error *err)
{
    const double *values;
    size_t n;
    const advgp_status st = gp_fit_numbers(f, c, chunk, &values, &n, err);
    if (st != ADVGP_OK) return st;
    double parts[GP_TIME_PARTS][64], all[GP_TIME_PARTS];
    for (size_t first = 0; first < n; first += 64) { // in pieces that fit on the stack
        size_t m = n - first < 64 ? n - first : 64;
        for (size_t i = 0; i < m; i++) {
            gp_time_split(f->x[first + i], all);
            for (int p = 0; p < GP_TIME_PARTS; p++) parts[p][i] = all[p];
        }
        for (int p = 0; p < GP_TIME_PARTS; p++) gp_moments_add(&c->moments[p], m, parts[p], f->w + first);
    }
    return ADVGP_OK;
}

static bool is_constant(const gp_candidate *c)
{
    bool constant = true;
    for (int p = 0; p < GP_TIME_PARTS; p++) constant = constant && c->moments[p].least == c->moments[p].most;
    return constant;
}

// Years that hardly any table has: a date that was read in another way than it was written.
static advgp_status note_odd_years(const gp_fit *f, gp_candidate *c, advgp_error *err)
{
    static const double year = 365.2425;
    const char *name = gp_fit_column(f, c)->name;
    const double first = 2000 + floor(c->moments[GP_TIME_DAYS].least / year);
    const double last = 2000 + floor(c->moments[GP_TIME_DAYS].most / year);
    if (first >= 1800 && last <= 2200) return ADVGP_OK;
    return gp_notes_add(f->notes, err, 1,
                        "column '%s' has dates from the year %.0f to the year %.0f: where these are wrong, "
                        "{date-format} '%s=%s' says how they are written",
                        name, first, last, name, "%d.%m.%Y");
}

// What varies; angles only of what comes again, seen at least two times (most of a year is enough), in more than two
// values.
static unsigned parts_of(const gp_candidate *c)
{
    static const struct {
        double days;
        gp_time_part of, sine;
    } turns[] = {{300, GP_TIME_YEARDAY, GP_TIME_YEAR_SINE},
                 {14, GP_TIME_WEEKDAY, GP_TIME_WEEK_SINE},
                 {2, GP_TIME_MINUTE, GP_TIME_DAY_SINE}};
    const double days = c->moments[GP_TIME_DAYS].most - c->moments[GP_TIME_DAYS].least;
    unsigned parts = 0;
    for (int p = 0; p <= GP_TIME_MINUTE; p++)
        if (c->moments[p].least < c->moments[p].most) parts |= 1u << p;
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++)
        for (int p = turns[i].sine; p <= (int)turns[i].sine + 1; p++)
            if (days >= turns[i].days && parts >> turns[i].of & 1 &&
                gp_scale_is_usable(sqrt(c->moments[p].m2 / c->moments[p].weight)) &&
                c->moments[p].most - c->moments[p].least > 1e-9)
                parts |= 1u << p;
    return parts;
}

static advgp_status fill(const gp_fit *f, gp_candidate *c, gp_input *input, advgp_error *err)
{
    (void)f, (void)err;
    input->range = (gp_limits){.lo = c->moments[GP_TIME_DAYS].least, .hi = c->moments[GP_TIME_DAYS].most};
    input->time_parts = parts_of(c);
    return ADVGP_OK;
}

static advgp_status scale(const gp_candidate *c, const gp_input *input, gp_schema *s, advgp_error *err)
{
    (void)err;
    size_t j = input->first;
    for (int p = 0; p < GP_TIME_PARTS; p++)
        if (input->time_parts >> p & 1) gp_fit_scale(s, j++, c->moments[p].mean, c->moments[p].m2 / s->n_weight);
    return ADVGP_OK;
}

// ---- columns --------------------------------------------------------------------------------------------------------
static size_t width(const gp_input *input)
{
    size_t n = 0;
    for (int p = 0; p < GP_TIME_PARTS; p++) n += input->time_parts >> p & 1;
    return n;
}

gp_time_part gp_time_part_at(const gp_input *input, size_t k)
{
    for (int p = 0; p < GP_TIME_PARTS; p++)
        if (input->time_parts >> p & 1 && k-- == 0) return (gp_time_part)p;
    return GP_TIME_PARTS;
}

static void name_column(const gp_input *input, size_t k, gp_buffer *out)
{
    gp_buffer_add(out, " (%s)", gp_time_part_name(gp_time_part_at(input, k)));
}

// ---- rows -----------------------------------------------------------------------------------------------------------
// The means where it is missing.
static void encode(const gp_input *input, gp_input_scale scale, gp_picked v, double *x, size_t stride, gp_oddities *odd)
{
    const size_t n_parts = input->n_encoded - input->indicator;
    for (size_t k = 0; k < v.n; k++, x += stride) {
        const double seconds = v.numbers[v.rows[k]];
        const bool there = isfinite(seconds);
        double parts[GP_TIME_PARTS];
        if (there) {
            size_t n = 0;
            gp_time_split(seconds, parts);
            for (int p = 0; p < GP_TIME_PARTS; p++)
                if (input->time_parts >> p & 1) x[n++] = parts[p];
            const double days = parts[GP_TIME_DAYS];
            odd->n_outside += days < input->range.lo || days > input->range.hi;
        } else {
            memcpy(x, scale.mean, n_parts * sizeof *x);
        }
        gp_encode_end(input, scale, !there, x);
    }
}

// ---- and back -------------------------------------------------------------------------------------------------------
static bool has_days(const gp_input *input)
{
    return input->time_parts >> GP_TIME_DAYS & 1;
}

static double decode(const gp_schema *s, const gp_input *input, const double *x)
{
    return has_days(input) ? round(gp_schema_input(s, input->first, x[input->first]) * 86400) : NAN;
}

static void show(const gp_input *input, double value, gp_buffer *out)
{
    (void)input;
    char text[GP_TIME_TEXT_BYTES];
    gp_buffer_add(out, "%s", gp_time_text(value, text));
}

static bool remark(const gp_schema *s, const gp_input *input, const double *x, gp_remark *out)
{
    return has_days(input) && gp_number_remark(s, input, x, out);
}

// ---- files ----------------------------------------------------------------------------------------------------------
static bool write(const gp_input *input, json_t *o)
{
    json_t *parts = json_array();
    bool ok = parts != NULL;
    for (int p = 0; ok && p < GP_TIME_PARTS; p++)
        if (input->time_parts >> p & 1)
            ok = json_array_append_new(parts, json_string(gp_time_part_name((gp_time_part)p))) == 0;
    return json_object_set_new(o, "parts", parts) == 0 && ok;
}

static advgp_status read(const json_t *o, gp_input *input, advgp_error *err)
{
    const json_t *list = json_object_get(o, "parts");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *word = json_string_value(json_array_get(list, i));
        int p = 0;
        while (word && p < GP_TIME_PARTS && strcmp(word, gp_time_part_name((gp_time_part)p)) != 0) p++;
        if (!word || p == GP_TIME_PARTS) return gp_schema_damaged("an unknown part of a date", err);
        input->time_parts |= 1u << p;
    }
    return input->time_parts ? ADVGP_OK : gp_schema_damaged("a date without parts", err);
}

const gp_encoding gp_encoding_time = {.name = "time",
                                      .described = "date",
                                      .kind = ADVGP_KIND_TIME,
                                      .types = ~0u,
                                      .suggested = 1u << GP_TIME,
                                      .unit = 86400,
                                      .observe = observe,
                                      .is_constant = is_constant,
                                      .settle = note_odd_years,
                                      .fill = fill,
                                      .scale = scale,
                                      .width = width,
                                      .name_column = name_column,
                                      .encode = encode,
                                      .decode = decode,
                                      .show = show,
                                      .remark = remark,
                                      .write = write,
                                      .read = read};
