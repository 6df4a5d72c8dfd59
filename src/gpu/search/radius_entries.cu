// Kernels of radius_entries.h. A block owns a query, but where a thread does.
#include "gpu/search/radius_entries.h"

#include "exact/order.h"
#include "gpu/primitives/block.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

constexpr int block = 256;

// Adds what the threads of a block have counted to `to` (of one address a block).
template <class T>
__device__ __forceinline__ void add_of_block(int count, T* to) {
    const int sum = __reduce_add_sync(whole_warp, count);
    if (threadIdx.x % 32 == 0 && sum != 0) atomicAdd(to, static_cast<T>(sum));
}

__global__ void __launch_bounds__(block) classify_kernel(FilterForm form, ClassifyTask task) {
    __shared__ int kept, within;
    const std::int64_t query = blockIdx.x;
    if (threadIdx.x == 0) kept = within = 0;
    __syncthreads();
    const auto count =
        static_cast<int>(min(static_cast<std::int64_t>(task.counts[query]), task.capacity));
    const Candidate* const list = task.candidates + query * task.capacity;
    std::uint32_t* const ids = task.ids + query * task.capacity;
    const std::int64_t self = task.self ? task.self[query] : -1;
    const float included = task.included ? task.included[query] : 0.0f;
    int proven = 0;
    for (int base = 0; base < count; base += block) {
        const int i = base + static_cast<int>(threadIdx.x);
        bool open = i < count;
        std::int64_t row = 0;
        if (open) {
            const Candidate entry = list[i];
            row = row_at(form, entry.point, task.n);
            open = row != self;
            if (!open && task.self_listed) task.self_listed[query] = 1;
            // NaN where the point is not covered.
            if (open && task.included &&
                __fadd_ru(entry.a, 2.0f * task.point_error[entry.point]) <= included) {
                ++proven;
                open = false;
            }
        }
        append<1>(open ? 1u : 0u, &kept,
                  [&](int place, int) { ids[place] = static_cast<std::uint32_t>(row); });
    }
    add_of_block(proven, &within);
    __syncthreads();
    if (threadIdx.x == 0) {
        task.open[query] = kept;
        task.found[query] = task.proven[query] += within;
    }
}

struct Ball {
    double inner, outer, radius;
    bool open, similarity, asks;
    __device__ Ball(const Balls& balls, std::int64_t query)
        : inner(balls.bounds.inner[query]),
          outer(balls.bounds.outer[query]),
          radius(balls.radii[query]),
          open(balls.open),
          similarity(balls.similarity),
          asks(balls.asks) {}
    __device__ bool holds(const RankedPairs& pairs, std::int64_t at) const {
        const std::uint64_t key = pairs.keys[at];
        if (key == exact::Order<double>::nan) return false;
        const double rank = exact::Order<double>::value(key);
        if (rank <= inner) return true;
        if (!asks || !(rank <= outer)) return false;
        const double distance = pairs.reported[at];
        if (similarity) return open ? distance > radius : distance >= radius;
        return open ? distance < radius : distance <= radius;
    }
};

__device__ __forceinline__ std::int64_t pairs_of(const RankedPairs& pairs, std::int64_t query) {
    return pairs.counts ? min(static_cast<std::int64_t>(pairs.counts[query]), pairs.count)
                        : pairs.count;
}

__global__ void __launch_bounds__(block)
    count_kernel(RankedPairs pairs, Balls balls, std::int32_t* found) {
    const std::int64_t query = blockIdx.x, count = pairs_of(pairs, query),
                       first = query * pairs.stride;
    const Ball ball(balls, query);
    int within = 0;
    for (std::int64_t i = threadIdx.x; i < count; i += block)
        within += ball.holds(pairs, first + i);
    add_of_block(within, found + query);
}

__global__ void __launch_bounds__(block)
    take_kernel(RankedPairs pairs, Balls balls, const std::int64_t* offsets, std::uint64_t* keys,
                std::uint32_t* ids) {
    __shared__ int kept;
    const std::int64_t query = blockIdx.x, count = pairs_of(pairs, query),
                       first = query * pairs.stride;
    const Ball ball(balls, query);
    if (threadIdx.x == 0) kept = 0;
    __syncthreads();
    const std::int64_t to = offsets[query];
    for (std::int64_t base = 0; base < count; base += block) {
        const std::int64_t i = base + threadIdx.x;
        const bool within = i < count && ball.holds(pairs, first + i);
        append<1>(within ? 1u : 0u, &kept, [&](int place, int) {
            keys[to + place] = pairs.keys[first + i];
            ids[to + place] =
                pairs.ids ? pairs.ids[first + i] : pairs.first + static_cast<std::uint32_t>(i);
        });
    }
}

__global__ void list_self_kernel(const std::int64_t* self, std::int64_t q, std::int64_t n,
                                 std::uint32_t* ids, std::int32_t* counts) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= q) return;
    const bool there = self[i] >= 0 && self[i] < n;
    ids[i] = there ? static_cast<std::uint32_t>(self[i]) : 0;
    counts[i] = there ? 1 : 0;
}

__global__ void take_self_off_kernel(const std::int32_t* within, const std::uint8_t* self_listed,
                                     std::int64_t q, std::int64_t* totals) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < q && within[i] > 0 && self_listed[i] == 0) totals[i] -= 1;
}

