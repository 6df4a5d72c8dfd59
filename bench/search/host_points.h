// `kith-bench search --host-points`: an Index whose points stay in host memory, next to the same points streaming.
#pragma once

#include <cstdint>
#include <string>

#include "kith/types.h"

namespace kith::bench {

struct HostPointsStudy {
    bool asked = false;
    std::int64_t n = 0, q = 0, d = 0, k = 0;
    ElementType type = ElementType::f32;  // or u8
    int repeat = 7;
    std::string json = {};  // file; "": none
};

// Prints, and writes the JSON. True if all answers have the same bits. Throws kith::Error; invalid_argument where the
// points would not stay in host memory.
bool run(const HostPointsStudy& study, const Options& options);

}  // namespace kith::bench
