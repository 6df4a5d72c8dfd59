// Duplicate rows (repeats) among the points. Among more duplicates than a search wants neighbours,
// only the smallest ids can be neighbours: the other rows need not be candidates.
#pragma once

#include "gpu/filter/tuning.h"
#include "gpu/points/points.h"

namespace kith::gpu {

struct Repeats {
    Buffer<std::uint32_t> earlier;  // per row: number of equal rows with smaller ids, or fewer
    std::int64_t most = 0;          // the largest of these numbers
    bool many() const { return most >= tuning::many_repeats; }
};

// Queries of a tile for which duplicates are counted where a sample says that there are many: a
// tile of fewer costs less than counting. Reasoned.
inline constexpr std::int64_t counting_queries = 128;

// Counts duplicates by their bits. Synchronises. `earlier` is empty unless many().
Repeats count_repeats(const Rows& rows, std::int64_t d, cudaStream_t stream);

// out = half norms by position, +inf for rows with at least `wanted` equal earlier rows. Has room
// for whole tiles.
void drop_repeats(const Repeats& repeats, const FilterVectors& filter, std::int64_t n,
                  std::int64_t wanted, float* out, cudaStream_t stream);

}  // namespace kith::gpu
