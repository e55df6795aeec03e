// plan.c: the rules of a training, read from the tables of table.h.
#include "recipe/plan.h"
#include "base/least.h"
#include "base/memory.h"
#include "base/whole.h"
#include "cluster/cluster.h"
#include "score/linear_fit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

gp_facts gp_facts_measure(const gp_shards *shards, const gp_train_options *o)
{
    return (gp_facts){.method = o->method ? o->method : "advgp",
                      .rows = gp_shards_rows(shards, GP_TRAIN),
                      .columns = shards->d,
                      .validation_rows = gp_shards_rows(shards, GP_STOP),
                      .calibration_rows = gp_shards_rows(shards, GP_CALIBRATE),
                      .shards = shards->n_train,
                      .cluster_workers = o->cluster ? gp_cluster_workers(o->cluster) : 0,
                      .noise = NAN,
                      .memory = gp_memory_bytes()};
}

// ---- entering a choice ----------------------------------------------------------------------------------------------

__attribute__((format(printf, 4, 5))) static void set(gp_planned *c, size_t n, gp_origin origin, const char *why, ...)
{
    va_list args;
    *c = (gp_planned){.n = n, .origin = origin};
    snprintf(c->value, sizeof c->value, "%zu", n);
    va_start(args, why);
    vsnprintf(c->why, sizeof c->why, why, args);
    va_end(args);
}

__attribute__((format(printf, 4, 5))) static void set_word(gp_planned *c, const char *word, gp_origin origin,
                                                           const char *why, ...)
{
    va_list args;
    *c = (gp_planned){.origin = origin};
    snprintf(c->value, sizeof c->value, "%s", word);
    va_start(args, why);
    vsnprintf(c->why, sizeof c->why, why, args);
    va_end(args);
}

static void explain(gp_planned *c, const gp_verdict *verdict, const char *challenger)
{
    char text[120];
    snprintf(c->why, sizeof c->why, "%s: %s", challenger, gp_verdict_text(verdict, text, sizeof text));
}

void gp_plan_take(gp_planned *c, size_t n, gp_origin origin, const gp_verdict *verdict, const char *challenger)
{
    set(c, n, origin, "%s", "");
    explain(c, verdict, challenger);
}

void gp_plan_choose(gp_planned *c, const char *word, gp_origin origin, const gp_verdict *verdict,
                    const char *challenger)
{
    set_word(c, word, origin, "%s", "");
    explain(c, verdict, challenger);
}

void gp_plan_settle(gp_planned *c, size_t n, const char *why, ...)
{
    va_list args;
    c->n = n;
    snprintf(c->value, sizeof c->value, "%zu", n);
    va_start(args, why);
    vsnprintf(c->why, sizeof c->why, why, args);
    va_end(args);
}

void gp_plan_take_encodings(gp_plan *plan, const gp_plan *encodings)
{
    if (!encodings) return;
    plan->ranks = encodings->ranks;
    plan->directions = encodings->directions;
    plan->logarithm = encodings->logarithm;
}

// ---- rules ----------------------------------------------------------------------------------------------------------

static const gp_size_class *class_of(size_t rows)
{
    size_t k = GP_SIZE_CLASSES - 1;
    while (gp_size_classes[k].rows_from > rows) k--;
    return &gp_size_classes[k];
}

bool gp_plan_is_exact(const gp_train_options *o, size_t rows)
{
    const bool course = o->course_asked || o->cluster || o->resume || o->replay || o->theta || o->inducing;
    return !course && rows <= GP_EXACT_ROWS_MAX;
}

bool gp_plan_wants_cells(const gp_facts *f, const gp_train_options *o)
{
    if (o->cells != GP_CELLS_AUTO) return o->cells > 0;
    return f->rows >= GP_CELLS_ROWS_MIN && f->validation_rows >= GP_JUDGING_ROWS_MIN;
}

