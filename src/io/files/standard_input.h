// Standard input as a file.
#pragma once

#include "io/format.h"

namespace kith::io {

// A descriptor, kept by the process, of a nameless file with all of standard input. It is in the
// directory for temporary files. Throws bad_file, cancelled, and out_of_memory if that directory is
// in memory and memory runs short.
int copy_of_standard_input(const Proceed& proceed);

}  // namespace kith::io
