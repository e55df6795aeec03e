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

// The value of a field, whatever its type.
typedef union value {
    uint64_t whole;
    double real;
    bool flag;
    const gp_rule_ops *rule;
    gp_on_loss loss;
} value;

static size_t bytes_of(const field *f)
{
    static const size_t bytes[] = {[WHOLE] = sizeof(uint64_t),
                                   [REAL] = sizeof(double),
                                   [FLAG] = sizeof(bool),
                                   [RULE] = sizeof(gp_rule_ops *),
                                   [LOSS] = sizeof(gp_on_loss)};
    return bytes[f->kind];
}

static value value_of(const gp_schedule *s, const field *f)
{
    value v = {0};
    memcpy(&v, (const char *)s + f->at, bytes_of(f));
    return v;
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

static json_t *to_json(const field *f, value v)
{
    switch (f->kind) {
    case WHOLE:
        return json_integer((json_int_t)v.whole); // no bound, SIZE_MAX, is -1
    case REAL:
        return json_real(v.real);
    case FLAG:
        return json_boolean(v.flag);
    case RULE:
        return json_string(v.rule->name);
    case LOSS:
        return json_integer((json_int_t)v.loss);
    }
    return NULL;
}

json_t *gp_schedule_json(const gp_schedule *s)
{
    json_t *o = json_object();
    bool written = o;
    for (size_t i = 0; i < N_FIELDS; i++)
        written &= !json_object_set_new(o, fields[i].name, to_json(&fields[i], value_of(s, &fields[i])));
    if (!written) json_decref(o);
    return written ? o : NULL;
}

static bool is_within(const field *f, double number)
{
    return number >= f->least && number <= f->most;
}

static bool from_json(const json_t *o, const field *f, value *v)
{
    const char *word = json_string_value(o);
    switch (f->kind) {
    case WHOLE:
        v->whole = (uint64_t)json_integer_value(o);
        return json_is_integer(o) && is_within(f, (double)v->whole);
    case REAL:
        v->real = json_number_value(o);
        return json_is_number(o) && is_within(f, v->real);
    case FLAG:
        v->flag = json_is_true(o);
        return json_is_boolean(o);
    case RULE:
        v->rule = word ? gp_rule_named(word) : NULL;
        return v->rule;
    case LOSS:
        v->loss = (gp_on_loss)json_integer_value(o);
        return json_is_integer(o) && is_within(f, json_number_value(o));
    }
    return false;
}

const char *gp_schedule_read(const json_t *o, gp_schedule *out)
{
    *out = (gp_schedule){0};
    for (const field *f = fields; f < fields + N_FIELDS; f++) {
        value v = {0};
        if (!from_json(json_object_get(o, f->name), f, &v)) return f->name;
        memcpy((char *)out + f->at, &v, bytes_of(f));
    }
    return NULL;
}

// ---- checkpoints ----------------------------------------------------------------------------------------------------

void gp_schedule_identify(const gp_schedule *asked, gp_buffer *text)
{
    const gp_schedule s = gp_schedule_settled(*asked);
    gp_buffer_add(text, " %.20s %zu %a %a", s.rule->name, s.max_delay, s.quorum, s.filter);
    for (const field *f = fields; f < fields + N_FIELDS; f++) {
        const value v = value_of(&s, f);
        if (!f->mark) continue;
        if (f->kind == FLAG && v.flag) gp_buffer_add(text, " %s", f->mark);
        if (f->kind == REAL && v.real != 0) gp_buffer_add(text, " %s %a", f->mark, v.real);
        if (f->kind == WHOLE && v.whole) gp_buffer_add(text, " %s %llu", f->mark, (unsigned long long)v.whole);
    }
}
