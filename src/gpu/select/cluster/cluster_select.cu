// The selector "cluster-select": one launch, a cluster of blocks per row, the row in their registers.
//
//   grid      rows x blocks, in clusters of `blocks` (1 to 16); a block takes an equal share of the row
//   limit     from a sample that every block has: of 128 or 256 groups of threads the least key each, of which the k-th
//             smallest has k values at or below it, so nothing above is looked at again; of more than 256 neighbours
//             one key per group, of which a rank above the expected one is likely to have them, and counting tells
//   gather    few neighbours: what is within the limit goes to the first block's shared memory (distributed shared
//             memory, one atomic operation per warp), if there is room
//   rounds    else the values within the limit are counted in 2,048 equal intervals of their keys, by every block for
//             itself; each adds all blocks' counts up and keeps the interval that holds the k-th, until no more are
//             left than are worth sorting, and they are gathered. Equal keys are cut by their index in the same way.
//   sort      by the first block, which writes the result: few entries by counting those before each, more by intervals
//             of their keys, or by a network where equal or clustered keys crowd an interval
// No workspace is needed, and no value is read twice but those that are selected.
#include <atomic>
#include <cmath>
#include <type_traits>

#include "exact/element.h"
#include "exact/missing.h"
#include "gpu/primitives/block_sort.cuh"
#include "gpu/primitives/cluster.cuh"
#include "gpu/runtime/device.h"
#include "gpu/runtime/shared_memory.h"
#include "gpu/select/cluster/tuning.h"
#include "gpu/select/selector.h"

namespace kith::gpu {

namespace {

using tuning::cluster_threads;

constexpr int warps = cluster_threads / 32, most_groups = 256;
constexpr int intervals = 2048, own_intervals = intervals / cluster_threads;
// Entries that the first block can sort, what is selected being at most half of them, and how many of an interval.
constexpr int most_entries = 4096, most_of_an_interval = 64;
// Of so many neighbours what the first limits let pass is gathered at once, and sorted if it is no more than that.
constexpr int gathered_at_once = 256;
constexpr std::uint32_t most_gathered = 2048;
static_assert(most_entries == 2 * tuning::cluster_max_k && most_entries <= 16 * cluster_threads);
constexpr const Selector& entry = *find_selector("cluster-select");
static_assert(entry.max_k == tuning::cluster_max_k && longest_row(entry, true) == tuning::cluster_max_n &&
              longest_row(entry, false) == tuning::cluster_max_n / tuning::cluster_most_blocks);

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

struct ClusterShared {
    alignas(16) std::uint32_t counts[2][intervals];
    Packed entries[most_entries];
    alignas(16) std::uint32_t sample[most_groups];
    std::uint32_t minima[tuning::cluster_most_blocks * warps];  // of the warps of all blocks
    std::uint32_t sums[warps];
    std::uint32_t limit;
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

// How the limit is taken: the sample's size, whether its keys are their groups' least, and which of them is the limit.
struct Sampling {
    int groups = 0;  // 0: no limit
    bool least = false;
    int rank = 0;  // from 1
};

Sampling sampling_of(int k, int blocks, int held) {
    // A group lies within a warp.
    if (k <= gathered_at_once) return {k <= 64 && blocks <= 8 ? 128 : most_groups, true, k};
    // So many of a sample of single keys are expected among the k smallest; three standard deviations more.
    const double share = static_cast<double>(most_groups) * k / (static_cast<double>(blocks) * held * cluster_threads);
    const int rank = static_cast<int>(share + 3 * std::sqrt(share)) + 2;
    return rank > most_groups / 2 ? Sampling{} : Sampling{most_groups, false, rank};
}

// Gives every block of the cluster the sample and the least key of the row; returns that.
template <class T, int held>
__device__ __forceinline__ std::uint32_t take_sample(const Share<T, held>& share, const Sampling& sampling, int blocks,
                                                     int rank, ClusterShared& shared) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int threads = sampling.groups > 0 ? blocks * (cluster_threads / sampling.groups) : 1;  // within a warp
    const int group = (rank * cluster_threads + static_cast<int>(threadIdx.x)) / threads;
    // Another place in each group, so that they are spread over the row.
    const int at = group * 5 % held;
    std::uint32_t least = share.key[0], single = share.key[0];
#pragma unroll
    for (int u = 1; u < held; ++u) {
        least = min(least, share.key[u]);
        if (u == at) single = share.key[u];
    }
    wait_for_blocks(blocks);
    if (sampling.groups > 0) {
        std::uint32_t mine = sampling.least ? least : __shfl_sync(whole_warp, single, lane & ~(threads - 1));
        for (int step = 1; sampling.least && step < threads; step *= 2)
            mine = min(mine, __shfl_xor_sync(whole_warp, mine, step));
        // Lane j of a group writes to block j.
        const int to = lane & (threads - 1);
        if (to < blocks) in_block(&shared, to)->sample[group] = mine;
    }
    least = __reduce_min_sync(whole_warp, least);
    if (lane < blocks) in_block(&shared, lane)->minima[rank * warps + warp] = least;
    sync_blocks(blocks);
    for (int i = lane; i < blocks * warps; i += 32) least = min(least, shared.minima[i]);
    return __reduce_min_sync(whole_warp, least);
}

// The least key of the sample that as many keys as its rank are not above. shared.limit is the largest key before.
__device__ __forceinline__ std::uint32_t limit_of(const Sampling& sampling, ClusterShared& shared) {
    const int threads = cluster_threads / sampling.groups, own = static_cast<int>(threadIdx.x) / threads;
    const std::uint32_t key = shared.sample[own];
    int within = 0;
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x) % threads; i < sampling.groups / 4; i += threads) {
        const uint4 four = reinterpret_cast<const uint4*>(shared.sample)[i];
        within += (four.x <= key) + (four.y <= key) + (four.z <= key) + (four.w <= key);
    }
    for (int step = 1; step < threads; step *= 2) within += __shfl_xor_sync(whole_warp, within, step);
    const std::uint32_t least =
        __reduce_min_sync(whole_warp, within >= sampling.rank ? key : exact::Order<float>::nan);
    if (threadIdx.x % 32 == 0) atomicMin(&shared.limit, least);
    __syncthreads();
    return shared.limit;
}

