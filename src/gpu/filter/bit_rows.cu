// Kernels of bit_rows.h. A block owns 32 rows; their words go through shared memory, 32 at a time, so that both sides
// are read and written in runs.
#include "gpu/filter/bit_panels.h"
#include "gpu/filter/bit_rows.h"
#include "gpu/primitives/warp.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

// Word `first` + lane of a row; `first` a multiple of 32.
__device__ std::uint32_t word_of(const Rows& rows, std::int64_t row, const FilterForm& form, std::int64_t d,
                                 std::int64_t first) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const exact::Coordinates kind = form.direct.coordinates;
    std::uint32_t out = 0;
    if (kind == exact::Coordinates::u8) {
        for (int b = 0; b < 4; ++b) {
            const std::int64_t i = (first + lane) * 4 + b;
            if (i < d) out |= static_cast<std::uint32_t>(rows.at(row, i)) << (8 * b);
        }
        return out;
    }
    // 32 coordinates at a time are one word, or two.
    const bool sets = kind == exact::Coordinates::sets;
    for (int w = 0; w < 32 && first + w < form.width; w += sets ? 1 : 2) {
        const std::int64_t i = (first + w) * (sets ? 32 : 16) + lane;
        const double x = i < d ? rows.at(row, i) : 0;
        if (sets) {
            const std::uint32_t there = __ballot_sync(0xffffffffu, x != 0);
            if (lane == w) out = there;
        } else {
            const std::uint32_t one = __ballot_sync(0xffffffffu, i < d && x == form.values[0]),
                                other = __ballot_sync(0xffffffffu, i < d && x == form.values[1]);
            if (lane == w) out = (one & 0xffffu) | other << 16;
            if (lane == w + 1) out = one >> 16 | (other & 0xffff0000u);
        }
    }
    return out;
}

// A row's share of the bound, by its kind.
struct BitTerms {
    float* half_norm = nullptr;    // of points: the size; +inf of NaN and padding,
                                   // -inf where a bit is missing
    float* point_error = nullptr;  // 0, or +inf
    float* query_error = nullptr;  // of queries: `lost`, or -inf
    std::uint8_t* unfit = nullptr;
};

__global__ void __launch_bounds__(256)
    bit_rows_kernel(PreparedRows in, FilterForm form, std::uint32_t* words, BitTerms terms, std::int64_t d) {
    constexpr int block_rows = 32, warps = 8;
    __shared__ std::uint32_t tile[block_rows][block_rows + 1];
    const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * block_rows, n = in.rows.count;
    int sizes[block_rows / warps] = {};
    for (std::int64_t word = 0; word < form.width; word += 32) {
#pragma unroll
        for (int r = 0; r < block_rows / warps; ++r) {
            const std::int64_t at = first + warp + r * warps;
            const std::uint32_t bits = at < n ? word_of(in.rows, row_at(form, at, n), form, d, word) : 0;
            sizes[r] += __popc(bits);
            tile[warp + r * warps][lane] = bits;
        }
        __syncthreads();
        // A warp takes four words of eight rows, which lie together.
        for (int i = warp; i < 32; i += warps) {
            const int row = i % 4 * 8 + lane / 4, w = i / 4 * 4 + lane % 4;
            if (word + w < form.width) words[bits_place(first + row, word + w, form.width)] = tile[row][w];
        }
        __syncthreads();
    }
    const float infinity = __int_as_float(0x7f800000);
#pragma unroll
    for (int r = 0; r < block_rows / warps; ++r) {
        const std::int64_t at = first + warp + r * warps;
        const int size = __reduce_add_sync(0xffffffffu, sizes[r]);
        const bool there = at < n, nan = there && in.nan[row_at(form, at, n)];
        if (lane != 0) continue;
        if (terms.half_norm) {
            // A NaN point is farther than everything, one with a third value nearer.
            const bool fits = form.direct.coordinates != exact::Coordinates::two_values || size == d;
            terms.half_norm[at] = !there || nan ? infinity : fits ? static_cast<float>(size) : -infinity;
            terms.point_error[at] = !there || nan || fits ? 0.0f : infinity;
        } else if (there) {
            terms.unfit[at] = nan ? no_neighbours : fit;
            terms.query_error[at] = nan ? -infinity : form.lost;
        }
    }
}

// A block of a warp owns a sample.
__global__ void value_ranges_kernel(PreparedRows in, std::int64_t samples, double* out, std::int64_t d) {
    const std::int64_t row = blockIdx.x * in.rows.count / samples;
    double least = __longlong_as_double(0x7ff0000000000000LL), largest = -least;
    for (std::int64_t i = threadIdx.x; i < d && !in.nan[row]; i += 32) {
        least = fmin(least, in.rows.at(row, i));
        largest = fmax(largest, in.rows.at(row, i));
    }
    for (int half = 16; half > 0; half /= 2) {
        least = fmin(least, __shfl_xor_sync(0xffffffffu, least, half));
        largest = fmax(largest, __shfl_xor_sync(0xffffffffu, largest, half));
    }
    if (threadIdx.x != 0) return;
    out[2 * blockIdx.x] = least;
    out[2 * blockIdx.x + 1] = largest;
}

__global__ void count_uncovered_kernel(const float* half_norm, std::int64_t n, std::uint32_t* out) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < n && half_norm[i] == __int_as_float(0xff800000)) atomicAdd(out, 1u);
}

}  // namespace

void value_ranges(const PreparedRows& rows, std::int64_t samples, double* out, std::int64_t d, cudaStream_t stream) {
    value_ranges_kernel<<<static_cast<unsigned>(samples), 32, 0, stream>>>(rows, samples, out, d);
    check_launch("value_ranges");
}

void count_uncovered(const float* half_norm, std::int64_t n, std::uint32_t* out, cudaStream_t stream) {
    count_uncovered_kernel<<<item_blocks(n), item_threads, 0, stream>>>(half_norm, n, out);
    check_launch("count_uncovered");
}

void bit_points(const PreparedRows& rows, const FilterForm& form, float* words, float* half_norm, float* point_error,
                std::int64_t d, cudaStream_t stream) {
    bit_rows_kernel<<<blocks_for(whole_tiles(rows.rows.count), 32), item_threads, 0, stream>>>(
        rows, form, reinterpret_cast<std::uint32_t*>(words), {half_norm, point_error, nullptr, nullptr}, d);
    check_launch("bit_points");
}

void bit_queries(const PreparedRows& rows, const FilterForm& points_form, float* words, float* query_error,
                 std::uint8_t* unfit, std::int64_t d, cudaStream_t stream) {
    FilterForm form = points_form;
    form.stride = 1;  // queries keep their order
    const std::int64_t panels = (rows.rows.count + filter_tile_queries - 1) / filter_tile_queries;
    bit_rows_kernel<<<blocks_for(panels * filter_tile_queries, 32), item_threads, 0, stream>>>(
        rows, form, reinterpret_cast<std::uint32_t*>(words), {nullptr, nullptr, query_error, unfit}, d);
    check_launch("bit_queries");
}

}  // namespace kith::gpu
