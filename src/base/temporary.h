// temporary.h: files and folders that must not outlive the process, whatever signal ends it. Whoever makes one tells
// its name before, and that it is gone or has become something lasting after. What is left of them is removed by
// gp_temporary_remove_all, which a signal handler may call. Nobody can catch SIGKILL: what it leaves has "advgp" or
// ".tmp-" in its name.
#pragma once
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
