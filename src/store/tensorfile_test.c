// tensorfile_test.c: what is written is read back bit for bit; a damaged or hostile file is refused by name, never
// believed.
#include "store/tensorfile.h"

#include "base/alloc.h"
#include "store/scratch_test.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const double z[6] = {1.5, -2, 3e-300, 4e300, 0, -0.0};
static const float mu[3] = {1, 2, 3};
static const int64_t rows[2] = {INT64_MIN, INT64_MAX};
static const uint64_t hash = UINT64_MAX;
static const gp_tensor sample[] = {
    {.name = "mu", .dtype = GP_F32, .rank = 1, .shape = {3}, .data = mu},
    {.name = "z", .dtype = GP_F64, .rank = 2, .shape = {3, 2}, .data = z},
    {.name = "rows", .dtype = GP_I64, .rank = 1, .shape = {2}, .data = rows},
    {.name = "empty", .dtype = GP_F64, .rank = 3, .shape = {2, 0, 5}, .data = NULL},
    {.name = "h\xc3\xa4sh \"\\\n", .dtype = GP_U64, .rank = 0, .data = &hash},
};
enum { N_SAMPLE = sizeof sample / sizeof *sample };
static const char metadata[] = "{\"format\": 1, \"text\": \"a\\\"b\\n \xe2\x82\xac\"}\n\t\x01";

static void a_file_is_read_back_bit_for_bit(void **state)
{
    (void)state;
    const char *path = scratch_path("a.safetensors");
    advgp_error err = {0};
    if (gp_tensorfile_write(path, sample, N_SAMPLE, metadata, &err) != ADVGP_OK) fail_msg("%s", err.text);
    gp_tensorfile *file;
    if (gp_tensorfile_read(path, &file, &err) != ADVGP_OK) fail_msg("%s", err.text);
    assert_int_equal(file->n, N_SAMPLE);
    assert_string_equal(file->metadata, metadata);
    assert_true(file->xxh3 == gp_tensors_xxh3(sample, N_SAMPLE));
    for (size_t i = 0; i < N_SAMPLE; i++) {
        const gp_tensor *t;
        advgp_status st = gp_tensorfile_need(file, sample[i].name, sample[i].dtype, sample[i].rank, sample[i].shape, &t,
                                             &err);
        if (st != ADVGP_OK) fail_msg("%s", err.text);
        size_t bytes = gp_tensor_count(t) * gp_dtype_size(t->dtype);
        if (bytes) assert_memory_equal(t->data, sample[i].data, bytes);
        assert_int_equal((uintptr_t)t->data % 64, 0);
    }
    gp_tensorfile_free(file);
    gp_tensorfile_free(NULL);
    unlink(path);
}

static void a_tensor_in_parts_is_written_as_one(void **state)
{
    (void)state;
    char whole[512], parts[512];
    const void *rows_of_z[] = {z, z + 2, z + 4};
    gp_tensor tensor = {.name = "z", .dtype = GP_F64, .rank = 2, .shape = {3, 2}, .data = z};
    const char *path = scratch_path("parts.safetensors");
    advgp_error err = {0};
    assert_int_equal(gp_tensorfile_write(path, &tensor, 1, NULL, &err), ADVGP_OK);
    const size_t n = scratch_load(path, whole, sizeof whole);
    const uint64_t xxh3 = gp_tensors_xxh3(&tensor, 1);
    tensor.data = NULL, tensor.parts = rows_of_z;
    assert_int_equal(gp_tensorfile_write(path, &tensor, 1, NULL, &err), ADVGP_OK);
    assert_int_equal(scratch_load(path, parts, sizeof parts), n);
    assert_memory_equal(whole, parts, n);
    assert_true(gp_tensors_xxh3(&tensor, 1) == xxh3);
    tensor.shape[0] = 0; // none of them
    assert_int_equal(gp_tensorfile_write(path, &tensor, 1, NULL, &err), ADVGP_OK);
    tensor.rank = 0; // a single number has no parts
    assert_int_equal(gp_tensorfile_write(path, &tensor, 1, NULL, &err), ADVGP_EINVAL);
    unlink(path);
}