bool gp_plan_is_noisy(double noise)
{
    return noise > 0.5;
}

size_t gp_plan_cells(size_t rows, bool noisy)
{
    const gp_cell_class *class = noisy ? &gp_cells_noise : &gp_cells_signal;
    return gp_least(rows / class->rows, class->cells_max);
}

double gp_plan_rows_a_version(const gp_train_options *o, size_t workers, size_t batch, size_t rows)
{
    const double quorum = gp_schedule_settled(o->schedule).quorum;
    const double pushes = o->schedule.max_delay ? fmax(1, ceil(quorum * (double)workers)) : (double)workers;
    return fmin(pushes * (double)batch, (double)rows);
}

static size_t within(size_t n, size_t most)
{
    return n < most ? n : most > 1 ? most : 1;
}

// Of all workers together. Many workers share larger ones.
static size_t step_rows(const gp_facts *f, const gp_train_options *o, size_t workers)
{
    size_t batch = class_of(f->rows)->batch;
    if (!batch) batch = f->rows;
    while (batch < GP_BATCH_WORKER_MAX * workers && 40 * batch < f->rows) batch *= 2;
    if (batch < GP_BATCH_INDUCING * o->m) batch = GP_BATCH_INDUCING * o->m;
    return gp_least(o->schedule.batch ? o->schedule.batch : batch, f->rows);
}

static void plan_workers(gp_plan *p, const gp_facts *f, const gp_train_options *o)
{
    const size_t wanted = f->cluster_workers ? f->cluster_workers : o->schedule.workers ? o->schedule.workers : 1;
    if (f->cluster_workers)
        set(&p->workers, wanted, GP_ORIGIN_ASKED, "workers of the cluster");
    else if (o->workers_asked)
        set(&p->workers, wanted, GP_ORIGIN_ASKED, "option workers");
    else {
        size_t n = within(wanted, f->rows / GP_THREAD_ROWS_MIN);
        n = within(n, step_rows(f, o, n) / GP_PUSH_ROWS_MIN);
        set(&p->workers, n, GP_ORIGIN_RULE, "one for %d rows of a step, and no more than may work", GP_PUSH_ROWS_MIN);
    }
    if (f->workers_of_resumed && !o->workers_asked)
        set(&p->workers, f->workers_of_resumed, GP_ORIGIN_RULE, "as the run that is resumed");
    if (p->workers.n > f->shards) gp_plan_settle(&p->workers, f->shards, "there are no more shards");
}

static void plan_batch(gp_plan *p, const gp_facts *f, const gp_train_options *o)
{
    const size_t n = step_rows(f, o, p->workers.n);
    if (o->schedule.batch)
        set(&p->batch, n, GP_ORIGIN_ASKED, "option batch");
    else if (n == f->rows)
        set(&p->batch, n, GP_ORIGIN_RULE, "all rows");
    else if (n == GP_BATCH_INDUCING * o->m)
        set(&p->batch, n, GP_ORIGIN_RULE, "%d for each inducing point", GP_BATCH_INDUCING);
    else
        set(&p->batch, n, GP_ORIGIN_RULE, "about a fortieth of %zu rows", f->rows);
}

