// html.c: see html.h.
#include "report/html.h"
#include "base/whole.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_CELL = 24 }; // bytes that stay on one line

// ---- text -----------------------------------------------------------------------------------------------------------

static const char *entity(char c)
{
    switch (c) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void gp_html_bytes(gp_buffer *out, const char *p, size_t n)
{
    // Control characters and turns of the direction of reading are written out, as on a terminal.
    gp_buffer shown = {0};
    gp_buffer_printable(&shown, p, n, false);
    out->failed |= shown.failed;
    for (size_t i = 0, from = 0; i <= shown.n && shown.p; i++) {
        const char *written = i < shown.n ? entity(shown.p[i]) : "";
        if (!written) continue;
        gp_buffer_bytes(out, shown.p + from, i - from);
        gp_buffer_bytes(out, written, strlen(written));
        from = i + 1;
    }
    gp_buffer_fini(&shown);
}

void gp_html_text(gp_buffer *out, const char *text)
{
    if (text) gp_html_bytes(out, text, strlen(text));
}

json_t *gp_chart_text(const char *text)
{
    gp_buffer shown = {0};
    gp_buffer_printable(&shown, text, strlen(text), false);
    gp_buffer plain = {0};
    for (const char *p = shown.p; p && *p;) {
        const bool separator = !strncmp(p, "\u2028", 3) || !strncmp(p, "\u2029", 3);
        if (separator)
            gp_buffer_add(&plain, " ");
        else if (*p == '\\')
            gp_buffer_add(&plain, "/");
        else
            gp_buffer_bytes(&plain, p, 1);
        p += separator ? 3 : 1;
    }
    json_t *value = json_string(plain.p ? plain.p : "");
    gp_buffer_fini(&shown);
    gp_buffer_fini(&plain);
    return value;
}

void gp_html_json(gp_buffer *out, const json_t *value)
{
    // Six digits are more than a chart can show, and half of the bytes.
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6) | JSON_ENCODE_ANY);
    if (!text) out->failed = true;
    for (const char *p = text; p && *p;) {
        const size_t n = strcspn(p, "<>&");
        gp_buffer_bytes(out, p, n);
        p += n;
        if (*p) gp_buffer_add(out, "\\u%04x", (unsigned)*p++);
    }
    free(text);
}

// ---- numbers --------------------------------------------------------------------------------------------------------

// Commas between thousands, in the whole part of a plain decimal number that has at least so many digits.
static void group(const char *plain, size_t least, gp_number_text *out)
{
    const size_t sign = *plain == '-', whole = strspn(plain + sign, "0123456789");
    size_t n = 0;
    if (sign) n = (size_t)snprintf(out->p, sizeof out->p, "\u2212");
    for (size_t i = 0; i < whole && n + 2 < sizeof out->p; i++) {
        if (i && whole >= least && (whole - i) % 3 == 0) out->p[n++] = ',';
        out->p[n++] = plain[sign + i];
    }
    snprintf(out->p + n, sizeof out->p - n, "%s", plain + sign + whole);
}

gp_number_text gp_number_of(double value)
{
    gp_number_text out = {"\u2013"};
    char plain[40];
    if (!isfinite(value)) return out;
    const double size = fabs(value);
    if (size != 0 && (size >= 1e9 || size < 1e-4)) {
        snprintf(plain, sizeof plain, "%.3g", value);
        snprintf(out.p, sizeof out.p, "%s", plain);
        return out;
    }
    const int before = size > 0 ? (int)gp_whole(floor(log10(size)), -4, 9) + 1 : 1;
    const int decimals = before >= 4 ? 0 : 4 - before;
    snprintf(plain, sizeof plain, "%.*f", decimals, value);
    if (strchr(plain, '.')) { // 12.50 is 12.5, 3.000 is 3
        size_t n = strlen(plain);
        while (plain[n - 1] == '0') n--;
        plain[n - (plain[n - 1] == '.')] = 0;
    }
    group(strcmp(plain, "-0") == 0 ? "0" : plain, 5, &out);
    return out;
}