static void a_file_without_anything_is_a_file(void **state)
{
    (void)state;
    const char *path = scratch_path("a.safetensors");
    assert_int_equal(gp_tensorfile_write(path, NULL, 0, NULL, NULL), ADVGP_OK);
    gp_tensorfile *file;
    assert_int_equal(gp_tensorfile_read(path, &file, NULL), ADVGP_OK);
    assert_int_equal(file->n, 0);
    assert_null(file->metadata);
    assert_null(gp_tensorfile_find(file, "z"));
    gp_tensorfile_free(file);
    unlink(path);
}

static void what_is_asked_for_must_be_there(void **state)
{
    (void)state;
    const char *path = scratch_path("a.safetensors");
    assert_int_equal(gp_tensorfile_write(path, sample, N_SAMPLE, NULL, NULL), ADVGP_OK);
    gp_tensorfile *file;
    assert_int_equal(gp_tensorfile_read(path, &file, NULL), ADVGP_OK);
    const gp_tensor *t;
    advgp_error err = {0};
    assert_int_equal(gp_tensorfile_need(file, "z", GP_F64, 2, (size_t[]){GP_ANY, 2}, &t, &err), ADVGP_OK);
    char expected[300];
    assert_int_equal(gp_tensorfile_need(file, "z", GP_F64, 2, (size_t[]){GP_ANY, 3}, &t, &err), ADVGP_EFILE);
    snprintf(expected, sizeof expected, "%s: tensor 'z' is F64 [3, 2]; F64 [any, 3] was expected", path);
    assert_string_equal(err.text, expected);
    assert_int_equal(gp_tensorfile_need(file, "mu", GP_F64, 1, (size_t[]){3}, &t, &err), ADVGP_EFILE);
    snprintf(expected, sizeof expected, "%s: tensor 'mu' is F32 [3]; F64 [3] was expected", path);
    assert_string_equal(err.text, expected);
    assert_int_equal(gp_tensorfile_need(file, "u", GP_F64, 1, (size_t[]){3}, &t, &err), ADVGP_EFILE);
    snprintf(expected, sizeof expected, "%s: tensor 'u' is missing", path);
    assert_string_equal(err.text, expected);
    gp_tensorfile_free(file);
    unlink(path);
}

static void values_that_are_not_finite_are_named(void **state)
{
    (void)state;
    const char *path = scratch_path("a.safetensors");
    const double wide[4] = {1, 2, INFINITY, 3};
    const float narrow[2] = {1, NAN};
    const gp_tensor tensors[] = {{.name = "w", .dtype = GP_F64, .rank = 1, .shape = {4}, .data = wide},
                                 {.name = "n", .dtype = GP_F32, .rank = 1, .shape = {2}, .data = narrow},
                                 {.name = "i", .dtype = GP_I64, .rank = 1, .shape = {2}, .data = rows}};
    assert_int_equal(gp_tensorfile_write(path, tensors, 3, NULL, NULL), ADVGP_OK);
    gp_tensorfile *file;
    assert_int_equal(gp_tensorfile_read(path, &file, NULL), ADVGP_OK);
    advgp_error err = {0};
    char expected[300];
    assert_int_equal(gp_tensorfile_finite(file, gp_tensorfile_find(file, "i"), &err), ADVGP_OK);
    assert_int_equal(gp_tensorfile_finite(file, gp_tensorfile_find(file, "n"), &err), ADVGP_EFILE);
    assert_int_equal(gp_tensorfile_finite(file, gp_tensorfile_find(file, "w"), &err), ADVGP_EFILE);
    snprintf(expected, sizeof expected, "%s: element 2 of tensor 'w' is inf", path);
    assert_string_equal(err.text, expected);
    gp_tensorfile_free(file);
    unlink(path);
}

