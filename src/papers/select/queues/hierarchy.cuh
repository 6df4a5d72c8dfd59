// The hierarchical partition of rows (Tang 2015, III.E): levels of group minima above the values.
#pragma once

#include <type_traits>

#include "gpu/select/result.cuh"

namespace kith::gpu {

// The key of a packed entry, without its index: what the paper stores of a minimum.
using MinimumKey = std::uint32_t;

// Level 0 is the caller's values, read by column; an entry of level l + 1 is the smallest of a
// group of G = 2^group_bits entries of level l. Position p of row r of a level is
// entries[(first[level] + p) * rows + r]. Every level above 0 is padded to whole groups.
//
// Entry Packed: packed with the column of the minimum, padding packed_end; an entry at level l lies
// at position column >> (l * group_bits), and ties between minima are ties of their columns. Entry
// MinimumKey: the key alone, half of the memory; at() gives it the first column of its group, which
// orders ties in the same way.
template <class Entry>
struct Hierarchy {
    static constexpr int most_levels = 32;
    static constexpr bool keys_alone = std::is_same_v<Entry, MinimumKey>;

    const float* values;
    std::int64_t stride, n, rows;
    bool largest;
    int group_bits;
    int top;                                               // the level that has at most k entries
    std::int64_t first[most_levels], padded[most_levels];  // of levels 1 .. top
    Entry* entries;

    __device__ __forceinline__ std::int64_t size(int level) const {
        return level ? padded[level] : n;
    }
    __device__ __forceinline__ Packed at(int level, std::int64_t position, std::int64_t row) const {
        if (!level)
            return pack(values[position * stride + row], static_cast<std::uint32_t>(position),
                        largest);
        const Entry entry = entries[(first[level] + position) * rows + row];
        if constexpr (!keys_alone) return entry;
        const std::int64_t column = position << level * group_bits;
        return column < n ? static_cast<Packed>(entry) << 32 | static_cast<std::uint32_t>(column)
                          : packed_end;
    }
    // The entry of `level` that is the minimum of its group, a minimum of the level above: of those
    // with its key the first.
    __device__ __forceinline__ Packed member(int level, Packed minimum, std::int64_t row) const {
        if (minimum == packed_end) return minimum;
        const std::int64_t group =
            static_cast<std::int64_t>(index_of(minimum)) >> (level + 1) * group_bits;
        for (std::int64_t child = group << group_bits;
             child >> group_bits == group && child < size(level); ++child) {
            const Packed x = at(level, child, row);
            if (x >> 32 == minimum >> 32) return x;
        }
        return minimum;
    }
};

// The levels' places, entries still null.
template <class Entry>
Hierarchy<Entry> plan_hierarchy(const SelectJob& job, int group_bits);
// Entries of all rows and levels.
template <class Entry>
std::int64_t hierarchy_entries(const Hierarchy<Entry>& hierarchy) {
    return hierarchy.top
               ? (hierarchy.first[hierarchy.top] + hierarchy.padded[hierarchy.top]) * hierarchy.rows
               : 0;
}
// Alg. 4, bottom-up construction.
template <class Entry>
void build_hierarchy(const Hierarchy<Entry>& hierarchy, cudaStream_t stream);

}  // namespace kith::gpu
