# Compile options that every target of the project shares.
add_library(kith_options INTERFACE)
# No compiler may fuse or split a multiply-add: the canonical distance says each one itself (docs/exactness.md).
target_compile_options(kith_options INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-ffp-contract=off -Wall -Wextra -Wno-unknown-pragmas>
  $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false --expt-relaxed-constexpr -Xcompiler=-ffp-contract=off,-Wall>)
if(KITH_WERROR)
  target_compile_options(kith_options INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Werror>
    $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
endif()
if(KITH_SANITIZE)
  target_compile_options(kith_options INTERFACE
    $<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${KITH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all>)
  target_link_options(kith_options INTERFACE -fsanitize=${KITH_SANITIZE})
endif()
