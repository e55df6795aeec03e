# Where `cmake --install` puts the library, and how others find it: pkg-config and a CMake package. DuckDB, which no distribution
# has, lies in a folder of ours beside the library, where program and library look for it.
include(CMakePackageConfigHelpers)

set(ADVGP_PRIVATE_DIR "${CMAKE_INSTALL_LIBDIR}/advgp")
set(CMAKE_INSTALL_RPATH "$ORIGIN/../${ADVGP_PRIVATE_DIR}") # of the program
set_target_properties(advgp_shared PROPERTIES INSTALL_RPATH "$ORIGIN/advgp" EXPORT_NAME advgp)
target_include_directories(advgp_shared INTERFACE "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")

install(FILES include/advgp.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS advgp_shared EXPORT advgp DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(FILES "$<TARGET_FILE:advgp_core>" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(FILES "${DUCKDB_LIBRARY}" DESTINATION "${ADVGP_PRIVATE_DIR}")
if(ADVGP_HAVE_MPI)
  install(TARGETS advgp_mpi_module DESTINATION "${ADVGP_PRIVATE_DIR}")
endif()
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
if(ADVGP_HAVE_VEGA) # inside of program and library, and of every page
  install(FILES "${PROJECT_BINARY_DIR}/page/vega.licence" DESTINATION "${CMAKE_INSTALL_DOCDIR}" RENAME LICENSE.vega)
endif()

# Not as a package that ours requires: its folder of headers is nothing to whoever includes advgp.h.
list(JOIN OPENBLAS_LDFLAGS " " openblas)
set(ADVGP_STATIC_LIBRARIES "-L\${libdir}/advgp -Wl,-rpath,\${libdir}/advgp -lduckdb ${openblas} -llapacke -llbfgs -ljansson -lxxhash -lz -lpthread -ldl -lm")
if(ADVGP_HAVE_ZMQ)
  string(APPEND ADVGP_STATIC_LIBRARIES " -lzmq")
endif()
# Relative to where the file lies, so that the tree can be moved.
file(RELATIVE_PATH ADVGP_UP "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(cmake/advgp.pc.in advgp.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/advgp.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

set(package "${CMAKE_INSTALL_LIBDIR}/cmake/advgp")
install(EXPORT advgp NAMESPACE advgp:: FILE advgpConfig.cmake DESTINATION "${package}")
write_basic_package_version_file(advgpConfigVersion.cmake VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/advgpConfigVersion.cmake" DESTINATION "${package}")
