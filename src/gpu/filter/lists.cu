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

__device__ __forceinline__ float value_of(std::uint32_t key) {
    return __uint_as_float(key & 0x80000000u ? key & 0x7fffffffu : ~key);
}

__device__ __forceinline__ std::uint32_t upper_key(float a, float f) {
    const float infinity = __int_as_float(0x7f800000);
    return Order::key(f < infinity ? __fadd_ru(a, 2.0f * f) : infinity);
}

// The limit that a key of an upper value stands for.
__device__ __forceinline__ float limit_of(std::uint32_t key, float e) {
    return fminf(__fadd_ru(value_of(key), 2.0f * e), 3.402823466e38f);
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

template <int block, int mine>
__global__ void __launch_bounds__(block)
    start_kernel(FilterLists lists, const float* all, std::int64_t ld, int count, int rank) {
    __shared__ Shared s;
    const std::int64_t query = blockIdx.x;
    const float* const values = all + query * ld;
    std::uint32_t keys[mine];
    const auto at = [](int i) { return static_cast<int>(threadIdx.x) + i * block; };
#pragma unroll
    for (int i = 0; i < mine; ++i) keys[i] = at(i) < count ? upper_key(values[at(i)], lists.f[at(i)]) : Order::nan;
    if (threadIdx.x == 0) s.kept = 0;
    const float limit = limit_of(threshold<block>(keys, rank, s), lists.e[query]);
    Survivor* const list = lists.survivors + query * lists.capacity;
#pragma unroll
    for (int i = 0; i < mine; ++i) {
        const float a = at(i) < count ? values[at(i)] : 0.0f;
        keep(at(i) < count && a <= limit, s, [&](int place) {
            if (place < lists.capacity) list[place] = {a, static_cast<std::uint32_t>(at(i))};
        });
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        lists.counts[query] = s.kept;
        lists.limit[query] = limit;
        lists.lost[query] = s.kept > lists.capacity;
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
#pragma unroll
        for (int i = 0; i < mine; ++i) {
            const int at = static_cast<int>(threadIdx.x) + i * block;
            own[i] = at < count ? list[at] : Survivor{0, 0};
            keys[i] = at < count ? upper_key(own[i].a, lists.f[own[i].point]) : Order::nan;
        }
    }
    __device__ bool within(int i, float limit) const {
        return static_cast<int>(threadIdx.x) + i * block < count && own[i].a <= limit;
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
    }
}

template <int block, int mine>
__global__ void __launch_bounds__(block) close_kernel(FilterLists lists, FilterForm form, CloseTask task) {
    __shared__ Shared s;
    const std::int64_t query = blockIdx.x;
    const OwnList<block, mine> list(lists, query);
    if (threadIdx.x == 0) s.kept = 0;
    const float infinity = __int_as_float(0x7f800000);
    const bool enough = list.count >= task.k;
    const float limit = enough ? limit_of(threshold<block>(list.keys, task.k, s), lists.e[query]) : infinity;
    const bool sure = enough && !list.lost && limit <= lists.limit[query] && !task.unfit[query];
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

// Launches with the smallest block and number of entries per thread that hold `entries`.
template <class Launch>
void sized(std::int64_t entries, Launch launch) {
    if (entries <= 512) launch.template operator()<128, 4>();
    else if (entries <= 1024) launch.template operator()<128, 8>();
    else if (entries <= 2048) launch.template operator()<256, 8>();
    else if (entries <= 4096) launch.template operator()<256, 16>();
    else if (entries <= 8192) launch.template operator()<512, 16>();
    else launch.template operator()<1024, 16>();
}

}  // namespace

void start_lists(const FilterLists& lists, const float* all, std::int64_t ld, std::int64_t count, std::int64_t rank,
                 cudaStream_t stream) {
    sized(count, [&]<int block, int mine>() {
        start_kernel<block, mine><<<static_cast<unsigned>(lists.q), block, 0, stream>>>(
            lists, all, ld, static_cast<int>(count), static_cast<int>(rank));
    });
    check_launch("start_lists");
}

void tighten_lists(const FilterLists& lists, std::int64_t rank, cudaStream_t stream) {
    sized(lists.capacity, [&]<int block, int mine>() {
        tighten_kernel<block, mine>
            <<<static_cast<unsigned>(lists.q), block, 0, stream>>>(lists, static_cast<int>(rank));
    });
    check_launch("tighten_lists");
}

void close_lists(const FilterLists& lists, const FilterForm& form, const CloseTask& task, cudaStream_t stream) {
    sized(lists.capacity, [&]<int block, int mine>() {
        close_kernel<block, mine><<<static_cast<unsigned>(lists.q), block, 0, stream>>>(lists, form, task);
    });
    check_launch("close_lists");
}

}  // namespace kith::gpu
