// advgp.h: what every caller of advgp sees. So far: status codes, the error record, the version.
//
// A function that can fail returns advgp_status (ADVGP_OK is 0), gives its results through out-arguments, and takes an
// advgp_error last, which may be NULL. The library never prints, exits, aborts or touches signals.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// One list gives the enum, the names and the texts. The text says whose turn it is, in a user's words.
#define ADVGP_STATUS_LIST(X)                                      \
    X(OK, "done")                                                 \
    X(EINVAL, "an argument or option is wrong")                   \
    X(ENOMEM, "memory is exhausted")                              \
    X(EIO, "reading or writing failed")                           \
    X(EDATA, "an input is not there or cannot be used")           \
    X(EFILE, "a model or other advgp file is damaged or foreign") \
    X(ENUMERIC, "the computation lost its numbers")               \
    X(ECLUSTER, "workers or the lead were lost")                  \
    X(ESTOPPED, "stopped on request")

typedef enum advgp_status {
#define X(name, text) ADVGP_##name,
    ADVGP_STATUS_LIST(X)
#undef X
} advgp_status;

// Filled on failure, on the caller's stack: the status and one sentence that names the thing, its value and the way
// out.
typedef struct advgp_error {
    advgp_status status;
    char text[512];
} advgp_error;

const char *advgp_status_name(advgp_status status); // "EINVAL"; "?" for a number that is no status
const char *advgp_status_text(advgp_status status); // the short sentence of the list above
const char *advgp_version(void);                    // "0.1.0"

#ifdef __cplusplus
}
#endif
