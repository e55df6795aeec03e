// send.h: messages leave: one buffer that grows to the largest of them, encoded and handed to an endpoint, which
// copies.
#pragma once
#include "ps/message.h"
#include "transport/transport.h"

typedef struct gp_sender { // zeroed: empty
    char *bytes;
    size_t room;
} gp_sender;

// Room for messages of n bytes, for whoever must not allocate later.
advgp_status gp_sender_reserve(gp_sender *sender, size_t n, advgp_error *err);
advgp_status gp_sender_send(gp_sender *sender, gp_endpoint *endpoint, size_t peer, const gp_message *message,
                            advgp_error *err);
void gp_sender_fini(gp_sender *sender);
