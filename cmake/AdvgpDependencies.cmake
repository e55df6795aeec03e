# The libraries advgp stands on, each as one imported target. scripts/setup installs them by package name.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

function(advgp_require name header library package)
  find_path(${name}_INCLUDE ${header})
  find_library(${name}_LIBRARY ${library})
  if(NOT ${name}_INCLUDE OR NOT ${name}_LIBRARY)
    message(FATAL_ERROR "${name} not found (${header}, lib${library}): run scripts/setup, or install ${package}")
  endif()
  add_library(advgp_${name} INTERFACE)
  target_include_directories(advgp_${name} SYSTEM INTERFACE "${${name}_INCLUDE}")
  target_link_libraries(advgp_${name} INTERFACE "${${name}_LIBRARY}")
endfunction()

# OpenBLAS's own library holds CBLAS and LAPACK; Debian keeps the C face of LAPACK beside it.
pkg_check_modules(OPENBLAS REQUIRED IMPORTED_TARGET openblas)
find_library(LAPACKE_LIBRARY lapacke REQUIRED)
add_library(advgp_blas INTERFACE)
target_link_libraries(advgp_blas INTERFACE PkgConfig::OPENBLAS ${LAPACKE_LIBRARY})

advgp_require(lbfgs lbfgs.h lbfgs liblbfgs-dev)
advgp_require(jansson jansson.h jansson libjansson-dev)
advgp_require(xxhash xxhash.h xxhash libxxhash-dev)
