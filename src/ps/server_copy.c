// server_copy.c: copies of a server's image and its rule's state, whole or of a range, and several put together.
#include "ps/server_copy.h"
#include "base/alloc.h"

#include <string.h>

enum { OWN_ARRAYS = 3 }; // theta, kept, candidate

#define X(NAME, name) #name,
const char *const gp_image_count_names[GP_IMAGE_N_COUNTS] = {GP_IMAGE_COUNTS(X)};
const char *const gp_image_real_names[GP_IMAGE_N_REALS] = {GP_IMAGE_REALS(X)};
#undef X

void gp_image_get(const gp_server_image *image, uint64_t counts[GP_IMAGE_N_COUNTS], double reals[GP_IMAGE_N_REALS])
{
#define X(NAME, name) *counts++ = image->name;
    GP_IMAGE_COUNTS(X)
#undef X
#define X(NAME, name) *reals++ = image->name;
    GP_IMAGE_REALS(X)
#undef X
}

void gp_image_set(gp_server_image *image, const uint64_t counts[GP_IMAGE_N_COUNTS],
                  const double reals[GP_IMAGE_N_REALS])
{
#define X(NAME, name) image->name = (__typeof__(image->name))*counts++;
    GP_IMAGE_COUNTS(X)
#undef X
#define X(NAME, name) image->name = *reals++;
    GP_IMAGE_REALS(X)
#undef X
}

// ---- a copy ---------------------------------------------------------------------------------------------------------

void gp_server_copy_fini(gp_server_copy *c)
{
    gp_free(c->values);
    gp_free(c->numbers);
    gp_free(c->sent);
    gp_free((void *)c->sent_rows);
    *c = (gp_server_copy){0};
}

advgp_status gp_server_copy_make_room(gp_server_copy *c, advgp_error *err)
{
    gp_server_image *i = &c->image;
    const size_t n = c->range.count;
    c->values = gp_alloc(c->n_values, sizeof *c->values);
    c->numbers = gp_alloc(i->n_shards + 2 * i->n_workers, sizeof *c->numbers);
    if (!c->values || !c->numbers) return gp_no_memory(err);
    i->size = n;
    i->theta = c->values, i->kept = c->values + n, i->candidate = c->values + 2 * n;
    i->sent = NULL;
    i->owner = c->numbers, i->sequence = c->numbers + i->n_shards;
    i->incarnation = i->sequence + i->n_workers;
    return ADVGP_OK;
}

static advgp_status copy_sent(const gp_server_image *from, gp_server_copy *c, advgp_error *err)
{
    c->sent = gp_alloc(from->n_workers * from->size, sizeof *c->sent);
    c->sent_rows = gp_alloc(from->n_workers, sizeof *c->sent_rows);
    if (!c->sent || !c->sent_rows) return gp_no_memory(err);
    for (size_t k = 0; k < from->n_workers; k++)
        c->sent_rows[k] = memcpy(c->sent + k * from->size, from->sent[k], from->size * sizeof(double));
    c->image.sent = c->sent_rows;
    return ADVGP_OK;
}

advgp_status gp_server_copy_take(gp_server *server, gp_rule *rule, gp_range range, gp_server_copy *out,
                                 advgp_error *err)
{
    const gp_server_image from = gp_server_look(server);
    const gp_rule_state state = rule->ops->state(rule);
    const gp_range own = rule->options.range;
    const bool whole = range.count == own.count;
    const size_t skip = range.first - own.first;
    *out = (gp_server_copy){.range = range, .image = from, .n_arrays = state.n_arrays};
    out->n_values = OWN_ARRAYS * range.count;
    for (size_t a = 0; a < state.n_arrays; a++) out->n_values += whole ? state.arrays[a].n : range.count;
    const advgp_status st = gp_server_copy_make_room(out, err);
    if (st != ADVGP_OK) return st;
    double *to = out->values;
    const double *const arrays[OWN_ARRAYS] = {from.theta, from.kept, from.candidate};
    for (size_t a = 0; a < OWN_ARRAYS; a++, to += range.count)
        memcpy(to, arrays[a] + skip, range.count * sizeof(double));
    for (size_t a = 0; a < state.n_arrays; a++) {
        const size_t n = whole ? state.arrays[a].n : range.count;
        memcpy(to, state.arrays[a].values + skip, n * sizeof(double));
        to += n;
    }
    if (state.counter) out->counter = *state.counter;
    memcpy(out->numbers, from.owner, from.n_shards * sizeof *out->numbers);
    memcpy(out->numbers + from.n_shards, from.sequence, from.n_workers * sizeof *out->numbers);
    memcpy(out->numbers + from.n_shards + from.n_workers, from.incarnation, from.n_workers * sizeof *out->numbers);
    return whole && from.sent && from.n_workers ? copy_sent(&from, out, err) : ADVGP_OK;
}

