# Compile options that every target of the project shares.
add_library(kith_options INTERFACE)
# No compiler may fuse or split a multiply-add: the canonical distance says each one itself (docs/contract.md).
target_compile_options(kith_options INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-ffp-contract=off -Wall -Wextra -Wno-unknown-pragmas>
  $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false --expt-relaxed-constexpr -Xcompiler=-ffp-contract=off,-Wall>)
if(KITH_HAVE_CUDA)
  # "size" is a fifth of "default", and asks for drivers of CUDA 12.4 (550.54) and newer: whatever runs CUDA 13 has one.
  set(compression ${KITH_CUDA_COMPRESSION})
  if(compression STREQUAL "AUTO")
    set(compression default)
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
      set(compression size)
    endif()
  endif()
  if(NOT compression STREQUAL "default")
    target_compile_options(kith_options INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:--compress-mode=${compression}>)
  endif()
endif()
if(KITH_WERROR)
  target_compile_options(kith_options INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Werror>
    $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
endif()
if(KITH_SANITIZE)
  target_compile_options(kith_options INTERFACE
    $<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${KITH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all>)
  target_link_options(kith_options INTERFACE -fsanitize=${KITH_SANITIZE})
endif()

# Precompiles the headers (ARGN) that most sources of a target, all of C++, include.
function(kith_precompile target)
  if(KITH_PRECOMPILE)
    list(TRANSFORM ARGN REPLACE "(.+)" "<\\1>")
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()
