// schedule.c: the settings of a run as JSON, and as what a checkpoint is known by.
#include "ps/schedule.h"

#include <math.h>
#include <string.h>

static const double natural_rate = 0.2, adam_rate = 0.1; // docs/math.md 4

gp_schedule gp_schedule_settled(gp_schedule s)
{
    if (!s.rule) s.rule = &gp_rule_natural;
    if (!(s.natural_rate > 0)) s.natural_rate = natural_rate;
    if (!(s.adam_rate > 0)) s.adam_rate = adam_rate;
    if (s.quorum < 0) s.quorum = s.rule->quorum, s.follow_pace = true;
    return s;
}

gp_schedule gp_schedule_synchronous(gp_schedule s)
{
    s.rule = &gp_rule_natural;
    s.max_delay = 0, s.filter = 0;
    return s;
}

double gp_schedule_age_power(const gp_schedule *s)
{
    return s->theorem_steps ? 1 : s->rule->age_power;
}

// ---- the fields -----------------------------------------------------------------------------------------------------

typedef enum kind { WHOLE, REAL, FLAG, RULE, LOSS } kind;

typedef struct field {
    const char *name;
    kind kind;
    size_t at;          // in the struct
    double least, most; // of a number that is read
    // What checkpoints are known by where it is not 0, so that those of runs before the field are still known; NULL: a
    // run may go on with another value, or it stands elsewhere in what they are known by.
    const char *mark;
} field;

#define KIND(x)  _Generic(x, double : REAL, bool : FLAG, const gp_rule_ops * : RULE, gp_on_loss : LOSS, uint64_t : WHOLE)
#define FIELD(x) .name = #x, .kind = KIND(((gp_schedule *)0)->x), .at = offsetof(gp_schedule, x)

static const field fields[] = {
    {FIELD(rule)},
    {FIELD(natural_rate), .most = INFINITY},
    {FIELD(adam_rate), .most = INFINITY},
    {FIELD(workers), .most = GP_WORKERS_MAX},
    {FIELD(batch), .least = 1, .most = 1 << 30},
    {FIELD(steps), .most = INFINITY},
    {FIELD(max_delay), .most = INFINITY},
    {FIELD(quorum), .most = 1},
    {FIELD(follow_pace)},
    {FIELD(theorem_steps), .mark = "theorem"},
    {FIELD(mixed), .mark = "mixed"},
    {FIELD(filter), .most = INFINITY},
    {FIELD(on_loss), .most = GP_LOSS_STOP},
    {FIELD(seed), .most = INFINITY},
};
enum { N_FIELDS = sizeof fields / sizeof *fields };
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "a count is read and written as 64 bits");

// ---- JSON -----------------------------------------------------------------------------------------------------------

static json_t *to_json(const field *f, const void *at)
{
    if (f->kind == RULE) return json_string((*(const gp_rule_ops *const *)at)->name);
    if (f->kind == REAL) return json_real(*(const double *)at);
    if (f->kind == FLAG) return json_boolean(*(const bool *)at);
    if (f->kind == LOSS) return json_integer((json_int_t)(*(const gp_on_loss *)at));
    return json_integer((json_int_t)(*(const uint64_t *)at)); // no bound, SIZE_MAX, is -1
}

json_t *gp_schedule_json(const gp_schedule *s)
{
    json_t *o = json_object();
    bool written = o;
    for (const field *f = fields; f < fields + N_FIELDS; f++)
        written &= !json_object_set_new(o, f->name, to_json(f, (const char *)s + f->at));
    if (!written) json_decref(o);
    return written ? o : NULL;
}

// False: it is not of the field's type, or out of its bounds.
static bool from_json(const json_t *o, const field *f, void *at)
{
    const uint64_t whole = (uint64_t)json_integer_value(o);
    const double number = f->kind == WHOLE ? (double)whole : json_number_value(o);
    if (f->kind == RULE)
        return (*(const gp_rule_ops **)at = json_is_string(o) ? gp_rule_named(json_string_value(o)) : NULL);
    if (f->kind == FLAG) return *(bool *)at = json_is_true(o), json_is_boolean(o);
    if (f->kind == REAL) *(double *)at = number;
    if (f->kind == LOSS) *(gp_on_loss *)at = (gp_on_loss)whole;
    if (f->kind == WHOLE) *(uint64_t *)at = whole;
    return (f->kind == REAL ? json_is_number(o) : json_is_integer(o)) && number >= f->least && number <= f->most;
}

const char *gp_schedule_read(const json_t *o, gp_schedule *out)
{
    *out = (gp_schedule){0};
    for (const field *f = fields; f < fields + N_FIELDS; f++)
        if (!from_json(json_object_get(o, f->name), f, (char *)out + f->at)) return f->name;
    return NULL;
}

// ---- checkpoints ----------------------------------------------------------------------------------------------------

void gp_schedule_identify(const gp_schedule *asked, gp_buffer *text)
{
    const gp_schedule s = gp_schedule_settled(*asked);
    gp_buffer_add(text, " %.20s %zu %a %a", s.rule->name, s.max_delay, s.quorum, s.filter);
    for (const field *f = fields; f < fields + N_FIELDS; f++) {
        json_t *value = f->mark ? to_json(f, (const char *)&s + f->at) : NULL;
        const double number = json_is_true(value) ? 1 : json_number_value(value);
        text->failed |= f->mark && !value;
        json_decref(value);
        if (number != 0) gp_buffer_add(text, " %s", f->mark);
        if (number != 0 && f->kind != FLAG) gp_buffer_add(text, " %a", number);
    }
}
