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

# Transports between processes are optional: without their library the rest builds, and `advgp info` says so.
option(ADVGP_ZMQ "Workers on other machines over ZeroMQ, where its library is found" ON)
find_path(zmq_INCLUDE zmq.h)
find_library(zmq_LIBRARY zmq)
set(ADVGP_HAVE_ZMQ 0)
if(ADVGP_ZMQ AND zmq_INCLUDE AND zmq_LIBRARY)
  set(ADVGP_HAVE_ZMQ 1)
  advgp_require(zmq zmq.h zmq libzmq3-dev)
else()
  add_library(advgp_zmq INTERFACE)
  message(STATUS "Without ZeroMQ: install libzmq3-dev for workers on other machines")
endif()

option(ADVGP_MPI "Workers started by mpirun or srun, where Open MPI or MPICH is found" ON)
set(ADVGP_HAVE_MPI 0)
add_library(advgp_mpi INTERFACE)
if(ADVGP_MPI)
  find_package(MPI COMPONENTS C)
endif()
if(ADVGP_MPI AND MPI_C_FOUND)
  set(ADVGP_HAVE_MPI 1)
  target_link_libraries(advgp_mpi INTERFACE MPI::MPI_C)
else()
  message(STATUS "Without MPI: install libopenmpi-dev for workers started by mpirun")
endif()
