// laid.h: what somebody else may have laid where a file is about to be written. In a folder that everybody may write,
// such as /tmp, a link of another user would lead us to a file of our own, and a pipe of theirs would get what was
// meant for a file. The rule is that of the kernel's protected_symlinks, which realpath and rename do not ask.
#pragma once
#include "base/status.h"

// EINVAL where the path stands in such a folder and is neither ours nor the folder's owner's. What is not there is
// fine.
advgp_status gp_laid_check(const char *path, advgp_error *err);

// For secrets: what stands there is a regular file of ours, and no link, or nothing. EINVAL with the reason.
advgp_status gp_laid_check_own(const char *path, advgp_error *err);
