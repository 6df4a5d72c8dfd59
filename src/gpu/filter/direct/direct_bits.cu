// The direct filter's pass over bit rows (exact::counts_bits). Matrix units count the common bits
// of two rows (PTX ISA, 9.7.15: wgmma m64n128k256 of sm_90a, elsewhere mma.sync m16n8k256, both
// with and + popc). With the rows' sizes the count yields a Hamming, Jaccard or Dice distance. A
// block of 256 threads owns a tile of 128 queries x 128 points, a warp 16 x 128 pairs. A thread
// owns two rows and 32 columns: 64 counts.
//
// A test with one multiplication selects the pairs that may be candidates (QueryTerms). Only for
// these the value itself is computed, which needs a division.
//
// Measured: wgmma is faster than mma.sync, and slices of 32 words are faster than slices of 16.
// Integer units are several times slower than matrix units.
#include <algorithm>

#include "gpu/filter/direct/bit_panels.h"
#include "gpu/filter/direct/bits_value.cuh"
#include "gpu/filter/direct/direct_schedule.cuh"
#include "gpu/filter/lists/candidates.cuh"
#include "gpu/filter/sweeps.h"
#include "gpu/primitives/hopper/wgmma.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"

namespace kith::gpu {

namespace direct {
namespace {

using exact::Step;

constexpr int tile = static_cast<int>(filter_tile_queries), threads = 256, warps = threads / 32,
              blocks_per_sm = 2;
// Words of a row per instruction, words that are copied at once, and slices in flight; bytes of a
// run of four words of all rows.
constexpr int depth = 8, slice = 32, stages = 3, run = static_cast<int>(bits_run),
              run_bytes = tile * run * 4;
using Ring = SliceRing<tile, slice, stages, threads, depth>;
constexpr int list_bytes = WarpList::most_room * WarpList::entry_bytes;
// Counts start at the bits of 2^23. Read as f32 they are 2^23 + count, so the conversion is a
// subtraction.
constexpr int start = 0x4b000000;
constexpr float start_value = 0x1p23f;

// The terms of a query: its size, its threshold T, and a test that every point with a value <= T
// passes,
//
//     common - slope x size of the point >= least.
//
// With S the sum of both sizes and I the common count, the conditions are
//     hamming  S - 2 I <= T,
//     jaccard  (S - 2 I) / (S - I) <= T, which is I >= S (1 - T) / (2 - T),
//     dice     (S - 2 I) / S <= T.
// Each is linear in I and the point's size. `slope` and `least` are lowered by more than the
// rounding of these lines and of the test (docs/proofs/direct-coarse.md, lemma 4).
struct __align__(16) QueryTerms {
    float threshold, size, slope, least;
};
constexpr int shared_bytes =
    Ring::bytes + warps * list_bytes + tile * static_cast<int>(sizeof(QueryTerms));

// `bits`: at least the number of bits of a row.
__device__ QueryTerms query_terms(Step step, float threshold, float size, float bits) {
    QueryTerms t{threshold, size, 0.0f, -1.0f};  // every point passes
    if (step == Step::mismatched_bits) {
        t.slope = 0.5f;
        t.least = 0.5f * (size - threshold);
    } else if (step == Step::unmatched_bits) {
        t.slope = 1.0f;
        t.least = -threshold;
    } else if (threshold < 0.0f) {
        t.least = __int_as_float(0x7f800000);  // no value is negative: no pair passes
    } else if (!(threshold >= 1.0f)) {
        const float wider = fmaf(threshold, 0x1p-22f, threshold), rest = 1.0f - wider;
        const float share =
            step == Step::jaccard_bits ? __fdiv_rn(rest, 2.0f - wider) : 0.5f * rest;
        t.slope = fmaxf(share, 0.0f) * (1 - 0x1p-20f);
        t.least = t.slope * size;
    }
    if (t.slope > 0.0f) t.least -= bits * 0x1p-20f;
    if (threshold != threshold) t.least = threshold;  // no pair passes
    return t;
}

// Adds the common bits of `words` words to the counts of a thread's pairs. The words are in shared
// memory, a multiple of 8. Other warps of the block handle the other query rows.
__device__ __forceinline__ void count_common(int (&acc)[64], const char* queries,
                                             const char* points, int words) {
#if defined(KITH_SM_90A)
    const std::uint32_t rows = shared_address(queries) + threadIdx.x / 128 * (run_bytes / 2),
                        columns = shared_address(points);
    wgmma_fence();
    for (int w = 0; w < words; w += depth)
        wgmma_count(acc, core_matrices(rows + w / run * run_bytes, run_bytes),
                    core_matrices(columns + w / run * run_bytes, run_bytes));
    wgmma_commit();
    wgmma_wait<0>();
#else
    const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
    // Each thread supplies words lane % 4 and lane % 4 + 4 of row lane / 4 and, for queries, of row
    // lane / 4 + 8.
    const auto* const rows =
        reinterpret_cast<const std::uint32_t*>(queries) + warp * 16 * run + lane;
    const auto* const columns = reinterpret_cast<const std::uint32_t*>(points) + lane;
#pragma unroll 1
    for (int w = 0; w < words; w += depth) {
        std::uint32_t a[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) a[i] = rows[(w / run + i / 2) * tile * run + i % 2 * 8 * run];
#pragma unroll
        for (int n = 0; n < 16; ++n) {
            const std::uint32_t* const b = columns + w * tile + n * 8 * run;
            asm volatile(
                "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, {%4, "
                "%5, %6, %7}, "
                "{%8, %9}, {%0, %1, %2, %3};"
                : "+r"(acc[4 * n]), "+r"(acc[4 * n + 1]), "+r"(acc[4 * n + 2]), "+r"(acc[4 * n + 3])
                : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[tile * run]));
        }
    }
#endif
}

// Rows r < 2 and columns c < 32 of a thread's pairs in the tile, and their counts in the
// accumulators.
__device__ __forceinline__ int pair_query(int r) {
    return static_cast<int>(threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4) + r * 8;
}
__device__ __forceinline__ int pair_point(int c) {
    return static_cast<int>(threadIdx.x % 4) * 2 + c / 2 * 8 + c % 2;
}
__device__ __forceinline__ float pair_common(const int (&acc)[64], int r, int c) {
    return __int_as_float(acc[c / 2 * 4 + r * 2 + c % 2]) - start_value;
}

template <bool All>
__global__ void __launch_bounds__(threads, blocks_per_sm)
    bits_kernel(const __grid_constant__ FilterPass pass,
                const __grid_constant__ Schedule schedule) {
    extern __shared__ __align__(128) char bits_shared[];
    const int warp = static_cast<int>(threadIdx.x / 32);
    char* const front = bits_shared + Ring::bytes;
    auto* const entries = reinterpret_cast<Candidate*>(front + warp * list_bytes);
    auto* const terms = reinterpret_cast<QueryTerms*>(front + warps * list_bytes);
    WarpList list{entries, reinterpret_cast<std::uint32_t*>(entries + WarpList::most_room)};

    Cursor work(schedule, blockIdx.x);
    Ring ring(pass, schedule, bits_shared);
    std::int64_t before = -1;
    while (work.id < schedule.work_tiles) {
        const std::int64_t first_query = work.query_panel(schedule) * tile;
        const bool other_queries = work.id != before;
        int size = 0;  // of query threadIdx.x
        int acc[64];
#pragma unroll
        for (int& count : acc) count = start;
        for (int s = 0; s < schedule.slices; ++s) {
            const char* const queries = ring.next();
            const int words = ring.words(s);
            if (other_queries && threadIdx.x < tile) {
                for (int w = 0; w < words; w += run) {
                    const uint4 four =
                        reinterpret_cast<const uint4*>(queries + w / run * run_bytes)[threadIdx.x];
                    size += __popc(four.x) + __popc(four.y) + __popc(four.z) + __popc(four.w);
                }
            }
            count_common(acc, queries, queries + Ring::slice_bytes,
                         (words + depth - 1) / depth * depth);
        }
        if (other_queries) {
            // All threads have finished with the terms of the previous queries, which were last
            // read before this tile's first barrier.
            if (threadIdx.x < tile) {
                const std::int64_t query = first_query + threadIdx.x;
                const float threshold =
                    !All && query < pass.q ? pass.threshold[query] : __int_as_float(0x7fffffff);
                terms[threadIdx.x] = query_terms(pass.step, threshold, static_cast<float>(size),
                                                 32.0f * static_cast<float>(pass.width));
            }
            __syncthreads();
            before = work.id;
        }

        const std::int64_t first_point = std::int64_t{work.panel} * tile;
        const QueryTerms query[2] = {terms[pair_query(0)], terms[pair_query(1)]};
        // Two rows x eight columns at a time.
#pragma unroll
        for (int columns = 0; columns < 32; columns += 8) {
            float point[8];
#pragma unroll
            for (int c = 0; c < 8; c += 2) {
                const float2 two = *reinterpret_cast<const float2*>(
                    pass.half_norm + pass.first + first_point + pair_point(columns + c));
                point[c] = two.x;
                point[c + 1] = two.y;
            }
            float common[16];
#pragma unroll
            for (int i = 0; i < 16; ++i) common[i] = pair_common(acc, i / 8, columns + i % 8);
            if constexpr (All) {
#pragma unroll
                for (int i = 0; i < 16; i += 2) {
                    const std::int64_t row = first_query + pair_query(i / 8);
                    const auto value = [&](int j) {
                        return bits_value(pass.step, common[j], query[j / 8].size, point[j % 8]);
                    };
                    if (row < pass.q)
                        *reinterpret_cast<float2*>(pass.all + row * pass.ld + first_point +
                                                   pair_point(columns + i % 8)) =
                            make_float2(value(i), value(i + 1));
                }
            } else {
                const auto tested = [&](int i) {
                    return fmaf(-query[i / 8].slope, point[i % 8], common[i]);
                };
                float most = tested(0), most_of_next = tested(8);
#pragma unroll
                for (int c = 1; c < 8; ++c) {
                    most = fmaxf(most, tested(c));
                    most_of_next = fmaxf(most_of_next, tested(8 + c));
                }
                if (!__any_sync(0xffffffffu,
                                most >= query[0].least || most_of_next >= query[1].least))
                    continue;
                std::uint32_t mask = 0;
#pragma unroll
                for (int i = 0; i < 16; ++i)
                    if (tested(i) >= query[i / 8].least) mask |= 1u << i;
                const auto candidate = [&](float both, int i) {
                    const auto at = static_cast<std::uint32_t>(pass.first + first_point +
                                                               pair_point(columns + i % 8));
                    const float size = i < 8 ? query[0].size : query[1].size;
                    return Candidate{bits_value(pass.step, both, size, pass.half_norm[at]), at};
                };
                for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
                    const int i = __ffs(static_cast<int>(rest)) - 1;
                    const float threshold = i < 8 ? query[0].threshold : query[1].threshold;
                    if (!(candidate(pick16(common, i), i).a <= threshold)) mask &= ~(1u << i);
                }
                append_to_list(mask, common, list, pass,
                               [&](float both, int i, Candidate& entry, std::uint32_t& to) {
                                   entry = candidate(both, i);
                                   to = static_cast<std::uint32_t>(first_query + pair_query(i / 8));
                               });
            }
        }
        if (++work.panel == work.end) work.at(schedule, work.id + gridDim.x);
    }
    cp_async_wait_all();
    if (!All) list.flush(pass);
}

}  // namespace
}  // namespace direct

void sweeps::bits(const FilterPass& pass, cudaStream_t stream) {
    using namespace direct;
    const int blocks = blocks_per_sm * device_attributes().multiprocessors;
    const Schedule schedule = make_schedule(pass, tile, slice, blocks);
    auto* const kernel = pass.all ? bits_kernel<true> : bits_kernel<false>;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
          "cudaFuncSetAttribute");
    kernel<<<static_cast<unsigned>(std::min<std::int64_t>(blocks, schedule.work_tiles)), threads,
             shared_bytes, stream>>>(pass, schedule);
    check_launch("filter of bits");
}

}  // namespace kith::gpu
