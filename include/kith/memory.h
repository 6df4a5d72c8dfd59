// How much memory there is left for this process.
#pragma once

#include <cstdint>
#include <string>

#include "kith/export.h"

namespace kith {

// Bytes that this process can allocate and use without being killed or refused: the least of what the machine has
// available, what its control groups leave (v1 and v2, each ancestor; pages of files that can be dropped count as
// free), and what RLIMIT_AS and RLIMIT_DATA leave. At least 0. A snapshot: others allocate meanwhile. Takes some
// tenths of a millisecond.
KITH_EXPORT std::int64_t free_memory();

// Throws out_of_memory unless `bytes` are free, saying that `what` takes them ("base.fvecs (1000 x 128 f32)").
KITH_EXPORT void require_memory(std::int64_t bytes, const std::string& what);

}  // namespace kith