gp_number_text gp_count_of(size_t n)
{
    gp_number_text out;
    char plain[24];
    snprintf(plain, sizeof plain, "%zu", n);
    group(plain, 4, &out);
    return out;
}

gp_number_text gp_percent_of(double share)
{
    gp_number_text out = {"\u2013"};
    if (isfinite(share)) snprintf(out.p, sizeof out.p, "%.1f\u00a0%%", 100 * share);
    return out;
}

void gp_html_number(gp_buffer *out, double value)
{
    gp_buffer_add(out, "%s", gp_number_of(value).p);
}

void gp_html_count(gp_buffer *out, size_t n)
{
    gp_buffer_add(out, "%s", gp_count_of(n).p);
}

void gp_html_percent(gp_buffer *out, double share)
{
    gp_buffer_add(out, "%s", gp_percent_of(share).p);
}

// ---- tables ---------------------------------------------------------------------------------------------------------

void gp_html_table(gp_buffer *out, const char *caption, const char *columns)
{
    gp_buffer_add(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    gp_html_text(out, caption);
    gp_buffer_add(out, "\"><table><caption>");
    gp_html_text(out, caption);
    gp_buffer_add(out, "</caption><thead><tr>");
    while (*columns) {
        const size_t n = strcspn(columns, "|");
        const bool number = *columns == '#';
        gp_buffer_add(out, "<th scope=\"col\"%s>", number ? " class=\"number\"" : "");
        gp_html_bytes(out, columns + number, n - number);
        gp_buffer_add(out, "</th>");
        columns += n + (columns[n] == '|');
    }
    gp_buffer_add(out, "</tr></thead><tbody>\n");
}

void gp_html_table_end(gp_buffer *out)
{
    gp_buffer_add(out, "</tbody></table></div>\n");
}

void gp_html_row(gp_buffer *out, const char *style)
{
    gp_buffer_add(out, style ? "<tr class=\"%s\">" : "<tr>", style);
}

void gp_html_row_end(gp_buffer *out)
{
    gp_buffer_add(out, "</tr>\n");
}

void gp_html_head(gp_buffer *out, const char *text)
{
    gp_buffer_add(out, "<th scope=\"row\">");
    gp_html_text(out, text);
    gp_buffer_add(out, "</th>");
}

void gp_html_cell(gp_buffer *out, const char *text)
{
    gp_buffer_add(out, "<td class=\"%s\">", text && strlen(text) > SHORT_CELL ? "long" : "short");
    gp_html_text(out, text);
    gp_buffer_add(out, "</td>");
}

static void number_cell(gp_buffer *out, gp_number_text text)
{
    gp_buffer_add(out, "<td class=\"number\">%s</td>", text.p);
}

void gp_html_cell_number(gp_buffer *out, double value)
{
    number_cell(out, gp_number_of(value));
}

void gp_html_cell_count(gp_buffer *out, size_t n)
{
    number_cell(out, gp_count_of(n));
}

void gp_html_cell_percent(gp_buffer *out, double share)
{
    number_cell(out, gp_percent_of(share));
}

// ---- figures --------------------------------------------------------------------------------------------------------

void gp_html_figure_take(gp_buffer *out, gp_figure f)
{
    json_t *told = json_pack("{s:o?, s:o*}", "data", f.data, "parameters", f.parameters);
    gp_buffer_add(out, "<figure id=\"%s\" data-chart=\"%s\"><figcaption><strong>", f.id, f.chart);
    gp_html_text(out, f.title);
    gp_buffer_add(out, "</strong><span>");
    gp_html_text(out, f.words ? f.words : f.label);
    gp_buffer_add(out, "</span></figcaption>\n<div class=\"plot\" role=\"img\" aria-label=\"");
    gp_html_text(out, f.label);
    gp_buffer_add(out, "\"></div>\n<script type=\"application/json\">");
    gp_html_json(out, told);
    gp_buffer_add(out, "</script>\n<details open><summary>The numbers</summary>\n");
    json_decref(told);
}

void gp_html_figure_end(gp_buffer *out)
{
    gp_buffer_add(out, "</details></figure>\n");
}
