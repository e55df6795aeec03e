// fit.c: the first pass over the training rows: counts, moments, categories, one chunk at a time, in memory that does
// not depend on the number of rows.
#include "data/fit.h"

#include "base/alloc.h"
#include "data/encoding.h"

#include <math.h>
#include <string.h>

// ---- roles ----------------------------------------------------------------------------------------------------------
static bool is_listed(const gp_fit *f, const char *const *list, size_t n, const char *name)
{
    const long column = gp_source_find(f->source, name);
    for (size_t i = 0; i < n; i++)
        if (gp_source_find(f->source, list[i]) == column) return true;
    return false;
}

static advgp_status check_lists(const gp_fit *f, advgp_error *err)
{
    const gp_schema_options *o = f->options;
    size_t index;
    advgp_status st = ADVGP_OK;
    for (size_t i = 0; st == ADVGP_OK && i < o->n_features; i++)
        st = gp_source_require(f->source, o->features[i], "feature", &index, err);
    for (size_t i = 0; st == ADVGP_OK && i < o->n_exclude; i++)
        st = gp_source_require(f->source, o->exclude[i], "exclude", &index, err);
    if (st != ADVGP_OK) return st;
    if (is_listed(f, o->features, o->n_features, o->target))
        return gp_fail(err, ADVGP_EINVAL, "'%s' is the target and cannot be a feature; take it out of {features}",
                       o->target);
    if (o->weights && is_listed(f, o->features, o->n_features, o->weights))
        return gp_fail(err, ADVGP_EINVAL, "'%s' holds the weights and cannot be a feature; take it out of {features}",
                       o->weights);
    if (o->weights && gp_source_find(f->source, o->weights) == f->roles.target)
        return gp_fail(err, ADVGP_EINVAL, "'%s' cannot be both target and weights", o->target);
    if (is_listed(f, o->exclude, o->n_exclude, o->target))
        return gp_fail(err, ADVGP_EINVAL, "'%s' is the target and cannot be excluded", o->target);
    for (size_t i = 0; i < o->n_features; i++)
        if (is_listed(f, o->exclude, o->n_exclude, o->features[i]))
            return gp_fail(err, ADVGP_EINVAL, "'%s' is in both {features} and {exclude}; take it out of one of them",
                           o->features[i]);
    return ADVGP_OK;
}

static advgp_status find_roles(gp_fit *f, advgp_error *err)
{
    const gp_schema_options *o = f->options;
    size_t index = 0;
    f->roles = (gp_roles){
        .target = GP_NO_COLUMN, .weights = GP_NO_COLUMN, .group = GP_NO_COLUMN, .log_target = o->log_target};
    advgp_status st = gp_source_require(f->source, o->target, "the target", &index, err);
    if (st == ADVGP_OK) f->roles.target = (long)index;
    if (st == ADVGP_OK && f->source->columns[index].type == GP_TIME)
        st = gp_fail(err, ADVGP_EDATA, "the target '%s' holds dates; a number is needed (compute one with {sql})",
                     o->target);
    if (st == ADVGP_OK && o->weights) {
        st = gp_source_require(f->source, o->weights, "the weights", &index, err);
        if (st == ADVGP_OK) f->roles.weights = (long)index;
    }
    if (st == ADVGP_OK && f->split->kind == GP_SPLIT_GROUP) {
        st = gp_source_require(f->source, f->split->name, "validation group", &index, err);
        if (st == ADVGP_OK) f->roles.group = (long)index;
    }
    return st == ADVGP_OK ? check_lists(f, err) : st;
}

static advgp_status refuse_encode(const char *spec, const char *how, advgp_error *err)
{
    gp_buffer choices = {0};
    gp_encoding_choices(how ? "" : "COLUMN=", how ? ", " : " or ", &choices);
    const advgp_status st = choices.failed ? gp_no_memory(err)
                            : how ? gp_fail(err, ADVGP_EINVAL, "encode '%s': '%s' is none of %s", spec, how, choices.p)
                                  : gp_fail(err, ADVGP_EINVAL, "encode '%s' is not of the form %s", spec, choices.p);
    gp_buffer_fini(&choices);
    return st;
}

