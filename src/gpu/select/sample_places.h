// Where a sample looks: eight adjacent values (a sector of memory) at a hashed place of each of equal strata of a row.
#pragma once

#include <cstdint>

#include "metric/ops.h"

namespace kith::gpu::sampling {

inline constexpr int sample_group = 8;

// The first place that is taken of stratum number `stratum`, each `length` >= 2 * sample_group long.
KITH_HD unsigned sample_start(unsigned stratum, unsigned length) {
    const std::uint64_t hash = (stratum + 1) * 2654435761u;
    return stratum * length + static_cast<unsigned>(hash * (length - sample_group) >> 32);
}

}  // namespace kith::gpu::sampling
