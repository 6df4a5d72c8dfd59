// The memory that is left for this process.
#pragma once

#include <cstdint>
#include <string>

#include "kith/export.h"

namespace kith {

// Bytes that this process can allocate and use without being killed or refused. It is the least of three: the machine's
// available memory, the rest in its control groups, and the rest under RLIMIT_AS and RLIMIT_DATA. Control groups of v1
// and v2 and all ancestors count; droppable file pages count as free. At least 0. A snapshot: other processes allocate
// meanwhile. Takes some tenths of a millisecond.
KITH_EXPORT std::int64_t free_memory();

// Throws out_of_memory unless `bytes` are free; the message names `what` needs them ("base.fvecs (1000 x 128 f32)").
KITH_EXPORT void require_memory(std::int64_t bytes, const std::string& what);

}  // namespace kith
