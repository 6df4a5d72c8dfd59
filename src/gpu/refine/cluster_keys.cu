// Kernels of cluster_keys.h. A block owns up to eight queries of one cluster, a warp every fourth
// of its points, a lane one of the 32 partial sums of each pair: the queries' coordinates stay in
// its registers. Keys of the first points give each query a bound, beyond which the keys of the
// others are dropped. On an NVIDIA H100, 2026-11-26, 8,192 queries of 1,000 clusters of 1,049 x 128
// take 0.75 ms at the clocks of ncu (docs/performance.md).
#include "gpu/refine/cluster_keys.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "gpu/filter/cluster_order.h"
#include "gpu/filter/clusters.h"
#include "gpu/filter/levels.h"
#include "gpu/metric/rank.cuh"
#include "gpu/primitives/async_copy.cuh"
#include "gpu/primitives/block.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device_memory.h"
#include "gpu/runtime/launch.h"
#include "metric/sqeuclidean.h"

namespace kith::gpu {

namespace {

using Metric = metric::SqEuclidean;

constexpr int together = 8, threads = 128, warps = threads / 32;
// Points whose keys give the bound, and the most neighbours for which they do.
constexpr int first_points = 256, most_bounded = 128;
constexpr int most_steps = 6;  // coordinates of a lane

// Queries grouped[first ... first + count), all of one cluster.
struct Item {
    std::uint32_t cluster, first, count;
};

constexpr int item_block = 1024;

// One block. Queries of a cluster are divided evenly among as few items as hold them.
__global__ void __launch_bounds__(item_block)
    items_kernel(const std::uint32_t* begin, int clusters, Item* items, std::uint32_t* item_count,
                 std::uint32_t* cursor) {
    __shared__ std::uint32_t sums[item_block / 32];
    std::uint32_t before = 0;
    for (int at = 0; at < clusters; at += item_block) {
        const int c = at + static_cast<int>(threadIdx.x);
        const std::uint32_t first = c < clusters ? begin[c] : 0,
                            count = c < clusters ? begin[c + 1] - first : 0;
        const std::uint32_t number = (count + together - 1) / together;
        std::uint32_t total = 0;
        const std::uint32_t place = before + block_prefix<item_block>(number, sums, total);
        if (c < clusters) cursor[c] = first;
        for (std::uint32_t i = 0; i < number; ++i) {
            const std::uint32_t from = count * i / number, to = count * (i + 1) / number;
            items[place + i] = {static_cast<std::uint32_t>(c), first + from, to - from};
        }
        before += total;
    }
    if (threadIdx.x == 0) *item_count = before;
}

__global__ void group_kernel(const std::uint32_t* own, std::int64_t q, std::uint32_t* cursor,
                             std::uint32_t* grouped) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < q) grouped[atomicAdd(&cursor[own[i]], 1u)] = static_cast<std::uint32_t>(i);
}

// Rows that a warp has asked for, at most: with what else a block has in shared memory within 48
// KiB.
template <int steps>
inline constexpr int ring_rows = steps > 4 ? 8 : 12;

template <int steps, bool plain>
struct Shared {
    float ring[plain ? warps : 1][plain ? ring_rows<steps> : 1][32 * steps];
    std::uint64_t first[together][first_points];  // keys of the first points
    std::uint64_t bound[together];
    std::int64_t query[together], self[together];
    int counts[together];
    bool nan[together];
};

// Rows of a warp's points, P at a time and in turn, a lane's coordinates lane, lane + 32, ...;
// zeros past d. Those of adjacent f32 come to shared memory by asynchronous copies that are ahead
// of their use, others to registers.
template <int steps, bool plain, int P>
struct RowStream {
    using Raw = float;
    static constexpr int stages = ring_rows<steps> / P, ahead = stages - 1;
    static_assert(ahead > 0);
    float (*const ring)[32 * steps];
    int asked = 0, taken = 0;

