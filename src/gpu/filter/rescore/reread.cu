// Kernels of `reread.h`. A block owns a query or a slice of its candidates, a warp a share of
// these. With stages the warp compacts its share in place, else it rescores four rows at a time.
#include "gpu/filter/rescore/reread.cuh"

#include "gpu/filter/int8/bytes.h"
#include "gpu/filter/levels.h"
#include "gpu/filter/rescore/row_products.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

constexpr int threads = 128, warps = threads / 32, batch = 4;
// Rows of a stage that eight lanes read at a time, and those that a warp reads.
constexpr int stage_lanes = 8, stage_rows = 4, narrowed = 32 / stage_lanes * stage_rows;
// A warp's fixed cost is that of a dozen candidates.
static_assert(least_share >= 2 * narrowed);

// Sums over eight lanes: lane l returns the sum of row l / 2 % 4.
__device__ __forceinline__ int row_sum(const int (&sums)[4]) {
    const bool low = threadIdx.x % 8 < 4, even = threadIdx.x % 4 < 2;
    int a = low ? sums[0] : sums[2], b = low ? sums[1] : sums[3];
    a += __shfl_xor_sync(0xffffffffu, low ? sums[2] : sums[0], 4);
    b += __shfl_xor_sync(0xffffffffu, low ? sums[3] : sums[1], 4);
    int sum = even ? a : b;
    sum += __shfl_xor_sync(0xffffffffu, even ? b : a, 2);
    return sum + __shfl_xor_sync(0xffffffffu, sum, 1);
}

// The sum of products of a piece of a point's row (further.h) with a query's values.
__device__ __forceinline__ int piece_sum(const uint4& piece, const uint4& lower, const uint4& upper,
                                         int sum) {
    constexpr unsigned low = 0x0f0f0f0f;
    const unsigned numbers[] = {piece.x, piece.y, piece.z, piece.w},
                   first[] = {lower.x, lower.y, lower.z, lower.w},
                   second[] = {upper.x, upper.y, upper.z, upper.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        sum = __dp4a(static_cast<int>(numbers[i] & low), static_cast<int>(first[i]), sum);
        sum = __dp4a(static_cast<int>(numbers[i] >> 4 & low), static_cast<int>(second[i]), sum);
    }
    return sum;
}

// Returns how many of a warp's `count` candidates a stage leaves. These then come first, with the
// higher values that the stage gives. Eight lanes read four rows at a time, a lane a piece of each
// run. `unit`: if not 0, the unit of the candidates' a.
__device__ int narrow(const RereadStage& stage, std::int64_t q, float threshold, float unit,
                      Candidate* found, int count) {
    constexpr int rows = stage_rows, lanes = stage_lanes;
    static_assert(sizeof(FurtherTerms) == sizeof(uint4) &&
                  sizeof(uint4) * lanes == FurtherColumns::run);
    const int lane = threadIdx.x % 32, part = lane % lanes,
              own_row = lane / lanes * rows + part / 2;
    const auto words = static_cast<int>(stage.row_bytes / static_cast<std::int64_t>(sizeof(uint4)));
    const auto *const own = reinterpret_cast<const uint4*>(stage.queries) + q * (2 * words - 1),
                      *const points = reinterpret_cast<const uint4*>(stage.points);
    const FurtherTerms terms = *reinterpret_cast<const FurtherTerms*>(own + 2 * (words - 1));
    // The values of points have 8 added to them.
    int added = 0;
    for (int word = lane; word < 2 * (words - 1); word += 32) {
        constexpr unsigned eights = 0x08080808;
        added = piece_sum({eights, eights, eights, eights}, __ldg(own + word), {}, added);
    }
    added = __reduce_add_sync(0xffffffffu, added);
    // A query's values of a piece; the piece that holds a point's terms has none.
    const auto numbers = [&](int word, uint4& lower, uint4& upper) {
        lower = upper = {};
        if (word == words - 1) return;
        lower = __ldg(own + 2 * word);
        upper = __ldg(own + 2 * word + 1);
    };
    uint4 lower, upper;
    numbers(part, lower, upper);
    int kept = 0;
    for (int first = 0; first < count; first += narrowed) {
        Candidate candidate = found[min(first + own_row, count - 1)];
        const uint4* row[rows];
#pragma unroll
        for (int j = 0; j < rows; ++j)
            row[j] = points + static_cast<std::int64_t>(
                                  __shfl_sync(0xffffffffu, candidate.point, lane - part + 2 * j)) *
                                  words;
        uint4 of_row[rows];
#pragma unroll
        for (int j = 0; j < rows; ++j) of_row[j] = __ldg(row[j] + part);
        const uint4 of_point =
            __ldg(points + static_cast<std::int64_t>(candidate.point) * words + words - 1);
        int sums[rows];
#pragma unroll
        for (int j = 0; j < rows; ++j) sums[j] = piece_sum(of_row[j], lower, upper, 0);
        for (int word = part + lanes; word < words; word += lanes) {
            uint4 next_lower, next_upper;
            numbers(word, next_lower, next_upper);
#pragma unroll
            for (int j = 0; j < rows; ++j) of_row[j] = __ldg(row[j] + word);
#pragma unroll
            for (int j = 0; j < rows; ++j)
                sums[j] = piece_sum(of_row[j], next_lower, next_upper, sums[j]);
        }
        const int sum = row_sum(sums) - added;
        const FurtherTerms v{__uint_as_float(of_point.x), __uint_as_float(of_point.y),
                             __uint_as_float(of_point.z), __uint_as_float(of_point.w)};
        if (unit > 0) {
            // -inf for a point that is not covered, which every query must rescore.
            const int of_pass = __float_as_int(candidate.a);
            candidate.a = of_pass <= ByteLimits::nothing ? -__int_as_float(0x7f800000)
                                                         : value_of_sum(of_pass, unit);
        }
        const float value = further_value(candidate.a, terms, v, stage.unit, sum);
        // A NaN value stays.
        const bool stays = lane % 2 == 0 && first + own_row < count && !(value > threshold);
        const unsigned all = __ballot_sync(0xffffffffu, stays);
        if (stays)
            found[kept + __popc(all & ((1u << lane) - 1))] = {value == value ? value : candidate.a,
                                                              candidate.point};
        kept += __popc(all);
        __syncwarp();
    }
    return kept;
}

