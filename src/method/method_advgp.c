// method_advgp.c: the sparse variational process of recipe.c as a method.
#include "method/method.h"

const gp_method gp_method_advgp = {
    .name = "advgp",
    .summary = "sparse variational Gaussian process, for any number of rows",
    .resumes = true,
    .schedule = true,
    .train = gp_train,
};
