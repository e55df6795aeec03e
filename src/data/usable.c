// usable.c: one look at target, weight and gaps, before any encoding.
#include "data/usable.h"

#include "base/alloc.h"

#include <math.h>

void gp_usable_fini(gp_usable *u)
{
    gp_free(u->rows);
    gp_free(u->y);
    gp_free(u->w);
    gp_free(u->group_hash);
    gp_coerced_fini(&u->target);
    gp_coerced_fini(&u->weights);
    gp_coerced_fini(&u->group);
    *u = (gp_usable){0};
}

void gp_usable_rewind(gp_usable *u)
{
    u->n = u->before = u->n_read = u->n_no_target = u->n_no_weight = u->n_gaps = 0;
}

static advgp_status make_room(gp_usable *u, size_t n, advgp_error *err)
{
    if (n <= u->capacity) return ADVGP_OK;
    gp_free(u->rows);
    gp_free(u->y);
    gp_free(u->w);
    gp_free(u->group_hash);
    u->rows = gp_alloc(n, sizeof *u->rows);
    u->y = gp_alloc(n, sizeof *u->y);
    u->w = gp_alloc(n, sizeof *u->w);
    u->group_hash = gp_alloc(n, sizeof *u->group_hash);
    u->capacity = n;
    if (u->rows && u->y && u->w && u->group_hash) return ADVGP_OK;
    u->capacity = 0;
    return gp_no_memory(err);
}

static bool has_gap(const gp_roles *roles, const gp_chunk *chunk, size_t i)
{
    for (size_t k = 0; k < roles->n_gaps; k++) {
        const gp_values *v = &chunk->columns[roles->gaps[k]];
        if (v->text ? !v->text[i].p : v->number && !isfinite(v->number[i])) return true;
    }
    return false;
}

static advgp_status bad_weight(const gp_source *source, const gp_roles *roles, size_t row, double w, advgp_error *err)
{
    return gp_fail(err, ADVGP_EDATA, "%s, row %zu: the weight in column '%s' is %s%.0g; weights are numbers from 0 on",
                   source->label, row + 1, source->columns[roles->weights].name,
                   w < 0 ? "negative: " : "missing or infinite: ", w);
}

advgp_status gp_usable_chunk(gp_usable *u, const gp_source *source, const gp_roles *roles, const gp_split *split,
                             const gp_chunk *chunk, advgp_error *err)
{
    const double *y = NULL, *w = NULL;
    const gp_text *groups = NULL;
    u->before += u->n;
    u->n = 0;
    advgp_status st = make_room(u, chunk->n_rows, err);
    if (st == ADVGP_OK && roles->target >= 0)
        st = gp_coerce_numbers(source, (size_t)roles->target, chunk, &u->target, &y, err);
    if (st == ADVGP_OK && roles->weights >= 0)
        st = gp_coerce_numbers(source, (size_t)roles->weights, chunk, &u->weights, &w, err);
    if (st == ADVGP_OK && roles->group >= 0)
        st = gp_coerce_texts(source, (size_t)roles->group, chunk, &u->group, &groups, err);
    u->n_read += st == ADVGP_OK ? chunk->n_rows : 0;
    for (size_t i = 0; st == ADVGP_OK && i < chunk->n_rows; i++) {
        double target = y && isfinite(y[i]) ? y[i] : NAN, weight = w ? w[i] : 1;
        size_t row = chunk->first_row + i;
        if (!roles->keep_all) {
            if (!(weight >= 0) || isinf(weight)) return bad_weight(source, roles, row, weight, err);
            if (weight == 0) {
                u->n_no_weight++;
                continue;
            }
            if (isnan(target)) {
                u->n_no_target++;
                continue;
            }
            if (has_gap(roles, chunk, i)) {
                u->n_gaps++;
                continue;
            }
            if (roles->log_target && (target < 0 || target + roles->log_offset <= 0))
                return gp_fail(err, ADVGP_EDATA,
                               "%s, row %zu: the target '%s' is %g, and a logarithm needs it at 0 or above; leave out "
                               "{log-target}",
                               source->label, row + 1, source->columns[roles->target].name, target);
        }
        size_t k = u->n++;
        u->rows[k] = i;
        if (roles->log_target) target = target + roles->log_offset > 0 ? log(target + roles->log_offset) : NAN;
        u->y[k] = target;
        u->w[k] = weight;
        u->group_hash[k] = groups && split ? gp_split_group_hash(split, groups[i]) : 0;
    }
    return st;
}
