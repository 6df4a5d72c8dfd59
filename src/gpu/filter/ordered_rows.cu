// A block owns a query, or some of its candidates at a time, which are in shared memory; a warp reads four rows at
// once.
#include "gpu/filter/ordered_rows.cuh"

#include "gpu/filter/row_products.cuh"
#include "gpu/filter/thresholds.cuh"
#include "gpu/primitives/block.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/shared_memory.h"

namespace kith::gpu {

namespace {

constexpr int threads = 64, warps = threads / 32, batch = 4;
// Candidates that a block has at once, so many a thread; of few queries, whose blocks leave room on the device, a
// quarter.
constexpr int each = 4, most_at_once = each * threads, at_once_of_few = most_at_once / 4;
constexpr std::int64_t few_to_read = 1024;
// What a threshold is the order statistic of: upper values of so many entries of the list, two a thread, and of as many
// rows as are read first, one a thread.
constexpr int of_list = 2 * threads, of_rows = threads;
// Rows that are read first are a multiple of these: on an NVIDIA H100, 2026-11-27, d 784 to 1,536, k 100, with 8 a
// search took 1 % longer.
constexpr int likely_step = 16;
// What a kernel may have without asking for more.
constexpr std::size_t default_shared_bytes = 48 << 10;

struct Shared {
    ListShared statistic;
    int begin[most_shares + 1];  // of shares, among all candidates that are left
    Candidate candidates[most_at_once];
    std::uint32_t upper[of_rows];
    int placed, within;
};

__device__ __forceinline__ int index(int i) {
    return static_cast<int>(threadIdx.x) + i * threads;
}

// Of a query's candidates; all functions are for all threads of the block.
class QueryRows {
public:
    __device__ QueryRows(const CandidateLists& lists, const RereadTask& task, uint4* query, Shared& s)
        : lists_(lists), task_(task), query_(query), s_(s), q_(blockIdx.x), words_(static_cast<int>(task.width / 8)) {}

    // Where shares begin; returns how many candidates there are.
    __device__ int count(int shares) {
        const int count = task_.counts[q_], lane = threadIdx.x % 32;
        if (count > task_.room) return 0;
        share_ = size_of_share(count, shares);
        used_ = (count + share_ - 1) / share_;
        if (threadIdx.x < 32) {
            static_assert(most_shares == 64);
            const auto of_share = [&](int i) { return i < used_ ? task_.left[q_ * shares + i] : 0; };
            const int first = of_share(2 * lane), second = of_share(2 * lane + 1);
            int sum = first + second;
#pragma unroll
            for (int step = 1; step < 32; step *= 2) {
                const int other = __shfl_up_sync(whole_warp, sum, step);
                if (lane >= step) sum += other;
            }
            s_.begin[2 * lane] = sum - second - first;
            s_.begin[2 * lane + 1] = sum - second;
            if (lane == 31) s_.begin[most_shares] = sum;
        }
        __syncthreads();
        return s_.begin[most_shares];
    }

    __device__ void load_query() {
        const auto* const row = static_cast<const uint4*>(task_.queries) + q_ * words_;
        for (int i = threadIdx.x; i < words_; i += threads) query_[i] = row[i];
    }

    // Candidates [first, first + count) to shared memory.
    __device__ void gather(int first, int count) {
        for (int i = threadIdx.x / 32; i < used_; i += warps) {
            const Candidate* const left = task_.found + q_ * task_.room + i * share_;
            const int at = s_.begin[i] - first, end = min(s_.begin[i + 1] - first, count);
            for (int j = max(at, 0) + static_cast<int>(threadIdx.x % 32); j < end; j += 32)
                s_.candidates[j] = left[j - at];
        }
        if (threadIdx.x == 0) s_.within = 0;
        __syncthreads();
    }

    // Appends those of the first `count` in shared memory that are within the threshold, the upper values of as many as
    // these have room for to s.upper.
    __device__ void read(int count, float threshold) {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        for (int first = warp * batch; first < count; first += warps * batch) {
            std::uint32_t point[batch];
#pragma unroll
            for (int j = 0; j < batch; ++j) point[j] = s_.candidates[min(first + j, count - 1)].point;
            const float value = row_products(query_, task_.points, point, words_);
            if (lane >= batch || first + lane >= count) continue;
            const std::uint32_t of_lane = s_.candidates[first + lane].point;
            const float a = task_.half_norm[of_lane] - value;
            if (!(a <= threshold)) continue;
            const int at = atomicAdd(&lists_.counts[q_], 1);
            if (at < lists_.capacity) lists_.candidates[q_ * lists_.capacity + at] = {a, of_lane};
            if (task_.order == 0) continue;
            const int within = atomicAdd(&s_.within, 1);
            if (within < of_rows) s_.upper[within] = upper_key(a, lists_.point_error[of_lane], lists_.ceiling);
        }
        __syncthreads();
    }

