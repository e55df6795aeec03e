// send.c: what send.h promises.
#include "run/send.h"
#include "base/alloc.h"

advgp_status gp_sender_reserve(gp_sender *sender, size_t n, advgp_error *err)
{
    if (n <= sender->room) return ADVGP_OK;
    gp_free(sender->bytes); // not gp_grow: nothing is kept, and messages may be large
    sender->bytes = gp_alloc(n, 1);
    sender->room = sender->bytes ? n : 0;
    return sender->bytes ? ADVGP_OK : gp_no_memory(err);
}

advgp_status gp_sender_send(gp_sender *sender, gp_endpoint *endpoint, size_t peer, const gp_message *message,
                            advgp_error *err)
{
    const size_t n = gp_message_size(message);
    const advgp_status st = gp_sender_reserve(sender, n, err);
    if (st != ADVGP_OK) return st;
    gp_message_encode(message, sender->bytes);
    return endpoint->transport->send(endpoint, peer, sender->bytes, n, err);
}

void gp_sender_fini(gp_sender *sender)
{
    gp_free(sender->bytes);
    *sender = (gp_sender){0};
}
