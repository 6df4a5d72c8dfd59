// The selector "cluster-select": one launch, a cluster of blocks per row, the row in their registers.
//
//   grid      rows x blocks, in clusters of `blocks` (1 to 16); a block takes an equal share of the row
//   limits    the row is cut into k groups or more of threads: the largest of the groups' minima has k values at or
//             below it, so nothing above is looked at again
//   gather    what is within the limits goes to the first block's shared memory (distributed shared memory, one atomic
//             operation per warp), if there is room
//   rounds    else the values between the limits are counted in 2,048 equal intervals of their keys, by every block for
//             itself; each adds all blocks' counts up and keeps the interval that holds the k-th, until no more are
//             left than are worth sorting, and they are gathered. Equal keys are cut by their index in the same way.
//   sort      by the first block, which writes the result
// No workspace is needed, and no value is read twice but those that are selected.
#include <atomic>
#include <type_traits>

#include "exact/element.h"
#include "gpu/primitives/block_sort.cuh"
#include "gpu/primitives/cluster.cuh"
#include "gpu/runtime/device.h"
#include "gpu/runtime/shared_memory.h"
#include "gpu/select/cluster/tuning.h"
#include "gpu/select/selector.h"

namespace kith::gpu {

namespace {

using tuning::cluster_threads;

constexpr int log_threads = 9;
static_assert(1 << log_threads == cluster_threads);
constexpr int intervals = 2048, own_intervals = intervals / cluster_threads;
// Entries that the first block can sort; what is selected is at most half of them.
constexpr int most_entries = 4096;
// Of so many neighbours what the first limits let pass is gathered at once, and sorted if it is no more than that.
constexpr int gathered_at_once = 256;
constexpr std::uint32_t most_gathered = 2048;
static_assert(most_entries == 2 * tuning::cluster_max_k && most_entries <= 16 * cluster_threads);

struct ClusterJob {
    const void* values;
    std::int64_t stride, n;
    const std::int64_t* lengths;  // of the rows, or null
    int blocks, k;
    bool largest, vectors;  // four values at a time lie where a vector may
    std::int64_t* ids;
    void* out;
};

// Four adjacent values, as bits.
__device__ __forceinline__ void load_four(const float* from, std::uint32_t (&bits)[4]) {
    const uint4 four = *reinterpret_cast<const uint4*>(from);
    bits[0] = four.x;
    bits[1] = four.y;
    bits[2] = four.z;
    bits[3] = four.w;
}
template <class Half>
__device__ __forceinline__ void load_four(const Half* from, std::uint32_t (&bits)[4]) {
    const uint2 four = *reinterpret_cast<const uint2*>(from);
    bits[0] = four.x & 0xffffu;
    bits[1] = four.x >> 16;
    bits[2] = four.y & 0xffffu;
    bits[3] = four.y >> 16;
}
__device__ __forceinline__ std::uint32_t bits_of(float v) {
    return __float_as_uint(v);
}
template <class Half>
__device__ __forceinline__ std::uint32_t bits_of(Half v) {
    return v.bits;
}

// The value of a T that has these bits.
template <class T>
__device__ __forceinline__ float value_of(std::uint32_t bits) {
    if constexpr (std::is_same_v<T, float16>) return exact::half_to_float(static_cast<std::uint16_t>(bits));
    else if constexpr (std::is_same_v<T, bfloat16>) return __uint_as_float(bits << 16);
    else return __uint_as_float(bits);
}

// The infinity of a missing neighbour.
template <class T>
__device__ T missing(bool largest) {
    if constexpr (sizeof(T) == 4) {
        return __uint_as_float(largest ? 0xff800000u : 0x7f800000u);
    } else {
        const std::uint32_t infinity = std::is_same_v<T, float16> ? 0x7c00u : 0x7f80u;
        return T{static_cast<std::uint16_t>(infinity | (largest ? 0x8000u : 0u))};
    }
}

struct Shared {
    alignas(16) std::uint32_t counts[2][intervals];
    Packed entries[most_entries];
    std::uint32_t sums[cluster_threads / 32], minima[cluster_threads / 32], maxima[cluster_threads / 32];
    std::uint32_t least, most;               // of this block's groups' minima
    std::uint32_t interval, before, inside;  // of the k-th
    std::uint32_t found;                     // entries, in the first block
};

// A block's share of a row in the registers of its threads.
template <class T, int held>
struct Share {
    const T* values;
    std::uint32_t first;  // column of the first
    int size;
    std::uint32_t key[held];

