// method.h: the methods of --method. Each takes encoded rows and gives a model; whatever its form (store/form.h), the
// program predicts, evaluates and inspects it the same way, and logs the same events on the way.
//
// A new method is one file with one table, declared below and listed in method_table.c: the words of --method, its help
// and completion come from there.
#pragma once
#include "train/train.h"

typedef struct gp_method {
    const char *name;    // what users type: --method linear
    const char *summary; // one line of help

    // Options of the groups Model, Method and Run that it honours, by name, ending with NULL: giving any other is a
    // mistake that the user is told of. NULL: all.
    const char *const *options;
    bool resumes;  // writes a checkpoint when interrupted, and goes on from it
    bool schedule; // its steps become smaller towards a last version that is known beforehand

    // As gp_train (train.h), which is one of them: model and result on success; eval is called at least once. Options
    // it does not honour are not looked at.
    advgp_status (*train)(const gp_train_request *request, gp_model **model, gp_train_result *result, advgp_error *err);
} gp_method;

extern const gp_method gp_method_advgp, gp_method_svigp, gp_method_distgp_gd, gp_method_distgp_lbfgs, gp_method_linear,
    gp_method_mean, gp_method_exact;

extern const gp_method *const gp_methods[];         // ends with NULL; the order users see, the default first
const gp_method *gp_method_named(const char *name); // NULL if there is none
bool gp_method_takes(const gp_method *method, const char *option);