static void plan_steps(gp_plan *p, const gp_facts *f, const gp_train_options *o)
{
    const gp_size_class *class = class_of(f->rows);
    const bool cells = gp_plan_wants_cells(f, o);
    const size_t share = (p->batch.n + p->workers.n - 1) / p->workers.n,
                 largest = gp_size_classes[GP_SIZE_CLASSES - 1].batch;
    const double an_epoch = (double)f->rows / gp_plan_rows_a_version(o, p->workers.n, share, f->rows);
    const bool few_are_enough = p->batch.n == f->rows || p->batch.n >= largest;
    const double by_inducing = GP_STEPS_INDUCING / (double)o->m, floor_ = (double)class->steps_min_cells;
    const double least = cells || few_are_enough ? floor_ : fmax(floor_, fmin((double)class->steps_min, by_inducing));
    const double epochs = cells ? class->epochs_cells : class->epochs;
    if (o->schedule.steps) {
        set(&p->steps, o->schedule.steps, GP_ORIGIN_ASKED, "as many were asked for");
    } else if (o->epochs > 0) {
        set(&p->steps, gp_index(fmax(1, ceil(o->epochs * an_epoch)), SIZE_MAX), GP_ORIGIN_ASKED, "option epochs %g",
            o->epochs);
    } else {
        const double steps = fmin(GP_STEPS_MAX, fmax(least, epochs * an_epoch));
        set(&p->steps, gp_index(fmax(1, ceil(steps)), SIZE_MAX), GP_ORIGIN_RULE,
            "%g epochs%s, at least %.0f steps, at most %d", epochs, cells ? " before cells" : "", least, GP_STEPS_MAX);
    }
}

void gp_plan_set_workers(gp_plan *p, const gp_facts *f, const gp_train_options *o, size_t workers, const char *why)
{
    gp_plan_settle(&p->workers, workers, "%s", why);
    plan_batch(p, f, o);
    plan_steps(p, f, o);
}

static void plan_inducing(gp_plan *p, const gp_facts *f, const gp_train_options *o)
{
    const size_t many = class_of(f->rows)->inducing;
    const bool open = o->m_open && !o->components && !o->theta && !o->inducing && gp_plan_wants_cells(f, o);
    if (!o->m_open)
        set(&p->inducing, o->m, GP_ORIGIN_ASKED, "option inducing");
    else if (!open || many <= GP_INDUCING || many <= o->m)
        set(&p->inducing, o->m, GP_ORIGIN_RULE, "the usual number");
    else if (gp_plan_is_noisy(f->noise))
        set(&p->inducing, o->m, GP_ORIGIN_RULE, "the usual number: most of the target is noise");
    else
        set(&p->inducing, many, GP_ORIGIN_RULE, "%zu rows; %zu if a trial finds more noise than signal", f->rows, o->m);
}

static void plan_components(gp_plan *p, const gp_train_options *o)
{
    if (o->components)
        set(&p->components, o->components, GP_ORIGIN_ASKED, "option components");
    else if (o->m < GP_SHAPE_INDUCING_MIN)
        set(&p->components, 1, GP_ORIGIN_RULE, "fewer than %d inducing points are not divided", GP_SHAPE_INDUCING_MIN);
    else
        set_word(&p->components, "1 or 4", GP_ORIGIN_TRIAL, "to come: %s", gp_trial_what(GP_TRIAL_COMPONENTS));
}

static void plan_cells(gp_plan *p, const gp_facts *f, const gp_train_options *o)
{
    const bool noisy = gp_plan_is_noisy(f->noise);
    if (o->cells != GP_CELLS_AUTO)
        set(&p->cells, gp_least(o->cells, f->rows), GP_ORIGIN_ASKED, "option cells");
    else if (f->rows < GP_CELLS_ROWS_MIN)
        set(&p->cells, 0, GP_ORIGIN_RULE, "fewer than %d training rows", GP_CELLS_ROWS_MIN);
    else if (!gp_plan_wants_cells(f, o))
        set(&p->cells, 0, GP_ORIGIN_RULE, "fewer than %d validation rows", GP_JUDGING_ROWS_MIN);
    else
        set(&p->cells, gp_plan_cells(f->rows, noisy), GP_ORIGIN_TRIAL,
            "one for %zu rows%s, at most %zu; a trial to come: %s", noisy ? gp_cells_noise.rows : gp_cells_signal.rows,
            noisy ? " where most is noise" : "", noisy ? gp_cells_noise.cells_max : gp_cells_signal.cells_max,
            gp_trial_what(GP_TRIAL_CELLS));
}

