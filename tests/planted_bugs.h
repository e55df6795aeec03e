// planted_bugs.h: deliberate mistakes of the server, for the test that shows that the laws of the simulator notice.
#pragma once

typedef enum planted_bug {
    BUG_NONE,
    BUG_DELAY_OFF_BY_ONE,   // uses a push that is one version too old
    BUG_DOUBLE_COUNT,       // takes a repeated push as a new one
    BUG_LOST_SHARD,         // forgets the last shard of a lost worker
    BUG_STALE_AFTER_REJOIN, // takes a push of a worker's former incarnation
    BUG_BELIEVES,           // takes a push however absurd it is beside the others, and whatever its weights
    BUG_LACKING_SHARD       // takes a push into a sum over all rows that was begun before its worker got another shard
} planted_bug;

extern planted_bug planted; // of all servers of this process
