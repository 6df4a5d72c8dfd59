// The distance kernels as plain data, for the planner, help texts and tests; and the workspace of a
// path that is composed of one and a selector. No CUDA.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace kith::gpu {

// A kernel's values: the metric itself, within the direct filter's bound; or squares alone, by
// |q|^2 + |x|^2 - 2 <q, x>, within a bound that grows with the rows' norms.
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

// Null if no kernel has this name.
constexpr const DistanceKernel* find_distance_kernel(std::string_view name) {
    for (const DistanceKernel& kernel : distance_kernels)
        if (name == kernel.name) return &kernel;
    return nullptr;
}

// Bytes of a product's workspace, and of all that the expanded form takes in addition to the
// matrix. They exclude cuBLAS' own memory, outside of the library's pool.
inline constexpr std::int64_t expanded_workspace_bytes = std::int64_t{4} << 20;
constexpr std::int64_t expanded_bytes(std::int64_t n, std::int64_t q) {
    return expanded_workspace_bytes + 8 * (n + 256) + 8 * q;
}

// Points that a selector takes of each query for `wanted` neighbours among n: some more, since
// errors of f32 may exceed the differences between the last ones, and at most n. `most`: the
// selector's limit, or 0. A list of no more than `wanted` proves nothing if points are left out.
constexpr std::int64_t listed_points(std::int64_t n, std::int64_t wanted, std::int64_t most) {
    const std::int64_t listed = std::min(n, wanted + wanted / 8 + 32);
    return most > 0 ? std::min(listed, most) : listed;
}

}  // namespace kith::gpu
