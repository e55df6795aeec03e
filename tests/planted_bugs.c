// planted_bugs.c: wrong decisions in place of the right ones. The linker sends every call of the functions below here
// (--wrap in tests/CMakeLists.txt); __real_ is the right one. So the server itself knows of no mistakes.
#include "planted_bugs.h"
#include "ps/server_state.h"

planted_bug planted = BUG_NONE;

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names
bool __real_gp_server_is_too_old(const gp_server *s, uint64_t version);
bool __wrap_gp_server_is_too_old(const gp_server *s, uint64_t version);
bool __wrap_gp_server_is_too_old(const gp_server *s, uint64_t version)
{
    return __real_gp_server_is_too_old(s, version + (planted == BUG_DELAY_OFF_BY_ONE));
}

bool __real_gp_server_is_repeated(const member *m, const gp_message *push);
bool __wrap_gp_server_is_repeated(const member *m, const gp_message *push);
bool __wrap_gp_server_is_repeated(const member *m, const gp_message *push)
{
    return planted != BUG_DOUBLE_COUNT && __real_gp_server_is_repeated(m, push);
}

bool __real_gp_server_is_of_this_life(const member *m, const gp_message *message);
bool __wrap_gp_server_is_of_this_life(const member *m, const gp_message *message);
bool __wrap_gp_server_is_of_this_life(const member *m, const gp_message *message)
{
    return planted == BUG_STALE_AFTER_REJOIN || __real_gp_server_is_of_this_life(m, message);
}

bool __real_gp_server_lacks_shards(const gp_server *s, const gp_message *push);
bool __wrap_gp_server_lacks_shards(const gp_server *s, const gp_message *push);
bool __wrap_gp_server_lacks_shards(const gp_server *s, const gp_message *push)
{
    return planted != BUG_LACKING_SHARD && __real_gp_server_lacks_shards(s, push);
}

gp_refusal __real_gp_server_fault_of(const gp_server *s, const gp_message *push);
gp_refusal __wrap_gp_server_fault_of(const gp_server *s, const gp_message *push);
gp_refusal __wrap_gp_server_fault_of(const gp_server *s, const gp_message *push)
{
    const gp_refusal fault = __real_gp_server_fault_of(s, push);
    return planted == BUG_BELIEVES && fault == GP_REFUSED_WEIGHTS ? GP_NOT_REFUSED : fault;
}

uint32_t __real_gp_server_absurd(const gp_server *s);
uint32_t __wrap_gp_server_absurd(const gp_server *s);
uint32_t __wrap_gp_server_absurd(const gp_server *s)
{
    return planted == BUG_BELIEVES ? GP_NOBODY : __real_gp_server_absurd(s);
}

void __real_gp_shard_table_reassign(gp_shard_table *table, gp_crew crew, gp_shard_moved moved, void *ctx);
void __wrap_gp_shard_table_reassign(gp_shard_table *table, gp_crew crew, gp_shard_moved moved, void *ctx);
void __wrap_gp_shard_table_reassign(gp_shard_table *table, gp_crew crew, gp_shard_moved moved, void *ctx)
{
    for (size_t i = table->n; planted == BUG_LOST_SHARD && i-- > 0;) {
        const uint32_t owner = table->owner[i];
        if (owner == GP_NOBODY || (owner < crew.n_workers && crew.live[owner])) continue;
        table->owner[i] = GP_NOBODY;
        break;
    }
    __real_gp_shard_table_reassign(table, crew, moved, ctx);
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
