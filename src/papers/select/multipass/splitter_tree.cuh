// Splitters from a sorted sample as a search tree in shared memory (Hanak 2023, 3.7.1, after
// Ribizel and Anzt): node i has the children 2 i + 1 and 2 i + 2, 255 nodes part everything into
// 256 buckets.
#pragma once

#include "gpu/select/multipass/multipass.cuh"

namespace kith::gpu {

inline constexpr int tree_levels = 8, tree_nodes = (1 << tree_levels) - 1;
inline constexpr int tree_sample = 1024;  // four sampled entries per bucket
static_assert(tree_nodes + 1 == multipass_buckets &&
              tree_sample <= static_cast<int>(multipass_base));

struct SplitterTree {
    std::uint32_t keys[tree_nodes];
    std::uint32_t indices[tree_nodes];  // left unset where entries are keys alone
};

// The node of splitter r in ascending order: 2^z, the largest power of two in r + 1, tells its
// height.
__device__ __forceinline__ int tree_node(int r) {
    const int z = __ffs(r + 1) - 1;
    return (1 << (tree_levels - 1 - z)) - 1 + (r + 1 >> z + 1);
}

__device__ __forceinline__ Packed splitter(const SplitterTree& tree, int r) {
    const int node = tree_node(r);
    return static_cast<Packed>(tree.keys[node]) << 32 | tree.indices[node];
}

// The bucket of a value: how many splitters are not above it. Four searches in step. whole_entries:
// equal keys are ordered by their indices; that second load happens on equality alone.
template <bool whole_entries>
__device__ __forceinline__ void search_tree(const SplitterTree& tree,
                                            const std::uint32_t (&keys)[4],
                                            const std::uint32_t (&indices)[4],
                                            std::uint32_t (&bucket)[4]) {
    int node[4] = {};
#pragma unroll
    for (int level = 0; level < tree_levels; ++level) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const std::uint32_t key = tree.keys[node[j]];
            bool right = keys[j] >= key;
            if (whole_entries && keys[j] == key) right = indices[j] >= tree.indices[node[j]];
            node[j] = 2 * node[j] + 1 + right;
        }
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) bucket[j] = static_cast<std::uint32_t>(node[j] - tree_nodes);
}

}  // namespace kith::gpu
