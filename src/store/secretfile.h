// secretfile.h: small text files that somebody's access depends on: keys and the rendezvous. They are read as hostile:
// regular, of bounded size, of an owner one can trust, and not for others to write or, where they hold a secret, to
// read.
#pragma once
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct gp_secretfile {
    char *text; // ended by a zero; to be given to gp_secretfile_fini
    size_t n;
    mode_t mode;
    bool roots; // its owner is root
} gp_secretfile;

enum { GP_SECRETFILE_MAX = 1 << 20 };

// *found false: there is no such file (yet), or it is being replaced, and that is no failure. EFILE: it is there and
// not to be trusted, with the reason: of another owner than us or root, writable by others, too large, no file. `what`
// names it in messages.
advgp_status gp_secretfile_read(const char *path, const char *what, gp_secretfile *out, bool *found, advgp_error *err);
// The same where a link is none of the file's business: EFILE. (Keys may be links: Kubernetes mounts them so.)
advgp_status gp_secretfile_read_itself(const char *path, const char *what, gp_secretfile *out, bool *found,
                                       advgp_error *err);
// For a file that turned out to hold a secret: EFILE where others may read it, with the command that mends it. Of
// root's file that we are not root to read, the group is us.
advgp_status gp_secretfile_check_private(const gp_secretfile *file, const char *path, const char *what,
                                         advgp_error *err);
void gp_secretfile_fini(gp_secretfile *file); // nothing of it is left in memory
