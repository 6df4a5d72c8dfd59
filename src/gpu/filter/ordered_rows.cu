// A block owns a query, some of whose candidates are in shared memory at a time; a warp reads four
// rows at once.
#include <limits>

#include "gpu/filter/reread.cuh"
#include "gpu/filter/row_products.cuh"
#include "gpu/filter/thresholds.cuh"
#include "gpu/primitives/block.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/shared_memory.h"

namespace kith::gpu {

namespace {

constexpr int threads = 64, warps = threads / 32, batch = 4;
// Candidates that a block has at once, so many a thread.
constexpr int each = 4, most_at_once = each * threads;
// What a query has beyond those would be looked at long after all others: it is divided into so
// many slices, of no fewer candidates. Few queries leave room for that sooner.
constexpr int slices = 16, least_slice = 64, most_of_few = threads;
constexpr int blocks_of_multiprocessor = 16;
// What a threshold is the order statistic of: upper values of so many entries of the list, and of
// as many rows as are read first, two a thread each.
constexpr int of_list = 2 * threads, of_rows = 2 * threads;
// Rows that are read first are a multiple of these: on an NVIDIA H100, 2026-11-27, d 784 to 1,536,
// k 100, with 8 a search took 1 % longer.
constexpr int likely_step = 16;
constexpr float infinity = std::numeric_limits<float>::infinity();
// What a kernel may have without asking for more.
constexpr std::size_t default_shared_bytes = 48 << 10;

struct Shared {
    ListShared statistic;
    int begin[most_shares];  // of shares, among all candidates that are left
    int sums[warps];
    Candidate candidates[most_at_once];
    std::uint32_t upper[of_rows];
    int placed, within;
};

// Of a query's candidates; all functions are for all threads of the block.
class QueryRows {
    static_assert(most_shares <= threads);
    __device__ static int index(int i) { return static_cast<int>(threadIdx.x) + i * threads; }

public:
    __device__ QueryRows(const CandidateLists& lists, const RereadTask& task, uint4* query,
                         Shared& s, std::int64_t q)
        : lists_(lists),
          task_(task),
          query_(query),
          s_(s),
          q_(q),
          words_(static_cast<int>(task.width / 8)) {}

    // Where shares begin; returns how many candidates there are.
    __device__ int count(int shares) {
        const int count = task_.counts[q_];
        if (count > task_.room) return 0;
        share_ = size_of_share(count, shares);
        used_ = (count + share_ - 1) / share_;
        const int share = static_cast<int>(threadIdx.x),
                  own = share < used_ ? task_.left[q_ * shares + share] : 0;
        int all = 0;
        const int begin = block_prefix<threads>(own, s_.sums, all);
        if (share < most_shares) s_.begin[share] = begin;
        __syncthreads();
        return all;
    }

    // Entries of the list that are looked at.
    __device__ int listed() const {
        return min(min(lists_.counts[q_], static_cast<int>(lists_.capacity)), of_list);
    }

    __device__ void load_query() {
        const auto* const row = static_cast<const uint4*>(task_.queries) + q_ * words_;
        for (int i = threadIdx.x; i < words_; i += threads) query_[i] = row[i];
    }

    // What bounds of candidates are within whose values are within `threshold`: a bound is a lower
    // one, raised by what the threshold that it passed was above that of the list, which was
    // `before`.
    __device__ float passed_with(float threshold, float before) const {
        return __fadd_ru(threshold, __fsub_ru(passed_threshold(task_, q_), before));
    }
    // Those of candidates [at, end), which have room, whose bounds are within `passed` to shared
    // memory; returns how many.
    __device__ int gather(int at, int end, float passed) {
        Candidate found[each];
#pragma unroll
        for (int i = 0; i < each; ++i)
            if (at + index(i) < end) found[i] = candidate(at + index(i));
        // What is not a number is read as well.
        return place(found, [&](int i) { return at + index(i) < end && !(found[i].a > passed); });
    }

    // Appends those of the first `count` in shared memory that are within the threshold, the upper
    // values of as many as these have room for to s.upper.
    __device__ void read(int count, float threshold) {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        for (int first = warp * batch; first < count; first += warps * batch) {
            std::uint32_t point[batch];
#pragma unroll
            for (int j = 0; j < batch; ++j)
                point[j] = s_.candidates[min(first + j, count - 1)].point;
            const float value = row_products(query_, task_.points, point, words_);
            if (lane >= batch || first + lane >= count) continue;
            const std::uint32_t of_lane = s_.candidates[first + lane].point;
            const float a = task_.half_norm[of_lane] - value;
            if (!append_within(lists_, q_, {a, of_lane}, threshold) || task_.order == 0) continue;
            const int within = atomicAdd(&s_.within, 1);
            if (within < of_rows)
                s_.upper[within] = upper_key(a, lists_.point_error[of_lane], lists_.ceiling);
        }
        __syncthreads();
    }

