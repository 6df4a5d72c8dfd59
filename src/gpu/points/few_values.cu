// Kernels of few_values.h.
#include "gpu/points/few_values.h"

#include <algorithm>

#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"
#include "gpu/runtime/pinned_words.h"

namespace kith::gpu {

namespace {

constexpr unsigned all_lanes = 0xffffffffu;

// A warp owns a coordinate, a lane `per_lane` of the sample's values and, of the different values
// among them, one. The values of a row with a NaN are none.
__global__ void __launch_bounds__(item_threads)
    common_values_kernel(PreparedRows in, std::int64_t samples, std::int64_t d, double* table,
                         unsigned long long* other) {
    constexpr int per_lane = static_cast<int>(tuning::value_samples / 32),
                  slots = tuning::most_values;
    static_assert(slots == 32);
    const int lane = static_cast<int>(threadIdx.x % 32);
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(item_warps) + threadIdx.x / 32;
    if (i >= d) return;
    double values[per_lane];
    unsigned left = 0;  // bit j: values[j] is not counted yet
#pragma unroll
    for (int j = 0; j < per_lane; ++j) {
        const std::int64_t sample = lane + j * 32,
                           row = min(sample, samples - 1) * in.rows.count / samples;
        values[j] = in.rows.at(row, i);
        if (sample < samples && !in.nan[row]) left |= 1u << j;
    }
    double own = __longlong_as_double(0x7ff8000000000000LL);
    int count = 0;  // of `own` in the sample
    for (int slot = 0; slot < slots; ++slot) {
        const unsigned lanes = __ballot_sync(all_lanes, left != 0);
        if (lanes == 0) break;
        double first = 0;
#pragma unroll
        for (int j = per_lane - 1; j >= 0; --j)
            if (left >> j & 1) first = values[j];
        const double value = __shfl_sync(all_lanes, first, __ffs(static_cast<int>(lanes)) - 1);
        unsigned equal = 0;
#pragma unroll
        for (int j = 0; j < per_lane; ++j)
            if (values[j] == value) equal |= 1u << j;
        const int n = __reduce_add_sync(all_lanes, __popc(left & equal));
        left &= ~equal;
        if (lane == slot) {
            own = value;
            count = n;
        }
    }
    int rank = 0;  // by falling frequency
    for (int l = 0; l < slots; ++l) {
        const int theirs = __shfl_sync(all_lanes, count, l);
        rank += theirs > count || (theirs == count && l < lane);
    }
    table[rank * d + i] = own;
    const int beyond = __reduce_add_sync(all_lanes, __popc(left));
    for (int p = 0; p < CommonValues::powers; ++p) {
        const int n = __reduce_add_sync(all_lanes, rank >= 2 << p ? count : 0) + beyond;
        if (lane == 0 && n > 0) atomicAdd(&other[p], static_cast<unsigned long long>(n));
    }
}

__global__ void other_values_kernel(const float* point_error, std::int64_t n, double most,
                                    unsigned long long* out) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    const unsigned others = i < n ? static_cast<unsigned>(2 * point_error[i]) : 0;
    const unsigned total = __reduce_add_sync(all_lanes, others);
    const int loose = __popc(__ballot_sync(all_lanes, others > most));
    if (threadIdx.x % 32 != 0) return;
    if (total > 0) atomicAdd(&out[0], static_cast<unsigned long long>(total));
    if (loose > 0) atomicAdd(&out[1], static_cast<unsigned long long>(loose));
}

}  // namespace

CommonValues common_values(const PreparedRows& rows, std::int64_t d, cudaStream_t stream) {
    const std::int64_t samples = std::min(rows.rows.count, tuning::value_samples);
    CommonValues out{Buffer<double>(tuning::most_values * d, stream), {}};
    Buffer<unsigned long long> other(CommonValues::powers, stream);
    other.clear_to(0);
    common_values_kernel<<<blocks_for(d, item_warps), item_threads, 0, stream>>>(
        rows, samples, d, out.table.get(), other.get());
    check_launch("common_values");
    PinnedWords words;
    words.fetch(other.get(), CommonValues::powers, stream);
    const unsigned long long* const found = words.wait("sample");
    for (std::size_t p = 0; p < out.other.size(); ++p)
        out.other[p] = static_cast<double>(found[p]) / static_cast<double>(samples * d);
    return out;
}

OtherValues other_values(const float* point_error, std::int64_t n, double most,
                         cudaStream_t stream) {
    Buffer<unsigned long long> counts(2, stream);
    counts.clear_to(0);
    other_values_kernel<<<item_blocks(n), item_threads, 0, stream>>>(point_error, n, most,
                                                                     counts.get());
    check_launch("other_values");
    PinnedWords words;
    words.fetch(counts.get(), 2, stream);
    const unsigned long long* const found = words.wait("points");
    return {static_cast<std::int64_t>(found[0]), static_cast<std::int64_t>(found[1])};
}

}  // namespace kith::gpu