    __device__ explicit RowStream(Shared<steps, plain>& s) : ring(s.ring[threadIdx.x / 32]) {}
    __device__ void request(const Rows& rows, std::uint32_t row, int p, int d) {
        const int lane = static_cast<int>(threadIdx.x % 32);
        const float* const from =
            static_cast<const float*>(rows.data) + row * rows.row_stride + lane;
        float* const to = &ring[asked * P + p][lane];
#pragma unroll
        for (int i = 0; i < steps; ++i) {
            const bool there = lane + 32 * i < d;
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(
                             static_cast<std::uint32_t>(__cvta_generic_to_shared(to + 32 * i))),
                         "l"(there ? from + 32 * i : from - lane), "r"(there ? 4 : 0)
                         : "memory");
        }
    }
    __device__ void commit() {
        cp_async_commit();
        asked = asked + 1 == stages ? 0 : asked + 1;
    }
    // A lane reads what it has copied itself.
    __device__ void take(Raw (&x)[P][steps]) {
        cp_async_wait<ahead - 1>();
#pragma unroll
        for (int p = 0; p < P; ++p)
#pragma unroll
            for (int i = 0; i < steps; ++i)
                x[p][i] = ring[taken * P + p][threadIdx.x % 32 + 32 * i];
        taken = taken + 1 == stages ? 0 : taken + 1;
    }
    __device__ void finish() {
        cp_async_wait<0>();
    }
};
template <int steps, int P>
struct RowStream<steps, false, P> {
    using Raw = double;
    static constexpr int ahead = 1;
    Raw next[P][steps];

    __device__ explicit RowStream(const Shared<steps, false>&) {}
    __device__ void request(const Rows& rows, std::uint32_t row, int p, int d) {
#pragma unroll
        for (int i = 0; i < steps; ++i) {
            const int at = static_cast<int>(threadIdx.x % 32) + 32 * i;
            next[p][i] = at < d ? rows.at(row, at) : 0.0;
        }
    }
    __device__ void commit() {}
    __device__ void take(Raw (&x)[P][steps]) {
#pragma unroll
        for (int p = 0; p < P; ++p)
#pragma unroll
            for (int i = 0; i < steps; ++i) x[p][i] = next[p][i];
    }
    __device__ void finish() {}
};

// A bound of the k-th smallest of `count` keys, k <= count: no smaller, and all ones only if that
// one is. A warp calls.
__device__ __forceinline__ std::uint64_t bound_of(const std::uint64_t* keys, int count, int k) {
    constexpr int share = first_points / 32;
    std::uint32_t high[share];
#pragma unroll
    for (int i = 0; i < share; ++i) {
        const int at = static_cast<int>(threadIdx.x % 32) + i * 32;
        high[i] = at < count ? static_cast<std::uint32_t>(keys[at] >> 32) : 0xffffffffu;
    }
    std::uint32_t kth = 0;
    for (int bit = 31; bit >= 0; --bit) {
        const std::uint32_t below = kth | ((1u << bit) - 1);
        int own = 0;
#pragma unroll
        for (int i = 0; i < share; ++i) own += high[i] <= below;
        if (__reduce_add_sync(whole_warp, own) < k) kth |= 1u << bit;
    }
    return static_cast<std::uint64_t>(kth) << 32 | 0xffffffffu;
}

// Appends to a query's list what is within its bound.
template <class S>
__device__ __forceinline__ void keep(const ClusterKeysTask& task, S& s, int j, std::uint64_t bound,
                                     std::uint64_t key, std::uint32_t row) {
    if (key > bound || key == exact::Order<double>::nan) return;
    const int slot = atomicAdd(&s.counts[j], 1);
    if (slot >= task.capacity) return;
    const std::int64_t at = s.query[j] * task.capacity + slot;
    task.keys[at] = key;
    task.ids[at] = row;
}

// a[i] of `pairs` sums joined with that of the lane whose number differs in the bit 2 pairs, which
// keeps a[i + pairs].
template <int pairs>
__device__ __forceinline__ void combine_half(double (&a)[16]) {
    const bool upper = threadIdx.x & 2 * pairs;
#pragma unroll
    for (int i = 0; i < pairs; ++i) {
        const double sent = upper ? a[i] : a[i + pairs];
        a[i] = upper ? a[i + pairs] : a[i];
        const double other = __shfl_xor_sync(whole_warp, sent, 2 * pairs);
        Metric::combine<ScalarOps<double>>(&a[i], &other);
    }
}

// Reduces the partial sums of sixteen pairs by xor 16, 8, 4, 2, 1, as combine_four does those of
// four: lanes 2 j and 2 j + 1 end with the sum of pair j.
__device__ __forceinline__ double combine_sixteen(double (&a)[16]) {
    combine_half<8>(a);
    combine_half<4>(a);
    combine_half<2>(a);
    combine_half<1>(a);
    const double other = __shfl_xor_sync(whole_warp, a[0], 1);
    Metric::combine<ScalarOps<double>>(&a[0], &other);
    return a[0];
}