    // The same of the `likely` least of `count` first, or a few more, then of those that the threshold which follows
    // does not leave out.
    __device__ void read_least_first(int count, int likely, float threshold) {
        Candidate mine[each];
        std::uint32_t keys[each], upper[of_list / threads + 1];
#pragma unroll
        for (int i = 0; i < each; ++i) {
            mine[i] = s_.candidates[min(index(i), count - 1)];
            // What is not a number is read as well.
            keys[i] = index(i) >= count ? Order::nan : mine[i].a == mine[i].a ? Order::key(mine[i].a) : 0;
        }
        const int listed = min(min(lists_.counts[q_], static_cast<int>(lists_.capacity)), of_list);
#pragma unroll
        for (int i = 0; i < of_list / threads; ++i)
            upper[i] = index(i) < listed ? upper_of_entry(index(i)) : Order::nan;
        const std::uint32_t least = smallest_key<threads, each, true>(keys, likely, s_.statistic);
        read(place(mine, [&](int i) { return index(i) < count && keys[i] <= least; }), threshold);
        const int within = min(s_.within, of_rows);
        upper[of_list / threads] = static_cast<int>(threadIdx.x) < within ? s_.upper[threadIdx.x] : Order::nan;
        float lower = threshold;
        if (listed + within >= task_.order) {
            const std::uint32_t key = smallest_key<threads>(upper, task_.order, s_.statistic);
            lower = fminf(lower, threshold_of(key, lists_.query_error[q_], lists_));
        }
        if (threadIdx.x == 0) lists_.threshold[q_] = lower;
        // A candidate's value is a lower bound, raised by what the threshold that it passed is above that of the list.
        const float passed = __fadd_ru(lower, __fsub_ru(passed_threshold(task_, q_), threshold));
        read(place(mine, [&](int i) { return index(i) < count && keys[i] > least && !(mine[i].a > passed); }), lower);
    }

private:
    __device__ std::uint32_t upper_of_entry(int i) const {
        const Candidate entry = lists_.candidates[q_ * lists_.capacity + i];
        return upper_key(entry.a, lists_.point_error[entry.point], lists_.ceiling);
    }
    // Those of which `which` is true to shared memory; returns how many.
    template <class Which>
    __device__ int place(const Candidate (&mine)[each], Which which) {
        if (threadIdx.x == 0) s_.placed = 0;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < each; ++i)
            append<1>(which(i), &s_.placed, [&](int at, int) { s_.candidates[at] = mine[i]; });
        __syncthreads();
        return s_.placed;
    }

    const CandidateLists& lists_;
    const RereadTask& task_;
    uint4* query_;
    Shared& s_;
    std::int64_t q_;
    int words_, share_ = 1, used_ = 0;
};

__global__ void __launch_bounds__(threads, 16)
    rows_kernel(CandidateLists lists, RereadTask task, int shares, int at_once) {
    extern __shared__ uint4 query[];
    __shared__ Shared s;
    QueryRows rows(lists, task, query, s);
    const int all = rows.count(shares), first_of_block = static_cast<int>(blockIdx.y) * at_once;
    if (first_of_block >= all) return;
    rows.load_query();
    const float threshold = lists.threshold[blockIdx.x];
    // Half of the order statistic's rows are of the range, where that is as long as all before it.
    const int likely = min((task.order / 2 + likely_step) / likely_step * likely_step, of_rows);
    for (int first = first_of_block; first < all; first += static_cast<int>(gridDim.y) * at_once) {
        const int count = min(at_once, all - first);
        rows.gather(first, count);
        // What other blocks append meanwhile is not to be looked at.
        if (task.order > 0 && all <= at_once && count > likely + warps * batch)
            rows.read_least_first(count, likely, threshold);
        else rows.read(count, threshold);
    }
}

}  // namespace

void read_in_order(const CandidateLists& lists, const RereadTask& task, cudaStream_t stream) {
    const bool few = lists.q < few_to_read;
    RereadTask compared = task;
    if (task.order > of_list) compared.order = 0;
    const auto bytes = static_cast<std::size_t>(task.width) * sizeof(__half);
    if (bytes + sizeof(Shared) > default_shared_bytes) allow_shared_memory(rows_kernel);
    rows_kernel<<<dim3(static_cast<unsigned>(lists.q), few ? 16 : 2), threads, bytes, stream>>>(
        lists, compared, static_cast<int>(shares_of(lists.q)), few ? at_once_of_few : most_at_once);
    check_launch("read_in_order");
}

}  // namespace kith::gpu