// "COLUMN=onehot": the last '=' separates, so that a name may hold one.
static advgp_status apply_encode(gp_fit *f, const char *spec, advgp_error *err)
{
    const char *equals = strrchr(spec, '=');
    if (!equals || equals == spec) return refuse_encode(spec, NULL, err);
    if (!gp_encoding_is_asked(equals + 1)) return refuse_encode(spec, equals + 1, err);
    char *name = gp_text_copy(spec, (size_t)(equals - spec));
    if (!name) return gp_no_memory(err);
    size_t index = 0;
    advgp_status st = gp_source_require(f->source, name, "encode", &index, err);
    gp_candidate *c = NULL;
    for (size_t i = 0; st == ADVGP_OK && i < f->n_candidates; i++)
        if (f->candidates[i].column == index) c = &f->candidates[i];
    if (st == ADVGP_OK && !c)
        st = gp_fail(err, ADVGP_EINVAL, "encode '%s': the column is not among the features", spec);
    if (c) c->forced = true, c->encoding = gp_encoding_named(equals + 1, f->source->columns[index].type);
    if (c && !c->encoding)
        st = gp_fail(err, ADVGP_EINVAL, "encode '%s': a column of type %s cannot be %s", spec,
                     gp_column_type_name(f->source->columns[index].type), equals + 1);
    gp_free(name);
    return st;
}

static bool is_unknown(const gp_schema *known, const char *name)
{
    for (size_t i = 0; known && i < known->n_inputs; i++)
        if (gp_same_name(known->inputs[i].name, name)) return false;
    return known != NULL;
}

static advgp_status find_candidates(gp_fit *f, advgp_error *err)
{
    const gp_schema_options *o = f->options;
    size_t n = f->source->n_columns;
    f->candidates = gp_alloc(n, sizeof *f->candidates);
    f->gaps = gp_alloc(n, sizeof *f->gaps);
    if (!f->candidates || !f->gaps) return gp_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const gp_column *column = &f->source->columns[i];
        bool has_role = (long)i == f->roles.target || (long)i == f->roles.weights || (long)i == f->roles.group;
        bool asked = is_listed(f, o->features, o->n_features,
                               column->name); // a group may be a feature too, if asked for
        bool feature = o->n_features ? asked : !has_role;
        feature = feature && !is_listed(f, o->exclude, o->n_exclude, column->name);
        if (feature && !asked && is_unknown(o->known, column->name)) {
            feature = false;
            const advgp_status st = gp_notes_add_column(
                f->notes, err, 1, column->name, "are left out: the model of {start} does not know them",
                "column '%s' is left out: the model of {start} does not know it", column->name);
            if (st != ADVGP_OK) return st;
        }
        f->source->wanted[i] = feature || has_role;
        if (!feature) continue;
        f->gaps[f->n_candidates] = i;
        f->candidates[f->n_candidates++] = (gp_candidate){
            .column = i, .encoding = gp_encoding_suggested(column->type), .clip = gp_no_limits()};
    }
    f->roles.gaps = f->gaps;
    f->roles.n_gaps = o->missing == GP_MISSING_DROP ? f->n_candidates : 0;
    advgp_status st = ADVGP_OK;
    for (size_t i = 0; st == ADVGP_OK && i < o->n_encode; i++) st = apply_encode(f, o->encode[i], err);
    if (st == ADVGP_OK && f->n_candidates == 0)
        st = gp_fail(err, ADVGP_EDATA, "%s has no column left to predict from", f->source->label);
    return st;
}

