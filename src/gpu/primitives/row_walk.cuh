// How a block reads a row, or a list of entries, from end to end.
#pragma once

#include "gpu/primitives/block.cuh"
#include "gpu/primitives/packed.cuh"

namespace kith::gpu {

// The values of a row as packed entries. walk(take) calls take(entries, valid) with four entries of
// each lane, equally often in every thread of the block; bit j of `valid` says whether entry j
// exists. Loads are 16 bytes wide wherever the row's alignment allows, two of them in flight; one
// call's entries are in row order over the block's threads.
template <int threads>
struct RowWalk {
    const float* values;
    std::uint32_t n;
    bool largest;

    __device__ Packed get(std::uint32_t i) const { return pack(values[i], i, largest); }

    template <class Take>
    __device__ __forceinline__ void walk(Take take) const {
        constexpr int loads = 2;
        // Vector v holds the values 4 v - skew and the three behind it; those in [begin, end) lie
        // within the row.
        const auto skew = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(values) % 16 /
                                                     sizeof(float));
        const std::uint32_t begin = skew > 0,
                            end = static_cast<std::uint32_t>((std::uint64_t{n} + skew) / 4);
        const auto vectors = static_cast<std::uint32_t>((std::uint64_t{n} + skew + 3) / 4);
        const float* const aligned = values - skew;
        for (std::uint32_t base = threadIdx.x; base - threadIdx.x < vectors;
             base += threads * loads) {
            float4 raw[loads];
#pragma unroll
            for (int u = 0; u < loads; ++u) {
                const std::uint32_t v = base + u * threads;
                if (v >= begin && v < end) raw[u] = reinterpret_cast<const float4*>(aligned)[v];
                else raw[u] = edge(v, skew, vectors);
            }
#pragma unroll
            for (int u = 0; u < loads; ++u) {
                const std::uint32_t v = base + u * threads, i = 4 * v - skew;
                const Packed entries[4] = {
                    pack(raw[u].x, i, largest), pack(raw[u].y, i + 1, largest),
                    pack(raw[u].z, i + 2, largest), pack(raw[u].w, i + 3, largest)};
                unsigned valid = 15;
                if (v < begin || v >= end) {
                    valid = 0;
                    for (int j = 0; j < 4; ++j)
                        if (v < vectors && i + j < n) valid |= 1u << j;
                }
                take(entries, valid);
            }
        }
    }

    // A vector that reaches over an end of the row.
    __device__ float4 edge(std::uint32_t v, std::uint32_t skew, std::uint32_t vectors) const {
        const auto value = [&](std::uint32_t j) {
            const std::uint32_t i = 4 * v + j - skew;  // before the row: wraps to more than n
            return v < vectors && i < n ? values[i] : 0.0f;
        };
        return {value(0), value(1), value(2), value(3)};
    }
};

// The same for a list of entries. in_place: what `take` keeps may be appended from the list's
// front, as every step of the block is read before any of it is written.
template <int threads, class T, bool in_place = false>
struct ListWalk {
    const T* list;
    std::uint32_t count;

    __device__ T get(std::uint32_t i) const { return list[i]; }

    template <class Take>
    __device__ __forceinline__ void walk(Take take) const {
        for (std::uint32_t base = 0; base < count; base += 4 * threads) {
            T entries[4];
            unsigned valid = 0;
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const std::uint32_t i = base + j * threads + threadIdx.x;
                entries[j] = i < count ? list[i] : T{};
                if (i < count) valid |= 1u << j;
            }
            if (in_place) __syncthreads();
            take(entries, valid);
        }
    }
};

}  // namespace kith::gpu
