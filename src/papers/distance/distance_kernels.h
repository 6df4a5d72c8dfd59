// The distance kernels as plain data: what the planner, help texts and tests know of them, and what
// a path that is composed of one and a selector takes. No CUDA.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace kith::gpu {

// What a kernel's values are: the metric itself, within the direct filter's bound; or squares
// alone, by |q|^2 + |x|^2
// - 2 <q, x>, within one that grows with the rows' norms.
enum class DistanceValues : std::uint8_t { direct, expanded };

struct DistanceKernel {
    const char* name = "";
    DistanceValues values = DistanceValues::direct;
    const char* what = "";  // a line of help

    constexpr bool expanded() const { return values == DistanceValues::expanded; }
};

inline constexpr auto distance_kernels = std::to_array<DistanceKernel>({
#define KITH_DISTANCES(function, name, values, what) {name, DistanceValues::values, what},
#include "papers/distance/distance_kernels.def"
#undef KITH_DISTANCES
});

// Null where no kernel has that name.
constexpr const DistanceKernel* find_distance_kernel(std::string_view name) {
    for (const DistanceKernel& kernel : distance_kernels)
        if (name == kernel.name) return &kernel;
    return nullptr;
}

// Bytes that a product's workspace takes, and all that the expanded form takes beside the matrix,
// but for what cuBLAS has of its own, outside of the library's pool.
inline constexpr std::int64_t expanded_workspace_bytes = std::int64_t{4} << 20;
constexpr std::int64_t expanded_bytes(std::int64_t n, std::int64_t q) {
    return expanded_workspace_bytes + 8 * (n + 256) + 8 * q;
}

// Points that a selector takes of each query for `wanted` neighbours among n: some more, as a
// distance in f32 may be wrong by the last ones' differences, and all of them where that is no
// more. `most`: what the selector takes at most, or 0. No more than wanted proves nothing where
// others are left.
constexpr std::int64_t listed_points(std::int64_t n, std::int64_t wanted, std::int64_t most) {
    const std::int64_t listed = std::min(n, wanted + wanted / 8 + 32);
    return most > 0 ? std::min(listed, most) : listed;
}

}  // namespace kith::gpu
