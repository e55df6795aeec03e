// runlog.h: the log of a run, JSON lines: a manifest first, then events in the order they happened. Every line reaches
// the file whole or not at all, so that a killed run leaves a log that can be read up to its end.
#pragma once
#include "advgp.h"

#include <jansson.h>
#include <stdbool.h>

// ---- writing --------------------------------------------------------------------------------------------------------

typedef struct gp_runlog gp_runlog;

// Starts a log: replaces `path` and writes the manifest as its first line. The manifest stays the caller's.
advgp_status gp_runlog_create(const char *path, json_t *manifest, gp_runlog **out, advgp_error *err);
// Goes on with the log of a run that is resumed; what a killed process left of a last line is cut off.
advgp_status gp_runlog_append(const char *path, gp_runlog **out, advgp_error *err);
// One line: {"event": event, ...fields}. The fields are taken, also on failure; NULL fields are a failed json_pack:
// ENOMEM.
advgp_status gp_runlog_event_take(gp_runlog *log, const char *event, json_t *fields, advgp_error *err);
void gp_runlog_close(gp_runlog *log); // NULL is fine

// ---- reading --------------------------------------------------------------------------------------------------------

typedef struct gp_runlog_reader gp_runlog_reader;

// EFILE where the first line is no manifest.
advgp_status gp_runlog_open(const char *path, gp_runlog_reader **out, advgp_error *err);
const json_t *gp_runlog_manifest(const gp_runlog_reader *reader);
// The next event, the caller's to json_decref; NULL at the end. A last line without its newline counts as not written;
// any other line that is no JSON object with an "event" is EFILE and names file:line.
advgp_status gp_runlog_next(gp_runlog_reader *reader, json_t **event, advgp_error *err);
bool gp_runlog_was_cut(const gp_runlog_reader *reader); // after the end: there was such a last line
void gp_runlog_reader_close(gp_runlog_reader *reader);  // NULL is fine

// ---- values ---------------------------------------------------------------------------------------------------------

json_t *gp_json_real(double value);                                 // null where JSON has no number: NaN and infinities
json_t *gp_json_text(const char *text);                             // with question marks for what is no UTF-8
double gp_json_real_of(const json_t *object, const char *key);      // NaN where there is no number
const char *gp_json_text_of(const json_t *object, const char *key); // "" where there is no text
// An input as a manifest has it: name, and for a file its size and a hash of its first and last 16 MB.
json_t *gp_json_file(const char *path);
