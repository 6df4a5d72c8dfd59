# The stand-in for tests that a build lacks: says so, and ctest counts it as skipped.
message("${NAME}: not built: ${WHY}")
