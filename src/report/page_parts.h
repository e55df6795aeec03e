// page_parts.h: the fixed parts of a report's page, as they were when the library was built: src/report/page, and Vega.
#pragma once
#include <stdbool.h>
#include <stddef.h>

typedef struct gp_page_part {
    const char *p;
    size_t n;
} gp_page_part;

gp_page_part gp_page_style(void);   // CSS
gp_page_part gp_page_vega(void);    // JavaScript: Vega, Vega-Lite and the interpreter, in this order
gp_page_part gp_page_script(void);  // JavaScript: draws the charts
gp_page_part gp_page_charts(void);  // JSON: a Vega-Lite specification a kind of chart
gp_page_part gp_page_licence(void); // of Vega
bool gp_page_has_vega(void);        // false: there are no charts, the tables stand for themselves

// The Content-Security-Policy that lets style and scripts of these bytes run, and nothing else.
const char *gp_page_policy(void);
