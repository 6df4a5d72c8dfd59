// The groups of points of which a value pass keeps the least values (value_pass.h). Plain numbers,
// for the planner and the run.
#pragma once

#include <algorithm>
#include <cstdint>

namespace kith::gpu {

// Queries of a value pass; points that a warp compares at a time; a group is what a warp compares.
inline constexpr std::int64_t value_queries = 4, value_step = 32;
// Warps of a block, blocks of a multiprocessor, and groups that the block of a query holds in its
// registers.
inline constexpr int value_warps = 8, value_blocks = 2, most_value_groups = 4096;
// Bytes of queries that a block holds in shared memory.
inline constexpr std::int64_t value_query_bytes = 48 << 10;
// Candidates of a query.
inline constexpr std::int64_t value_candidates = 4096;

inline std::int64_t value_groups(std::int64_t n, int multiprocessors) {
    const std::int64_t warps = std::int64_t{multiprocessors} * value_blocks * value_warps;
    return std::min({(n + value_step - 1) / value_step, warps, std::int64_t{most_value_groups}});
}

// Points of a query whose values of all coordinates make its threshold, where a pass has lower
// bounds alone: twice as many as the neighbours, as these come in another order by those, and some
// more where they are very few. A warp of close_values takes so many of the groups that it holds,
// those with the least values. Reasoned, not tuned.
inline constexpr std::int64_t most_pilots = 1024, least_pilots = 64,
                              most_coarse_k = most_pilots / 2;
struct ValuePilots {
    int all, of_warp;  // at least k in all, where there are 2 k groups
    ValuePilots(std::int64_t k, std::int64_t groups) {
        constexpr std::int64_t warps = 32;
        const std::int64_t wanted = std::min(std::max(2 * k, least_pilots), groups),
                           used = std::min(warps, (groups + warps - 1) / warps);
        of_warp = static_cast<int>((wanted + used - 1) / used);
        all = static_cast<int>(of_warp * used);
    }
};

// Queries are handled in 1, 2 or 4 at a time.
inline std::int64_t value_query_slots(std::int64_t q) {
    return q <= 2 ? q : value_queries;
}

// Whether a value pass serves q queries of `width` halves and k neighbours of n points: where the
// groups are at least twice as many as the neighbours, few of these share one, and the k-th least
// upper value of a group is that of the 1.4 k-th point or so at most.
inline bool value_pass_serves(std::int64_t q, std::int64_t n, std::int64_t width, std::int64_t k,
                              int multiprocessors) {
    return q >= 1 && q <= value_queries && 2 * value_query_slots(q) * width <= value_query_bytes &&
           2 * k <= value_groups(n, multiprocessors);
}

}  // namespace kith::gpu
