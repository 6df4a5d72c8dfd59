// Kernels of lists.h. A block owns a query and holds the upper values a + 2 F of its list in registers; E, the same for
// all of them, joins at the end.
#include "exact/order.h"
#include "gpu/check.h"
#include "gpu/filter/levels.h"
#include "gpu/filter/lists.h"
#include "gpu/select/block_rank.cuh"

namespace kith::gpu {

namespace {

using Order = exact::Order<float>;

__device__ __forceinline__ std::uint32_t upper_key(float a, float f) {
    const float infinity = __int_as_float(0x7f800000);
    return Order::key(f < infinity ? __fadd_ru(a, 2.0f * f) : infinity);
}

// The limit that a key of an upper value stands for.
__device__ __forceinline__ float limit_of(std::uint32_t key, float e) {
    // A query that is not filtered has none.
    if (e == __int_as_float(0xff800000)) return e;
    return fminf(__fadd_ru(Order::value(key), 2.0f * e), 3.402823466e38f);
}

struct Shared {
    std::uint32_t sums[64];
    int kept;
};

template <int block, int mine>
__device__ __forceinline__ std::uint32_t threshold(const std::uint32_t (&keys)[mine], std::int64_t rank, Shared& s) {
    int in_all = 0;
    return sampling::word_threshold<block>(keys, static_cast<int>(rank), static_cast<int>(rank / 16), s.sums, in_all,
                                           [](std::uint32_t key) { return key; });
}

// Appends in no particular order; s.kept counts.
template <class Put>
__device__ __forceinline__ void keep(bool mine, Shared& s, Put put) {
    const unsigned lanes = __ballot_sync(whole_warp, mine);
    if (lanes == 0) return;
    const int lane = threadIdx.x % 32;
    int first = 0;
    if (lane == 0) first = atomicAdd(&s.kept, __popc(lanes));
    first = __shfl_sync(whole_warp, first, 0);
    if (mine) put(first + __popc(lanes & ((1u << lane) - 1)));
}

// A thread's values are `mine`, adjacent threads' interleaved; it ranks the least of each of `groups` groups of them,
// not all: where the rank is small against the number of groups, few of the smallest share one, and the limit comes out
// only a little larger.
template <int block, int mine, int groups>
__global__ void __launch_bounds__(block)
    start_kernel(FilterLists lists, const float* all, std::int64_t ld, int count, int rank) {
    __shared__ Shared s;
    const std::int64_t query = blockIdx.x;
    const float* const values = all + query * ld;
    const auto at = [](int i) { return static_cast<int>(threadIdx.x) + i * block; };
    // All loads before anything depends on one: places behind the end read the last value and drop it.
    float own[mine], f[mine];
#pragma unroll
    for (int i = 0; i < mine; ++i) own[i] = values[min(at(i), count - 1)];
#pragma unroll
    for (int i = 0; i < mine; ++i) f[i] = lists.f[min(at(i), count - 1)];
    std::uint32_t keys[groups];
#pragma unroll
    for (int g = 0; g < groups; ++g) {
        keys[g] = Order::nan;
#pragma unroll
        for (int i = g * (mine / groups); i < (g + 1) * (mine / groups); ++i)
            if (at(i) < count) keys[g] = min(keys[g], upper_key(own[i], f[i]));
    }
    if (threadIdx.x == 0) s.kept = 0;
    const float limit = limit_of(threshold<block>(keys, rank, s), lists.e[query]);
    Survivor* const list = lists.survivors + query * lists.capacity;
#pragma unroll
    for (int i = 0; i < mine; ++i) {
        keep(at(i) < count && own[i] <= limit, s, [&](int place) {
            if (place < lists.capacity) list[place] = {own[i], static_cast<std::uint32_t>(at(i))};
        });
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        // What lies beyond was not written: where the list grows, the next entry follows the last that was.
        lists.counts[query] = min(s.kept, static_cast<int>(lists.capacity));
        lists.limit[query] = limit;
        lists.lost[query] = s.kept > lists.capacity;
        atomicMax(lists.longest, static_cast<unsigned long long>(s.kept));
    }
}

// A list in registers.
template <int block, int mine>
struct OwnList {
    Survivor own[mine];
    std::uint32_t keys[mine];
    int count;
    bool lost;

