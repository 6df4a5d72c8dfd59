# The test `consumer`: installs kith from BUILD into a prefix, then configures, builds and runs projects against it: in
# C++, in C alone, with the file formats, the examples, by pkg-config; and configures projects that hold its sources.
set(work ${BUILD}/consumer)
file(REMOVE_RECURSE ${work})
set(here ${CMAKE_CURRENT_LIST_DIR})
cmake_path(SET source NORMALIZE ${here}/../..)
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(configure name project)
  run(${CMAKE_COMMAND} -S ${project} -B ${work}/${name} -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${COMPILER}
    -D CMAKE_C_COMPILER=${C_COMPILER} -D CMAKE_PREFIX_PATH=${work}/prefix --no-warn-unused-cli ${ARGN})
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix)
foreach(project . c io)
  string(REPLACE "." "" suffix "_${project}")
  string(REGEX REPLACE "_$" "" suffix "${suffix}")
  configure(build${suffix} ${here}/${project})
  run(${CMAKE_COMMAND} --build ${work}/build${suffix})
  run(${work}/build${suffix}/consumer${suffix})
endforeach()

configure(examples ${source}/examples)
run(${CMAKE_COMMAND} --build ${work}/examples)
run(${CMAKE_CTEST_COMMAND} --test-dir ${work}/examples)

# By pkg-config, as a line in a shell or a Makefile would.
find_program(pkg_config NAMES pkg-config pkgconf)
file(GLOB_RECURSE pc_files ${work}/prefix/*.pc)
list(GET pc_files 0 pc_file)
cmake_path(GET pc_file PARENT_PATH pc_dir)
set(ENV{PKG_CONFIG_PATH} ${pc_dir}:$ENV{PKG_CONFIG_PATH})
function(flags out)
  execute_process(COMMAND ${pkg_config} ${ARGN} OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(text UNIX_COMMAND "${text}")
  set(${out} ${text} PARENT_SCOPE)
endfunction()
flags(of_kith --static --cflags --libs kith)
run(${C_COMPILER} -Wall -Wextra -Werror -std=c99 ${here}/c/main.c -o ${work}/by_pkg_config_c ${of_kith})
run(${work}/by_pkg_config_c)
flags(of_io --static --cflags --libs kith_io)
run(${COMPILER} -std=c++20 ${here}/io/main.cpp -o ${work}/by_pkg_config_io ${of_io})
run(${work}/by_pkg_config_io)

# Configured only: to build would be to build kith again.
configure(subproject ${here}/subproject -D KITH_SOURCE=${source} -D FETCH=OFF)
configure(fetched ${here}/subproject -D KITH_SOURCE=${source} -D FETCH=ON)
if(DEFINED ENV{KITH_CPM})  # CPM.cmake, which no package brings
  configure(by_cpm ${here}/subproject -D KITH_SOURCE=${source} -D CPM=$ENV{KITH_CPM})
endif()
# The Python package is no other project: pip compiles the GPU backend where there is nvcc, unless CMAKE_ARGS says otherwise.
foreach(asked AUTO OFF)
  set(argument -D KITH_CUDA=${asked})
  if(asked STREQUAL "AUTO")
    set(argument)
  endif()
  configure(python_${asked} ${source}/python -D nanobind_DIR=${here}/nanobind ${argument})
  file(STRINGS ${work}/python_${asked}/CMakeCache.txt cuda REGEX "^KITH_CUDA:")
  if(NOT cuda STREQUAL "KITH_CUDA:STRING=${asked}")
    message(FATAL_ERROR "the Python package is compiled with ${cuda}; expected ${asked}")
  endif()
endforeach()
# Without Highway, which pkg-config does not find here, all but the benchmark is there.
execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_LIBDIR=${work} PKG_CONFIG_PATH= ${CMAKE_COMMAND}
  -S ${source} -B ${work}/without_highway -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${COMPILER}
  -D CMAKE_C_COMPILER=${C_COMPILER} -D KITH_CUDA=OFF -D KITH_TESTS=OFF
  OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
if(NOT said MATCHES "no kith-bench: it needs Highway")
  message(FATAL_ERROR "configured without Highway:\n${said}")
endif()

if(EXISTS ${work}/prefix/bin/kith)
  run(${work}/prefix/bin/kith --version)
  foreach(file share/man/man1/kith.1 share/bash-completion/completions/kith share/zsh/site-functions/_kith
      share/fish/vendor_completions.d/kith.fish)
    file(SIZE ${work}/prefix/${file} size)
    if(size LESS 1000)
      message(FATAL_ERROR "${file} has ${size} bytes")
    endif()
  endforeach()
  find_program(man man)
  if(man)
    execute_process(COMMAND ${man} --warnings -P cat -l ${work}/prefix/share/man/man1/kith.1 OUTPUT_VARIABLE page
      ERROR_VARIABLE warnings COMMAND_ERROR_IS_FATAL ANY)
    if(warnings OR NOT page MATCHES "kith search" OR NOT page MATCHES "--base FILE")
      message(FATAL_ERROR "man -l kith.1: ${warnings}\n${page}")
    endif()
  endif()
endif()
