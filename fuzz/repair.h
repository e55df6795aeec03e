// repair.h: a checksum stops every change before the reader behind it is asked. The harnesses of files with checksums
// feed their input twice: as it is, and with the checksums made right.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint8_t *fuzz_find(uint8_t *bytes, size_t n, const char *text); // NULL: not there
// The 16 digits behind the first `before`; false if there are none.
bool fuzz_put_hex(uint8_t *bytes, size_t n, const char *before, uint64_t value);
// The checksum of the tensors of a safetensors file, kept in its metadata behind `before`.
bool fuzz_repair_tensors(uint8_t *bytes, size_t n, const char *before);