    __device__ OwnList(const FilterLists& lists, std::int64_t query) {
        const int there = lists.counts[query];
        lost = lists.lost[query] || there > lists.capacity;
        count = min(there, static_cast<int>(lists.capacity));
        const Survivor* const list = lists.survivors + query * lists.capacity;
        // All loads before anything depends on one; places behind the end read the last entry, an empty list none.
        float f[mine];
#pragma unroll
        for (int i = 0; i < mine; ++i) own[i] = count > 0 ? list[min(place(i), count - 1)] : Survivor{0, 0};
#pragma unroll
        for (int i = 0; i < mine; ++i) f[i] = lists.f[own[i].point];
#pragma unroll
        for (int i = 0; i < mine; ++i) keys[i] = place(i) < count ? upper_key(own[i].a, f[i]) : Order::nan;
    }
    __device__ static int place(int i) {
        return static_cast<int>(threadIdx.x) + i * block;
    }
    __device__ bool within(int i, float limit) const {
        return place(i) < count && own[i].a <= limit;
    }
};

template <int block, int mine>
__global__ void __launch_bounds__(block) tighten_kernel(FilterLists lists, int rank) {
    __shared__ Shared s;
    const std::int64_t query = blockIdx.x;
    const OwnList<block, mine> list(lists, query);
    if (threadIdx.x == 0) s.kept = 0;
    float limit = lists.limit[query];
    if (list.count >= rank) limit = fminf(limit, limit_of(threshold<block>(list.keys, rank, s), lists.e[query]));
    __syncthreads();
    Survivor* const out = lists.survivors + query * lists.capacity;
#pragma unroll
    for (int i = 0; i < mine; ++i) keep(list.within(i, limit), s, [&](int place) { out[place] = list.own[i]; });
    __syncthreads();
    if (threadIdx.x == 0) {
        lists.counts[query] = s.kept;
        lists.limit[query] = limit;
        lists.lost[query] = list.lost;
        atomicMax(lists.longest, static_cast<unsigned long long>(s.kept));
    }
}

template <int block, int mine>
__global__ void __launch_bounds__(block) close_kernel(FilterLists lists, FilterForm form, CloseTask task) {
    __shared__ Shared s;
    const std::int64_t query = blockIdx.x;
    const OwnList<block, mine> list(lists, query);
    if (threadIdx.x == 0) s.kept = 0;
    const float infinity = __int_as_float(0x7f800000);
    const bool enough = list.count >= task.k && !task.unfit[query];
    const float e = lists.e[query], kept = lists.limit[query];
    float limit = enough ? limit_of(threshold<block>(list.keys, task.k, s), e) : infinity;
    if (enough && limit > kept) {
        // A little larger than the k-th, perhaps: if that one is within what was kept, what was kept will do.
        int within = 0;
#pragma unroll
        for (int i = 0; i < mine; ++i) within += __syncthreads_count(limit_of(list.keys[i], e) <= kept);
        if (within >= task.k) limit = kept;
    }
    const bool sure = enough && !list.lost && limit <= kept;
    __syncthreads();
    if (sure) {
        const std::int64_t self = task.self ? task.self[query] : -1;
        std::uint32_t* const ids = task.ids + query * lists.capacity;
#pragma unroll
        for (int i = 0; i < mine; ++i) {
            const std::int64_t row = row_at(form, list.own[i].point, task.n);
            keep(list.within(i, limit) && row != self, s,
                 [&](int place) { ids[place] = static_cast<std::uint32_t>(row); });
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        lists.counts[query] = s.kept;
        if (!sure) lists.limit[query] = limit;
        task.status[query] = sure ? certified : uncertain;
        if (sure) atomicAdd(&task.totals[0], static_cast<unsigned long long>(s.kept));
        else atomicAdd(&task.totals[1], 1ull);
    }
}

__global__ void position_rows_kernel(FilterForm form, std::int64_t n, std::int64_t* out) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < n) out[i] = row_at(form, i, n);
}

__global__ void column_limits_kernel(const float* limit, const float* h, std::int64_t n, float* out) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= whole_tiles(n)) return;
    // Rounded upwards, and by more than what adding h of the row and subtracting that of the column round.
    const float slack = 0x1p-21f * fmaxf(fabsf(limit[min(i, n - 1)]), fabsf(h[i]));
    // Behind the last there is nobody: NaN lets nothing pass, not even a row that passes all limits.
    out[i] = i < n ? __fadd_ru(__fadd_ru(limit[i], h[i]), slack) : __int_as_float(0x7fffffff);
}

// Launches with a block and a number of entries per thread that hold `entries`: the smallest block that does, or, where
// queries are few and blocks have the device to themselves, the largest.
template <class Launch>
void sized(std::int64_t entries, std::int64_t queries, Launch launch) {
    if (queries <= few_queries && entries <= 4096) launch.template operator()<1024, 4>();
    else if (entries <= 512) launch.template operator()<128, 4>();
    else if (entries <= 1024) launch.template operator()<128, 8>();
    else if (entries <= 2048) launch.template operator()<256, 8>();
    else if (entries <= 4096) launch.template operator()<256, 16>();
    else if (entries <= 8192) launch.template operator()<512, 16>();
    else launch.template operator()<1024, 16>();
}

}  // namespace

void position_rows(const FilterForm& form, std::int64_t n, std::int64_t* out, cudaStream_t stream) {
    position_rows_kernel<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(form, n, out);
    check_launch("position_rows");
}

void column_limits(const float* limit, const float* h, std::int64_t n, float* out, cudaStream_t stream) {
    column_limits_kernel<<<static_cast<unsigned>(whole_tiles(n) / 256), 256, 0, stream>>>(limit, h, n, out);
    check_launch("column_limits");
}

void start_lists(const FilterLists& lists, const float* all, std::int64_t ld, std::int64_t count, std::int64_t rank,
                 cudaStream_t stream) {
    sized(count, lists.q, [&]<int block, int mine>() {
        const auto launch = [&]<int groups>() {
            start_kernel<block, mine, groups><<<static_cast<unsigned>(lists.q), block, 0, stream>>>(
                lists, all, ld, static_cast<int>(count), static_cast<int>(rank));
        };
        if (rank * 8 <= block && rank * 8 <= count) launch.template operator()<1>();
        else if (rank * 8 <= block * 4 && rank * 8 <= count) launch.template operator()<4>();
        else launch.template operator()<mine>();
    });
    check_launch("start_lists");
}

void tighten_lists(const FilterLists& lists, std::int64_t rank, cudaStream_t stream) {
    sized(lists.capacity, lists.q, [&]<int block, int mine>() {
        tighten_kernel<block, mine>
            <<<static_cast<unsigned>(lists.q), block, 0, stream>>>(lists, static_cast<int>(rank));
    });
    check_launch("tighten_lists");
}

void close_lists(const FilterLists& lists, const FilterForm& form, const CloseTask& task, cudaStream_t stream) {
    sized(lists.capacity, lists.q, [&]<int block, int mine>() {
        close_kernel<block, mine><<<static_cast<unsigned>(lists.q), block, 0, stream>>>(lists, form, task);
    });
    check_launch("close_lists");
}

}  // namespace kith::gpu
