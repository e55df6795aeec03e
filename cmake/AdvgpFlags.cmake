# Compiler flags for every target of advgp, as one interface library.
add_library(advgp_flags INTERFACE)
target_compile_definitions(advgp_flags INTERFACE _POSIX_C_SOURCE=200809L)
target_compile_options(advgp_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wvla -Wundef -Wcast-qual
  -Wwrite-strings -Wpointer-arith
  -ffp-contract=fast               # a*b+c in one rounding where the CPU has it; the only liberty taken with IEEE arithmetic
  -fno-math-errno -fno-trapping-math) # lets sqrt and comparisons vectorise; results are unchanged
if(ADVGP_WERROR)
  target_compile_options(advgp_flags INTERFACE -Werror)
endif()
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  target_compile_options(advgp_flags INTERFACE $<$<CONFIG:Release>:-O3>)
endif()
if(ADVGP_SANITIZE)
  target_compile_options(advgp_flags INTERFACE -fsanitize=${ADVGP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(advgp_flags INTERFACE -fsanitize=${ADVGP_SANITIZE})
  # clang 14 takes minutes over the unrolled tiles with a check at every index; gcc's sanitizer looks at them.
  if(CMAKE_C_COMPILER_ID STREQUAL "Clang" AND ADVGP_SANITIZE MATCHES undefined)
    set_source_files_properties(src/linalg/strips.c PROPERTIES COMPILE_OPTIONS -fno-sanitize=undefined)
  endif()
endif()
if(ADVGP_COVERAGE)
  target_compile_options(advgp_flags INTERFACE --coverage -O0)
  target_link_options(advgp_flags INTERFACE --coverage)
endif()