    __device__ static int place(int u) { return (u / 4 * cluster_threads + static_cast<int>(threadIdx.x)) * 4 + u % 4; }
    __device__ std::uint32_t index(int u) const { return first + static_cast<std::uint32_t>(place(u)); }
    __device__ bool holds(int u) const { return place(u) < size; }

    // All reads are on their way before the first is waited for.
    __device__ __forceinline__ void load(bool vectors, bool largest) {
#pragma unroll
        for (int u = 0; u < held; u += 4) {
            std::uint32_t bits[4] = {};
            if (vectors && place(u) + 3 < size) {
                load_four(values + place(u), bits);
            } else {
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    if (holds(u + i)) bits[i] = bits_of(values[place(u + i)]);
            }
#pragma unroll
            for (int i = 0; i < 4; ++i) key[u + i] = bits[i];
        }
#pragma unroll
        for (int u = 0; u < held; ++u)
            key[u] = holds(u) ? exact::Order<float>::key(value_of<T>(key[u]), largest) : exact::Order<float>::nan;
    }
};

// The least key of all, and the largest of the minima of groups of 2^log_group threads; of half a thread's values
// where log_group is -1.
template <class T, int held>
__device__ __forceinline__ void limits_of(const Share<T, held>& share, int log_group, int blocks, Shared& shared,
                                          std::uint32_t& least, std::uint32_t& most) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    std::uint32_t low = share.key[0], upper = share.key[held / 2];
#pragma unroll
    for (int u = 1; u < held / 2; ++u) {
        low = min(low, share.key[u]);
        upper = min(upper, share.key[held / 2 + u]);
    }
    std::uint32_t high = max(low, upper);
    low = min(low, upper);
    // Groups of a warp's lanes at most; of warps below.
    for (int step = 0; step < min(log_group, 5); ++step) low = min(low, __shfl_xor_sync(whole_warp, low, 1 << step));
    high = __reduce_max_sync(whole_warp, log_group < 0 ? high : low);
    low = __reduce_min_sync(whole_warp, low);
    if (lane == 0) {
        shared.minima[warp] = low;
        shared.maxima[warp] = high;
    }
    __syncthreads();
    if (warp == 0) {
        constexpr int warps = cluster_threads / 32;
        std::uint32_t a = lane < warps ? shared.minima[lane] : ~0u, b = lane < warps ? shared.maxima[lane] : 0;
        const std::uint32_t all = __reduce_min_sync(whole_warp, a);
        if (log_group > 5) {
            for (int step = 0; step < log_group - 5; ++step) a = min(a, __shfl_xor_sync(whole_warp, a, 1 << step));
            b = lane < warps ? a : 0;
        }
        b = __reduce_max_sync(whole_warp, b);
        if (lane == 0) {
            shared.least = all;
            shared.most = b;
        }
    }
    sync_blocks(blocks);
    const bool one = lane < blocks;
    least = __reduce_min_sync(whole_warp, one ? in_block(&shared, lane)->least : ~0u);
    most = __reduce_max_sync(whole_warp, one ? in_block(&shared, lane)->most : 0u);
}

// What is known of where the k-th lies: `before` values lie below `low`, and the k-th is among the `inside` values from
// `low` to `high`.
struct Range {
    std::uint32_t low, high, before, inside;
};

// Cuts a range into intervals and keeps the one that holds the k-th. at(u, x): whether value u is in the range, and
// where. `round` counts the calls.
template <int held, class At>
__device__ __forceinline__ void narrow(Range& range, int k, int blocks, int& round, Shared& shared, At at) {
    const std::uint32_t width = range.high - range.low;
    const int shift = max(0, 21 - __clz(static_cast<int>(width)));  // width >> shift < 2,048
    std::uint32_t(&counts)[intervals] = shared.counts[round % 2];
#pragma unroll
    for (int u = 0; u < held; ++u) {
        std::uint32_t x;
        if (at(u, x)) atomicAdd(&counts[(x - range.low) >> shift], 1u);
    }
    sync_blocks(blocks);
    uint4 own{};
    static_assert(own_intervals == 4);
#pragma unroll 4
    for (int block = 0; block < blocks; ++block) {
        const uint4 c = reinterpret_cast<const uint4*>(in_block(&counts[0], block))[threadIdx.x];
        own.x += c.x;
        own.y += c.y;
        own.z += c.z;
        own.w += c.w;
    }
    // All have left the round before this one: its counts are free.
    reinterpret_cast<uint4*>(shared.counts[(round + 1) % 2])[threadIdx.x] = uint4{};
    std::uint32_t total;
    std::uint32_t before =
        range.before + block_prefix<cluster_threads>(own.x + own.y + own.z + own.w, shared.sums, total);
    const std::uint32_t wanted = static_cast<std::uint32_t>(k);
    const std::uint32_t in[own_intervals] = {own.x, own.y, own.z, own.w};
#pragma unroll
    for (int i = 0; i < own_intervals; ++i) {
        if (before < wanted && wanted <= before + in[i]) {
            shared.interval = threadIdx.x * own_intervals + static_cast<unsigned>(i);
            shared.before = before;
            shared.inside = in[i];
        }
        before += in[i];
    }
    __syncthreads();
    range.low += shared.interval << shift;
    range.high = range.low + min(range.high - range.low, (1u << shift) - 1);
    range.before = shared.before;
    range.inside = shared.inside;
    ++round;
}

// Puts what passes into the first block's entries, while there is room, and counts it there.
template <class T, int held>
__device__ __forceinline__ void gather(const Share<T, held>& share, std::uint32_t high, std::uint32_t last,
                                       Shared* first) {
    using Mask = std::conditional_t<(held > 32), std::uint64_t, std::uint32_t>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    Mask mask = 0;
    std::uint32_t count = 0;
#pragma unroll
    for (int u = 0; u < held; ++u) {
        if (share.key[u] > high) continue;
        if (!share.holds(u) || (share.key[u] == high && share.index(u) > last)) continue;
        mask |= Mask{1} << u;
        ++count;
    }
    std::uint32_t place = count;
    for (int step = 1; step < 32; step *= 2) {
        const std::uint32_t other = __shfl_up_sync(whole_warp, place, step);
        if (lane >= step) place += other;
    }
    std::uint32_t start = 0;
    if (lane == 31 && place > 0) start = atomicAdd(&first->found, place);
    place += __shfl_sync(whole_warp, start, 31) - count;
#pragma unroll
    for (int u = 0; u < held; ++u) {
        if (!(mask >> u & 1u)) continue;
        if (place < most_entries) first->entries[place] = static_cast<Packed>(share.key[u]) << 32 | share.index(u);
        ++place;
    }
}

// log_group: of the threads in groups, so that there are k groups or more, or -1 for groups of half a thread's values;
// above log_threads where there are no k groups.
template <class T, int held>
__global__ void __launch_bounds__(cluster_threads, held > 16 ? 1 : 2)
    select_in_registers(ClusterJob job, int log_group) {
    extern __shared__ char storage[];
    Shared& shared = *reinterpret_cast<Shared*>(storage);
    const std::int64_t row = blockIdx.x / static_cast<unsigned>(job.blocks);
    const int blocks = job.blocks, rank = block_rank(blocks);
    const T* const values = static_cast<const T*>(job.values) + row * job.stride;
    const std::int64_t length = job.lengths ? min(max(job.lengths[row], std::int64_t{0}), job.n) : job.n;
    const int n = static_cast<int>(length), k = min(job.k, n);
    // Shares of whole vectors.
    const int part = ((n + blocks - 1) / blocks + 3) / 4 * 4;
    Share<T, held> share;
    share.first = static_cast<std::uint32_t>(part * rank);
    share.values = values + share.first;
    share.size = min(part, n - part * rank);
    share.load(job.vectors, job.largest);
    reinterpret_cast<uint4*>(shared.counts[0])[threadIdx.x] = uint4{};
    if (threadIdx.x == 0) shared.found = 0;

    Range range{0, exact::Order<float>::nan, 0, static_cast<std::uint32_t>(n)};
    std::uint32_t least, most;
    limits_of(share, log_group, blocks, shared, least, most);
    range.low = least;
    if (log_group <= log_threads) range.high = most;
    std::uint32_t last = n > 0 ? static_cast<std::uint32_t>(n - 1) : 0;  // index up to which the largest key passes
    // As many as the sort of k takes, or what equal keys need not be cut for.
    std::uint32_t enough = 64;
    while (enough < static_cast<std::uint32_t>(k)) enough *= 2;
    Shared* const leader = in_block(&shared, 0);
    // Limits from k groups of a row in no order let about k (log k + 0.6) values pass: few enough to be tried.
    std::uint32_t found = 0;
    const bool tried = k > 0 && k <= gathered_at_once && log_group <= log_threads;
    if (tried) {
        gather(share, range.high, last, leader);
        sync_blocks(blocks);
        found = leader->found;
    }
    if (k > 0 && (!tried || found > most_gathered)) {
        int round = 0;
        do {
            narrow<held>(range, k, blocks, round, shared, [&](int u, std::uint32_t& x) {
                x = share.key[u];
                return x >= range.low && x <= range.high;
            });
        } while (range.before + range.inside > enough && range.low < range.high);
        if (range.before + range.inside > 2 * enough) {
            const std::uint32_t tie = range.high;
            Range among{0, last, range.before, range.inside};
            do {
                narrow<held>(among, k, blocks, round, shared, [&](int u, std::uint32_t& x) {
                    x = share.index(u);
                    return share.key[u] == tie && share.holds(u) && x >= among.low && x <= among.high;
                });
            } while (among.before + among.inside > enough);
            last = among.high;
        }
        // All have read the count of the first attempt: a round lies between.
        if (rank == 0 && threadIdx.x == 0) shared.found = 0;
        sync_blocks(blocks);
        gather(share, range.high, last, leader);
    }
    sync_blocks(blocks);
    if (rank != 0) return;

    block_sort_in_registers<cluster_threads>(shared.entries, static_cast<int>(shared.found));
    T* const out = job.out ? static_cast<T*>(job.out) + row * job.k : nullptr;
    for (int j = threadIdx.x; j < job.k; j += cluster_threads) {
        const std::uint32_t index = index_of(shared.entries[min(j, most_entries - 1)]);
        job.ids[row * job.k + j] = j < k ? static_cast<std::int64_t>(index) : -1;
        if (out) out[j] = j < k ? values[index] : missing<T>(job.largest);
    }
}

template <class T, int held>
void launch(const SelectJob& job, const ClusterJob& cluster) {
    const auto kernel = select_in_registers<T, held>;
    // Both calls take as long as the launch.
    static std::atomic<std::uint64_t> allowed = 0;
    static_assert(max_devices <= 64);
    const std::uint64_t device = std::uint64_t{1} << current_device();
    if (!(allowed & device)) {
        allow_shared_memory(kernel);
        if (device_attributes().capability >= 90)
            check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), "clusters of 16");
        allowed |= device;
    }
    const int threads = cluster.blocks * cluster_threads;
    int log_group = threads >= job.k ? 0 : 2 * threads >= job.k ? -1 : log_threads + 1;
    while (log_group >= 0 && log_group < log_threads && threads >> (log_group + 1) >= job.k) ++log_group;
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {static_cast<unsigned>(cluster.blocks), 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(job.rows * cluster.blocks));
    config.blockDim = dim3(cluster_threads);
    config.dynamicSmemBytes = sizeof(Shared);
    config.stream = job.stream;
    config.attrs = &attribute;
    config.numAttrs = cluster.blocks > 1 ? 1 : 0;
    check(cudaLaunchKernelEx(&config, kernel, cluster, log_group), "select_in_registers");
}

