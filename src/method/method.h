// method.h: the methods of --method. Each takes encoded rows and gives a model; whatever its form (store/form.h), the
// program predicts, evaluates and inspects it the same way, and logs the same events on the way.
//
// A new method is one file with one table, and one line of the list below: the words of --method, its help
// and completion come from there.
#pragma once
#include "recipe/train.h"

typedef struct gp_method {
    const char *name;    // what users type: --method linear
    const char *summary; // one line of help

    // Options of the groups Model, Method and Run that it honours, by name, ending with NULL: giving any other is a
    // mistake that the user is told of; "transport" stands for all of a cluster. NULL: all.
    const char *const *options;
    bool resumes;  // writes a checkpoint when interrupted, and goes on from it
    bool schedule; // its steps become smaller towards a last version that is known beforehand

    // As gp_train (train.h), which is one of them: model and result on success; eval is called at least once. Options
    // it does not honour are not looked at.
    advgp_status (*train)(const gp_train_request *request, gp_model **model, gp_train_result *result, advgp_error *err);
} gp_method;

// One line a method: the order users see, the default first.
#define GP_METHOD_LIST(X) \
    X(auto)               \
    X(advgp)              \
    X(svigp)              \
    X(distgp_gd)          \
    X(distgp_lbfgs)       \
    X(linear)             \
    X(mean)               \
    X(exact)

#define X(name) extern const gp_method gp_method_##name;
GP_METHOD_LIST(X)
#undef X

extern const gp_method *const gp_methods[];         // ends with NULL; in the order of the list
const gp_method *gp_method_named(const char *name); // NULL if there is none
// What auto stands for with these options and training rows; any other is itself.
const gp_method *gp_method_resolve(const gp_method *method, const gp_train_options *options, size_t n_train);
bool gp_method_takes(const gp_method *method, const char *option);
