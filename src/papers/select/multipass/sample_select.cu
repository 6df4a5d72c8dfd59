// Sample select in one stage (Hanak 2023, 4.3.2): multi-pass selection whose buckets lie between
// splitters from a sorted random sample. Mapping: multipass.cuh, a block per row.
//
// Values compare as packed (key, index): equal values fall into different buckets by their indices,
// and as splitters are entries of the list, every bucket is shorter than its list: the recursion
// always ends. It costs buffers of 8 bytes per entry instead of 4, and a comparison of indices
// where a value equals a splitter's.
#include "gpu/primitives/sample.h"
#include "gpu/select/multipass/multipass.cuh"
#include "papers/select/multipass/splitter_tree.cuh"

namespace kith::gpu {

namespace {

struct SampleSplit {
    using Splitters = SplitterTree;
    SplitterTree& tree;
    std::uint32_t seed;

    __device__ SampleSplit(SplitterTree& shared, std::uint32_t row) : tree(shared), seed(row) {}

    template <class Walk>
    __device__ Bucket narrow(const Walk& source, std::uint32_t count, Interval& in,
                             std::uint32_t need, MultipassShared& s) {
        __syncthreads();
        for (int i = threadIdx.x; i < tree_sample; i += multipass_threads)
            s.entries[i] = source.get(sampling::sample_place(i, tree_sample, count, seed));
        seed += 0x10001u;
        block_sort<multipass_threads>(s.entries, tree_sample);
        for (int r = threadIdx.x; r < tree_nodes; r += multipass_threads) {
            const Packed p = s.entries[(r + 1) * (tree_sample / multipass_buckets) - 1];
            tree.keys[tree_node(r)] = static_cast<std::uint32_t>(p >> 32);
            tree.indices[tree_node(r)] = index_of(p);
        }
        const Bucket found = find_bucket(
            source, need, s, [](Packed) { return true; },
            [&](const Packed(&entries)[4], std::uint32_t(&bucket)[4]) {
                std::uint32_t keys[4], indices[4];
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    keys[j] = static_cast<std::uint32_t>(entries[j] >> 32);
                    indices[j] = index_of(entries[j]);
                }
                search_tree<true>(tree, keys, indices, bucket);
            });
        const int b = static_cast<int>(found.number);
        if (b > 0) in.low = splitter(tree, b - 1);
        if (b < tree_nodes) in.high = splitter(tree, b) - 1;
        return found;
    }
};

}  // namespace

void sample_select(const SelectJob& job, int) {
    multipass_select<SampleSplit>(job, job.n);
}

}  // namespace kith::gpu
