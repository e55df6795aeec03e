// fuzz_tensorfile.c: any bytes as a safetensors file. What is accepted covers the file exactly and can be read to its
// end.
#include "base/alloc.h"
#include "fuzz.h"
#include "store/tensorfile.h"

#include <string.h>

static void check_accepted(const gp_tensorfile *file, size_t size)
{
    size_t data = 0;
    for (size_t i = 0; i < file->n; i++) {
        const gp_tensor *tensor = &file->tensors[i];
        size_t bytes = gp_tensor_count(tensor) * gp_dtype_size(tensor->dtype);
        FUZZ_CHECK((uintptr_t)tensor->data % 64 == 0);
        FUZZ_CHECK(gp_tensorfile_find(file, tensor->name) == tensor);
        gp_tensorfile_finite(file, tensor, NULL);
        for (size_t k = 0; k < bytes; k++) data += (((const volatile char *)tensor->data)[k], 1);
    }
    FUZZ_CHECK(data <= size);
    FUZZ_CHECK(!file->metadata || strlen(file->metadata) < size);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    long live = gp_alloc_count().live;
    gp_tensorfile *file;
    advgp_error err = {0};
    advgp_status st = gp_tensorfile_read(fuzz_file(bytes, n), &file, &err);
    FUZZ_CHECK(st == ADVGP_OK || st == ADVGP_EFILE);
    FUZZ_CHECK((st == ADVGP_OK) == (file != NULL) && (st == ADVGP_OK || err.text[0]));
    if (file) check_accepted(file, n);
    gp_tensorfile_free(file);
    FUZZ_CHECK(gp_alloc_count().live == live);
    return 0;
}
