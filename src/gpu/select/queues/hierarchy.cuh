// The hierarchical partition of rows (Tang 2015, III.E): levels of group minima above the values.
#pragma once

#include "gpu/select/result.cuh"

namespace kith::gpu {

// Level 0 is the caller's values, read by column; an entry of level l + 1 is the smallest of a group of
// G = 2^group_bits entries of level l. Entries are packed with the column of the minimum, so an entry at level l
// lies at position column >> (l * group_bits), and ties between minima are ties of their columns. Position p of row r
// of a level is entries[(first[level] + p) * rows + r]. Every level above 0 is padded to whole groups with packed_end.
struct Hierarchy {
    static constexpr int most_levels = 32;

    const float* values;
    std::int64_t stride, n, rows;
    bool largest;
    int group_bits;
    int top;                                               // the level that has at most k entries
    std::int64_t first[most_levels], padded[most_levels];  // of levels 1 .. top
    Packed* entries;

    __device__ __forceinline__ std::int64_t size(int level) const { return level ? padded[level] : n; }
    __device__ __forceinline__ Packed at(int level, std::int64_t position, std::int64_t row) const {
        if (level) return entries[(first[level] + position) * rows + row];
        return pack(values[position * stride + row], static_cast<std::uint32_t>(position), largest);
    }
};

// The levels' places, entries still null.
Hierarchy plan_hierarchy(const SelectJob& job, int group_bits);
// Entries of all rows and levels.
std::int64_t hierarchy_entries(const Hierarchy& hierarchy);
// Alg. 4, bottom-up construction.
void build_hierarchy(const Hierarchy& hierarchy, cudaStream_t stream);

}  // namespace kith::gpu