// What is known of where the k-th lies: `before` values lie below `low`, and the k-th is among the `inside` values from
// `low` to `high`, or beyond if nobody has counted them.
struct Range {
    std::uint32_t low, high, before, inside;
};

// Cuts a range into intervals and keeps the one that holds the k-th; false: keeps what lies beyond. at(u, x): whether
// value u is in the range, and where. `round` counts the calls.
template <int held, class At>
__device__ __forceinline__ bool narrow(Range& range, int k, int blocks, int& round, ClusterShared& shared, At at) {
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
    ++round;
    const std::uint32_t wanted = static_cast<std::uint32_t>(k);
    if (range.before + total < wanted) {
        range = {range.high + 1, exact::Order<float>::nan, range.before + total, 0};
        return false;
    }
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
    return true;
}

// Puts what passes into the first block's entries, while there is room, and counts it there. `cut`: of the values of
// the largest key those beyond index `last` stay out, and so does what lies beyond the share.
template <class T, int held>
__device__ __forceinline__ void gather(const Share<T, held>& share, std::uint32_t high, bool cut, std::uint32_t last,
                                       ClusterShared* first) {
    using Mask = std::conditional_t<(held > 32), std::uint64_t, std::uint32_t>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    Mask mask = 0;
    if (cut) {
#pragma unroll
        for (int u = 0; u < held; ++u) {
            const bool within = share.key[u] < high || (share.key[u] == high && share.index(u) <= last);
            if (within && share.holds(u)) mask |= Mask{1} << u;
        }
    } else {
#pragma unroll
        for (int u = 0; u < held; ++u) mask |= static_cast<Mask>(share.key[u] <= high) << u;
    }
    const std::uint32_t count = held > 32 ? __popcll(mask) : __popc(static_cast<std::uint32_t>(mask));
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

template <class T, int held>
__global__ void __launch_bounds__(cluster_threads, held > 16 ? 1 : 2)
    select_in_registers(ClusterJob job, Sampling sampling) {
    extern __shared__ char storage[];
    ClusterShared& shared = *reinterpret_cast<ClusterShared*>(storage);
    const std::int64_t row = blockIdx.x / static_cast<unsigned>(job.blocks);
    const int blocks = job.blocks, rank = block_rank(blocks);
    // Nothing is written to a block that has not started: the wait for them is behind the row's reads.
    arrive_at_blocks(blocks);
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
    if (threadIdx.x == 0) {
        shared.found = 0;
        shared.limit = exact::Order<float>::nan;
    }

    Range range{take_sample(share, sampling, blocks, rank, shared), exact::Order<float>::nan, 0,
                static_cast<std::uint32_t>(n)};
    if (sampling.groups > 0) range.high = limit_of(sampling, shared);
    std::uint32_t last = n > 0 ? static_cast<std::uint32_t>(n - 1) : 0;  // index up to which the largest key passes
    // As many as are worth sorting for k, before another round would find fewer.
    const std::uint32_t enough = max(256, 2 * k), least = range.low;
    ClusterShared* const leader = in_block(&shared, 0);
    std::uint32_t found = 0;
    const bool tried = k > 0 && sampling.least;
    if (tried) {
        gather(share, range.high, range.high == exact::Order<float>::nan, last, leader);
        sync_blocks(blocks);
        found = leader->found;
    }
    if (k > 0 && (!tried || found > most_gathered)) {
        int round = 0;
        const auto in_range = [&](int u, std::uint32_t& x) {
            x = share.key[u];
            return x >= range.low && x <= range.high;
        };
        bool found_it = false;
        while (!found_it || (range.before + range.inside > enough && range.low < range.high))
            found_it = narrow<held>(range, k, blocks, round, shared, in_range);
        const bool cut = range.before + range.inside > enough;
        if (cut) {
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
        gather(share, range.high, cut || range.high == exact::Order<float>::nan, last, leader);
        sync_blocks(blocks);
    }
    // The others have read the first block's count when they arrive, and it stays until they have.
    arrive_at_blocks(blocks);
    if (rank != 0) {
        wait_for_blocks(blocks);
        return;
    }

    T* const out = job.out ? static_cast<T*>(job.out) + row * job.k : nullptr;
    const auto put = [&](int j, Packed entry) {
        const std::uint32_t index = index_of(entry);
        job.ids[row * job.k + j] = index;
        if (!out) return;
        if constexpr (std::is_same_v<T, float>) {
            // A key says what the value is, but for the sign of zero and the bits of a NaN.
            const auto key = static_cast<std::uint32_t>(entry >> 32);
            const float value = exact::Order<float>::value(job.largest ? ~key : key);
            if (key != exact::Order<float>::nan && value != 0.0f) {
                out[j] = value;
                return;
            }
        }
        out[j] = values[index];
    };
    const int entries = static_cast<int>(shared.found);
    if (entries <= cluster_threads / 2) {
        // By counting the entries before each, which takes no barriers.
        const int threads = entries <= cluster_threads / 4 ? 4 : 2, own = static_cast<int>(threadIdx.x) / threads;
        const Packed entry = own < entries ? shared.entries[own] : packed_end;
        int before = 0;
#pragma unroll 4
        for (int i = static_cast<int>(threadIdx.x) % threads; i < entries; i += threads)
            before += shared.entries[i] < entry;
        for (int step = 1; step < threads; step *= 2) before += __shfl_xor_sync(whole_warp, before, step);
        if (threadIdx.x % static_cast<unsigned>(threads) == 0 && own < entries && before < k) put(before, entry);
    } else {
        constexpr int own = most_entries / cluster_threads;
        if (!sort_by_intervals<cluster_threads, 2 * intervals, own, most_of_an_interval>(
                shared.entries, entries, least, range.high, shared.counts[0], shared.sums))
            block_sort_in_registers<cluster_threads>(shared.entries, entries);
        for (int j = threadIdx.x; j < k; j += cluster_threads) put(j, shared.entries[j]);
    }
    for (int j = k + static_cast<int>(threadIdx.x); j < job.k; j += cluster_threads) {
        job.ids[row * job.k + j] = -1;
        if (out) out[j] = exact::missing_value<T>(job.largest);
    }
    wait_for_blocks(blocks);
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
        if (tuning::has_clusters(device_attributes().capability))
            check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), "clusters of 16");
        allowed |= device;
    }
    const Sampling sampling = sampling_of(cluster.k, cluster.blocks, held);
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {static_cast<unsigned>(cluster.blocks), 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(job.rows * cluster.blocks));
    config.blockDim = dim3(cluster_threads);
    config.dynamicSmemBytes = sizeof(ClusterShared);
    config.stream = job.stream;
    config.attrs = &attribute;
    config.numAttrs = cluster.blocks > 1 ? 1 : 0;
    check(cudaLaunchKernelEx(&config, kernel, cluster, sampling), "select_in_registers");
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
        tuning::cluster_shape(job.n, job.rows, device.multiprocessors, tuning::has_clusters(device.capability));
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
