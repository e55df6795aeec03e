// place.h: may a file be written where somebody wants it? Asked before the work, so that neither data nor hours are
// lost. Nothing that is read is written to, the same file being the same by device and inode, whatever its name; and
// what stands there already is replaced only if it is of the same kind, or by force.
#pragma once
#include "advgp.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum gp_written {
    GP_WRITTEN_MODEL,
    GP_WRITTEN_CHECKPOINT,
    GP_WRITTEN_LOG,
    GP_WRITTEN_TABLE,
    GP_WRITTEN_REPORT
} gp_written;

// What is read: files, folders, globs and "-" (standard input), as a user names them; NULL is passed over.
typedef struct gp_reads {
    const char *const *paths;
    size_t n;
} gp_reads;

// `shown` is how messages call it: "{output}". A path of "-" is standard output. EINVAL for what is read or of another
// kind, else what gp_atomicfile_try says. Nothing changes.
advgp_status gp_place_check(const char *path, const char *shown, gp_written kind, bool force, gp_reads reads,
                            advgp_error *err);

// Would the two be one file? By name, by link, or, where neither is there yet, by folder and last name.
bool gp_place_same(const char *a, const char *b);

// The same for a folder that is replaced as a whole: neither it nor anything in it is read.
advgp_status gp_place_check_folder(const char *dir, const char *shown, gp_reads reads, advgp_error *err);
