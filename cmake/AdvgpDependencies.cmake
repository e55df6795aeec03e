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
advgp_require(zlib zlib.h z zlib1g-dev)

# DuckDB: what scripts/setup fetched into deps/duckdb, or an unpacked official release named by DUCKDB_ROOT.
set(DUCKDB_ROOT "${PROJECT_SOURCE_DIR}/deps/duckdb" CACHE PATH "Directory with duckdb.h and libduckdb.so")
find_path(DUCKDB_INCLUDE duckdb.h PATHS "${DUCKDB_ROOT}" PATH_SUFFIXES include NO_DEFAULT_PATH)
find_library(DUCKDB_LIBRARY duckdb PATHS "${DUCKDB_ROOT}" PATH_SUFFIXES lib NO_DEFAULT_PATH)
if(NOT DUCKDB_INCLUDE OR NOT DUCKDB_LIBRARY)
  message(FATAL_ERROR "DuckDB not found in ${DUCKDB_ROOT} (duckdb.h, libduckdb.so): run scripts/setup, or set DUCKDB_ROOT to a release")
endif()
# Imported as a shared library, so that CMake writes the build tree's programs an rpath to it.
add_library(advgp_duckdb SHARED IMPORTED GLOBAL)
set_target_properties(advgp_duckdb PROPERTIES IMPORTED_LOCATION "${DUCKDB_LIBRARY}"
  INTERFACE_INCLUDE_DIRECTORIES "${DUCKDB_INCLUDE}")

# MPI: Open MPI or MPICH, for src/transport/mpi.c alone.
if(ADVGP_MPI)
  find_package(MPI COMPONENTS C)
  if(MPI_C_FOUND)
    list(APPEND ADVGP_OPTIONAL MPI::MPI_C)
    set_source_files_properties(src/transport/mpi.c PROPERTIES COMPILE_DEFINITIONS ADVGP_HAVE_MPI)
  else()
    message(STATUS "advgp without MPI: install libopenmpi-dev for it")
  endif()
endif()
