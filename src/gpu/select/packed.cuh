// Values as selectors compare them: (value, index) packed into one integer, so that ties break by the smaller index.
#pragma once

#include "exact/order.h"
#include "gpu/check.h"
#include "gpu/select/selector.h"

// Counts `amount` in slot `slot` of SelectJob::counts in builds with KITH_COUNT_OPERATIONS; nothing elsewhere.
#ifdef KITH_COUNT_OPERATIONS
#define KITH_COUNT(counts, slot, amount) atomicAdd(&(counts)[slot], static_cast<unsigned long long>(amount))
#else
#define KITH_COUNT(counts, slot, amount) static_cast<void>(0)
#endif

namespace kith::gpu {

// Ascending order of Packed is the order of select(): the key of the value, then the index.
using Packed = std::uint64_t;
// After every value, NaN included.
inline constexpr Packed packed_end = ~Packed{0};

__device__ __forceinline__ Packed pack(float v, std::uint32_t index, bool largest) {
    return static_cast<Packed>(exact::Order<float>::key(v, largest)) << 32 | index;
}
__device__ __forceinline__ std::uint32_t index_of(Packed p) {
    return static_cast<std::uint32_t>(p);
}

// The part of a job that kernels need to write results.
struct SelectOut {
    const float* values;
    std::int64_t row_step, column_step;  // element (row, column) is values[row * row_step + column * column_step]
    std::int64_t k;
    std::int64_t* ids;
    float* out;
    bool largest;

    // Entry j of a row's result. The value is taken from the key; zeros and NaN, which share a key, from the matrix.
    __device__ __forceinline__ void put(std::int64_t row, std::int64_t j, Packed p) const {
        const std::uint32_t index = index_of(p);
        ids[row * k + j] = index;
        if (!out) return;
        auto key = static_cast<std::uint32_t>(p >> 32);
        constexpr std::uint32_t zero = 0x80000000u;
        float v = 0.0f;
        const bool shared = key == exact::Order<float>::nan || key == (largest ? ~zero : zero);
        if (shared) {
            v = values[row * row_step + index * column_step];
        } else {
            if (largest) key = ~key;
            v = __uint_as_float(key & zero ? key & ~zero : ~key);
        }
        out[row * k + j] = v;
    }
};

inline SelectOut out_of(const SelectJob& job, SelectLayout layout) {
    const bool by_row = layout == SelectLayout::by_row;
    return {job.f32(),  by_row ? job.stride : 1, by_row ? 1 : job.stride, job.k, job.ids, static_cast<float*>(job.out),
            job.largest};
}

}  // namespace kith::gpu