static advgp_status make_sample(gp_fit *f, advgp_error *err)
{
    advgp_status st = gp_sample_init(&f->sample, f->n_candidates, f->split->seed, err);
    for (size_t i = 0; st == ADVGP_OK && i < f->n_candidates; i++) {
        gp_candidate *c = &f->candidates[i];
        if (c->encoding->kind != ADVGP_KIND_NUMBER) continue;
        c->sampled = gp_alloc(f->sample.capacity, sizeof *c->sampled);
        if (!c->sampled) st = gp_no_memory(err);
    }
    if (st == ADVGP_OK && !(f->sampled_y = gp_alloc(f->sample.capacity, sizeof *f->sampled_y))) st = gp_no_memory(err);
    return st;
}

// ---- one chunk ------------------------------------------------------------------------------------------------------
advgp_status gp_fit_missing(gp_fit *f, gp_candidate *c, const gp_chunk *chunk, size_t k, advgp_error *err)
{
    if (f->options->missing == GP_MISSING_ERROR)
        return gp_fail(err, ADVGP_EDATA,
                       "%s, row %zu: column '%s' is missing; fill it, or allow {missing} impute or drop",
                       f->source->label, chunk->first_row + f->usable.rows[k] + 1, gp_fit_column(f, c)->name);
    c->n_missing++;
    c->missing_weight += f->usable.w[k];
    return ADVGP_OK;
}

advgp_status gp_fit_numbers(gp_fit *f, gp_candidate *c, const gp_chunk *chunk, const double **values, size_t *n,
                            advgp_error *err)
{
    const gp_usable *u = &f->usable;
    advgp_status st = gp_coerce_numbers(f->source, c->column, chunk, &c->buffer, values, err);
    *n = 0;
    for (size_t k = 0; st == ADVGP_OK && k < u->n; k++) {
        double v = (*values)[u->rows[k]];
        if (isfinite(v)) {
            f->x[*n] = v;
            f->w[(*n)++] = u->w[k];
        } else {
            st = gp_fit_missing(f, c, chunk, k, err);
        }
    }
    return st;
}

static advgp_status add_groups(gp_fit *f, const gp_chunk *chunk, advgp_error *err)
{
    const gp_text *texts;
    advgp_status st = gp_coerce_texts(f->source, (size_t)f->roles.group, chunk, &f->usable.group, &texts, err);
    for (size_t k = 0; st == ADVGP_OK && k < f->usable.n; k++) {
        gp_text text = texts[f->usable.rows[k]];
        long index;
        st = gp_categories_add(&f->groups, text.p ? text : (gp_text){.p = "", .n = 0}, &index, err);
        if (st == ADVGP_OK && index != GP_NO_CATEGORY) f->groups.items[index].rows++;
    }
    return st;
}

static advgp_status make_scratch(gp_fit *f, size_t n, advgp_error *err)
{
    if (n <= f->capacity) return ADVGP_OK;
    gp_free(f->x);
    gp_free(f->w);
    f->x = gp_alloc(n, sizeof *f->x);
    f->w = gp_alloc(n, sizeof *f->w);
    f->capacity = f->x && f->w ? n : 0;
    return f->capacity ? ADVGP_OK : gp_no_memory(err);
}

static void add_target(gp_fit *f)
{
    const gp_usable *u = &f->usable;
    gp_moments_add(&f->y, u->n, u->y, u->w);
    size_t n = 0;
    for (size_t k = 0; k < u->n; k++) {
        if (gp_split_maybe(f->split, u->before + k, u->group_hash[k])) continue;
        f->x[n] = u->y[k];
        f->w[n++] = u->w[k];
    }
    gp_moments_add(&f->fit_y, n, f->x, f->w);
}

static advgp_status add_chunk(gp_fit *f, const gp_chunk *chunk, advgp_error *err)
{
    advgp_status st = make_scratch(f, chunk->n_rows, err);
    if (st == ADVGP_OK) st = gp_usable_chunk(&f->usable, f->source, &f->roles, f->split, chunk, err);
    if (st != ADVGP_OK || f->usable.n == 0) return st;
    add_target(f);
    st = gp_sample_chunk(&f->sample, f->usable.before, f->usable.n, f->usable.w, err);
    for (size_t i = 0; st == ADVGP_OK && i < f->sample.n_picks; i++)
        f->sampled_y[f->sample.picks[i].slot] = f->usable.y[f->sample.picks[i].k];
    for (size_t i = 0; st == ADVGP_OK && i < f->n_candidates; i++) {
        gp_candidate *c = &f->candidates[i];
        st = c->encoding->observe(f, c, chunk, err);
    }
    if (st == ADVGP_OK && f->roles.group >= 0) st = add_groups(f, chunk, err);
    return st;
}

