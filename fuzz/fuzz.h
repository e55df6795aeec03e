// fuzz.h: what a harness of this folder is: one function that feeds bytes to one reader and checks what the reader
// promises. libFuzzer calls it (preset fuzz); in other builds replay.c feeds it the kept corpus, once.
#pragma once
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

// A path that names these bytes as a regular file without touching a disk; valid until the next call.
const char *fuzz_file(const uint8_t *bytes, size_t n);

// Stops the run with the place: a promise was broken.
#define FUZZ_CHECK(truth)                                      \
    do {                                                       \
        if (!(truth)) fuzz_broken(__FILE__, __LINE__, #truth); \
    } while (0)
_Noreturn void fuzz_broken(const char *file, int line, const char *truth);