static void tensors_that_cannot_be_written_are_named(void **state)
{
    (void)state;
    const gp_tensor good = {.name = "a", .dtype = GP_F64, .rank = 1, .shape = {1}, .data = z};
    gp_tensor pairs[][2] = {{good, good}, {good, good}, {good, good}, {good, good}, {good, good}, {good, good}};
    static const char *const messages[] = {
        "two tensors are named 'a'",   "tensor 1 has no usable name",           "tensor 1 has no usable name",
        "tensor 1 has no usable name", "tensor 'b' has no known type or shape", "tensor 'b' has no data"};
    pairs[1][1].name = NULL;
    pairs[2][1].name = "\xff";
    pairs[3][1].name = "__metadata__";
    pairs[4][1] = (gp_tensor){.name = "b", .dtype = GP_F64, .rank = 5, .data = z};
    pairs[5][1] = (gp_tensor){.name = "b", .dtype = GP_F64, .rank = 0};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        advgp_error err = {0};
        assert_int_equal(gp_tensorfile_write(scratch_path("bad"), pairs[i], 2, NULL, &err), ADVGP_EINVAL);
        assert_non_null(strstr(err.text, messages[i]));
        assert_int_equal(scratch_count(), 0);
    }
    assert_int_equal(gp_tensorfile_write(scratch_path("bad"), &good, 1, "\xc3\x28", NULL), ADVGP_EINVAL);
    assert_int_equal(gp_tensorfile_write(NULL, &good, 1, NULL, NULL), ADVGP_EINVAL);
}

// ---- hostile files --------------------------------------------------------------------------------------------------

enum { DATA = 64 }; // bytes behind the headers below, if nothing else is said

static advgp_status read_crafted(const char *header, size_t data, advgp_error *err)
{
    static char bytes[1 << 16];
    const char *path = scratch_path("crafted");
    uint64_t length = strlen(header);
    snprintf(bytes + 8, sizeof bytes - 8 - data, "%s", header);
    memcpy(bytes, &length, 8);
    memset(bytes + 8 + length, 0, data);
    scratch_save(path, bytes, 8 + length + data);
    gp_tensorfile *file;
    advgp_status st = gp_tensorfile_read(path, &file, err);
    gp_tensorfile_free(file);
    unlink(path);
    return st;
}

#define T(name, shape, begin, end) \
    "\"" name "\":{\"dtype\":\"F64\",\"shape\":[" shape "],\"data_offsets\":[" #begin "," #end "]}"

static void unusual_but_right_headers_are_read(void **state)
{
    (void)state;
    static const char *const headers[] = {
        "{" T("a", "8", 0, 64) "}",
        "{" T("b", "4", 32, 64) "," T("a", "4", 0, 32) "}  \n",
        "{ \"a\" : { \"data_offsets\" : [ 0 , 64 ] , \"shape\" : [ 2 , 4 ] , \"dtype\" : \"F64\" } }",
        "{\"__metadata__\":{\"format\":\"pt\",\"format\":\"again\"}," T("a", "8", 0, 64) "}",
        "{\"__metadata__\":{}," T("a", "8", 0, 64) "}",
        "{" T("a", "8", 0, 64) "," T("b", "0", 64, 64) "," T("c", "3,0", 0, 0) "}",
        "{" T("", "8", 0, 64) "}",
        "{" T("\\u00e9\\uD83D\\ude00\\/", "8", 0, 64) "}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}," T(
            "b", "7", 4, 60) ",\"c\":{\"dtype\":\"F32\","
                             "\"shape\":[1],\"data_offsets\":[60,64]}}", // numbers that are not aligned in the file
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        advgp_error err = {0};
        if (read_crafted(headers[i], DATA, &err) != ADVGP_OK) fail_msg("%s: %s", headers[i], err.text);
    }
}

