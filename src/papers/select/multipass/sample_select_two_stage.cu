// Sample select in two stages (Hanak 2023, 4.3): the first finds the k-th value with buckets
// between sampled splitters, on values alone; the second filters the row.
//
// Grid: a block per row. A pass counts 256 buckets (multipass.cuh: lane-private histograms, four
// values per lane and load), the next one copies the bucket with the k-th value to a buffer of
// keys, where the passes go on, until the block can sort what is left. Places in that buffer are
// given out by an atomic operation of each warp
// ("sample-select-2"), or the keys go to a list in shared memory, at places from a prefix sum over
// the block, and that is written whenever it is full ("sample-select-2+buffer", Hanak 2023, 4.3.1).
//
// Ties: values equal to the bucket's lower splitter are counted instead of copied, so that each
// bucket is shorter than its list whatever repeats. Where more values equal the k-th than there are
// places left, the filter takes them in row order, which costs it a prefix sum over the block for
// every 2048 values until the places are filled.
#include "gpu/primitives/sample.h"
#include "gpu/select/multipass/multipass.cuh"
#include "papers/select/multipass/splitter_tree.cuh"

namespace kith::gpu {

namespace {

using Key = std::uint32_t;
constexpr int threads = multipass_threads;
constexpr std::uint32_t key_base = 2 * multipass_base;  // keys that the block sorts at once

// The k-th key; `places` of the `equal` values that have it belong to the result.
struct Kth {
    Key key;
    std::uint32_t equal, places;
};

__device__ __forceinline__ Key key_of(Packed p) {
    return static_cast<Key>(p >> 32);
}
__device__ __forceinline__ Key key_of(Key k) {
    return k;
}

// Keys of `values` that are below (or, with `or_equal`, not above) a key, in a sorted list.
__device__ std::uint32_t rank_of(const Key* sorted, std::uint32_t count, Key key, bool or_equal) {
    std::uint32_t first = 0, last = count;
    while (first < last) {
        const std::uint32_t middle = (first + last) / 2;
        if (sorted[middle] < key || (or_equal && sorted[middle] == key)) first = middle + 1;
        else last = middle;
    }
    return first;
}

template <class Walk>
__device__ Kth kth_of_small(const Walk& source, std::uint32_t count, std::uint32_t need,
                            MultipassShared& s) {
    __syncthreads();
    block_sort_of<threads>(s.keys, count, [&](std::uint32_t i) { return key_of(source.get(i)); });
    const Key key = s.keys[need - 1];
    const std::uint32_t below = rank_of(s.keys, count, key, false);
    return {key, rank_of(s.keys, count, key, true) - below, need - below};
}

// Keys on their way to a list in global memory, by an atomic operation of each warp.
struct AtomicWriter {
    Key* to;
    MultipassShared& s;

    __device__ __forceinline__ AtomicWriter(Key* list, MultipassShared& shared)
        : to(list), s(shared) {
        if (threadIdx.x == 0) s.inside = 0;
        __syncthreads();
    }
    // Those of `mask`; the whole warp calls.
    __device__ __forceinline__ void add(unsigned mask, const Key (&keys)[4]) {
        append(mask, keys, &s.inside, [&](std::uint32_t j, Key key) { to[j] = key; });
    }
    // How many there were; whole block.
    __device__ __forceinline__ std::uint32_t finish() {
        __syncthreads();
        return s.inside;
    }
};

// The same through s.keys, in the order in which they are added; the whole block calls everything.
struct BufferedWriter {
    static constexpr std::uint32_t room = key_base;  // a call of add() brings at most 4 * threads
    static_assert(room >= 4 * threads);
    Key* to;
    MultipassShared& s;
    std::uint32_t held = 0, written = 0;  // the same in every thread