// Keys of Q queries, of which the item has the first `queries`, and `count` points from rows[0] on:
// put(point, key, row) by one lane for each pair, always that of one query: own_query().
template <int Q>
__device__ __forceinline__ int own_query() {
    return static_cast<int>(threadIdx.x % 32) / 2 % Q;
}
template <int steps, bool plain, int Q, class Put>
__device__ __forceinline__ void compare(const ClusterKeysTask& task, Shared<steps, plain>& s,
                                        const double (&u)[Q][steps], int queries,
                                        const std::uint32_t* rows, int count, Put put) {
    constexpr int P = Q <= 2 ? 4 : 16 / Q;  // points at a time
    constexpr std::uint32_t is_nan = 1u << 31;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, own = own_query<Q>(),
              own_point = lane / 2 / Q;
    const bool puts = lane % 2 == 0 && own < queries && own_point < P;
    const bool nan_query = s.nan[min(own, queries - 1)];
    const std::int64_t self = s.self[min(own, queries - 1)];
    const metric::Params params{};
    const auto d = static_cast<int>(task.d);
    const int mine = (count - warp + warps - 1) / warps;
    if (mine <= 0) return;
    // A lane has the rows of this warp's points lane, lane + 32, ...: those of 32 points, and of
    // the next 32.
    const auto rows_of = [&](int first) {
        std::uint32_t row = rows[warp + min(first + lane, mine - 1) * warps];
        if (task.points.nan[row]) row |= is_nan;
        return row;
    };
    std::uint32_t current = rows_of(0), following = rows_of(32);
    RowStream<steps, plain, P> stream(s);
    const auto request = [&](int t, int first) {
        if (t < mine)
#pragma unroll
            for (int p = 0; p < P; ++p) {
                const int at = min(t + p, mine - 1);
                std::uint32_t row;
                if (at - first < 32) row = __shfl_sync(whole_warp, current, at % 32);
                else row = __shfl_sync(whole_warp, following, at % 32);
                stream.request(task.points.rows, row & ~is_nan, p, d);
            }
        stream.commit();
    };
    for (int i = 0; i < stream.ahead; ++i) request(i * P, 0);
    for (int t = 0, first = 0; t < mine; t += P) {
        if (t - first == 32) {
            first = t;
            current = following;
            following = rows_of(t + 32);
        }
        typename RowStream<steps, plain, P>::Raw x[P][steps];
        stream.take(x);
        request(t + stream.ahead * P, first);
        // Past d both sides are 0, which leaves a sum as it is.
        double a[16] = {};
#pragma unroll
        for (int i = 0; i < steps; ++i)
#pragma unroll
            for (int p = 0; p < P; ++p) {
                const auto v = static_cast<double>(x[p][i]);
#pragma unroll
                for (int j = 0; j < Q; ++j)
                    Metric::step<ScalarOps<double>>(&a[p * Q + j], u[j][i], v, params);
            }
        const double total = combine_sixteen(a);
        const std::uint32_t row = __shfl_sync(whole_warp, current, t % 32 + min(own_point, P - 1));
        if (puts && t + own_point < mine) {
            const double rank =
                exact::ordered_rank(Metric::finish(&total, nullptr, nullptr, params));
            put(warp + (t + own_point) * warps,
                rank_key(rank, !(row & is_nan) && !nan_query && self != row), row & ~is_nan);
        }
    }
    stream.finish();
}

template <int steps, bool plain, int Q>
__device__ __forceinline__ void search_item(const ClusterKeysTask& task, const Item& item,
                                            Shared<steps, plain>& s) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32,
              queries = static_cast<int>(item.count);
    double u[Q][steps];
#pragma unroll
    for (int j = 0; j < Q; ++j)
#pragma unroll
        for (int i = 0; i < steps; ++i) {
            const int at = lane + 32 * i;
            u[j][i] = at < task.d ? task.queries.rows.at(s.query[min(j, queries - 1)], at) : 0.0;
        }
    const std::uint32_t* const rows = task.rows + task.begin[item.cluster];
    const int count = static_cast<int>(task.begin[item.cluster + 1] - task.begin[item.cluster]),
              first = min(count, first_points), k = static_cast<int>(task.k);
    compare<steps, plain, Q>(
        task, s, u, queries, rows, first,
        [&](int point, std::uint64_t key, std::uint32_t) { s.first[own_query<Q>()][point] = key; });
    __syncthreads();
    for (int j = warp; j < queries; j += warps) {
        const std::uint64_t bound = k <= min(first, most_bounded) ? bound_of(s.first[j], first, k)
                                                                  : exact::Order<double>::nan;
        if (lane == 0) s.bound[j] = bound;
        for (int i = lane; i < first; i += 32) keep(task, s, j, bound, s.first[j][i], rows[i]);
    }
    __syncthreads();
    const int own = min(own_query<Q>(), queries - 1);
    const std::uint64_t bound = s.bound[own];
    compare<steps, plain, Q>(
        task, s, u, queries, rows + first, count - first,
        [&](int, std::uint64_t key, std::uint32_t row) { keep(task, s, own, bound, key, row); });
    __syncthreads();
    if (threadIdx.x < queries) {
        const int kept = s.counts[threadIdx.x];
        task.counts[s.query[threadIdx.x]] = kept <= task.capacity ? kept : 0;
    }
    if (threadIdx.x == 0)
        atomicAdd(task.pairs, static_cast<unsigned long long>(queries) *
                                  static_cast<unsigned long long>(count));
}