static void crafted_headers_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *header, *message;
    } cases[] = {
        {"", "the header is damaged at byte 0: { expected"},
        {" {}", "the header is damaged at byte 0: { expected"},
        {"[]", "the header is damaged at byte 0: { expected"},
        {"{", "the header is damaged at byte 1: a string expected"},
        {"{}", "the last 64 bytes belong to no tensor"},
        {"{}{}", "the header is damaged at byte 2: the end of the header expected"},
        {"{" T("a", "8", 0, 64) ",}", "a string expected"},
        {"{" T("a", "8", 0, 64), "} expected"},
        {"{" T("a", "4", 0, 32) "," T("b", "4", 24, 56) "}", "tensors 'a' and 'b' overlap at byte 24"},
        {"{" T("a", "8", 0, 64) "," T("b", "8", 0, 64) "}", "overlap at byte 0"},
        {"{" T("a", "4", 0, 32) "," T("b", "3", 40, 64) "}", "bytes 32 to 40, before tensor 'b', belong to no tensor"},
        {"{" T("a", "7", 8, 64) "}", "bytes 0 to 8, before tensor 'a', belong to no tensor"},
        {"{" T("a", "7", 0, 56) "}", "the last 8 bytes belong to no tensor"},
        {"{" T("a", "9", 0, 72) "}", "tensor 'a' ends at byte 72 of 64: the file is cut off"},
        {"{" T("a", "4", 0, 32) "," T("a", "4", 32, 64) "}", "two tensors are named 'a'"},
        {"{" T("a", "7", 0, 64) "}", "tensor 'a' needs 56 bytes and has bytes 0 to 64"},
        {"{" T("a", "8", 64, 0) "}", "tensor 'a' needs 64 bytes and has bytes 64 to 0"},
        {"{" T("a", "4294967296,4294967296", 0, 64) "}", "the shape of tensor 'a' overflows"},
        {"{" T("a", "2305843009213693952", 0, 0) "}", "the shape of tensor 'a' overflows"},
        {"{" T("a", "18446744073709551615", 0, 64) "}", "the shape of tensor 'a' overflows"},
        {"{" T("a", "18446744073709551616", 0, 64) "}", "shape of tensor 'a': the header is damaged"},
        {"{" T("a", "1,1,1,1,8", 0, 64) "}",
         "shape of tensor 'a': the header is damaged at byte 38: fewer numbers expected"},
        {"{" T("a", "-8", 0, 64) "}", "a whole number expected"},
        {"{" T("a", "8.0", 0, 64) "}", "] expected"},
        {"{" T("a", "8e0", 0, 64) "}", "] expected"},
        {"{" T("a", "08", 0, 64) "}", "a number without leading zeros expected"},
        {"{" T("a", "\"8\"", 0, 64) "}", "a whole number expected"},
        {"{" T("a", "[[[[[8]]]]]", 0, 64) "}", "a whole number expected"},
        {"{" T("a", "8", 0, 18446744073709551615) "}", "tensor 'a' needs 64 bytes"},
        {"{" T("\\u0000", "8", 0, 64) "}", "a JSON escape expected"},
        {"{" T("\\ud800", "8", 0, 64) "}", "a JSON escape expected"},
        {"{" T("\\udc00\\ud800", "8", 0, 64) "}", "a JSON escape expected"},
        {"{" T("\\x41", "8", 0, 64) "}", "a JSON escape expected"},
        {"{" T("\x01", "8", 0, 64) "}", "a printable character expected"},
        {"{" T("\xff", "8", 0, 64) "}", "UTF-8 before this expected"},
        {"{\"a\":{\"dtype\":\"BF16\",\"shape\":[32],\"data_offsets\":[0,64]}}",
         "tensor 'a' is of type 'BF16'; F64, F32, I64 and U64 are read"},
        {"{\"a\":{\"dtype\":\"F64\",\"dtype\":\"F64\",\"shape\":[8]}}", "tensor 'a': field 'dtype' is given twice"},
        {"{\"a\":{\"dtype\":\"F64\",\"shape\":[8]}}", "tensor 'a' lacks dtype, shape or data_offsets"},
        {"{\"a\":{}}", "a string expected"},
        {"{\"a\":[]}", "{ expected"},
        {"{\"a\":{\"kind\":1}}", "tensor 'a': field 'kind' is unknown"},
        {"{\"a\":{\"data_offsets\":[0]}}",
         "data_offsets of tensor 'a': the header is damaged at byte 24: two numbers expected"},
        {"{\"a\":{\"data_offsets\":[0,1,2]}}", "fewer numbers expected"},
        {"{\"__metadata__\":{\"advgp\":\"1\",\"advgp\":\"2\"}}", "__metadata__ has 'advgp' twice"},
        {"{\"__metadata__\":{\"advgp\":1}}", "__metadata__: the header is damaged at byte 25: a string expected"},
        {"{\"__metadata__\":{\"a\":{}}}", "a string expected"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", "the header has __metadata__ twice"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        advgp_error err = {0};
        advgp_status st = read_crafted(cases[i].header, DATA, &err);
        if (st != ADVGP_EFILE || !strstr(err.text, cases[i].message) || !strstr(err.text, scratch))
            fail_msg("%s\n  gave %d: %s\n  not: %s", cases[i].header, st, err.text, cases[i].message);
    }
}

