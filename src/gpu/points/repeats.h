// Equal rows among the points. Of more equal rows than a search wants neighbours only those with
// the smallest ids can be among them: the others need not be candidates.
#pragma once

#include "gpu/filter/tuning.h"
#include "gpu/points/points.h"

namespace kith::gpu {

struct Repeats {
    Buffer<std::uint32_t>
        earlier;            // per row: how many rows with smaller ids have the same bits, or fewer
    std::int64_t most = 0;  // the largest of them
    bool many() const { return most >= tuning::many_repeats; }
};

// Synchronises.
Repeats count_repeats(const Rows& rows, std::int64_t d, cudaStream_t stream);

// out = half norms by position, +inf where at least `wanted` earlier rows are equal. Room for whole
// tiles.
void drop_repeats(const Repeats& repeats, const FilterVectors& filter, std::int64_t n,
                  std::int64_t wanted, float* out, cudaStream_t stream);

}  // namespace kith::gpu
