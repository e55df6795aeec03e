# What the pages of `advgp report` are made of, as files that src/report/page_parts.c takes into the library: style, script and
# chart specifications from src/report/page, and Vega from deps/vega, which scripts/setup fetches. Without Vega the pages have
# tables in place of charts. The page's content security policy names style and scripts by their hashes, which are made here.
set(VEGA_ROOT "${PROJECT_SOURCE_DIR}/deps/vega" CACHE PATH "Directory with the npm packages vega, vega-lite and vega-interpreter")
file(GLOB vega_core "${VEGA_ROOT}/vega-[0-9]*/build/vega.min.js")
file(GLOB vega_lite "${VEGA_ROOT}/vega-lite-[0-9]*/build/vega-lite.min.js")
file(GLOB vega_interpreter "${VEGA_ROOT}/vega-interpreter-[0-9]*/build/vega-interpreter.js")

set(page "${PROJECT_SOURCE_DIR}/src/report/page")
set(parts "${PROJECT_BINARY_DIR}/page")

# Base64 of a hash given in hexadecimal digits: three of these are two of those.
function(advgp_base64 hex out)
  set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  set(text "")
  foreach(at RANGE 0 63 3)
    string(SUBSTRING "${hex}00" ${at} 3 digits)
    math(EXPR high "0x${digits} >> 6")
    math(EXPR low "0x${digits} & 63")
    string(SUBSTRING ${alphabet} ${high} 1 first)
    string(SUBSTRING ${alphabet} ${low} 1 second)
    string(APPEND text "${first}${second}")
  endforeach()
  string(SUBSTRING "${text}" 0 43 text)
  set(${out} "${text}=" PARENT_SCOPE)
endfunction()

function(advgp_page_hash file out)
  file(SHA256 "${file}" hex)
  advgp_base64(${hex} text)
  set(${out} "'sha256-${text}'" PARENT_SCOPE)
endfunction()

# A script without what would end it inside a page, or lead elsewhere.
function(advgp_script file out)
  file(READ "${file}" text)
  string(REGEX REPLACE "\n//# sourceMappingURL=[^\n]*" "" text "${text}")
  string(REPLACE "</script" "<\\/script" text "${text}")
  string(REPLACE "<!--" "<\\!--" text "${text}")
  string(REPLACE "\r" "" text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# One script of the three: the interpreter, which lets charts do without eval, comes as a module and is made a plain script.
set(ADVGP_HAVE_VEGA 0)
set(script "/* built without Vega */\n")
set(licence "")
if(vega_core AND vega_lite AND vega_interpreter)
  set(ADVGP_HAVE_VEGA 1)
  advgp_script("${vega_core}" core)
  advgp_script("${vega_lite}" lite)
  advgp_script("${vega_interpreter}" interpreter)
  string(REGEX REPLACE "^import ({[^}]*}) from 'vega-util';" "(function () {\nconst \\1 = vega;" interpreter "${interpreter}")
  string(REGEX REPLACE "export { ([a-zA-Z]+) as expressionInterpreter };" "vega.expressionInterpreter = \\1;\n})();" interpreter
         "${interpreter}")
  if(NOT interpreter MATCHES "^.function .. {\nconst {" OR NOT interpreter MATCHES "vega.expressionInterpreter = ")
    message(FATAL_ERROR "${vega_interpreter} is not the module that it was: see cmake/AdvgpReport.cmake")
  endif()
  set(script "/* Vega, Vega-Lite, vega-interpreter: Copyright (c) 2015-2023, University of Washington Interactive Data Lab. \
BSD-3-Clause, see the end of this page. */\n${core}\n${lite}\n${interpreter}")
  cmake_path(GET vega_core PARENT_PATH folder)
  file(READ "${folder}/../LICENSE" licence)
else()
  message(STATUS "Without Vega in ${VEGA_ROOT}: reports have tables and no charts; run scripts/setup")
endif()

# Only what has changed is written, so that nothing else is compiled again.
file(WRITE "${parts}/new" "${script}")
configure_file("${parts}/new" "${parts}/vega.js" COPYONLY)
file(WRITE "${parts}/new" "${licence}")
configure_file("${parts}/new" "${parts}/vega.licence" COPYONLY)
foreach(name report.css report.js charts.json)
  configure_file("${page}/${name}" "${parts}/${name}" COPYONLY) # and CMake runs again when it changes
endforeach()
set(ADVGP_PAGE_PARTS "${parts}/vega.js;${parts}/vega.licence;${parts}/report.css;${parts}/report.js;${parts}/charts.json")

advgp_page_hash("${parts}/report.css" ADVGP_STYLE_HASH)
advgp_page_hash("${parts}/report.js" script_hash)
advgp_page_hash("${parts}/vega.js" vega_hash)
set(ADVGP_SCRIPT_HASHES "${vega_hash} ${script_hash}")
