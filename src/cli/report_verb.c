// report_verb.c: advgp report: a model, its logs and rows as one page.
#include "api/make_report.h"
#include "api/written.h"
#include "cli/cli.h"
#include "linalg/blas.h"
#include "report/page_parts.h"
#include "store/runlog.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static advgp_status print(const gp_buffer *page, advgp_error *err)
{
    if (fwrite(page->p, 1, page->n, stdout) == page->n) return gp_cli_flush(err);
    return gp_fail(err, ADVGP_EIO, "cannot write to standard output: %s", strerror(errno));
}

static advgp_status show(const gp_options *o, const char *path, const gp_report_made *made, advgp_error *err)
{
    if (gp_options_flag(o, "json"))
        return gp_cli_print_json_take(json_pack("{s:o, s:I, s:I, s:I, s:b}", "report", gp_json_text(path), "bytes",
                                                (json_int_t)made->bytes, "rows", (json_int_t)made->rows, "runs",
                                                (json_int_t)made->runs, "charts", gp_page_has_vega()),
                                      err);
    gp_buffer text = {0};
    gp_buffer_add(&text, "%s: %.1f MB", path, (double)made->bytes / 1e6);
    if (made->rows) gp_buffer_add(&text, ", figures of %zu rows", made->rows);
    if (made->runs) gp_buffer_add(&text, ", %zu run%s", made->runs, made->runs == 1 ? "" : "s");
    gp_buffer_add(&text, "\n");
    return gp_cli_print_take(&text, err);
}

static advgp_status run(const gp_options *o, gp_buffer *page, advgp_error *err)
{
    gp_report_made made;
    const char *path = gp_options_text(o, "output");
    const bool printed = strcmp(path, "-") == 0;
    if (printed && gp_options_flag(o, "json"))
        return gp_fail(err, ADVGP_EINVAL, "--json and the page cannot both go to standard output: name a file with -o");
    advgp_status st = gp_check_written(o, "output", path, GP_WRITTEN_REPORT, err);
    if (st == ADVGP_OK) st = gp_blas_reserve(1, err);
    if (st == ADVGP_OK) st = gp_make_report(o, gp_cli_host(o), page, &made, err);
    if (st != ADVGP_OK) return st;
    if (!gp_page_has_vega()) gp_cli_say(o, "note: built without Vega, the page has tables in place of charts");
    if (printed) return print(page, err);
    st = gp_save_report(page, path, err);
    return st == ADVGP_OK ? show(o, path, &made, err) : st;
}

advgp_status gp_cli_report(const gp_options *o, advgp_error *err)
{
    gp_buffer page = {0};
    const advgp_status st = run(o, &page, err);
    gp_buffer_fini(&page);
    return st;
}
