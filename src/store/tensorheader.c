// tensorheader.c: a strict reader of the one JSON shape a safetensors header has. It goes forward only, never recurses
// and allocates nothing, so that depth and size of a hostile header cost nothing.
#include "store/tensorheader.h"

#include "base/status.h"

#include <stdbool.h>
#include <string.h>

typedef struct reader {
    char *start, *p, *end;
    advgp_error *err;
} reader;

static advgp_status expected(const reader *r, const char *what)
{
    (void)gp_fail(r->err, ADVGP_EFILE, "the header is damaged at byte %zu: %s expected", (size_t)(r->p - r->start),
                  what);
    return ADVGP_EFILE;
}

static void skip_blanks(reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r')) r->p++;
}

static bool take(reader *r, char c)
{
    skip_blanks(r);
    if (r->p == r->end || *r->p != c) return false;
    r->p++;
    return true;
}

// ---- strings --------------------------------------------------------------------------------------------------------

static bool read_hex4(reader *r, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++, r->p++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *at = r->p < r->end && *r->p ? strchr(digits, *r->p) : NULL;
        if (!at) return false;
        uint32_t digit = (uint32_t)(at - digits);
        *out = *out << 4 | (digit < 16 ? digit : digit - 6);
    }
    return true;
}

// Behind "\u": four digits, and for characters beyond the first 65536 the second half of a pair. No zero: these are C
// strings.
static bool read_code_point(reader *r, uint32_t *out)
{
    if (!read_hex4(r, out) || *out == 0 || (*out >= 0xdc00 && *out < 0xe000)) return false;
    if (*out < 0xd800 || *out >= 0xe000) return true;
    uint32_t low;
    if (r->end - r->p < 6 || r->p[0] != '\\' || r->p[1] != 'u') return false;
    r->p += 2;
    if (!read_hex4(r, &low) || low < 0xdc00 || low >= 0xe000) return false;
    *out = 0x10000 + ((*out - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

static char *put_utf8(char *w, uint32_t code)
{
    if (code < 0x80) {
        *w++ = (char)code;
        return w;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    *w++ = (char)(lead[more] | code >> (6 * more));
    while (more--) *w++ = (char)(0x80 | (code >> (6 * more) & 0x3f));
    return w;
}

// One escape behind its backslash; what it stands for is never longer than what it was.
static bool read_escape(reader *r, char **w)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (r->p == r->end || !*r->p) return false;
    char c = *r->p++;
    uint32_t code;
    const char *at = strchr(from, c);
    if (at)
        *(*w)++ = to[at - from];
    else if (c == 'u' && read_code_point(r, &code))
        *w = put_utf8(*w, code);
    else
        return false;
    return true;
}

// A string, unescaped where it stands and ended by a zero, at the latest where its closing quote was.
static advgp_status read_string(reader *r, const char **out)
{
    if (!take(r, '"')) return expected(r, "a string");
    char *start = r->p, *w = r->p;
    while (r->p < r->end && *r->p != '"') {
        if ((unsigned char)*r->p < 0x20) return expected(r, "a printable character");
        if (*r->p != '\\') {
            *w++ = *r->p++;
            continue;
        }
        r->p++;
        if (!read_escape(r, &w)) return expected(r, "a JSON escape");
    }
    if (r->p == r->end) return expected(r, "the end of a string");
    if (!gp_text_is_utf8(start, (size_t)(w - start))) return expected(r, "UTF-8 before this");
    r->p++;
    *w = 0;
    *out = start;
    return ADVGP_OK;
}

// ---- numbers --------------------------------------------------------------------------------------------------------

static bool is_digit(const reader *r)
{
    return r->p < r->end && *r->p >= '0' && *r->p <= '9';
}

static advgp_status read_number(reader *r, uint64_t *out)
{
    skip_blanks(r);
    if (!is_digit(r)) return expected(r, "a whole number");
    bool zero = *r->p == '0';
    *out = 0;
    for (; is_digit(r); r->p++) {
        uint64_t digit = (uint64_t)(*r->p - '0');
        if (*out > (UINT64_MAX - digit) / 10) return expected(r, "a smaller number");
        *out = 10 * *out + digit;
        if (zero && *out) return expected(r, "a number without leading zeros");
    }
    return ADVGP_OK;
}

// [a, b, ...], at most `most` numbers.
static advgp_status read_numbers(reader *r, uint64_t *numbers, size_t most, size_t *n)
{
    *n = 0;
    if (!take(r, '[')) return expected(r, "[");
    if (take(r, ']')) return ADVGP_OK;
    do {
        uint64_t number = 0;
        advgp_status st = read_number(r, &number);
        if (st != ADVGP_OK) return st;
        if (*n == most) return expected(r, "fewer numbers");
        numbers[(*n)++] = number;
    } while (take(r, ','));
    return take(r, ']') ? ADVGP_OK : expected(r, "]");
}

// ---- entries --------------------------------------------------------------------------------------------------------

enum { HAS_DTYPE = 1, HAS_SHAPE = 2, HAS_OFFSETS = 4, HAS_ALL = 7 };

static advgp_status read_dtype(reader *r, gp_tensor *tensor)
{
    const char *name;
    advgp_status st = read_string(r, &name);
    if (st != ADVGP_OK) return st;
    for (gp_dtype dtype = 0; dtype < GP_N_DTYPES; dtype++)
        if (strcmp(name, gp_dtype_name(dtype)) == 0) {
            tensor->dtype = dtype;
            return ADVGP_OK;
        }
    return gp_fail(r->err, ADVGP_EFILE, "tensor '%.80s' is of type '%.20s'; F64, F32, I64 and U64 are read",
                   tensor->name, name);
}

static advgp_status read_shape(reader *r, gp_tensor *tensor)
{
    uint64_t shape[GP_TENSOR_RANK];
    advgp_status st = read_numbers(r, shape, GP_TENSOR_RANK, &tensor->rank);
    if (st != ADVGP_OK) return gp_wrap(r->err, st, "shape of tensor '%.80s'", tensor->name);
    for (size_t i = 0; i < tensor->rank; i++) {
        if (shape[i] > SIZE_MAX / 2)
            return gp_fail(r->err, ADVGP_EFILE, "the shape of tensor '%.80s' overflows", tensor->name);
        tensor->shape[i] = (size_t)shape[i];
    }
    return ADVGP_OK;
}

static advgp_status read_offsets(reader *r, gp_tensor_entry *entry)
{
    uint64_t offsets[2];
    size_t n;
    advgp_status st = read_numbers(r, offsets, 2, &n);
    if (st == ADVGP_OK && n != 2) st = expected(r, "two numbers");
    if (st != ADVGP_OK) return gp_wrap(r->err, st, "data_offsets of tensor '%.80s'", entry->tensor.name);
    entry->begin = offsets[0];
    entry->end = offsets[1];
    return ADVGP_OK;
}

static advgp_status read_field(reader *r, gp_tensor_entry *entry, unsigned *has)
{
    const char *key;
    advgp_status st = read_string(r, &key);
    if (st != ADVGP_OK) return st;
    unsigned field = strcmp(key, "dtype") == 0          ? HAS_DTYPE
                     : strcmp(key, "shape") == 0        ? HAS_SHAPE
                     : strcmp(key, "data_offsets") == 0 ? HAS_OFFSETS
                                                        : 0;
    if (!field || *has & field)
        return gp_fail(r->err, ADVGP_EFILE, "tensor '%.80s': field '%.40s' is %s", entry->tensor.name, key,
                       field ? "given twice" : "unknown");
    *has |= field;
    if (!take(r, ':')) return expected(r, ":");
    return field == HAS_DTYPE   ? read_dtype(r, &entry->tensor)
           : field == HAS_SHAPE ? read_shape(r, &entry->tensor)
                                : read_offsets(r, entry);
}

// The bytes of the shape must be the bytes between the offsets.
static advgp_status check_size(const reader *r, const gp_tensor_entry *entry)
{
    const gp_tensor *tensor = &entry->tensor;
    size_t bytes = gp_dtype_size(tensor->dtype);
    for (size_t i = 0; i < tensor->rank; i++) {
        if (tensor->shape[i] && bytes > SIZE_MAX / 2 / tensor->shape[i])
            return gp_fail(r->err, ADVGP_EFILE, "the shape of tensor '%.80s' overflows", tensor->name);
        bytes *= tensor->shape[i];
    }
    if (entry->begin > entry->end || entry->end - entry->begin != bytes)
        return gp_fail(r->err, ADVGP_EFILE, "tensor '%.80s' needs %zu bytes and has bytes %llu to %llu", tensor->name,
                       bytes, (unsigned long long)entry->begin, (unsigned long long)entry->end);
    return ADVGP_OK;
}

static advgp_status read_entry(reader *r, const char *name, gp_tensor_entry *entry)
{
    *entry = (gp_tensor_entry){.tensor = {.name = name}};
    unsigned has = 0;
    if (!take(r, '{')) return expected(r, "{");
    do {
        advgp_status st = read_field(r, entry, &has);
        if (st != ADVGP_OK) return st;
    } while (take(r, ','));
    if (!take(r, '}')) return expected(r, "}");
    if (has != HAS_ALL) return gp_fail(r->err, ADVGP_EFILE, "tensor '%.80s' lacks dtype, shape or data_offsets", name);
    return check_size(r, entry);
}

// Strings by name, of which ours is kept; other programs may add theirs.
static advgp_status read_metadata(reader *r, const char **metadata)
{
    if (!take(r, '{')) return expected(r, "{");
    if (take(r, '}')) return ADVGP_OK;
    do {
        const char *key, *value;
        advgp_status st = read_string(r, &key);
        if (st == ADVGP_OK && !take(r, ':')) st = expected(r, ":");
        if (st == ADVGP_OK) st = read_string(r, &value);
        if (st != ADVGP_OK) return gp_wrap(r->err, st, "__metadata__");
        if (strcmp(key, "advgp") != 0) continue;
        if (*metadata) return gp_fail(r->err, ADVGP_EFILE, "__metadata__ has 'advgp' twice");
        *metadata = value;
    } while (take(r, ','));
    return take(r, '}') ? ADVGP_OK : expected(r, "}");
}

#define SHORTEST_ENTRY "\"\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,0]},"

size_t gp_tensor_header_most(size_t n)
{
    return n / (sizeof SHORTEST_ENTRY - 1) + 1;
}

advgp_status gp_tensor_header_read(char *header, size_t n, gp_tensor_entry *entries, size_t *n_entries,
                                   const char **metadata, advgp_error *err)
{
    reader r = {.start = header, .p = header, .end = header + n, .err = err};
    bool met_metadata = false;
    *n_entries = 0;
    *metadata = NULL;
    if (n == 0 || header[0] != '{') return expected(&r, "{");
    r.p++;
    if (!take(&r, '}')) {
        do {
            const char *name;
            advgp_status st = read_string(&r, &name);
            if (st == ADVGP_OK && !take(&r, ':')) st = expected(&r, ":");
            if (st != ADVGP_OK) return st;
            if (strcmp(name, "__metadata__") == 0) {
                if (met_metadata) return gp_fail(err, ADVGP_EFILE, "the header has __metadata__ twice");
                met_metadata = true;
                st = read_metadata(&r, metadata);
            } else {
                st = read_entry(&r, name, &entries[(*n_entries)++]);
            }
            if (st != ADVGP_OK) return st;
        } while (take(&r, ','));
        if (!take(&r, '}')) return expected(&r, "}");
    }
    skip_blanks(&r);
    return r.p == r.end ? ADVGP_OK : expected(&r, "the end of the header");
}

// ---- writing --------------------------------------------------------------------------------------------------------

static void add_string(gp_buffer *out, const char *s)
{
    gp_buffer_add(out, "\"");
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            gp_buffer_add(out, "\\%c", *s);
        else if ((unsigned char)*s < 0x20)
            gp_buffer_add(out, "\\u%04x", (unsigned)*s);
        else
            gp_buffer_bytes(out, s, 1);
    }
    gp_buffer_add(out, "\"");
}

void gp_tensor_header_begin(gp_buffer *out, const char *metadata)
{
    gp_buffer_add(out, "{");
    if (!metadata) return;
    gp_buffer_add(out, "\"__metadata__\":{\"advgp\":");
    add_string(out, metadata);
    gp_buffer_add(out, "}");
}

void gp_tensor_header_add(gp_buffer *out, const gp_tensor *tensor, uint64_t begin, uint64_t end)
{
    if (out->n > 1) gp_buffer_add(out, ",");
    add_string(out, tensor->name);
    gp_buffer_add(out, ":{\"dtype\":\"%s\",\"shape\":[", gp_dtype_name(tensor->dtype));
    for (size_t i = 0; i < tensor->rank; i++) gp_buffer_add(out, "%s%zu", i ? "," : "", tensor->shape[i]);
    gp_buffer_add(out, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)begin, (unsigned long long)end);
}

void gp_tensor_header_end(gp_buffer *out)
{
    gp_buffer_add(out, "}");
    while (!out->failed && out->n % 8) gp_buffer_add(out, " "); // so that a mapped file has its numbers aligned
}
