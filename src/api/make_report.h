// make_report.h: the page of a model (report/report.h): from a model file, logs and rows, as `advgp report` does it, or
// at the end of a training, from the rows that it held out.
#pragma once
#include "base/host.h"
#include "load/load.h"
#include "options/option.h"
#include "recipe/train.h"
#include "report/courses.h"

typedef struct gp_report_made {
    size_t rows, bytes; // behind its figures, 0: none; of the page
    size_t runs;        // whose course it shows
} gp_report_made;

// By the options of `report`; the page is at the end of a text.
advgp_status gp_make_report(const gp_options *report, const gp_host *host, gp_buffer *page, gp_report_made *made,
                            advgp_error *err);
// Beside and renamed.
advgp_status gp_save_report(const gp_buffer *page, const char *path, advgp_error *err);

// A training that has ended; all borrowed.
typedef struct gp_trained {
    const gp_model *model;
    const char *path;               // of the model; NULL: in memory
    const gp_shards *shards, *test; // test may be NULL
    const gp_train_result *result;
    const gp_courses *courses;
    uint64_t seed;
} gp_trained;
advgp_status gp_report_training(const gp_trained *trained, const char *path, advgp_error *err);

// What a page can say later only if the model says it: files, options that were given, and all sentences about the
// rows, in its record.
advgp_status gp_keep_origin(gp_model *model, const gp_options *train, const gp_notes *of_data,
                            const gp_notes *of_training, advgp_error *err);
