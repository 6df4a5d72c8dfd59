# Writes OUT, a header with the hash of what the benchmarks time, where that has changed: cmake -D SCRIPT=.. -D OUT=.. -P
execute_process(COMMAND ${SCRIPT} bench OUTPUT_VARIABLE hash OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
file(WRITE ${OUT}.part "// Made by bench/sources.cmake.\n#pragma once\n\nnamespace kith::bench {\n\n"
  "// scripts/source-hash bench, at the time of the build.\ninline constexpr const char* sources = \"${hash}\";\n\n}\n")
file(COPY_FILE ${OUT}.part ${OUT} ONLY_IF_DIFFERENT)
