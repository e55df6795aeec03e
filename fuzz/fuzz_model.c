// fuzz_model.c: any bytes as a model file. What is accepted predicts, and a copy of it is accepted again.
#include "base/alloc.h"
#include "fuzz.h"
#include "repair.h"
#include "store/modelfile.h"
#include "store/modelimage.h"
#include "store/tensorfile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_accepted(const gp_model *model)
{
    gp_predictor *predictor = NULL;
    gp_predict_work *work = NULL;
    advgp_error err = {0};
    double x[64] = {0}, mean, sd_f, sd_y;
    FUZZ_CHECK(model->schema && model->schema->d == model->spec.d);
    FUZZ_CHECK(isfinite(gp_model_interval(model, 0.9)) && gp_model_interval(model, 0.9) >= 0);
    if (model->spec.d > sizeof x / sizeof *x) return;
    FUZZ_CHECK(gp_model_predictor(model, &predictor, &err) == ADVGP_OK);
    FUZZ_CHECK(gp_predict_work_new(predictor, 0, &work, &err) == ADVGP_OK);
    FUZZ_CHECK(gp_predict(predictor, work, gp_cmat_of(x, 1, model->spec.d), &mean, &sd_f, &sd_y, &err) == ADVGP_OK);
    FUZZ_CHECK(!isnan(mean));
    gp_predict_work_free(work);
    gp_predictor_free(predictor);
}

static void load(const uint8_t *bytes, size_t n)
{
    const long live = gp_alloc_count().live;
    gp_model *model;
    advgp_error err = {0};
    const advgp_status st = gp_model_load(fuzz_file(bytes, n), &model, &err);
    FUZZ_CHECK(st == ADVGP_OK || st == ADVGP_EFILE);
    FUZZ_CHECK((st == ADVGP_OK) == (model != NULL) && (st == ADVGP_OK || err.text[0]));
    if (model) check_accepted(model);
    gp_model_free(model);
    FUZZ_CHECK(gp_alloc_count().live == live);
}

// The metadata ends with a checksum of its own text.
static void repair_text(uint8_t *bytes, size_t n)
{
    gp_tensorfile *file;
    if (gp_tensorfile_read(fuzz_file(bytes, n), &file, NULL) != ADVGP_OK) return;
    const size_t length = file->metadata ? strlen(file->metadata) : 0;
    if (length > GP_TEXT_TAIL_BYTES) {
        char tail[GP_TEXT_TAIL_BYTES + 1];
        gp_model_text_tail(file->metadata, length - GP_TEXT_TAIL_BYTES, tail);
        fuzz_put_hex(bytes, n, "text_xxh3\\\":\\\"", strtoull(strrchr(tail, ':') + 2, NULL, 16));
    }
    gp_tensorfile_free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    load(bytes, n);
    uint8_t *copy = malloc(n ? n : 1);
    FUZZ_CHECK(copy != NULL);
    if (n) memcpy(copy, bytes, n);
    if (fuzz_repair_tensors(copy, n, "\\\"xxh3\\\":\\\"")) {
        repair_text(copy, n);
        load(copy, n);
    }
    free(copy);
    return 0;
}
