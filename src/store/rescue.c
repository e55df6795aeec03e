// rescue.c: one place after the other.
#include "store/rescue.h"

#include "base/temporary.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Into a folder, under a name that nobody has.
static bool save_into(const gp_model *model, const char *folder, int n, char *kept, size_t kept_bytes, advgp_error *why)
{
    for (int i = 0; i < 1000; i++) {
        const int used = snprintf(kept, kept_bytes, "%.*s/advgp-rescued-%ld-%d.safetensors", n, folder, (long)getpid(),
                                  i);
        if (used < 0 || (size_t)used >= kept_bytes) break;
        struct stat about;
        if (lstat(kept, &about) == 0) continue; // a link to nothing too is somebody's
        if (gp_model_save_private(model, kept, why) == ADVGP_OK) return true;
        break;
    }
    kept[0] = 0;
    return false;
}

advgp_status gp_model_save_or_rescue(const gp_model *model, const char *path, const char *beside, char *kept,
                                     size_t kept_bytes, advgp_error *err)
{
    advgp_error why = {0}, last = {0};
    const advgp_status st = gp_model_save(model, path, &why);
    const char *temporary = gp_temporary_folder(), *slash = beside ? strrchr(beside, '/') : NULL;
    kept[0] = 0;
    if (st == ADVGP_OK) snprintf(kept, kept_bytes, "%s", path);
    if (st == ADVGP_OK || st == ADVGP_ENUMERIC) { // no place would help against numbers that are none
        if (st != ADVGP_OK && err) *err = why;
        return st;
    }
    const bool rescued = (slash && save_into(model, beside, (int)(slash - beside), kept, kept_bytes, &last)) ||
                         (beside && !slash && save_into(model, ".", 1, kept, kept_bytes, &last)) ||
                         save_into(model, temporary, (int)strlen(temporary), kept, kept_bytes, &last);
    if (rescued) return gp_fail(err, st, "%.200s; the model is kept in %.200s: take it from there", why.text, kept);
    return gp_fail(err, st, "%.200s; the model is lost, in %.80s it cannot be kept either: %.150s", why.text, temporary,
                   last.text);
}
