# Links what a wheel holds to run wherever manylinux_2_28 does (glibc 2.28 and libstdc++ of GCC 8: RHEL 8, Debian 10, Ubuntu
# 18.10 and newer), from the objects of any build: kith_link_manylinux(target). The compiler and its headers stay the
# machine's own. In place of its libraries the linker gets stubs that have no newer symbols (scripts/link-stubs); what the
# objects want and those versions lack is in src/manylinux.cpp and, of the C++ library, in its static one.
set(stubs ${CMAKE_BINARY_DIR}/stubs)
execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../scripts/link-stubs ${CMAKE_CXX_COMPILER} ${stubs}
  GLIBC=2.28 GLIBCXX=3.4.24 CXXABI=1.3.11 GCC=7.0.0 COMMAND_ERROR_IS_FATAL ANY)
file(GLOB loader RELATIVE ${stubs} ${stubs}/ld-linux-*.so.[12])

# At the end of every command that links in this folder; their order decides. Threads and dlopen were libraries of their own
# before glibc 2.34.
set(CMAKE_CXX_STANDARD_LIBRARIES "-Wl,--no-as-needed -lpthread -ldl -lrt -Wl,--as-needed \
-lstdc++ -lm -lgcc_s -lc -l:libstdc++.a -l:libgcc.a -l:libc_nonshared.a -l:${loader}")

set(manylinux_sources ${CMAKE_CURRENT_LIST_DIR}/../python/src)
add_library(kith_manylinux OBJECT ${manylinux_sources}/manylinux.cpp ${manylinux_sources}/manylinux_fmt.cpp)
target_link_libraries(kith_manylinux PRIVATE fmt::fmt)
set_target_properties(kith_manylinux PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
target_compile_options(kith_manylinux PRIVATE -ffunction-sections -Wall -Wextra)
add_library(kith_manylinux_start OBJECT ${manylinux_sources}/manylinux_start.c)
target_compile_options(kith_manylinux_start PRIVATE -Wall -Wextra)

function(kith_link_manylinux target)
  # As a link directory it would be one where the program looks for its libraries.
  target_link_options(${target} PRIVATE -L${stubs} -nodefaultlibs -Wl,--as-needed -Wl,--gc-sections
    -Wl,--exclude-libs,libstdc++.a:libgcc.a:libc_nonshared.a)
  target_link_libraries(${target} PRIVATE kith_manylinux)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_link_options(${target} PRIVATE -Wl,--wrap=__libc_start_main)
    target_link_libraries(${target} PRIVATE kith_manylinux_start)
  elseif(type STREQUAL "SHARED_LIBRARY")
    target_link_options(${target} PRIVATE -Wl,--no-undefined)
  endif()
endfunction()
