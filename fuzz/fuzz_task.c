// fuzz_task.c: any bytes as a task that a lead gives its workers: a text, ended by a zero, and values after it. The fit
// of a cell that is accepted says the same when it is told again; sums are read up to where rows would be needed.
#include "base/alloc.h"
#include "cells/local_task.h"
#include "cells/sums_task.h"
#include "fuzz.h"

#include <string.h>

static void tell_again(const gp_parcel *parcel, const gp_local_task *task)
{
    gp_parcel told = {0};
    gp_local_task again;
    advgp_error err = {0};
    FUZZ_CHECK(gp_local_task_pack(task, &told, &err) == ADVGP_OK);
    FUZZ_CHECK(told.n_values == parcel->n_values);
    FUZZ_CHECK(!memcmp(told.values, parcel->values, told.n_values * sizeof(double)));
    FUZZ_CHECK(gp_local_task_unpack(&told, &again, &err) == ADVGP_OK);
    FUZZ_CHECK(again.kernel == task->kernel && again.way == task->way && again.trend == task->trend &&
               again.m == task->m && again.iterations == task->iterations && again.look_at == task->look_at &&
               again.seed == task->seed && !again.rows.w == !task->rows.w);
    gp_parcel_fini(&told);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const long live = gp_alloc_count().live;
    const uint8_t *end = n ? memchr(bytes, 0, n) : NULL;
    const size_t n_text = end ? (size_t)(end - bytes) : n, n_values = end ? (n - n_text - 1) / sizeof(double) : 0;
    gp_parcel parcel = {.text = gp_alloc(n_text, 1), // of their own sizes, so that a look beyond is seen
                        .n_text = n_text,
                        .values = gp_alloc(n_values, sizeof(double)),
                        .n_values = n_values};
    gp_local_task task;
    advgp_error err = {0};
    FUZZ_CHECK(parcel.text && parcel.values);
    if (n_text) memcpy(parcel.text, bytes, n_text);
    if (n_values) memcpy(parcel.values, end + 1, n_values * sizeof(double));
    const advgp_status st = gp_local_task_unpack(&parcel, &task, &err);
    FUZZ_CHECK(st == ADVGP_OK || (st == ADVGP_EFILE && err.text[0]));
    if (st == ADVGP_OK) tell_again(&parcel, &task);
    double *values;
    size_t n_sums;
    const advgp_status sums = gp_sums_task_do(&(gp_sums_rows){.threads = 1}, &parcel, &values, &n_sums, &err);
    FUZZ_CHECK((sums == ADVGP_EFILE || sums == ADVGP_ECLUSTER || sums == ADVGP_ENOMEM) && err.text[0] && !values);
    gp_parcel_fini(&parcel);
    FUZZ_CHECK(gp_alloc_count().live == live);
    return 0;
}
