// temporary.h: files and folders that must not outlive the process, whatever signal ends it. Whoever makes one tells
// its name before, and that it is gone or has become something lasting after. What is left of them is removed by
// gp_temporary_remove_all, which a signal handler may call. Nobody can catch SIGKILL: what it leaves has "advgp" or
// ".tmp-" in its name.
#pragma once
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { GP_NOT_TEMPORARY = 0 }; // a ticket of nothing

// A ticket for the file or folder of that name; GP_NOT_TEMPORARY where there are too many (256) or the name is too
// long: then nothing will be removed, which is no reason to fail.
int gp_temporary_add(const char *path);
void gp_temporary_drop(int ticket); // GP_NOT_TEMPORARY is fine

// Removes every file, and every folder with the files in it. Async-signal-safe; the tickets stay valid.
void gp_temporary_remove_all(void);

// Where they go unless somebody says otherwise: $TMPDIR, else /tmp.
const char *gp_temporary_folder(void);

// A folder that is this user's alone, for what others must neither read nor replace: $XDG_RUNTIME_DIR, else $TMPDIR,
// where they are ours with no right for others; else /tmp/advgp-UID, which is made 0700. EINVAL where somebody has
// laid something else there.
advgp_status gp_temporary_own_folder(char *path, size_t room, advgp_error *err);

// A new folder, 0700, NAME-XXXXXX in `parent`; NULL is gp_temporary_folder. False: it cannot be made.
bool gp_temporary_make_folder(const char *parent, const char *name, char *path, size_t room);