template <class T>
void launch(const SelectJob& job, const ClusterJob& cluster, int held) {
    if (held == 8) launch<T, 8>(job, cluster);
    else if (held == 16) launch<T, 16>(job, cluster);
    else if (held == 32) launch<T, 32>(job, cluster);
    else launch<T, 64>(job, cluster);
}

}  // namespace

void cluster_select(const SelectJob& job, int) {
    const DeviceAttributes& device = device_attributes();
    const tuning::ClusterShape shape =
        tuning::cluster_shape(job.n, job.rows, device.multiprocessors, device.capability >= 90);
    const auto element = static_cast<std::int64_t>(size_of(job.type));
    const bool vectors =
        reinterpret_cast<std::uintptr_t>(job.values) % (4 * element) == 0 && (job.stride % 4 == 0 || job.rows == 1);
    const ClusterJob cluster{job.values,  job.stride, job.n,   job.lengths, shape.blocks, static_cast<int>(job.k),
                             job.largest, vectors,    job.ids, job.out};
    if (job.type == ElementType::f16) launch<float16>(job, cluster, shape.held);
    else if (job.type == ElementType::bf16) launch<bfloat16>(job, cluster, shape.held);
    else launch<float>(job, cluster, shape.held);
}

}  // namespace kith::gpu
