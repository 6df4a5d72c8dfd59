// The fused kernels as plain data: what the planner, help texts and tests know of them, and what a
// path of one takes. No CUDA.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "gpu/filter/levels.h"

namespace kith::gpu {

struct FusedKernel {
    const char* name = "";
    std::int64_t most_listed = 0;   // of a query's points, a power of two
    std::int64_t queries = 1;       // of a block
    std::int64_t least_points = 1;  // of a block, where points are shared out among several
    const char* what = "";          // a line of help
};

inline constexpr auto fused_kernels = std::to_array<FusedKernel>({
#define KITH_FUSED(function, ...) {__VA_ARGS__},
#include "papers/fused/fused_kernels.def"
#undef KITH_FUSED
});

// Null where no kernel has that name.
constexpr const FusedKernel* find_fused_kernel(std::string_view name) {
    for (const FusedKernel& kernel : fused_kernels)
        if (name == kernel.name) return &kernel;
    return nullptr;
}

// What a kernel keeps of a query at once: a power of two with some more than `wanted`, as a
// distance in f32 may be wrong by the last ones' differences.
constexpr std::int64_t fused_capacity(const FusedKernel& kernel, std::int64_t wanted) {
    constexpr std::int64_t least = 32;
    std::int64_t capacity = least;
    while (capacity < wanted + wanted / 8 + 4 && capacity < kernel.most_listed) capacity *= 2;
    return capacity;
}

// Points that a list has of n for `wanted` neighbours. No more than wanted proves nothing where
// others are left.
constexpr std::int64_t fused_listed(const FusedKernel& kernel, std::int64_t n,
                                    std::int64_t wanted) {
    return std::min(n, fused_capacity(kernel, wanted));
}

// The points of a chunk, shared out: `count` parts of `points` points (the last may be shorter),
// whole tiles of the filter. Each block has a part, and each query a list of each part.
struct FusedParts {
    std::int64_t count = 1, points = 0;
};

inline constexpr std::int64_t fused_blocks = 2;  // of a multiprocessor
// The blocks of a device at a time are a wave. Up to so many waves are worth filling: of more, the
// last one matters less.
inline constexpr std::int64_t fused_waves = 16;
// What a part takes beside its points, in points: its list begins empty, and is merged with the
// others. Reasoned from an NVIDIA H200, 2026-11-23 (hanak-5.9, d 16): parts of 8,192 points took
// what 10,000 to 13,000 would.
inline constexpr std::int64_t fused_part_points = 4096;

// Where queries are too few to fill a device with blocks, points are cut into parts for one wave;
// and into more where that fills the last wave better: 164 blocks take as long as a wave of 264, in
// eight parts each (five waves) five eighths of that. Within `most_lists` of all queries.
constexpr FusedParts fused_parts(const FusedKernel& kernel, std::int64_t q, std::int64_t n,
                                 int multiprocessors, std::int64_t most_lists) {
    const std::int64_t rows = std::max<std::int64_t>(q, 1),
                       blocks = (rows + kernel.queries - 1) / kernel.queries,
                       wave = fused_blocks * multiprocessors,
                       most = std::max<std::int64_t>(
                           std::min({fused_waves * wave / blocks, n / kernel.least_points,
                                     most_lists / rows}),
                           1);
    const auto cut = [&](std::int64_t count) {
        const std::int64_t points =
            std::max(whole_tiles((n + count - 1) / count), filter_tile_points);
        return FusedParts{std::max<std::int64_t>((n + points - 1) / points, 1), points};
    };
    const auto time = [&](const FusedParts& parts) {
        return (blocks * parts.count + wave - 1) / wave * (parts.points + fused_part_points);
    };
    FusedParts best = cut(std::clamp<std::int64_t>(wave / blocks, 1, most));
    for (std::int64_t count = 1; count <= most; ++count)
        if (const FusedParts parts = cut(count); time(parts) < time(best) - time(best) / 32)
            best = parts;
    return best;
}

// The lists that up to q queries have at most, of all their parts.
constexpr std::int64_t fused_most_lists(const FusedKernel& kernel, std::int64_t q, std::int64_t n,
                                        int multiprocessors) {
    return std::min(q * std::max<std::int64_t>(n / kernel.least_points, 1),
                    q + fused_waves * fused_blocks * multiprocessors * kernel.queries);
}

// Bytes of workspace of a list and of its share of the lists that merging makes, one of every two:
// of three parts, the worst, two.
constexpr std::int64_t fused_list_bytes(std::int64_t listed) {
    return 14 * listed;
}

}  // namespace kith::gpu