static void things_that_are_no_files_are_refused(void **state)
{
    (void)state;
    gp_tensorfile *file;
    advgp_error err = {0};
    assert_int_equal(gp_tensorfile_read("no/such.safetensors", &file, &err), ADVGP_EDATA);
    assert_string_equal(err.text, "no/such.safetensors: cannot open: No such file or directory");
    assert_int_equal(gp_tensorfile_read("/dev/null", &file, &err), ADVGP_EFILE);
    assert_string_equal(err.text, "/dev/null: is not a regular file");
    assert_int_equal(gp_tensorfile_read(".", &file, &err), ADVGP_EFILE);
    assert_int_equal(mkfifo(scratch_path("fifo"), 0600), 0);
    assert_int_equal(gp_tensorfile_read(scratch_path("fifo"), &file, &err), ADVGP_EFILE);
    unlink(scratch_path("fifo"));
    assert_int_equal(gp_tensorfile_read(NULL, &file, &err), ADVGP_EINVAL);
}

static void a_lying_header_length_is_refused(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {0, 1, 9, 100000001, UINT64_MAX, UINT64_MAX - 7, (uint64_t)1 << 63};
    const char *path = scratch_path("lying");
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char bytes[] = "length..{}      ";
        memcpy(bytes, &lengths[i], 8);
        scratch_save(path, bytes, 16);
        gp_tensorfile *file;
        assert_int_equal(gp_tensorfile_read(path, &file, NULL), ADVGP_EFILE);
    }
    unlink(path);
}

static size_t load_sample(char *bytes, size_t room)
{
    const char *path = scratch_path("sample");
    assert_int_equal(gp_tensorfile_write(path, sample, N_SAMPLE, metadata, NULL), ADVGP_OK);
    size_t n = scratch_load(path, bytes, room);
    unlink(path);
    return n;
}

static void a_file_cut_anywhere_is_refused(void **state)
{
    (void)state;
    char bytes[4096];
    size_t n = load_sample(bytes, sizeof bytes);
    const char *path = scratch_path("cut");
    for (size_t cut = 0; cut < n; cut++) {
        scratch_save(path, bytes, cut);
        gp_tensorfile *file;
        assert_int_equal(gp_tensorfile_read(path, &file, NULL), ADVGP_EFILE);
    }
    bytes[n] = 0;
    scratch_save(path, bytes, n + 1); // nor may it be longer
    gp_tensorfile *file;
    assert_int_equal(gp_tensorfile_read(path, &file, NULL), ADVGP_EFILE);
    unlink(path);
}

// A flipped bit is refused, or changes no more than a name, a text or values: then the checksum or the caller's own
// question (gp_tensorfile_need) tells. What is accepted must be safe to read to its last byte, which the sanitizers
// watch.
static void a_flipped_bit_never_escapes_the_file(void **state)
{
    (void)state;
    char bytes[4096];
    size_t n = load_sample(bytes, sizeof bytes), refused = 0;
    const char *path = scratch_path("flipped");
    for (size_t bit = 0; bit < 8 * n; bit++) {
        bytes[bit / 8] ^= (char)(1 << bit % 8);
        scratch_save(path, bytes, n);
        bytes[bit / 8] ^= (char)(1 << bit % 8);
        gp_tensorfile *file;
        advgp_status st = gp_tensorfile_read(path, &file, NULL);
        assert_true(st == ADVGP_OK || st == ADVGP_EFILE);
        refused += st == ADVGP_EFILE;
        for (size_t i = 0; file && i < file->n; i++) gp_tensorfile_finite(file, &file->tensors[i], NULL);
        bool told = !file || file->xxh3 != gp_tensors_xxh3(sample, N_SAMPLE) || !file->metadata ||
                    strcmp(file->metadata, metadata) != 0;
        for (size_t i = 0; !told && i < N_SAMPLE; i++) {
            const gp_tensor *t;
            const gp_tensor *s = &sample[i];
            told = gp_tensorfile_need(file, s->name, s->dtype, s->rank, s->shape, &t, NULL) != ADVGP_OK;
        }
        // The same text in other letters: blanks of the padding, and \u000a written \u000A.
        bool same = bytes[bit / 8] == ' ' || (bit % 8 == 5 && strchr("abcdef", bytes[bit / 8]));
        if (!told && !same) fail_msg("bit %zu of byte %zu went unnoticed", bit % 8, bit / 8);
        gp_tensorfile_free(file);
    }
    assert_true(refused > 8 * n / 3);
    unlink(path);
}

