// server_decide.c: the comparisons on which the laws of the simulator rest (sim/laws.h), each a function of its own, so
// that a test can put a wrong one in its place (tests/planted_bugs.c) and see that the laws notice.
#include "ps/server_state.h"

bool gp_server_is_too_old(const gp_server *s, uint64_t version)
{
    return s->o.schedule.max_delay != GP_DELAY_ANY && version + s->o.schedule.max_delay < s->version;
}

bool gp_server_is_repeated(const member *m, const gp_message *push)
{
    return push->sequence < m->seen.sequence;
}

bool gp_server_is_of_this_life(const member *m, const gp_message *message)
{
    return message->incarnation == m->seen.incarnation;
}

bool gp_server_lacks_shards(const gp_server *s, const gp_message *push)
{
    return push->n_shards < gp_shard_table_count(&s->table, push->worker);
}
