// The selector "cluster-select": one launch, a cluster of blocks per row, the row in their
// registers.
//
//   grid      rows x blocks, in clusters of `blocks` (1 to 16); a block takes an equal share of the
//   row limit     from a sample that every block has: of 128 or 256 groups of threads the least key
//   each, of which the k-th
//             smallest has k values at or below it, so nothing above is looked at again; of more
//             than 256 neighbours one key per group, of which a rank above the expected one is
//             likely to have them, and counting tells
//   gather    what is within the limit goes to the first block's shared memory (distributed shared
//   memory, one atomic
//             operation per warp), if there is likely to be room
//   rounds    else, or if that was too much or too little, the values within the limit are counted
//   in 2,048 equal
//             intervals of their keys, by every block for itself; each adds all blocks' counts up
//             and keeps the interval that holds the k-th, until no more are left than are worth
//             sorting, and they are gathered. Equal keys are cut by their index in the same way.
//   sort      by the first block, which writes the result: few entries by comparing each with all,
//   more by intervals of
//             their keys, or by a network where equal or clustered keys crowd an interval
// No workspace is needed, and no value is read twice but those that are selected.
#include <atomic>
#include <bit>

#include "exact/missing.h"
#include "gpu/primitives/block_sort.cuh"
#include "gpu/runtime/device.h"
#include "gpu/runtime/shared_memory.h"
#include "gpu/runtime/waited_launch.h"
#include "gpu/select/cluster/limit.cuh"
#include "gpu/select/selector.h"