    // The same of the least bounds of `count` first, then of those that the threshold which follows
    // does not leave out. `listed`: entries of the list before any was read.
    __device__ void read_least_first(int count, int listed, float threshold) {
        const int likely = likely_rows(listed);
        if (count <= likely + warps * batch) {
            read(count, threshold);
            return;
        }
        Candidate mine[each];
        std::uint32_t keys[each], upper[4];
#pragma unroll
        for (int i = 0; i < each; ++i) {
            mine[i] = s_.candidates[min(index(i), count - 1)];
            // What is not a number is read as well.
            keys[i] = index(i) >= count        ? Order::nan
                      : mine[i].a == mine[i].a ? Order::key(mine[i].a)
                                               : 0;
        }
#pragma unroll
        for (int i = 0; i < 2; ++i)
            upper[i] = index(i) < listed ? upper_of_entry(index(i)) : Order::nan;
        const std::uint32_t least =
            min(smallest_key<threads, each, true>(keys, likely, s_.statistic), Order::nan - 1);
        read(place(mine, [&](int i) { return keys[i] <= least; }), threshold);
        const int within = min(s_.within, of_rows);
#pragma unroll
        for (int i = 0; i < 2; ++i)
            upper[2 + i] = index(i) < within ? s_.upper[index(i)] : Order::nan;
        float lower = threshold;
        if (listed + within >= task_.order) {
            const std::uint32_t key = smallest_key<threads>(upper, task_.order, s_.statistic);
            lower = fminf(lower, threshold_of(key, lists_.query_error[q_], lists_));
        }
        if (threadIdx.x == 0) lists_.threshold[q_] = lower;
        const float passed = passed_with(lower, threshold);
        read(place(mine,
                   [&](int i) {
                       return keys[i] > least && keys[i] != Order::nan && !(mine[i].a > passed);
                   }),
             lower);
    }

private:
    // Rows that are read first: half of the order statistic's number, which are of the range where
    // that is as long as all before it, or those that the list lacks and as many more as may be
    // beyond its threshold.
    __device__ int likely_rows(int listed) const {
        const int wanted = max(task_.order, 3 * (task_.order - listed)) / 2;
        return min((wanted + likely_step) / likely_step * likely_step, of_rows);
    }
    __device__ Candidate candidate(int i) const {
        int share = 0;
#pragma unroll
        for (int step = most_shares / 2; step > 0; step /= 2)
            if (share + step < used_ && s_.begin[share + step] <= i) share += step;
        return task_.found[q_ * task_.room + share * share_ + i - s_.begin[share]];
    }
    __device__ std::uint32_t upper_of_entry(int i) const {
        const Candidate entry = lists_.candidates[q_ * lists_.capacity + i];
        return upper_key(entry.a, lists_.point_error[entry.point], lists_.ceiling);
    }
    // Those of which `which` is true to shared memory; returns how many.
    template <class Which>
    __device__ int place(const Candidate (&mine)[each], Which which) {
        if (threadIdx.x == 0) s_.placed = s_.within = 0;
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

// The first candidates of a query, in order.
__global__ void __launch_bounds__(threads, blocks_of_multiprocessor)
    rows_kernel(CandidateLists lists, RereadTask task, int shares, int most) {
    extern __shared__ uint4 query[];
    __shared__ Shared s;
    QueryRows rows(lists, task, query, s, blockIdx.x);
    const int all = rows.count(shares);
    if (all == 0) return;
    const float threshold = lists.threshold[blockIdx.x];
    if (all > most && threadIdx.x == 0)
        task.longer->entries[atomicAdd(&task.longer->count, 1)] = {
            static_cast<std::int32_t>(blockIdx.x), threshold};
    rows.load_query();
    const int listed = rows.listed(), count = rows.gather(0, min(all, most), infinity);
    if (task.order > 0) rows.read_least_first(count, listed, threshold);
    else rows.read(count, threshold);
}

// Those from `first` on of the queries that have more, in no order, with the thresholds that the
// first have left. A block takes a slice at a time.
__global__ void __launch_bounds__(threads, blocks_of_multiprocessor)
    rest_kernel(CandidateLists lists, RereadTask task, int shares, int first) {
    extern __shared__ uint4 query[];
    __shared__ Shared s;
    const int queries = task.longer->count;
    for (int item = static_cast<int>(blockIdx.x); item < queries * slices;
         item += static_cast<int>(gridDim.x)) {
        const LongerLists::Entry entry = task.longer->entries[item / slices];
        QueryRows rows(lists, task, query, s, entry.query);
        const int all = rows.count(shares),
                  own = max((all - first + slices - 1) / slices, least_slice),
                  begin = first + item % slices * own, end = min(begin + own, all);
        if (begin >= end) continue;
        rows.load_query();
        const float threshold = lists.threshold[entry.query],
                    passed = rows.passed_with(threshold, entry.before);
        for (int at = begin; at < end; at += most_at_once)
            rows.read(rows.gather(at, min(end, at + most_at_once), passed), threshold);
    }
}

}  // namespace

void read_in_order(const CandidateLists& lists, const RereadTask& task, cudaStream_t stream) {
    RereadTask compared = task;
    if (task.order > of_list) compared.order = 0;
    const auto bytes = static_cast<std::size_t>(task.width) * sizeof(__half);
    const auto shares = static_cast<int>(shares_of(lists.q));
    const auto queries = static_cast<unsigned>(lists.q);
    if (bytes + sizeof(Shared) > default_shared_bytes) {
        allow_shared_memory(rows_kernel);
        allow_shared_memory(rest_kernel);
    }
    const int first = lists.q < filling_queries ? most_of_few : most_at_once;
    rows_kernel<<<queries, threads, bytes, stream>>>(lists, compared, shares, first);
    check_launch("read_in_order");
    compared.order = 0;
    const auto blocks =
        static_cast<unsigned>(device_attributes().multiprocessors * blocks_of_multiprocessor);
    rest_kernel<<<blocks, threads, bytes, stream>>>(lists, compared, shares, first);
    check_launch("read_in_order");
}

}  // namespace kith::gpu