static void plan_noise(gp_plan *p, const gp_facts *f, const gp_train_options *o)
{
    const bool held_out = f->validation_rows >= GP_JUDGING_ROWS_MIN;
    if (o->noise == GP_NOISE_AUTO) {
        set_word(&p->noise, "constant or varying", GP_ORIGIN_TRIAL, "to come: %s", gp_trial_what(GP_TRIAL_NOISE));
        if (held_out)
            set_word(&p->residuals, "of all rows or by group", GP_ORIGIN_TRIAL, "to come: %s",
                     gp_trial_what(GP_TRIAL_GROUPS));
    } else {
        set_word(&p->noise, o->noise == GP_NOISE_CONSTANT ? "constant" : "varying", GP_ORIGIN_ASKED, "option noise");
    }
    if (f->validation_rows + f->calibration_rows)
        set_word(&p->calibration, "validation rows", GP_ORIGIN_RULE,
                 "%zu rows are held out: a half judges, and all calibrate at the end",
                 f->validation_rows + f->calibration_rows);
    else
        set_word(&p->calibration, "leave-one-out", GP_ORIGIN_RULE,
                 "no rows are held out: each row is judged by a model without it");
}

// ---- what it takes --------------------------------------------------------------------------------------------------

// Matrices of M x M doubles: 17 of model, server and finish, 8 of each thread that works, 2 of the server for each
// worker, by measurement (tables of 400 to 2,000 columns, 1 to 4 threads); the linear trend has a feature for every
// encoded column, so it is these that many columns cost. Matrices of m x m beside them, where m is large: 8, and 2 of
// each thread (m from 1,000 to 4,000, 1 and 2 threads), and 14 while they are so small, up to 32 MB, that the C library
// keeps them when they are freed.
double gp_plan_sparse_bytes(const gp_facts *f, const gp_train_options *o, size_t inducing, size_t workers,
                            size_t threads)
{
    const double m = (double)gp_least(inducing, f->rows), T = (double)threads, W = (double)workers;
    const double M = m + (o->trend != GP_TREND_NONE) + (o->trend == GP_TREND_LINEAR ? (double)f->columns : 0);
    const double matrices = M * M * (17 + 8 * T + 2 * W) + m * m * (8 + 2 * T + (m < 2000 ? 14 : 0));
    return sizeof(double) * matrices + gp_linear_line_bytes(f->rows, f->columns);
}

// Floating-point operations of the largest acts over what a core does in a second, about: a person wants to know
// whether to wait or to have lunch.
static double cpu_seconds(const gp_plan *p, const gp_facts *f, bool exact)
{
    const double n = (double)f->rows, d = (double)f->columns, speed = 1.2e10;
    if (exact) return 1 + fmin(40 * n * n * (n + 4 * d), 1.2e11) / speed; // its last stage has a budget
    const double M = (double)p->inducing.n + d, rows = (double)p->steps.n * (double)p->batch.n;
    const double steps = rows * (4 * M * M + 8 * M * d) + (double)p->steps.n * 6 * M * M * M;
    const double finish = n * 2 * M * M, cells = p->cells.n ? 3.5e8 * (double)p->cells.n * (1 + d / 20) + n * 3e5 : 0;
    return 2 + (steps + finish + cells) / speed;
}

static void estimate(gp_planned *c, double large, double small, const char *large_unit, const char *small_unit,
                     const char *why, double of)
{
    const double value = large >= 1.5 ? large : small;
    c->origin = GP_ORIGIN_RULE;
    snprintf(c->value, sizeof c->value, value >= 9.5 ? "about %.0f %s" : "about %.1g %s", value,
             large >= 1.5 ? large_unit : small_unit);
    snprintf(c->why, sizeof c->why, why, of);
}

