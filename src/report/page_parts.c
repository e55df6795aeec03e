// page_parts.c: files of the build folder taken into the program by the assembler, as they are.
#include "report/page_parts.h"

#define PART(name, file)                                                                                          \
    __asm__(".section .rodata\n.balign 16\n.global gp_page_" #name "_begin\n.hidden gp_page_" #name               \
            "_begin\ngp_page_" #name "_begin:\n.incbin \"" ADVGP_PAGE_PARTS "/" file "\"\n.global gp_page_" #name \
            "_end\n.hidden gp_page_" #name "_end\ngp_page_" #name "_end:\n.byte 0\n.previous\n");                 \
    extern const char gp_page_##name##_begin[], gp_page_##name##_end[]

PART(css, "report.css");
PART(vega, "vega.js");
PART(js, "report.js");
PART(charts, "charts.json");
PART(licence, "vega.licence");

#define BYTES(name) ((gp_page_part){gp_page_##name##_begin, (size_t)(gp_page_##name##_end - gp_page_##name##_begin)})

gp_page_part gp_page_style(void)
{
    return BYTES(css);
}

gp_page_part gp_page_vega(void)
{
    return BYTES(vega);
}

gp_page_part gp_page_script(void)
{
    return BYTES(js);
}

gp_page_part gp_page_charts(void)
{
    return BYTES(charts);
}

gp_page_part gp_page_licence(void)
{
    return BYTES(licence);
}

bool gp_page_has_vega(void)
{
    return ADVGP_HAVE_VEGA;
}

const char *gp_page_policy(void)
{
    return "default-src 'none'; script-src " ADVGP_SCRIPT_HASHES "; style-src " ADVGP_STYLE_HASH
           "; img-src data:; base-uri 'none'; form-action 'none'";
}
