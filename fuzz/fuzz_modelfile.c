// fuzz_modelfile.c: any bytes as a model file, with the checksums put right, which no search would ever find: what lies
// behind them must not be believed either. A model that is accepted predicts.
#include "base/alloc.h"
#include "fuzz.h"
#include "store/modelimage.h"
#include "store/tensorheader.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void load(const uint8_t *bytes, size_t n)
{
    gp_model *model = NULL;
    advgp_error err = {0};
    advgp_status st = gp_model_load(fuzz_file(bytes, n), &model, &err);
    FUZZ_CHECK(st == ADVGP_OK || st == ADVGP_EFILE || st == ADVGP_ENOMEM);
    FUZZ_CHECK((st == ADVGP_OK) == (model != NULL) && (st == ADVGP_OK || err.text[0]));
    if (model) {
        const gp_calibration *c = &model->calibration;
        FUZZ_CHECK(isfinite(gp_scores_quantile(c, gp_scores_of_all(c), 0.95)));
        FUZZ_CHECK(isfinite(gp_scores_log_density(c, gp_scores_of_all(c), 1)));
    }
    gp_model_free(model);
}

// The metadata with the checksum of these tensors and of its own text, where it has places for them.
static void sign(gp_buffer *out, const char *text, uint64_t xxh3)
{
    const size_t n = strlen(text);
    if (n < GP_TEXT_TAIL_BYTES) return;
    gp_buffer_bytes(out, text, n - GP_TEXT_TAIL_BYTES);
    char *sum = out->p ? strstr(out->p, "\"xxh3\":\"") : NULL, hex[17], tail[GP_TEXT_TAIL_BYTES + 1];
    snprintf(hex, sizeof hex, "%016llx", (unsigned long long)xxh3);
    if (sum && strlen(sum) >= 8 + 16) memcpy(sum + 8, hex, 16);
    gp_model_text_tail(out->p ? out->p : "", out->n, tail);
    gp_buffer_add(out, "%s", tail);
}

static void load_signed(const gp_tensorfile *file)
{
    uint64_t begin = 0;
    gp_buffer metadata = {0}, bytes = {0};
    for (size_t i = 0; i < file->n; i++)
        if (file->tensors[i].dtype != GP_F64) return; // the file would have them in another order
    sign(&metadata, file->metadata, gp_tensors_xxh3(file->tensors, file->n));
    gp_buffer_bytes(&bytes, "\0\0\0\0\0\0\0\0", 8);
    if (metadata.p) gp_tensor_header_begin(&bytes, metadata.p);
    for (size_t i = 0; metadata.p && i < file->n; i++) {
        const uint64_t end = begin + 8 * gp_tensor_count(&file->tensors[i]);
        gp_tensor_header_add(&bytes, &file->tensors[i], begin, end);
        begin = end;
    }
    if (metadata.p) gp_tensor_header_end(&bytes);
    const uint64_t length = bytes.n - 8;
    for (size_t i = 0; i < file->n; i++)
        gp_buffer_bytes(&bytes, file->tensors[i].data, 8 * gp_tensor_count(&file->tensors[i]));
    if (metadata.p && !metadata.failed && !bytes.failed) {
        memcpy(bytes.p, &length, sizeof length);
        load((const uint8_t *)bytes.p, bytes.n);
    }
    gp_buffer_fini(&metadata);
    gp_buffer_fini(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const long live = gp_alloc_count().live;
    gp_tensorfile *file = NULL;
    load(bytes, n);
    if (gp_tensorfile_read(fuzz_file(bytes, n), &file, NULL) == ADVGP_OK && file->metadata) load_signed(file);
    gp_tensorfile_free(file);
    FUZZ_CHECK(gp_alloc_count().live == live);
    return 0;
}
