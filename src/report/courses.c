// courses.c: see courses.h.
#include "report/courses.h"
#include "base/alloc.h"
#include "base/text.h"
#include "store/runlog.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void gp_courses_fini(gp_courses *courses)
{
    for (size_t i = 0; i < courses->n; i++) {
        gp_free(courses->list[i].name);
        gp_free(courses->list[i].points);
        json_decref(courses->list[i].manifest);
        json_decref(courses->list[i].done);
    }
    gp_free(courses->list);
    *courses = (gp_courses){0};
}

static advgp_status course_named(gp_courses *all, size_t from, const char *name, gp_course **out, advgp_error *err)
{
    for (size_t i = from; i < all->n; i++)
        if (!strcmp(all->list[i].name, name)) {
            *out = &all->list[i];
            return ADVGP_OK;
        }
    gp_course course = {.stride = 1};
    if (gp_grow(&all->list, &all->room, all->n, all->n + 1, sizeof course)) {
        course.name = gp_text_copy(name, strlen(name));
        course.points = gp_alloc(GP_COURSE_POINTS, sizeof *course.points);
        all->list[all->n++] = course;
    }
    *out = all->n ? &all->list[all->n - 1] : NULL;
    return course.name && course.points ? ADVGP_OK : gp_no_memory(err);
}

static gp_course_point point_of(const json_t *event)
{
    gp_course_point p = {.seconds = gp_json_real_of(event, "time"),
                         .cpu = gp_json_real_of(event, "cpu"),
                         .rows = gp_json_real_of(event, "rows"),
                         .bound = gp_json_real_of(event, "neg_elbo_per_row"),
                         .rmse = gp_json_real_of(event, "rmse"),
                         .mnlp = gp_json_real_of(event, "mnlp")};
    const json_t *workers = json_object_get(event, "workers");
    const size_t n = json_array_size(workers);
    p.n_workers = n < GP_COURSE_WORKERS ? n : GP_COURSE_WORKERS;
    for (size_t k = 0; k < p.n_workers; k++) {
        const json_t *w = json_array_get(workers, k);
        p.workers[k] = (gp_course_worker){.age = gp_json_real_of(w, "age"),
                                          .waited = gp_json_real_of(w, "waited") /
                                                    fmax(gp_json_real_of(event, "step_seconds"), 1e-9),
                                          .rows_per_second = gp_json_real_of(w, "rows_per_second")};
    }
    return p;
}

// Where there is no more room, every second point goes, and of those that follow as many fewer stay.
static void keep(gp_course *c, gp_course_point point)
{
    if (c->n_seen++ % c->stride) return;
    if (c->n == GP_COURSE_POINTS) {
        for (size_t i = 0; i < GP_COURSE_POINTS / 2; i++) c->points[i] = c->points[2 * i];
        c->n = GP_COURSE_POINTS / 2;
        c->stride *= 2;
    }
    c->points[c->n++] = point;
}

advgp_status gp_courses_eval(gp_courses *courses, const char *name, const json_t *fields, advgp_error *err)
{
    gp_course *c;
    const advgp_status st = course_named(courses, 0, name, &c, err);
    if (st == ADVGP_OK) keep(c, point_of(fields));
    return st;
}

// "svigp, m = 50" of a comparison, else the name of the file.
static void name_of(const json_t *event, const char *path, char *name, size_t n)
{
    const char *slash = strrchr(path, '/'), *method = json_string_value(json_object_get(event, "method"));
    const long long m = json_integer_value(json_object_get(event, "inducing"));
    if (!method)
        snprintf(name, n, "%s", slash ? slash + 1 : path);
    else if (m)
        snprintf(name, n, "%s, m = %lld", method, m);
    else
        snprintf(name, n, "%s", method);
}

advgp_status gp_courses_read(gp_courses *courses, const char *path, advgp_error *err)
{
    gp_runlog_reader *reader = NULL;
    const size_t from = courses->n; // two logs may have runs of the same name
    advgp_status st = gp_runlog_open(path, &reader, err);
    json_t *event = NULL;
    while (st == ADVGP_OK && (st = gp_runlog_next(reader, &event, err)) == ADVGP_OK && event) {
        const char *what = json_string_value(json_object_get(event, "event"));
        const bool eval = !strcmp(what, "eval");
        const bool done = !strcmp(what, "done");
        gp_course *c = NULL;
        char name[256];
        name_of(event, path, name, sizeof name);
        if (eval || done) st = course_named(courses, from, name, &c, err);
        if (st == ADVGP_OK && eval) keep(c, point_of(event));
        if (st == ADVGP_OK && done) {
            json_decref(c->done);
            c->done = json_incref(event);
        }
        if (c && !c->manifest) c->manifest = json_deep_copy(gp_runlog_manifest(reader));
        json_decref(event);
    }
    gp_runlog_reader_close(reader);
    return st;
}