// ---- the pass -------------------------------------------------------------------------------------------------------
static advgp_status each_chunk(gp_fit *f, advgp_status (*add)(gp_fit *, const gp_chunk *, advgp_error *),
                               gp_progress progress, void *ctx, advgp_error *err)
{
    const gp_chunk *chunk = NULL;
    gp_usable_rewind(&f->usable);
    advgp_status st = gp_source_rewind(f->source, err);
    while (st == ADVGP_OK) {
        st = gp_source_next(f->source, &chunk, err);
        if (st != ADVGP_OK || !chunk) break;
        st = add(f, chunk, err);
        if (st == ADVGP_OK && progress && progress(ctx, f->usable.n_read) != 0)
            st = gp_fail(err, ADVGP_ESTOPPED, "stopped while reading %s, after %zu rows", f->source->label,
                         f->usable.n_read);
    }
    return st;
}

static advgp_status count_only(gp_fit *f, const gp_chunk *chunk, advgp_error *err)
{
    return gp_usable_chunk(&f->usable, f->source, &f->roles, f->split, chunk, err);
}

// Which rows are the last is known only when all are counted; target means need to know.
static advgp_status count_for_last(gp_fit *f, advgp_error *err)
{
    bool means = false;
    for (size_t i = 0; i < f->n_candidates; i++) means = means || f->candidates[i].encoding->uses_target;
    if (f->split->kind != GP_SPLIT_LAST || !means) return ADVGP_OK;
    advgp_status st = each_chunk(f, count_only, NULL, NULL, err);
    f->split->n_rows = f->usable.before + f->usable.n;
    return st;
}

static void fit_fini(gp_fit *f)
{
    for (size_t i = 0; i < f->n_candidates; i++) {
        gp_categories_fini(&f->candidates[i].categories);
        gp_coerced_fini(&f->candidates[i].buffer);
        gp_free(f->candidates[i].sampled);
        gp_warp_fini(&f->candidates[i].warp);
        if (f->candidates[i].own) f->candidates[i].encoding->free_own(f->candidates[i].own);
    }
    gp_free(f->candidates);
    gp_free(f->gaps);
    gp_free(f->x);
    gp_free(f->w);
    gp_categories_fini(&f->groups);
    gp_free(f->sampled_y);
    gp_sample_fini(&f->sample);
    gp_usable_fini(&f->usable);
}

advgp_status gp_schema_fit(gp_source *source, const gp_schema_options *options, gp_split *split, gp_notes *notes,
                           gp_progress progress, void *ctx, gp_schema **out, advgp_error *err)
{
    *out = NULL;
    if (!options->target) return gp_fail(err, ADVGP_EINVAL, "no target is named");
    gp_fit f = {.source = source, .options = options, .split = split, .notes = notes};
    advgp_status st = find_roles(&f, err);
    if (st == ADVGP_OK) st = find_candidates(&f, err);
    if (st == ADVGP_OK) st = gp_fit_readings(&f, progress, ctx, err);
    if (st == ADVGP_OK) st = gp_fit_offset(&f, err);
    if (st == ADVGP_OK) st = make_sample(&f, err);
    if (st == ADVGP_OK) st = count_for_last(&f, err);
    if (st == ADVGP_OK) st = each_chunk(&f, add_chunk, progress, ctx, err);
    if (st == ADVGP_OK) st = gp_fit_decide(&f, out, err);
    if (st == ADVGP_OK) st = gp_source_rewind(source, err);
    if (st != ADVGP_OK) {
        gp_schema_free(*out);
        *out = NULL;
    }
    fit_fini(&f);
    return st;
}
