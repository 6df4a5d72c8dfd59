// wgmma of 64 x 96 x 32 and bulk copies (compute capability 9.0).
//
// grid        as many blocks as multiprocessors; persistent: a block takes every so-manieth pair of
// a panel of rows and
//             a panel of columns, adjacent blocks share the rows
// block       128 x 96 of the product: two consumer warpgroups and a producer warpgroup, of which
// one thread loads warpgroup   64 x 96, three accumulators of 48 numbers a thread
//
// K-tiles go through a pipeline of five stages of shared memory, in which the next pair's follow at
// once. A stage's mbarrier `full` counts its bytes, `empty` the warpgroups whose wgmma have read
// it: writes and reads are of the async proxy both, so that the arrival of one thread after
// wgmma.wait_group is enough.
#include <algorithm>

#include "gpu/primitives/async_copy.cuh"
#include "gpu/primitives/digit_panels.cuh"
#include "gpu/primitives/wgmma.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/shared_memory.h"

namespace kith::gpu::digits {

namespace {

constexpr int stages = 5, consumers = 2, group = 128, threads = (consumers + 1) * group;
constexpr int group_rows = panel_rows / consumers, sums = group_rows * panel_columns / group;
constexpr std::size_t shared_bytes = stages * (stage_bytes + 2 * sizeof(std::uint64_t));
static_assert(group_rows == 64 && panel_columns == 96 && sums == 48);

#if defined(KITH_SM_90A)

// Registers of a thread of a producer and of a consumer, which give and take: (240 + 240 + 24) / 3
// = 168.
constexpr int producer_registers = 24, consumer_registers = 240;

// Of a plane: eight vectors are 512 bytes, swizzled by 64; advance by 32 bytes (2) per step of 32
// digits.
__device__ __forceinline__ std::uint64_t descriptor(std::uint32_t address) {
    return static_cast<std::uint64_t>((address & 0x3ffffu) >> 4) | std::uint64_t{1} << 16 |
           std::uint64_t{32} << 32 | std::uint64_t{2} << 62;
}
// What wgmma.wait_group has made valid is not read before it.
__device__ __forceinline__ void valid(int (&d)[sums]) {
#pragma unroll
    for (int& x : d) asm volatile("" : "+r"(x)::"memory");
}

// Stages in turn: of which pass over them this is, its parity.
struct Turn {
    int stage = 0, parity = 0;
    __device__ __forceinline__ void next() {
        if (++stage == stages) {
            stage = 0;
            parity ^= 1;
        }
    }
};

__device__ __forceinline__ void load(const Product& product, int pairs, std::uint32_t shared,
                                     std::uint32_t full, std::uint32_t empty) {
    Turn turn;
    for (int pair = blockIdx.x; pair < pairs; pair += gridDim.x) {
        const std::int64_t k_tiles = product.k_tiles;
        const std::int8_t* rows =
            product.rows + pair / product.column_panels * k_tiles * tile_bytes<panel_rows>;
        const std::int8_t* columns =
            product.columns + pair % product.column_panels * k_tiles * tile_bytes<panel_columns>;
        for (int t = 0; t < product.k_tiles; ++t, turn.next()) {
            const std::uint32_t to = shared + turn.stage * stage_bytes,
                                barrier = full + turn.stage * 8;
            mbarrier_wait(empty + turn.stage * 8, turn.parity ^ 1);
            mbarrier_expect_tx(barrier, stage_bytes);
            bulk_copy(to, rows, tile_bytes<panel_rows>, barrier);
            bulk_copy(to + tile_bytes<panel_rows>, columns, tile_bytes<panel_columns>, barrier);
            rows += tile_bytes<panel_rows>;
            columns += tile_bytes<panel_columns>;
        }
    }
}

__device__ __forceinline__ void consume(const Product& product, int pairs, std::uint32_t shared,
                                        std::uint32_t full, std::uint32_t empty) {
    const int lane = threadIdx.x % 32, row0 = static_cast<int>(threadIdx.x) / group * group_rows;
    Turn turn;
    for (int pair = blockIdx.x; pair < pairs; pair += gridDim.x) {
        int two[sums] = {}, three[sums] = {}, four[sums] = {};
        std::uint32_t read = 0;  // `empty` of the stage before
        for (int t = 0; t < product.k_tiles; ++t, turn.next()) {
            const std::uint32_t stage = shared + turn.stage * stage_bytes;
            std::uint64_t a[planes], b[planes];
#pragma unroll
            for (int p = 0; p < planes; ++p) {
                a[p] = descriptor(stage + p * plane_bytes<panel_rows> + row0 * k_tile);
                b[p] = descriptor(stage + tile_bytes<panel_rows> + p * plane_bytes<panel_columns>);
            }
            mbarrier_wait(full + turn.stage * 8, turn.parity);
            wgmma_fence();
#pragma unroll
            for (int k = 0; k < k_tile * 2 / 32; k += 2) {
                wgmma_add_bytes(two, a[0] + k, b[0] + k);
                wgmma_add_bytes(three, a[0] + k, b[1] + k);
                wgmma_add_bytes(four, a[0] + k, b[2] + k);
                wgmma_add_bytes(three, a[1] + k, b[0] + k);
                wgmma_add_bytes(four, a[1] + k, b[1] + k);
                wgmma_add_bytes(four, a[2] + k, b[0] + k);
            }
            wgmma_commit();
            wgmma_wait<1>();
            if (t > 0 && threadIdx.x % group == 0) mbarrier_arrive(read);
            read = empty + turn.stage * 8;
        }
        wgmma_wait<0>();
        valid(two);
        valid(three);
        valid(four);
        if (threadIdx.x % group == 0) mbarrier_arrive(read);
        const std::int64_t column =
            std::int64_t{pair % product.column_panels} * panel_columns + lane % 4 * 2;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const std::int64_t row = std::int64_t{pair / product.column_panels} * panel_rows +
                                     static_cast<int>(threadIdx.x) / 32 * 16 + half * 8 + lane / 4;
            const double unit = row_unit(product, row);
#pragma unroll
            for (int j = 0; j < sums / 4; ++j)
                store_two(product, row, column + j * 8, unit, two + j * 4 + half * 2,
                          three + j * 4 + half * 2, four + j * 4 + half * 2);
        }
    }
}

#endif

__global__ void __launch_bounds__(threads, 1)
    digits_sm90a(const __grid_constant__ Product product, int pairs) {
#if defined(KITH_SM_90A)
    extern __shared__ __align__(1024) char digits_shared[];
    const std::uint32_t shared = shared_address(digits_shared),
                        full = shared + stages * stage_bytes, empty = full + stages * 8;
    if (threadIdx.x < stages) {
        mbarrier_init(full + threadIdx.x * 8, 1);
        mbarrier_init(empty + threadIdx.x * 8, consumers);
        fence_mbarrier_init();
        fence_proxy_async();
    }
    __syncthreads();
    if (threadIdx.x >= consumers * group) {
        setmaxnreg_dec<producer_registers>();
        if (threadIdx.x % group == 0) load(product, pairs, shared, full, empty);
    } else {
        setmaxnreg_inc<consumer_registers>();
        consume(product, pairs, shared, full, empty);
    }
#else
    __trap();  // it is not launched there
#endif
}

}  // namespace

void multiply_sm90a(const Product& product) {
    allow_shared_memory(digits_sm90a);
    const int pairs = product.row_panels * product.column_panels;
    digits_sm90a<<<static_cast<unsigned>(std::min(pairs, device_attributes().multiprocessors)),
                   threads, shared_bytes, product.stream>>>(product, pairs);
    check_launch("product of digits");
}

}  // namespace kith::gpu::digits
