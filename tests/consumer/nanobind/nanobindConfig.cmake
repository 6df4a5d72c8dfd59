# Stands for nanobind where the Python package is configured only (../run.cmake).
set(nanobind_VERSION 3.1.0)
function(nanobind_add_module name)
  set(sources ${ARGN})
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  add_library(${name} MODULE ${sources})
endfunction()
