// report.h: one page that says what a model is worth, for people: whether it is good, whether its intervals can be
// trusted, what matters, where it is wrong, how it came about, what went in, and how to repeat it. The page is whole in
// itself: style, scripts, charts and numbers are in it, and nothing is fetched.
#pragma once
#include "report/courses.h"
#include "report/effect.h"
#include "report/findings.h"
#include "report/input_relevance.h"

// All that a page is made of; borrowed. What may be NULL is then said to be missing.
typedef struct gp_report {
    const gp_model *model;
    const char *path; // of the model; NULL: in memory
    const gp_input_relevance *relevance;
    const gp_findings *findings;     // of rows; may be NULL
    const gp_assessment *assessment; // of these, or what model or log have kept of theirs; may be NULL
    const char *rows;                // whose figures these are: "held-out rows", "rows of test.csv"
    const gp_courses *courses;
    const json_t *inputs, *given; // files and options of the run, as a manifest has them; may be NULL
    const json_t *manifest;       // of the run's log; may be NULL
    const gp_notes *notes;        // on the rows that were read for this page; may be NULL
    const json_t *training_notes; // an array of sentences; may be NULL
    const json_t *explanations;   // of the first of the worst rows, as `explain` has them; may be NULL
    uint64_t seed;                // of the samples
    size_t n_rows;                // behind the findings
} gp_report;

// The page, at the end of a text.
advgp_status gp_report_page(const gp_report *report, gp_buffer *out, advgp_error *err);

// ---- its sections, each in a file -----------------------------------------------------------------------------------

advgp_status gp_section_quality(const gp_report *report, gp_buffer *out, advgp_error *err);
advgp_status gp_section_intervals(const gp_report *report, gp_buffer *out, advgp_error *err);
advgp_status gp_section_columns(const gp_report *report, gp_buffer *out, advgp_error *err);
advgp_status gp_section_errors(const gp_report *report, gp_buffer *out, advgp_error *err);
advgp_status gp_section_course(const gp_report *report, gp_buffer *out, advgp_error *err);
advgp_status gp_section_inputs(const gp_report *report, gp_buffer *out, advgp_error *err);
advgp_status gp_section_repeat(const gp_report *report, gp_buffer *out, advgp_error *err);

void gp_section_worst(const gp_report *report, gp_buffer *out); // a part of gp_section_errors
// Which columns and rows of the table the model has not seen, and where it says how the others were read: a part of
// gp_section_quality, beside the verdict.
void gp_section_left_out(const gp_report *report, gp_buffer *out);

// Where a section needs rows and there are none: one sentence that says so, and how to get it.
void gp_section_needs_rows(gp_buffer *out, const char *what);
// A colour scale in eight steps from lo to hi, with its title, for the chart `surface`.
json_t *gp_section_ramp(const char *title, double lo, double hi);
