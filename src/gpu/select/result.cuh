// Where a selector's kernels write the selected entries.
#pragma once

#include "gpu/primitives/packed.cuh"
#include "gpu/runtime/check.h"
#include "gpu/select/selector.h"

namespace kith::gpu {

// The part of a job that kernels need to write results.
struct SelectOut {
    const float* values;
    std::int64_t row_step,
        column_step;  // element (row, column) is values[row * row_step + column * column_step]
    std::int64_t k;
    std::int64_t* ids;
    float* out;
    bool largest;

    // Entry j of a row's result. The value is taken from the key; zeros and NaN, which share a key,
    // from the matrix.
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
    return {job.f32(),
            by_row ? job.stride : 1,
            by_row ? 1 : job.stride,
            job.k,
            job.ids,
            static_cast<float*>(job.out),
            job.largest};
}

}  // namespace kith::gpu
