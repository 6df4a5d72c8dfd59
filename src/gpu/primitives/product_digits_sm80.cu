// mma.sync of 16 x 8 x 32 and cp.async (compute capability 8.0 and later).
//
// grid     a block for each panel of rows and panel of columns; adjacent blocks share the rows
// block    128 x 96 of the product, 12 warps; K-tiles go through two or three stages of shared
// memory warp     32 x 32, three accumulators
#include "gpu/primitives/async_copy.cuh"
#include "gpu/primitives/digit_panels.cuh"
#include "gpu/primitives/ldmatrix.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/shared_memory.h"

namespace kith::gpu::digits {

namespace {

constexpr int tile = 32, warp_columns = panel_columns / tile,
              threads = panel_rows / tile * warp_columns * 32;
constexpr int copied = threads * piece;  // bytes, by all threads once
static_assert(tile_bytes<panel_rows> % copied == 0 && tile_bytes<panel_columns> % copied == 0);

// d (16 x 8) += A (16 x 32) B' (8 x 32).
__device__ __forceinline__ void mma_m16n8k32(int (&d)[4], const std::uint32_t (&a)[4],
                                             const std::uint32_t (&b)[2]) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

using Sums = int[2][4][4];  // of 16 rows and 8 columns each

__device__ __forceinline__ void multiply(Sums& sums, const std::uint32_t (&a)[2][4],
                                         const std::uint32_t (&b)[4][2]) {
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) mma_m16n8k32(sums[i][j], a[i], b[j]);
}

template <int stages>
__global__ void __launch_bounds__(threads, 1) digits_sm80(const __grid_constant__ Product product) {
    extern __shared__ __align__(128) char digits_shared[];
    const std::uint32_t shared = shared_address(digits_shared);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row_panel = static_cast<int>(blockIdx.x) / product.column_panels,
              column_panel = static_cast<int>(blockIdx.x) % product.column_panels;
    const std::int64_t k_tiles = product.k_tiles, own = threadIdx.x * piece;
    const std::int8_t* const rows =
        product.rows + row_panel * k_tiles * tile_bytes<panel_rows> + own;
    const std::int8_t* const columns =
        product.columns + column_panel * k_tiles * tile_bytes<panel_columns> + own;
    const auto copy = [&](int t) {
        const std::uint32_t to =
            shared + t % stages * stage_bytes + static_cast<std::uint32_t>(own);
        if (t < k_tiles) {
#pragma unroll
            for (int at = 0; at < tile_bytes<panel_rows>; at += copied)
                cp_async_16(to + at, rows + std::int64_t{t} * tile_bytes<panel_rows> + at, piece);
#pragma unroll
            for (int at = 0; at < tile_bytes<panel_columns>; at += copied)
                cp_async_16(to + tile_bytes<panel_rows> + at,
                            columns + std::int64_t{t} * tile_bytes<panel_columns> + at, piece);
        }
        cp_async_commit();
    };

    // Where this lane reads: of 16 rows, and of 16 columns, one piece.
    const int row0 = warp / warp_columns * tile, column0 = warp % warp_columns * tile;
    const std::uint32_t of_rows = row0 * k_tile + swizzled(lane % 16, lane / 16);
    const std::uint32_t of_columns = tile_bytes<panel_rows> + column0 * k_tile +
                                     swizzled(lane / 16 * 8 + lane % 8, lane / 8 % 2);

    Sums two = {}, three = {}, four = {};
    for (int t = 0; t < stages - 1; ++t) copy(t);
    for (int t = 0; t < k_tiles; ++t) {
        cp_async_wait<stages - 2>();
        __syncthreads();
        copy(t + stages - 1);
        const std::uint32_t stage = shared + t % stages * stage_bytes;
#pragma unroll
        for (int k = 0; k < k_tile / 32; ++k) {
            std::uint32_t a[planes][2][4], b[planes][4][2];
#pragma unroll
            for (int p = 0; p < planes; ++p)
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    ldmatrix_x4(a[p][i], stage + p * plane_bytes<panel_rows> + i * 16 * k_tile +
                                             (of_rows ^ k * 2 * piece));
                    ldmatrix_x4(b[p][2 * i], stage + p * plane_bytes<panel_columns> +
                                                 i * 16 * k_tile + (of_columns ^ k * 2 * piece));
                }
            multiply(two, a[0], b[0]);
            multiply(three, a[0], b[1]);
            multiply(four, a[0], b[2]);
            multiply(three, a[1], b[0]);
            multiply(four, a[1], b[1]);
            multiply(four, a[2], b[0]);
        }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const std::int64_t row = std::int64_t{row_panel} * panel_rows + row0 + i * 8 + lane / 4;
        const double unit = row_unit(product, row);
#pragma unroll
        for (int j = 0; j < 4; ++j)
            store_two(product, row,
                      std::int64_t{column_panel} * panel_columns + column0 + j * 8 + lane % 4 * 2,
                      unit, two[i / 2][j] + i % 2 * 2, three[i / 2][j] + i % 2 * 2,
                      four[i / 2][j] + i % 2 * 2);
    }
}

}  // namespace

void multiply_sm80(const Product& product) {
    constexpr std::size_t three_stages = 3 * stage_bytes, two_stages = 2 * stage_bytes;
    const bool has_three = allow_shared_memory(digits_sm80<3>) >= three_stages;
    auto* const kernel = has_three ? digits_sm80<3> : digits_sm80<2>;
    if (!has_three) allow_shared_memory(kernel);
    kernel<<<static_cast<unsigned>(product.row_panels * product.column_panels), threads,
             has_three ? three_stages : two_stages, product.stream>>>(product);
    check_launch("product of digits");
}

}  // namespace kith::gpu::digits
