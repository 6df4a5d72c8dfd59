// Each coordinate is ranked once, by a sort. Ranges are then split at their medians one level after
// the other, all ranges of a level by one sort of (range, rank); those that a block holds in shared
// memory to their end there.
#include "gpu/tree/order.h"

#include <algorithm>
#include <bit>

#include "exact/order.h"
#include "gpu/primitives/bitonic.cuh"
#include "gpu/primitives/cub_device.cuh"
#include "gpu/primitives/segmented_sort.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

// Rows of a range that a block holds, and of which the widest coordinate is estimated (of ranges in
// its hands, a warp).
constexpr int block_rows = 2048, sampled_rows = 256, sampled_by_warp = 128, threads = 256,
              warps = threads / 32;
// Bits of a rank that a split does not look at: so many points more or less on a side are as good.
constexpr int spared_bits = 5;

__device__ __forceinline__ std::int64_t own_item() {
    return blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
}

template <class T>
__global__ void coordinate_kernel(const double* values, const std::uint8_t* nan, std::int64_t count,
                                  std::int64_t d, std::int64_t axis,
                                  typename exact::Order<T>::Key* keys, std::uint32_t* rows) {
    const std::int64_t row = own_item();
    if (row >= count) return;
    keys[row] = nan[row] ? exact::Order<T>::nan
                         : exact::Order<T>::key(static_cast<T>(values[row * d + axis]));
    rows[row] = static_cast<std::uint32_t>(row);
}

__global__ void rank_kernel(const std::uint32_t* sorted, std::int64_t count, std::uint32_t* ranks) {
    const std::int64_t place = own_item();
    if (place < count) ranks[sorted[place]] = static_cast<std::uint32_t>(place);
}

__global__ void number_kernel(std::int64_t count, std::uint32_t* numbers) {
    const std::int64_t i = own_item();
    if (i < count) numbers[i] = static_cast<std::uint32_t>(i);
}

// Of the lanes' ends.
__device__ __forceinline__ void join_ends(double& low, double& high) {
    for (int half = 16; half > 0; half /= 2) {
        low = fmin(low, __shfl_xor_sync(whole_warp, low, half));
        high = fmax(high, __shfl_xor_sync(whole_warp, high, half));
    }
}

// What ranges are split by.
struct Axes {
    const double* values;
    const std::uint8_t* nan;
    const std::uint32_t* ranks;  // of each coordinate, count each
    std::int64_t count, d, axes;

    __device__ void reach(std::uint32_t row, std::int64_t axis, double& low, double& high) const {
        if (nan[row]) return;
        const double x = values[row * d + axis];
        low = fmin(low, x);
        high = fmax(high, x);
    }
};

// A block owns a range of `span` rows: the coordinate in which they extend the most.
__global__ void __launch_bounds__(threads)
    widest_kernel(Axes by, const std::uint32_t* rows, std::int64_t span, std::uint8_t* widest) {
    __shared__ double lows[warps], highs[warps];
    const std::int64_t first = blockIdx.x * span, here = min(span, by.count - first);
    const std::int64_t step = (here + sampled_rows - 1) / sampled_rows;
    const double infinity = bits_to_double(0x7ff0000000000000ULL);
    double extent = 0;
    std::uint8_t best = 0;
    for (std::int64_t axis = 0; axis < by.axes; ++axis) {
        double low = infinity, high = -infinity;
        for (std::int64_t i = threadIdx.x * step; i < here; i += threads * step)
            by.reach(rows[first + i], axis, low, high);
        join_ends(low, high);
        if (threadIdx.x % 32 == 0) {
            lows[threadIdx.x / 32] = low;
            highs[threadIdx.x / 32] = high;
        }
        __syncthreads();
        for (int warp = 0; warp < warps; ++warp) {
            low = fmin(low, lows[warp]);
            high = fmax(high, highs[warp]);
        }
        __syncthreads();
        if (!(high - low > extent)) continue;
        extent = high - low;
        best = static_cast<std::uint8_t>(axis);
    }
    if (threadIdx.x == 0) widest[blockIdx.x] = best;
}

template <class Key>
__global__ void split_kernel(Axes by, const std::uint32_t* rows, std::int64_t span,
                             const std::uint8_t* widest, int rank_bits,
                             Key* keys) {  // of the rank without the spared ones
    const std::int64_t place = own_item();
    if (place >= by.count) return;
    const std::int64_t range = place / span;
    keys[place] = static_cast<Key>(range) << rank_bits |
                  by.ranks[widest[range] * by.count + rows[place]] >> spared_bits;
}

