// zmq_lines.h: the TCP connections of a lead, as ZeroMQ tells of them, and which of them are too much. ZeroMQ takes
// connections until descriptors run out, and then asks for more without a pause; it collects the parts of a message
// until the last one has come, however many there are. For the files of this transport alone.
#pragma once
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gp_zmq_lines gp_zmq_lines;

// most: connections at a time.
advgp_status gp_zmq_lines_new(size_t most, gp_zmq_lines **out, advgp_error *err);
void gp_zmq_lines_free(gp_zmq_lines *lines); // NULL is fine

// What happened; fd is ZeroMQ's. One that is gone may have been given to another connection already: then that one is
// ended by mistake, and mended.
void gp_zmq_lines_opened(gp_zmq_lines *lines, int fd);
uint32_t gp_zmq_lines_closed(gp_zmq_lines *lines, int fd);           // who spoke by it last; 0: nobody
void gp_zmq_lines_spoke(gp_zmq_lines *lines, int fd, uint32_t peer); // a message is whole
void gp_zmq_lines_crowded(gp_zmq_lines *lines);                      // there was no descriptor for another one

// Now and then, when all that is whole has been taken: ends those by which more than bytes_max came since they last
// brought a whole message.
void gp_zmq_lines_look(gp_zmq_lines *lines, size_t bytes_max);

typedef struct gp_zmq_lines_counts {
    uint64_t endless;  // ended, since their messages have no end
    uint64_t too_many; // ended, since they had said nothing yet and there were too many
} gp_zmq_lines_counts;
gp_zmq_lines_counts gp_zmq_lines_count(const gp_zmq_lines *lines);
