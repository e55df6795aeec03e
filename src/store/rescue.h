// rescue.h: a model that took hours and cannot be written where it should be (the disk is full, the folder is gone) is
// written somewhere else.
#pragma once
#include "store/modelfile.h"

// Saves the model to path; where that fails for want of a place, as advgp-rescued-*.safetensors beside `beside` (a file
// that could be written, or NULL), then in the temporary folder. `kept` is where it is, empty if nowhere. Returns how
// saving to path went, and a text that says both. What was rescued is for its owner alone, 0600.
advgp_status gp_model_save_or_rescue(const gp_model *model, const char *path, const char *beside, char *kept,
                                     size_t kept_bytes, advgp_error *err);
