// lookup.h: where a name is, without waiting for it: a name server that does not answer takes half a minute, and
// whoever asks may have signs of life to give meanwhile. What is a number is known at once; names are looked up by a
// thread of their own.
#pragma once
#include "transport/address.h"

typedef struct gp_lookup gp_lookup;

// As gp_address_connect takes it; what cannot be an address fails at once.
advgp_status gp_lookup_start(const char *text, gp_lookup **out, advgp_error *err);
// True: it has ended, and *status is that of gp_address_connect.
bool gp_lookup_ended(gp_lookup *lookup, gp_address *out, advgp_status *status, advgp_error *err);
void gp_lookup_free(gp_lookup *lookup); // whether or not it has ended; NULL is fine
