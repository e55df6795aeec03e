// courses.h: how runs went on, as their logs tell: held-out figures and the bound against time and rows, and what the
// workers did. A log of `compare` has several runs.
#pragma once
#include "base/status.h"

#include <jansson.h>
#include <stddef.h>

enum { GP_COURSE_POINTS = 400, GP_COURSE_WORKERS = 16 }; // points and workers of a run that are kept

typedef struct gp_course_worker {
    double age;    // versions since its newest push was computed
    double waited; // share of the time since the steps began
    double rows_per_second;
} gp_course_worker;

typedef struct gp_course_point { // NaN where nobody knows
    double seconds, cpu, rows, bound, rmse, mnlp;
    size_t n_workers;
    gp_course_worker workers[GP_COURSE_WORKERS];
} gp_course_point;

typedef struct gp_course {
    char *name;
    gp_course_point *points; // [GP_COURSE_POINTS]
    size_t n, n_seen, stride;
    json_t *manifest, *done; // the first and the last line; NULL: not there
} gp_course;

typedef struct gp_courses {
    gp_course *list;
    size_t n, room;
} gp_courses; // {0} is empty

// Every run of a log, named by its file or, of a comparison, by its method. EFILE: it is no log.
advgp_status gp_courses_read(gp_courses *courses, const char *path, advgp_error *err);
// A run that goes on in this process: its evaluations one by one, with the fields that a log would have.
advgp_status gp_courses_eval(gp_courses *courses, const char *name, const json_t *fields, advgp_error *err);
void gp_courses_fini(gp_courses *courses);
