// method_auto.c: the method of whoever names none: the exact process where the rows allow it, for it needs no steps and
// is the more accurate; advgp for more rows, or where an option asks for what only its course has.
#include "method/method.h"
#include "recipe/plan.h"

const gp_method *gp_method_resolve(const gp_method *method, const gp_train_options *o, size_t n_train)
{
    if (method != &gp_method_auto) return method;
    return gp_plan_is_exact(o, n_train) ? &gp_method_exact : &gp_method_advgp;
}

static advgp_status train_auto(const gp_train_request *request, gp_model **model, gp_train_result *result,
                               advgp_error *err)
{
    *model = NULL;
    if (!request->shards || !request->options) return gp_fail(err, ADVGP_EINVAL, "train: no rows or options given");
    const size_t n = gp_shards_rows(request->shards, GP_TRAIN);
    return gp_method_resolve(&gp_method_auto, request->options, n)->train(request, model, result, err);
}

const gp_method gp_method_auto = {
    .name = "auto",
    .summary = "exact for up to 3000 rows unless an option asks for advgp, else advgp",
    .resumes = true,
    .schedule = true,
    .train = train_auto,
};