// True if a query's candidates had room. Otherwise the query is retried.
__device__ __forceinline__ bool have_room(const CandidateLists& lists, const RereadTask& task,
                                          std::int64_t q, int count) {
    if (count <= task.room) return true;
    if (blockIdx.y == 0 && threadIdx.x == 0) lists.overflowed[q] = 1;
    return false;
}

// Narrows a warp's share of a query's candidates by the residual stages.
__global__ void __launch_bounds__(threads, 8) narrow_kernel(CandidateLists lists, RereadTask task) {
    const std::int64_t q = blockIdx.x;
    const int count = task.counts[q];
    if (q == 0 && blockIdx.y == 0 && threadIdx.x == 0) task.longer->count = 0;
    if (!have_room(lists, task, q, count)) return;
    const int shares = static_cast<int>(gridDim.y) * warps, share = size_of_share(count, shares),
              own = static_cast<int>(blockIdx.y) * warps + static_cast<int>(threadIdx.x) / 32,
              begin = own * share;
    int kept = min(share, count - begin);
    if (kept <= 0) return;
    Candidate* const found = task.found + q * task.room + begin;
    const float threshold = passed_threshold(task, q);
#pragma unroll
    for (int stage = 0; stage < most_stages; ++stage)
        if (stage < task.stages && kept > 0)
            kept = narrow(task.stage[stage], q, threshold, stage == 0 ? task.sum_unit : 0.0f, found,
                          kept);
    if (threadIdx.x % 32 == 0) task.left[q * shares + own] = kept;
}

// Rescores a share of a query's candidates, without stages.
__global__ void __launch_bounds__(threads, 8) reread_kernel(CandidateLists lists, RereadTask task) {
    extern __shared__ uint4 query[];
    const std::int64_t q = blockIdx.x;
    const int count = task.counts[q];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const auto words = static_cast<int>(task.width / 8);
    const auto* const own = static_cast<const uint4*>(task.queries) + q * words;
    if (!have_room(lists, task, q, count)) return;
    const int shares = static_cast<int>(gridDim.y) * warps,
              share = max((count + shares - 1) / shares, batch),
              block_first = static_cast<int>(blockIdx.y) * warps;
    if (block_first * share >= count) return;
    for (int i = threadIdx.x; i < words; i += threads) query[i] = own[i];
    __syncthreads();
    const int begin = (block_first + warp) * share, left = min(share, count - begin);
    if (left <= 0) return;
    Candidate* const found = task.found + q * task.room + begin;
    const float threshold = lists.threshold[q];
    for (int first = 0; first < left; first += batch) {
        std::uint32_t point[batch];
#pragma unroll
        for (int j = 0; j < batch; ++j) point[j] = found[min(first + j, left - 1)].point;
        std::uint32_t own_point = point[0];
#pragma unroll
        for (int j = 1; j < batch; ++j)
            if (lane == j) own_point = point[j];
        if (task.offset) {
#pragma unroll
            for (int j = 0; j < batch; ++j)
                point[j] =
                    static_cast<std::uint32_t>(task.offset[q] + begin + min(first + j, left - 1));
        }
        const float value = row_products(query, task.points, point, words);
        if (lane >= batch || first + lane >= left) continue;
        append_within(lists, q, {task.half_norm[own_point] - value, own_point}, threshold);
    }
}

__global__ void candidate_rows_kernel(RereadTask task, FilterForm form, std::int64_t n,
                                      std::int64_t* out) {
    const std::int64_t q = blockIdx.x;
    const std::int64_t count = task.counts[q];
    if (count > task.room) return;
    for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x)
        out[task.offset[q] + i] = row_at(form, task.found[q * task.room + i].point, n);
}

}  // namespace

void candidate_rows(const RereadTask& task, const FilterForm& form, std::int64_t q, std::int64_t n,
                    std::int64_t* out, cudaStream_t stream) {
    candidate_rows_kernel<<<static_cast<unsigned>(q), threads, 0, stream>>>(task, form, n, out);
    check_launch("candidate_rows");
}

void reread(const CandidateLists& lists, const RereadTask& task, cudaStream_t stream) {
    const auto bytes = static_cast<std::size_t>(task.width) * 2;
    const std::int64_t shares = shares_of(lists.q);
    const dim3 blocks(static_cast<unsigned>(lists.q), static_cast<unsigned>(shares / warps));
    if (task.stages == 0) {
        reread_kernel<<<blocks, threads, bytes, stream>>>(lists, task);
        check_launch("reread");
        return;
    }
    narrow_kernel<<<blocks, threads, 0, stream>>>(lists, task);
    check_launch("stages");
    if (task.part > 0 && lists.q >= queries_of_most_shares) read_by_parts(lists, task, stream);
    else read_in_order(lists, task, stream);
}

}  // namespace kith::gpu
