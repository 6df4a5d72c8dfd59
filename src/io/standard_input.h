// Standard input as a file.
#pragma once

#include "io/format.h"

namespace kith::io {

// A descriptor of a file without a name that holds all of standard input; the process keeps it. It
// lies where temporary files do. Throws bad_file, out_of_memory where they lie in memory and that
// gets short, cancelled.
int copy_of_standard_input(const Proceed& proceed);

}  // namespace kith::io