// A block owns a range of `span` rows, at most block_rows, and splits it down to leaves.
__global__ void __launch_bounds__(threads)
    finish_kernel(Axes by, int span, int leaf, std::uint32_t* rows) {
    __shared__ Packed entries[block_rows];  // rank and row
    __shared__ std::int64_t widest[block_rows / 2];
    const std::int64_t first = blockIdx.x * static_cast<std::int64_t>(span);
    const int here = static_cast<int>(min(static_cast<std::int64_t>(span), by.count - first));
    const int lane = threadIdx.x % 32;
    for (int i = threadIdx.x; i < span; i += threads)
        entries[i] = i < here ? rows[first + i] : ~Packed{0};
    __syncthreads();
    for (int part = span; part > leaf; part /= 2) {
        const int step = (part + sampled_by_warp - 1) / sampled_by_warp;
        for (int range = threadIdx.x / 32; range * part < here; range += warps) {
            const int end = min((range + 1) * part, here);
            double extent = 0;
            std::int64_t best = 0;
            for (std::int64_t axis = 0; axis < by.axes; ++axis) {
                double low = bits_to_double(0x7ff0000000000000ULL), high = -low;
                for (int i = range * part + lane * step; i < end; i += 32 * step)
                    by.reach(static_cast<std::uint32_t>(entries[i]), axis, low, high);
                join_ends(low, high);
                if (!(high - low > extent)) continue;
                extent = high - low;
                best = axis;
            }
            if (lane == 0) widest[range] = best;
        }
        __syncthreads();
        for (int i = threadIdx.x; i < here; i += threads) {
            const auto row = static_cast<std::uint32_t>(entries[i]);
            entries[i] = Packed{by.ranks[widest[i / part] * by.count + row]} << 32 | row;
        }
        for (int run = 1; run < part; run *= 2) {
            bitonic::layer_in_shared(entries, span, 2 * static_cast<unsigned>(run) - 1,
                                     static_cast<unsigned>(run));
            for (unsigned stride = static_cast<unsigned>(run) / 2; stride > 0; stride /= 2)
                bitonic::layer_in_shared(entries, span, stride, stride);
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < here; i += threads)
        rows[first + i] = static_cast<std::uint32_t>(entries[i]);
}

template <class Key>
void sort_pairs(const Buffer<Key>& keys, Buffer<Key>& sorted, const Buffer<std::uint32_t>& rows,
                Buffer<std::uint32_t>& sorted_rows, int bits, cudaStream_t stream) {
    with_temporary("sort of rows", stream, [&](void* temporary, std::size_t& bytes) {
        return cub::DeviceRadixSort::SortPairs(temporary, bytes, keys.get(), sorted.get(),
                                               rows.get(), sorted_rows.get(), keys.size(), 0, bits,
                                               stream);
    });
}

int bits_of(std::int64_t numbers) {
    return std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(numbers, 1) - 1));
}

// Of the rank of one of more than block_rows rows.
int split_bits(std::int64_t count) {
    static_assert(1 << spared_bits < block_rows);
    return bits_of(count) - spared_bits;
}

// Ranks of a coordinate as a T; rows become 0, 1, ...
template <class T>
void rank(const double* values, const std::uint8_t* nan, std::int64_t count, std::int64_t d,
          std::int64_t axis, Buffer<std::uint32_t>& rows, std::uint32_t* ranks,
          cudaStream_t stream) {
    using Key = typename exact::Order<T>::Key;
    Buffer<Key> keys(count, stream), sorted(count, stream);
    Buffer<std::uint32_t> order(count, stream);
    coordinate_kernel<T><<<item_blocks(count), item_threads, 0, stream>>>(
        values, nan, count, d, axis, keys.get(), rows.get());
    check_launch("coordinate");
    sort_pairs(keys, sorted, rows, order, 8 * static_cast<int>(sizeof(Key)), stream);
    rank_kernel<<<item_blocks(count), item_threads, 0, stream>>>(order.get(), count, ranks);
    check_launch("rank");
}

// All ranges of `span` rows are sorted by the coordinate in which each is widest.
template <class Key>
void split(const Axes& by, std::int64_t span, Buffer<std::uint32_t>& rows, cudaStream_t stream) {
    const std::int64_t count = by.count, ranges = (count + span - 1) / span;
    const int rank_bits = split_bits(count);
    const Buffer<std::uint8_t> widest(ranges, stream);
    Buffer<Key> keys(count, stream), sorted(count, stream);
    Buffer<std::uint32_t> sorted_rows(count, stream);
    widest_kernel<<<static_cast<unsigned>(ranges), threads, 0, stream>>>(by, rows.get(), span,
                                                                         widest.get());
    check_launch("widest");
    split_kernel<<<item_blocks(count), item_threads, 0, stream>>>(
        by, rows.get(), span, widest.get(), rank_bits, keys.get());
    check_launch("split");
    sort_pairs(keys, sorted, rows, sorted_rows, rank_bits + bits_of(ranges), stream);
    rows = std::move(sorted_rows);
}

}  // namespace

Buffer<std::uint32_t> kd_order(const double* values, const std::uint8_t* nan, std::int64_t count,
                               std::int64_t d, bool narrow, std::int64_t leaf,
                               cudaStream_t stream) {
    const std::int64_t axes = std::min(d, most_split_axes);
    Buffer<std::uint32_t> rows(count, stream), ranks(count * axes, stream);
    for (std::int64_t axis = 0; axis < axes; ++axis) {
        std::uint32_t* const to = ranks.get() + axis * count;
        if (narrow) rank<float>(values, nan, count, d, axis, rows, to, stream);
        else rank<double>(values, nan, count, d, axis, rows, to, stream);
    }
    const Axes by{values, nan, ranks.get(), count, d, axes};
    std::int64_t span = leaf;
    while (span < count) span *= 2;
    for (; span > std::max<std::int64_t>(block_rows, leaf); span /= 2) {
        if (split_bits(count) + bits_of((count + span - 1) / span) <= 32)
            split<std::uint32_t>(by, span, rows, stream);
        else split<std::uint64_t>(by, span, rows, stream);
    }
    if (span > leaf) {
        finish_kernel<<<blocks_for(count, span), threads, 0, stream>>>(
            by, static_cast<int>(span), static_cast<int>(leaf), rows.get());
        check_launch("finish");
    }
    return rows;
}

Buffer<std::uint32_t> sorted_numbers(const Buffer<std::uint32_t>& keys, int bits,
                                     cudaStream_t stream) {
    const std::int64_t count = keys.size();
    Buffer<std::uint32_t> sorted(count, stream), numbers(count, stream), order(count, stream);
    number_kernel<<<item_blocks(count), item_threads, 0, stream>>>(count, numbers.get());
    check_launch("number");
    sort_pairs(keys, sorted, numbers, order, bits, stream);
    return order;
}

}  // namespace kith::gpu
