// fuzz_rendezvous.c: any bytes as the file by which workers find their lead. What is taken can be written again.
#include "fuzz.h"
#include "store/keys.h"
#include "store/rendezvous.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    gp_rendezvous r;
    advgp_error err = {0};
    const advgp_status st = gp_rendezvous_parse((const char *)bytes, n, &r, &err);
    FUZZ_CHECK(st == ADVGP_OK || (st == ADVGP_EFILE && err.text[0] && !r.endpoint[0] && !r.worker.secret_key[0]));
    if (st != ADVGP_OK) return 0;
    FUZZ_CHECK(!strncmp(r.endpoint, "tcp://", 6) && memchr(r.host, 0, sizeof r.host));
    FUZZ_CHECK(!r.lead_key[0] || gp_key_is_good(r.lead_key));
    FUZZ_CHECK(!r.worker.secret_key[0] || (gp_key_is_good(r.worker.secret_key) && r.lead_key[0]));
    // What is written is read back before a file is opened; keys then go into no device.
    const advgp_status written = gp_rendezvous_write("/dev/null", &r, &err);
    FUZZ_CHECK(written != ADVGP_OK && strstr(err.text, "/dev/null"));
    return 0;
}
