// Kernels of bit_rows.h. A block owns 32 rows; their words go through shared memory, 32 at a time,
// so that both sides are read and written in runs.
#include "gpu/filter/bit_panels.h"
#include "gpu/filter/bit_rows.h"
#include "gpu/primitives/warp.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

// Word `first` + lane of a row; `first` a multiple of 32.
__device__ std::uint32_t word_of(const Rows& rows, std::int64_t row, const FilterForm& form,
                                 std::int64_t d, std::int64_t first) {
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
    // 32 coordinates at a time are as many words as a coordinate has bits.
    const bool sets = kind == exact::Coordinates::sets;
    const int per_word = exact::coordinates_per_word(form.direct), bits = 32 / per_word;
    const std::uint32_t group = 0xffffffffu >> (32 - per_word);
    for (int w = 0; w < 32 && first + w < form.width; w += bits) {
        const std::int64_t i = (first + w) * per_word + lane;
        const bool has = i < d;
        const double x = has ? rows.at(row, i) : 0;
        if (sets) {
            const std::uint32_t there = __ballot_sync(0xffffffffu, x != 0);
            if (lane == w) out = there;
            continue;
        }
        const bool own = lane / bits == w / bits;
        const double* const values = form.values + (has ? i : 0);
#pragma unroll 4
        for (int g = 0; g < bits; ++g) {
            const bool equal = x == values[g * d];
            const std::uint32_t there = __ballot_sync(0xffffffffu, has && equal);
            if (own) out |= (there >> (lane % bits * per_word) & group) << (g * per_word);
        }
    }
    return out;
}

// A row's share of the bound, by its kind.
struct BitTerms {
    float* half_norm = nullptr;    // of points: the size and tie_share; +inf of NaN and padding
    float* point_error = nullptr;  // half of the coordinates that have no bit
    float* query_error = nullptr;  // of queries: `lost`, or -inf; behind those of all, their sizes
    std::uint8_t* unfit = nullptr;
};

__global__ void __launch_bounds__(256)
    bit_rows_kernel(PreparedRows in, FilterForm form, std::uint32_t* words, BitTerms terms,
                    std::int64_t d) {
    constexpr int block_rows = 32, warps = 8;
    __shared__ std::uint32_t tile[block_rows][block_rows + 1];
    const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * block_rows,
                       n = in.rows.count;
    int sizes[block_rows / warps] = {};
    for (std::int64_t word = 0; word < form.width; word += 32) {
#pragma unroll
        for (int r = 0; r < block_rows / warps; ++r) {
            const std::int64_t at = first + warp + r * warps;
            const std::uint32_t bits =
                at < n ? word_of(in.rows, row_at(form, at, n), form, d, word) : 0;
            sizes[r] += __popc(bits);
            tile[warp + r * warps][lane] = bits;
        }
        __syncthreads();
        // A warp takes four words of eight rows, which lie together.
        for (int i = warp; i < 32; i += warps) {
            const int row = i % 4 * 8 + lane / 4, w = i / 4 * 4 + lane % 4;
            if (word + w < form.width)
                words[bits_place(first + row, word + w, form.width)] = tile[row][w];
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
            const bool few = form.direct.coordinates == exact::Coordinates::few_values;
            terms.half_norm[at] =
                !there || nan ? infinity
                              : static_cast<float>(size) + tie_share(form, row_at(form, at, n), n);
            terms.point_error[at] =
                few && there && !nan ? 0.5f * static_cast<float>(d - size) : 0.0f;
        } else if (there) {
            terms.unfit[at] = nan ? no_neighbours : fit;
            terms.query_error[at] = nan ? -infinity : form.lost;
            terms.query_error[n + at] = static_cast<float>(size);
        }
    }
}

}  // namespace

void bit_points(const PreparedRows& rows, const FilterForm& form, float* words, float* half_norm,
                float* point_error, std::int64_t d, cudaStream_t stream) {
    bit_rows_kernel<<<blocks_for(whole_tiles(rows.rows.count), 32), item_threads, 0, stream>>>(
        rows, form, reinterpret_cast<std::uint32_t*>(words),
        {half_norm, point_error, nullptr, nullptr}, d);
    check_launch("bit_points");
}

void bit_queries(const PreparedRows& rows, const FilterForm& points_form, float* words,
                 float* query_error, std::uint8_t* unfit, std::int64_t d, cudaStream_t stream) {
    const FilterForm form = of_queries(points_form);
    const std::int64_t panels = (rows.rows.count + filter_tile_queries - 1) / filter_tile_queries;
    bit_rows_kernel<<<blocks_for(panels * filter_tile_queries, 32), item_threads, 0, stream>>>(
        rows, form, reinterpret_cast<std::uint32_t*>(words), {nullptr, nullptr, query_error, unfit},
        d);
    check_launch("bit_queries");
}

}  // namespace kith::gpu
