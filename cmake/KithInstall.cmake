# `cmake --install`: headers, libraries, the package that find_package(kith) finds, and that of pkg-config. (cli/ installs
# its own tool.)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(kith_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kith)
get_target_property(kith_library_type kith TYPE)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/kith DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
  FILES_MATCHING PATTERN "*.h" PATTERN "*.cuh" PATTERN "*.def")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)

# An export for each component: kith::io brings zlib and HDF5, which kith::kith does not need.
foreach(library kith kith_io)
  if(TARGET ${library})
    install(TARGETS ${library} EXPORT ${library}Targets
      ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
      LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
    install(EXPORT ${library}Targets NAMESPACE kith:: DESTINATION ${kith_package_dir} COMPONENT development)
  endif()
endforeach()

# The C++ library, for programs in C that link the static library.
set(kith_cxx_runtime stdc++)
if("c++" IN_LIST CMAKE_CXX_IMPLICIT_LINK_LIBRARIES)
  set(kith_cxx_runtime c++)
endif()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/kithConfig.cmake.in
  ${PROJECT_BINARY_DIR}/kithConfig.cmake INSTALL_DESTINATION ${kith_package_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/kithConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/kithConfig.cmake ${PROJECT_BINARY_DIR}/kithConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/FindKithArrow.cmake
  DESTINATION ${kith_package_dir} COMPONENT development)

# Prefixes are relative to the .pc file: an installed tree may move. `pkg-config --static` adds what is private.
file(RELATIVE_PATH kith_pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
set(kith_pc_libs_private "-l${kith_cxx_runtime} -lm -pthread")
if(KITH_HAVE_CUDA)
  string(APPEND kith_pc_libs_private " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt")
endif()
set(kith_io_pc_requires_private "fmt zlib")
if(KITH_HAVE_HDF5)
  string(APPEND kith_io_pc_requires_private " ${KITH_HDF5_MODULE_NAME}")
endif()
if(KITH_HAVE_PARQUET AND KITH_ARROW_ROOT)
  foreach(library parquet arrow)
    get_target_property(file KithArrow::lib${library} IMPORTED_LOCATION)
    cmake_path(GET file PARENT_PATH folder)
    string(APPEND kith_io_pc_libs_private " ${file} -Wl,-rpath,${folder}")
  endforeach()
elseif(KITH_HAVE_PARQUET)
  string(APPEND kith_io_pc_requires_private " parquet arrow")
endif()
set(kith_pc_requires_private fmt)
if(kith_library_type STREQUAL "SHARED_LIBRARY")
  # pkg-config looks for what is private, too, also where nothing is linked with it.
  set(kith_pc_requires_private)
  set(kith_io_pc_requires_private)
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/kith.pc.in ${PROJECT_BINARY_DIR}/kith.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/kith.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
if(KITH_IO)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/kith_io.pc.in ${PROJECT_BINARY_DIR}/kith_io.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/kith_io.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endif()