template <int steps, bool plain>
__global__ void __launch_bounds__(threads, steps > 4 || (steps == 4 && !plain) ? 2 : 3)
    keys_kernel(ClusterKeysTask task, const Item* items, const std::uint32_t* item_count,
                const std::uint32_t* grouped) {
    __shared__ Shared<steps, plain> s;
    if (blockIdx.x >= *item_count) return;
    const Item item = items[blockIdx.x];
    if (threadIdx.x < item.count) {
        const std::int64_t query = grouped[item.first + threadIdx.x];
        s.query[threadIdx.x] = query;
        s.nan[threadIdx.x] = task.queries.nan[query];
        s.self[threadIdx.x] = task.self ? task.self[query] : -1;
        s.counts[threadIdx.x] = 0;
    }
    __syncthreads();
    if (item.count <= 2) search_item<steps, plain, 2>(task, item, s);
    else if (item.count <= 4) search_item<steps, plain, 4>(task, item, s);
    else if (item.count <= 6) search_item<steps, plain, 6>(task, item, s);
    else search_item<steps, plain, 8>(task, item, s);
}

}  // namespace

bool has_cluster_keys(MetricId metric, std::int64_t d) {
    return (metric == MetricId::sqeuclidean || metric == MetricId::euclidean) &&
           d <= 32 * most_steps;
}

std::int64_t cluster_keys_capacity(std::int64_t k, std::int64_t largest) {
    if (k > most_bounded) return largest;
    const double ratio = static_cast<double>(largest) / first_points;
    return std::min(
        largest, static_cast<std::int64_t>(candidate_room(k, std::max(ratio, 1.0)) + 63) / 64 * 64);
}

std::int64_t cluster_keys_kept(std::int64_t k, std::int64_t points) {
    if (k > most_bounded) return points;
    const double ratio = static_cast<double>(points) / first_points, order = static_cast<double>(k);
    return std::min(
        points, static_cast<std::int64_t>(std::max(ratio, 1.0) * (order + 2 * std::sqrt(order))));
}

void cluster_keys(const ClusterKeysTask& task, cudaStream_t stream) {
    const std::int64_t q = task.queries.rows.count,
                       most_items = std::min(q, task.clusters + q / together);
    const Buffer<std::uint32_t> begin(task.clusters + 1, stream), cursor(task.clusters, stream),
        grouped(q, stream), item_count(1, stream);
    const Buffer<Item> items(most_items, stream);
    cluster_begins(task.own, q, task.clusters, begin.get(), stream);
    items_kernel<<<1, item_block, 0, stream>>>(begin.get(), static_cast<int>(task.clusters),
                                               items.get(), item_count.get(), cursor.get());
    check_launch("cluster_keys");
    group_kernel<<<item_blocks(q), item_threads, 0, stream>>>(task.own, q, cursor.get(),
                                                              grouped.get());
    check_launch("cluster_keys");
    const Rows& rows = task.points.rows;
    const bool plain = rows.type == ElementType::f32 && rows.col_stride == 1;
    const auto launch = [&]<int steps>() {
        const auto grid = static_cast<unsigned>(most_items);
        if (plain)
            keys_kernel<steps, true>
                <<<grid, threads, 0, stream>>>(task, items.get(), item_count.get(), grouped.get());
        else
            keys_kernel<steps, false>
                <<<grid, threads, 0, stream>>>(task, items.get(), item_count.get(), grouped.get());
    };
    if (task.d <= 32) launch.template operator()<1>();
    else if (task.d <= 64) launch.template operator()<2>();
    else if (task.d <= 96) launch.template operator()<3>();
    else if (task.d <= 128) launch.template operator()<4>();
    else launch.template operator()<most_steps>();
    check_launch("cluster_keys");
}

}  // namespace kith::gpu