// One block walks all counts.
template <class T>
__global__ void __launch_bounds__(1024)
    sum_kernel(const T* counts, std::int64_t q, std::int64_t* offsets) {
    __shared__ long long sums[32];
    long long before = 0;
    for (std::int64_t base = 0; base < q; base += 1024) {
        const std::int64_t i = base + threadIdx.x;
        const long long own = i < q ? static_cast<long long>(counts[i]) : 0;
        long long total = 0;
        const long long prefix = block_prefix<1024>(own, sums, total);
        if (i < q) offsets[i] = before + prefix;
        before += total;
    }
    if (threadIdx.x == 0) offsets[q] = before;
}

__global__ void summarize_kernel(RangeSummary range) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= range.q || range.state[i] != ball_answered) return;
    const auto listed = static_cast<unsigned long long>(range.listed[i]);
    atomicMax(&range.words[0], listed);
    atomicMax(&range.words[1], listed + static_cast<unsigned long long>(range.seen[i]));
    if (range.open[i] > 0)
        atomicAdd(&range.words[2], static_cast<unsigned long long>(range.open[i]));
    if (range.found[i] > 0)
        atomicAdd(&range.words[3], static_cast<unsigned long long>(range.found[i]));
}

__global__ void add_range_kernel(RangeSummary range, RangeTotals totals) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= range.q || range.state[i] != ball_answered) return;
    totals.seen[i] += range.listed[i];
    totals.total[i] += range.found[i];
    const std::int64_t of_use = totals.counting ? 0 : range.found[i] - range.proven[i];
    totals.needless[i] += range.open[i] - of_use;
    if (totals.needless[i] > totals.most_needless) {
        totals.state[i] = ball_left;
        totals.excluded[i] = __int_as_float(0x7fffffff);
    }
}

template <class T>
__global__ void add_totals_kernel(const T* totals, std::int64_t q, const std::int64_t* rows,
                                  const std::uint8_t* state, std::int64_t* tile_totals) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= q || (state && state[i] != ball_answered)) return;
    tile_totals[rows ? rows[i] : i] += totals[i];
}

unsigned grid_of(std::int64_t q) {
    return static_cast<unsigned>(q);
}

}  // namespace

void classify(const FilterForm& form, const ClassifyTask& task, cudaStream_t stream) {
    classify_kernel<<<grid_of(task.q), block, 0, stream>>>(form, task);
    check_launch("classify");
}

void count_within(const RankedPairs& pairs, const Balls& balls, std::int32_t* found,
                  cudaStream_t stream) {
    count_kernel<<<grid_of(pairs.q), block, 0, stream>>>(pairs, balls, found);
    check_launch("count_within");
}

void take_within(const RankedPairs& pairs, const Balls& balls, const std::int64_t* offsets,
                 std::uint64_t* keys, std::uint32_t* ids, cudaStream_t stream) {
    take_kernel<<<grid_of(pairs.q), block, 0, stream>>>(pairs, balls, offsets, keys, ids);
    check_launch("take_within");
}

void list_self(const std::int64_t* self, std::int64_t q, std::int64_t n, std::uint32_t* ids,
               std::int32_t* counts, cudaStream_t stream) {
    list_self_kernel<<<item_blocks(q), item_threads, 0, stream>>>(self, q, n, ids, counts);
    check_launch("list_self");
}

void take_self_off(const std::int32_t* within, const std::uint8_t* self_listed, std::int64_t q,
                   std::int64_t* totals, cudaStream_t stream) {
    take_self_off_kernel<<<item_blocks(q), item_threads, 0, stream>>>(within, self_listed, q,
                                                                      totals);
    check_launch("take_self_off");
}

void sum_counts(const std::int32_t* counts, std::int64_t q, std::int64_t* offsets,
                cudaStream_t stream) {
    sum_kernel<<<1, 1024, 0, stream>>>(counts, q, offsets);
    check_launch("sum_counts");
}

void sum_counts(const std::int64_t* counts, std::int64_t q, std::int64_t* offsets,
                cudaStream_t stream) {
    sum_kernel<<<1, 1024, 0, stream>>>(counts, q, offsets);
    check_launch("sum_counts");
}

void summarize(const RangeSummary& range, cudaStream_t stream) {
    summarize_kernel<<<item_blocks(range.q), item_threads, 0, stream>>>(range);
    check_launch("summarize");
}

void add_range(const RangeSummary& range, const RangeTotals& totals, cudaStream_t stream) {
    add_range_kernel<<<item_blocks(range.q), item_threads, 0, stream>>>(range, totals);
    check_launch("add_range");
}

void add_totals(const std::int64_t* totals, std::int64_t q, const std::int64_t* rows,
                const std::uint8_t* state, std::int64_t* tile_totals, cudaStream_t stream) {
    add_totals_kernel<<<item_blocks(q), item_threads, 0, stream>>>(totals, q, rows, state,
                                                                   tile_totals);
    check_launch("add_totals");
}

void add_totals(const std::int32_t* totals, std::int64_t q, const std::int64_t* rows,
                std::int64_t* tile_totals, cudaStream_t stream) {
    add_totals_kernel<<<item_blocks(q), item_threads, 0, stream>>>(totals, q, rows, nullptr,
                                                                   tile_totals);
    check_launch("add_totals");
}

}  // namespace kith::gpu
