// atomicfile.h: a file that appears whole or not at all. Bytes go to a temporary file beside the target; commit makes
// them durable and renames it over the target. Until then, and after any failure, an existing target is untouched and
// nothing else is left behind (but by SIGKILL and the like, whose .advgp-*.tmp may be deleted by hand: temporary.h).
//
// A link is followed to the file it names, unless somebody else has laid it (laid.h). A device or pipe (/dev/stdout,
// /dev/null) cannot be replaced: it is written directly.
#pragma once
#include "advgp.h"

#include <stddef.h>

typedef struct gp_atomicfile gp_atomicfile;

advgp_status gp_atomicfile_open(const char *path, gp_atomicfile **out, advgp_error *err);
// For secrets: its owner alone may read it, and it is a regular file that this process has just made. What was there
// before must be one too, ours and no link: EINVAL.
advgp_status gp_atomicfile_open_private(const char *path, gp_atomicfile **out, advgp_error *err);
advgp_status gp_atomicfile_write(gp_atomicfile *file, const void *bytes, size_t n, advgp_error *err);

// Could it be written? Asked before long work whose result would have no place. Nothing changes; a device or pipe is
// not asked.
advgp_status gp_atomicfile_try(const char *path, advgp_error *err);

// For a library that writes by path itself: the temporary file, to be filled before commit. Not mixed with _write.
const char *gp_atomicfile_temporary(const gp_atomicfile *file);

// All free the file. Commit that fails has abandoned it. Abandoning NULL is fine.
advgp_status gp_atomicfile_commit(gp_atomicfile *file, advgp_error *err);
advgp_status gp_atomicfile_commit_new(gp_atomicfile *file, advgp_error *err); // EINVAL where the target exists by then
void gp_atomicfile_abandon(gp_atomicfile *file);