// ---- back -----------------------------------------------------------------------------------------------------------

static advgp_status restore_whole(const gp_server_copy *c, gp_server *server, gp_rule *rule, advgp_error *err)
{
    const gp_rule_state state = rule->ops->state(rule);
    const double *from = c->values + OWN_ARRAYS * c->range.count;
    for (size_t a = 0; a < state.n_arrays; from += state.arrays[a++].n)
        memcpy(state.arrays[a].values, from, state.arrays[a].n * sizeof(double));
    if (state.counter) *state.counter = c->counter;
    return gp_server_restore(server, &c->image, err);
}

static advgp_status restore_parts(const gp_server_copy *copies, size_t n, gp_server *server, gp_rule *rule,
                                  advgp_error *err)
{
    const size_t count = rule->options.range.count;
    const gp_rule_state state = rule->ops->state(rule);
    double *whole = gp_alloc(OWN_ARRAYS * count, sizeof *whole);
    if (!whole) return gp_no_memory(err);
    for (size_t i = 0, at = 0; i < n; at += copies[i++].range.count) {
        const size_t part = copies[i].range.count, bytes = part * sizeof(double);
        for (size_t a = 0; a < OWN_ARRAYS; a++) memcpy(whole + a * count + at, copies[i].values + a * part, bytes);
        for (size_t a = 0; a < state.n_arrays; a++)
            memcpy(state.arrays[a].values + at, copies[i].values + (OWN_ARRAYS + a) * part, bytes);
    }
    gp_server_image image = copies->image; // of the rest all have the same
    image.size = count;
    image.theta = whole, image.kept = whole + count, image.candidate = whole + 2 * count;
    const advgp_status st = gp_server_restore(server, &image, err);
    gp_free(whole);
    return st;
}

static size_t values_of_rule(const gp_rule_state *state)
{
    size_t n = 0;
    for (size_t a = 0; a < state->n_arrays; a++) n += state->arrays[a].n;
    return n;
}

static advgp_status check_together(const gp_server_copy *copies, size_t n, gp_rule *rule, advgp_error *err)
{
    const gp_range own = rule->options.range;
    const gp_rule_state state = rule->ops->state(rule);
    size_t next = own.first, values = 0;
    for (size_t i = 0; i < n; i++) {
        const gp_server_copy *c = &copies[i];
        if (c->range.first != next || c->image.version != copies->image.version)
            return gp_fail(err, ADVGP_EINVAL, "ranges of the parameters that do not belong together");
        if (c->n_arrays != state.n_arrays || (n > 1 && state.counter))
            return gp_fail(err, ADVGP_EINVAL, "ranges of the parameters by another rule than %s", rule->ops->name);
        next += c->range.count, values += c->n_values;
    }
    if (next != own.first + own.count) return gp_fail(err, ADVGP_EINVAL, "a range of the parameters is missing");
    return values == OWN_ARRAYS * own.count + values_of_rule(&state)
               ? ADVGP_OK
               : gp_fail(err, ADVGP_EINVAL, "ranges of the parameters by another rule than %s", rule->ops->name);
}

advgp_status gp_server_copies_restore(const gp_server_copy *copies, size_t n, gp_server *server, gp_rule *rule,
                                      advgp_error *err)
{
    const advgp_status st = check_together(copies, n, rule, err);
    if (st != ADVGP_OK) return st;
    return n == 1 ? restore_whole(copies, server, rule, err) : restore_parts(copies, n, server, rule, err);
}
