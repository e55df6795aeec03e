// warmstart.h: a run that starts where another ended: the parameters of a model file, in the units of new data.
#pragma once
#include "data/schema.h"
#include "store/modelfile.h"

// The model's whole parameter vector for rows standardised by `schema`: the same function of the file's own columns,
// with the same uncertainty (without a trend, a shift of the target's mean has no place and is lost). EDATA names the
// column that one has and the other has not, or what else differs; path is how messages call the model. The caller
// frees *theta with gp_free.
advgp_status gp_warmstart(const gp_model *model, const char *path, const gp_schema *schema, double **theta,
                          advgp_error *err);
