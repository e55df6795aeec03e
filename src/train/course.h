// course.h: the course of a sparse training, for the methods that share it: settle, pilots, steps, finish, account.
// They differ in the steps.
#pragma once
#include "run/run.h"
#include "train/checkpoint.h"
#include "train/judge.h"
#include "train/learner.h"
#include "train/train.h"

typedef struct gp_course {
    const gp_shards *shards;
    const gp_schema *schema;
    const gp_train_options *options;
    const gp_train_events *events;
    gp_train_result *result;
    gp_notes *notes; // may be NULL
    gp_reader reader;
    double *inducing;
    size_t m; // after distinct rows were counted
    size_t components;
    size_t n_train;
    size_t workers, batch, steps; // batch: rows of a push
    size_t every;                 // versions between two evaluations
    double wall_start, cpu_start;
    double run_start;  // wall clock when the steps began, after pilots
    size_t first_step; // taken before, where the run was resumed
    gp_learner *learner;
    gp_run *run;
    size_t part; // of a log that is replayed
    gp_judge *judge;
    double *judged;        // theta that a checkpoint had under judgement
    gp_train_eval asked;   // what was known when the judge was asked
    gp_worker_view *views; // [n_views]: places for workers
    size_t n_views;
    gp_run_state state;
    size_t next_eval;
    double last_save;
    double last_words; // until when an interrupted run waits for what workers of other processes sum for its finish
    bool undecided;    // someone asked to stop while pilots ran
} gp_course;

// Moves learner->theta from its start to the end of the steps, and says in the result why they ended, how many versions
// and how many rows there were.
typedef advgp_status (*gp_course_steps)(gp_course *course, advgp_error *err);

// Versions of the parameter server: the steps of advgp and svigp.
advgp_status gp_course_versions(gp_course *course, advgp_error *err);

// Scores theta on held-out rows as version `version`, tells the events, keeps the best. *stopped: is it enough?
advgp_status gp_course_judge(gp_course *course, const double *theta, size_t version, double neg_elbo_per_row,
                             gp_stop_reason *stopped, advgp_error *err);
// Where the time of the steps went: run_start is when they began, cpu_began what the process had used by then.
void gp_course_end_steps(gp_course *course, double cpu_began);
bool gp_course_stop_asked(const gp_course *course);
bool gp_course_time_is_up(const gp_course *course); // in a replay: at the version where it was
// Someone asked a replay to stop: ESTOPPED.
advgp_status gp_course_replay_stopped(advgp_error *err);

// As gp_train (train.h), with these steps.
advgp_status gp_course_train(const gp_shards *shards, gp_schema *schema_take, const char *sql,
                             const gp_train_options *options, gp_course_steps steps, const gp_train_events *events,
                             gp_notes *notes, gp_model **model, gp_train_result *result, advgp_error *err);