    __device__ __forceinline__ BufferedWriter(Key* list, MultipassShared& shared)
        : to(list), s(shared) {}
    __device__ __forceinline__ void add(unsigned mask, const Key (&keys)[4]) {
        std::uint32_t total = 0;
        std::uint32_t place = block_prefix<threads>(static_cast<std::uint32_t>(__popc(mask)),
                                                    s.warp_sums, total);  // with barriers
        if (held + total > room) {
            flush();
            __syncthreads();
        }
        place += held;
#pragma unroll
        for (int j = 0; j < 4; ++j)
            if (mask >> j & 1u) s.keys[place++] = keys[j];
        held += total;
    }
    __device__ __forceinline__ std::uint32_t finish() {
        __syncthreads();
        flush();
        __syncthreads();
        return written;
    }

private:
    __device__ __forceinline__ void flush() {
        for (std::uint32_t i = threadIdx.x; i < held; i += threads) to[written + i] = s.keys[i];
        written += held;
        held = 0;
    }
};

// One pass over `source`. True: `kth` is found. Otherwise the `count` keys among which it is number
// `need` are in `buffer`.
template <class Writer, class Walk, class WalkAgain>
__device__ bool narrow(const Walk& source, const WalkAgain& again, Key* buffer, std::uint32_t seed,
                       std::uint32_t& count, std::uint32_t& need, Kth& kth, SplitterTree& tree,
                       MultipassShared& s) {
    __syncthreads();
    for (int i = threadIdx.x; i < tree_sample; i += threads)
        s.keys[i] = key_of(source.get(sampling::sample_place(i, tree_sample, count, seed)));
    block_sort<threads>(s.keys, tree_sample);
    for (int r = threadIdx.x; r < tree_nodes; r += threads)
        tree.keys[tree_node(r)] = s.keys[(r + 1) * (tree_sample / multipass_buckets) - 1];
    const Bucket found = find_bucket(
        source, need, s, [](auto) { return true; },
        [&](const auto& entries, std::uint32_t(&bucket)[4]) {
            Key keys[4];
#pragma unroll
            for (int j = 0; j < 4; ++j) keys[j] = key_of(entries[j]);
            search_tree<false>(tree, keys, keys, bucket);
        });
    const int b = static_cast<int>(found.number);
    const bool lower = b > 0, upper = b < tree_nodes;
    const Key low = lower ? tree.keys[tree_node(b - 1)] : 0,
              high = upper ? tree.keys[tree_node(b)] : 0;
    Writer writer(buffer, s);
    again.walk([&](const auto& entries, unsigned valid) {
        unsigned inside = 0;
        Key keys[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            keys[j] = key_of(entries[j]);
            if ((!lower || keys[j] > low) && (!upper || keys[j] < high)) inside |= valid & 1u << j;
        }
        writer.add(inside, keys);
    });
    need -= found.below;
    count = writer.finish();
    const std::uint32_t equal = found.inside - count;
    if (need <= equal) {
        kth = {low, equal, need};
        return true;
    }
    need -= equal;
    return false;
}

template <class Writer>
__global__ void __launch_bounds__(threads, 2)
    two_stage_kernel(const float* values, std::int64_t stride, std::uint32_t n, std::uint32_t k,
                     bool largest, Key* buffers, RowResult result) {
    __shared__ MultipassShared s;
    __shared__ SplitterTree tree;
    const std::int64_t row = blockIdx.x;
    const RowWalk<threads> whole{values + row * stride, n, largest};
    Key* const buffer = buffers + row * n;
    if (threadIdx.x == 0) s.written = 0;

    Kth kth{0xffffffffu, 0, 0};  // k == n: everything belongs to the result
    if (k < n) {
        std::uint32_t need = k, count = n, seed = static_cast<std::uint32_t>(row);
        bool found = false, in_row = true;
        while (!found && count > key_base) {
            const ListWalk<threads, Key> list{buffer, count};
            found = in_row ? narrow<Writer>(whole, whole, buffer, seed, count, need, kth, tree, s)
                           : narrow<Writer>(list, ListWalk<threads, Key, true>{buffer, count},
                                            buffer, seed, count, need, kth, tree, s);
            in_row = false;
            seed += 0x10001u;
        }
        if (!found)
            kth = in_row ? kth_of_small(whole, count, need, s)
                         : kth_of_small(ListWalk<threads, Key>{buffer, count}, count, need, s);
    }

    __syncthreads();
    const bool all_equal = kth.equal == kth.places;
    std::uint32_t placed = 0;
    whole.walk([&](const Packed(&entries)[4], unsigned valid) {
        unsigned below = 0, equal = 0;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            if (key_of(entries[j]) < kth.key) below |= valid & 1u << j;
            if (key_of(entries[j]) == kth.key) equal |= valid & 1u << j;
        }
        if (all_equal) {
            below |= equal;
        } else if (placed < kth.places) {
            std::uint32_t total = 0;
            std::uint32_t place =
                placed + block_prefix<threads>(static_cast<std::uint32_t>(__popc(equal)),
                                               s.warp_sums, total);
#pragma unroll
            for (int j = 0; j < 4; ++j)
                if ((equal >> j & 1u) && place++ < kth.places) below |= 1u << j;
            placed += total;
        }
        append(below, entries, &s.written,
               [&](std::uint32_t j, Packed p) { result.put(row, j, p); });
    });
}

}  // namespace

// variant: 1 buffers keys.
void sample_select_two_stage(const SelectJob& job, int variant) {
    const bool at_once = job.n <= key_base || job.k == job.n;
    Buffer<Key> buffers(at_once ? 0 : job.rows * job.n, job.stream);
    select_then_sort(job, [&](const RowResult& result) {
        const auto launch = [&](auto kernel) {
            kernel<<<static_cast<unsigned>(job.rows), threads, 0, job.stream>>>(
                job.f32(), job.stride, static_cast<std::uint32_t>(job.n),
                static_cast<std::uint32_t>(job.k), job.largest, buffers.get(), result);
        };
        if (variant == 1) launch(two_stage_kernel<BufferedWriter>);
        else launch(two_stage_kernel<AtomicWriter>);
        check_launch("two_stage_kernel");
    });
}

}  // namespace kith::gpu