static void plan_cost(gp_plan *p, const gp_facts *f, const gp_train_options *o, bool exact)
{
    const double n = (double)f->rows, rows = n * ((double)f->columns + 2) * sizeof(double);
    const double model = exact ? 6 * n * n * sizeof(double)
                               : gp_plan_sparse_bytes(f, o, p->inducing.n, p->workers.n, p->workers.n);
    const double bytes = rows + model, seconds = cpu_seconds(p, f, exact);
    estimate(&p->memory, bytes / 1e9, bytes / 1e6, "GB", "MB", "estimated, of %.3g GB", f->memory / 1e9);
    estimate(&p->time, seconds / 60, seconds, "minutes", "seconds", "estimated, to a factor of %.0f", 3);
}

// ---- the plan -------------------------------------------------------------------------------------------------------

static void plan_method(gp_plan *p, const gp_facts *f, bool exact)
{
    const bool open = !strcmp(f->method, "auto");
    if (open && exact)
        set_word(&p->method, "exact", GP_ORIGIN_RULE, "%d training rows or fewer", GP_EXACT_ROWS_MAX);
    else if (open)
        set_word(&p->method, "advgp", GP_ORIGIN_RULE,
                 f->rows > GP_EXACT_ROWS_MAX ? "more than %d training rows" : "an option asks for it",
                 GP_EXACT_ROWS_MAX);
    else
        set_word(&p->method, f->method, GP_ORIGIN_ASKED, "option method");
}

gp_plan gp_plan_make(const gp_facts *f, const gp_train_options *o)
{
    gp_plan p = {0};
    const bool open = !strcmp(f->method, "auto"),
               exact = open ? gp_plan_is_exact(o, f->rows) : !strcmp(f->method, "exact");
    plan_method(&p, f, exact);
    if (!strcmp(f->method, "linear") || !strcmp(f->method, "mean")) return p;
    if (o->kernel && !o->cells_kernel_open)
        set_word(&p.kernel, o->kernel->name, GP_ORIGIN_ASKED, "option kernel");
    else if (exact)
        set_word(&p.kernel, "by evidence", GP_ORIGIN_TRIAL, "to come: the kernel under which the rows are likeliest");
    else if (o->kernel)
        set_word(&p.kernel, o->kernel->name, GP_ORIGIN_RULE, "the usual one");
    if (!exact) {
        plan_workers(&p, f, o);
        plan_batch(&p, f, o);
        plan_steps(&p, f, o);
        plan_inducing(&p, f, o);
        plan_components(&p, o);
        plan_cells(&p, f, o);
    }
    plan_noise(&p, f, o);
    plan_cost(&p, f, o, exact);
    if (!exact && !open && strcmp(f->method, "advgp") != 0) // the method has steps of its own, and no trials
        p.batch.origin = p.steps.origin = p.components.origin = p.cells.origin = p.time.origin = GP_ORIGIN_NONE;
    return p;
}

// ---- for people -----------------------------------------------------------------------------------------------------

static const char *const origins[] = {"", "rule", "asked", "trial"};

json_t *gp_plan_json(const gp_plan *p)
{
    json_t *list = json_array();
#define X(member, label)                                                                                         \
    if (p->member.origin != GP_ORIGIN_NONE)                                                                      \
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "choice", label, "value", p->member.value, \
                                              "origin", origins[p->member.origin], "why", p->member.why));
    GP_PLAN_LIST(X)
#undef X
    return list;
}

void gp_plan_json_text(const json_t *plan, gp_buffer *out)
{
    size_t i;
    json_t *choice;
    json_array_foreach(plan, i, choice)
    {
        const char *what = "", *value = "", *origin = "", *why = "";
        json_unpack(choice, "{s?s, s?s, s?s, s?s}", "choice", &what, "value", &value, "origin", &origin, "why", &why);
        gp_buffer_add(out, "  %-24s %-24s %-6s %s\n", what, value, origin, why);
    }
}

void gp_plan_text(const gp_plan *p, gp_buffer *out)
{
    json_t *list = gp_plan_json(p);
    gp_plan_json_text(list, out);
    json_decref(list);
}