static void memory_may_end_at_any_call(void **state)
{
    (void)state;
    const char *path = scratch_path("a.safetensors");
    assert_int_equal(gp_tensorfile_write(path, sample, N_SAMPLE, "old", NULL), ADVGP_OK);
    advgp_status st = ADVGP_ENOMEM;
    for (long calls = 0; st != ADVGP_OK && calls < 100; calls++) {
        long live = gp_alloc_count().live;
        gp_tensorfile *file = NULL;
        gp_alloc_fail_after(calls);
        st = gp_tensorfile_write(path, sample, N_SAMPLE, "new", NULL);
        if (st == ADVGP_OK) st = gp_tensorfile_read(path, &file, NULL);
        gp_alloc_fail_after(-1);
        assert_true(st == ADVGP_OK || st == ADVGP_ENOMEM);
        gp_tensorfile_free(file);
        assert_int_equal(gp_alloc_count().live, live);
        assert_int_equal(scratch_count(), 1);
    }
    assert_int_equal(st, ADVGP_OK);
    unlink(path);
}

static void a_full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    const char *path = scratch_path("a.safetensors");
    assert_int_equal(gp_tensorfile_write(path, sample, 1, "old", NULL), ADVGP_OK);
    char before[4096], after[4096];
    size_t n = scratch_load(path, before, sizeof before);
    for (rlim_t limit = 0; limit < 300; limit += 30) {
        scratch_limit(limit);
        assert_int_equal(gp_tensorfile_write(path, sample, N_SAMPLE, metadata, NULL), ADVGP_EIO);
        scratch_limit(RLIM_INFINITY);
        assert_int_equal(scratch_load(path, after, sizeof after), n);
        assert_memory_equal(before, after, n);
        assert_int_equal(scratch_count(), 1);
    }
    static const double large[100000];
    const gp_tensor tensor = {.name = "large", .dtype = GP_F64, .rank = 1, .shape = {100000}, .data = large};
    scratch_limit(100000); // in the middle of a tensor, not only at the end
    assert_int_equal(gp_tensorfile_write(path, &tensor, 1, NULL, NULL), ADVGP_EIO);
    scratch_limit(RLIM_INFINITY);
    assert_int_equal(scratch_load(path, after, sizeof after), n);
    assert_int_equal(scratch_count(), 1);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_back_bit_for_bit),
        cmocka_unit_test(a_tensor_in_parts_is_written_as_one),
        cmocka_unit_test(a_file_without_anything_is_a_file),
        cmocka_unit_test(what_is_asked_for_must_be_there),
        cmocka_unit_test(values_that_are_not_finite_are_named),
        cmocka_unit_test(tensors_that_cannot_be_written_are_named),
        cmocka_unit_test(unusual_but_right_headers_are_read),
        cmocka_unit_test(crafted_headers_are_refused_by_name),
        cmocka_unit_test(things_that_are_no_files_are_refused),
        cmocka_unit_test(a_lying_header_length_is_refused),
        cmocka_unit_test(a_file_cut_anywhere_is_refused),
        cmocka_unit_test(a_flipped_bit_never_escapes_the_file),
        cmocka_unit_test(memory_may_end_at_any_call),
        cmocka_unit_test(a_full_disk_leaves_the_old_file),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