namespace kith::gpu {

namespace {

using namespace cluster;

constexpr const Selector& entry = *find_selector("cluster-select");
static_assert(entry.max_k == tuning::cluster_max_k &&
              longest_row(entry, true) == tuning::cluster_max_n &&
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

// What is known of where the k-th lies: `before` values lie below `low`, and the k-th is among the
// `inside` values from `low` to `high`, or beyond if nobody has counted them.
struct Range {
    std::uint32_t low, high, before, inside;
};

// Cuts a range into intervals and keeps the one that holds the k-th; false: keeps what lies beyond.
// at(u, x): whether value u is in the range, and where. `round` counts the calls.
template <int held, class At>
__device__ __forceinline__ bool narrow(Range& range, int k, int blocks, int& round,
                                       ClusterShared& shared, At at) {
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
    std::uint32_t before = range.before + block_prefix<cluster_threads>(
                                              own.x + own.y + own.z + own.w, shared.sums, total);
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

// Puts what passes into the first block's entries, unless there is no room, and counts it there.
// `cut`: of the values of the largest key those beyond index `last` stay out, and so does what lies
// beyond the share.
template <class T, int held>
__device__ __forceinline__ void gather(const Share<T, held>& share, std::uint32_t high, bool cut,
                                       std::uint32_t last, ClusterShared* first) {
    using Mask = std::conditional_t<(held > 32), std::uint64_t, std::uint32_t>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    Mask mask = 0;
    if (cut) {
#pragma unroll
        for (int u = 0; u < held; ++u) {
            const bool within =
                share.key[u] < high || (share.key[u] == high && share.index(u) <= last);
            if (within && share.holds(u)) mask |= Mask{1} << u;
        }
    } else {
#pragma unroll
        for (int u = 0; u < held; ++u) mask |= static_cast<Mask>(share.key[u] <= high) << u;
    }
    const std::uint32_t count =
        held > 32 ? __popcll(mask) : __popc(static_cast<std::uint32_t>(mask));
    std::uint32_t place = count;
    for (int step = 1; step < 32; step *= 2) {
        const std::uint32_t other = __shfl_up_sync(whole_warp, place, step);
        if (lane >= step) place += other;
    }
    std::uint32_t start = 0;
    if (lane == 31 && place > 0) start = atomicAdd(&first->found, place);
    place += __shfl_sync(whole_warp, start, 31);
    if (__any_sync(whole_warp, place > static_cast<std::uint32_t>(most_entries))) return;
    Packed* to = first->entries + (place - count);
#pragma unroll
    for (int u = 0; u < held; ++u)
        if (mask >> u & 1u) *to++ = static_cast<Packed>(share.key[u]) << 32 | share.index(u);
}

template <class T, int held>
__global__ void __launch_bounds__(cluster_threads, held > 16 ? 1 : 2)
    select_in_registers(ClusterJob job, Sampling sampling) {
    extern __shared__ char storage[];
    ClusterShared& shared = *reinterpret_cast<ClusterShared*>(storage);
    const std::int64_t row = blockIdx.x / static_cast<unsigned>(job.blocks);
    const int blocks = job.blocks, rank = block_rank(blocks);
    // Nothing is written to a block that has not started: the wait for them is behind the row's
    // reads.
    arrive_at_blocks(blocks);
    const T* const values = static_cast<const T*>(job.values) + row * job.stride;
    const std::int64_t length =
        job.lengths ? min(max(job.lengths[row], std::int64_t{0}), job.n) : job.n;
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
    if (sampling.groups == few_groups) range.high = limit_of<few_groups>(sampling.rank, shared);
    else if (sampling.groups > 0) range.high = limit_of<most_groups>(sampling.rank, shared);
    std::uint32_t last =
        n > 0 ? static_cast<std::uint32_t>(n - 1) : 0;  // index up to which the largest key passes
    // As many as are worth sorting for k, before another round would find fewer.
    const std::uint32_t enough = max(256, 2 * k), least = range.low;
    ClusterShared* const leader = in_block(&shared, 0);
    std::uint32_t found = 0;
    const bool tried = k > 0 && sampling.fits;
    if (tried) {
        gather(share, range.high, range.high == exact::Order<float>::nan, last, leader);
        sync_blocks(blocks);
        found = leader->found;
    }
    if (k > 0 && (!tried || found < static_cast<std::uint32_t>(k) || found > most_entries)) {
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
                    return share.key[u] == tie && share.holds(u) && x >= among.low &&
                           x <= among.high;
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
    if (rank != 0) {
        sync_blocks(blocks);  // the first block's memory stays until all have read its count
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
    if (entries <= most_compared) {
        const int threads = entries <= most_compared / 2 ? 4 : 2,
                  own = static_cast<int>(threadIdx.x) / threads;
        const Packed entry = own < entries ? shared.entries[own] : packed_end;
        int before = 0;
#pragma unroll 4
        for (int i = static_cast<int>(threadIdx.x) % threads; i < entries; i += threads)
            before += shared.entries[i] < entry;
        for (int step = 1; step < threads; step *= 2)
            before += __shfl_xor_sync(whole_warp, before, step);
        if (threadIdx.x % static_cast<unsigned>(threads) == 0 && own < entries && before < k)
            put(before, entry);
    } else {
        if (!sort_by_intervals<cluster_threads, 2 * intervals, most_of_an_interval>(
                shared.entries, entries, k, least, range.high, shared.counts[0], shared.sums,
                shared.sorted))
            block_sort_in_registers<cluster_threads>(shared.entries, entries);
        for (int j = threadIdx.x; j < k; j += cluster_threads) put(j, shared.entries[j]);
    }
    for (int j = k + static_cast<int>(threadIdx.x); j < job.k; j += cluster_threads) {
        job.ids[row * job.k + j] = -1;
        if (out) out[j] = exact::missing_value<T>(job.largest);
    }
    sync_blocks(blocks);
}

// A bit for each device that has been told what a kernel takes, by its element type and the bits of
// `held`: telling it takes as long as a launch. No variable template: libraries would share it.
constinit std::atomic<std::uint64_t> allowed[8][8] = {};

template <class T, int held>
void launch(const SelectJob& job, const ClusterJob& cluster) {
    const auto kernel = select_in_registers<T, held>;
    static_assert(max_devices <= 64);
    const std::uint64_t device = std::uint64_t{1} << current_device();
    std::atomic<std::uint64_t>& told =
        allowed[static_cast<int>(job.type)][std::bit_width(unsigned{held})];
    if (!(told & device)) {
        allow_shared_memory(kernel);
        if (tuning::has_clusters(device_attributes().capability))
            check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
                  "clusters of 16");
        told |= device;
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
    if (job.waited) {
        void* arguments[] = {const_cast<ClusterJob*>(&cluster), const_cast<Sampling*>(&sampling)};
        job.waited->launch(config, reinterpret_cast<const void*>(kernel), arguments);
        return;
    }
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
    const tuning::ClusterShape shape = tuning::cluster_shape(
        job.n, job.rows, device.multiprocessors, tuning::has_clusters(device.capability));
    const auto element = static_cast<std::int64_t>(size_of(job.type));
    const bool vectors = reinterpret_cast<std::uintptr_t>(job.values) % (4 * element) == 0 &&
                         (job.stride % 4 == 0 || job.rows == 1);
    const ClusterJob cluster{
        job.values,  job.stride, job.n,   job.lengths, shape.blocks, static_cast<int>(job.k),
        job.largest, vectors,    job.ids, job.out};
    if (job.type == ElementType::f16) launch<float16>(job, cluster, shape.held);
    else if (job.type == ElementType::bf16) launch<bfloat16>(job, cluster, shape.held);
    else launch<float>(job, cluster, shape.held);
}

}  // namespace kith::gpu
