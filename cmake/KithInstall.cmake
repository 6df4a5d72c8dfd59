# `cmake --install`: headers, library, and the package that find_package(kith) finds. (cli/ installs its own tool.)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(kith_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kith)
get_target_property(kith_library_type kith TYPE)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/kith DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
install(TARGETS kith EXPORT kithTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT kithTargets NAMESPACE kith:: DESTINATION ${kith_package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/kithConfig.cmake.in
  ${PROJECT_BINARY_DIR}/kithConfig.cmake INSTALL_DESTINATION ${kith_package_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/kithConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/kithConfig.cmake ${PROJECT_BINARY_DIR}/kithConfigVersion.cmake
  DESTINATION ${kith_package_dir})
