// Range search in a tree: all points within a bound. A warp owns a query; each lane owns a box of a
// node, or a point of a leaf. Boxes beyond the bound are pruned. When counting, boxes entirely
// within it are not opened (docs/proofs/radius.md, lemma 4).
#pragma once

#include "gpu/tree/traverse.cuh"

namespace kith::gpu {

// The distance key from a finite query to the farthest corner of a box; a lane per box of a node.
template <class M, int sums>
__device__ __forceinline__ std::uint64_t farthest_key(const TreeView& tree, std::int64_t node,
                                                      const TreeQuery<sums>& q) {
    const double* const ends = tree.ends + node * tree.d * 2 * node_boxes + threadIdx.x % 32;
    return lane_key<M, sums>(tree.d, q, [&](std::int64_t i, int j) {
        const double low = ends[i * 2 * node_boxes], high = ends[(i * 2 + 1) * node_boxes],
                     mine = q(i, j);
        return mine - low < high - mine ? high : low;
    });
}

template <class M, int sums, bool listing>
class BallTraversal {
public:
    // Results go to the places from `to` on, below `end`.
    __device__ __forceinline__ BallTraversal(const BallTask& task, const TreeQuery<sums>& q,
                                             std::uint32_t self, double outer, std::int64_t to,
                                             std::int64_t end)
        : task_(task), tree_(task.tree), q_(q), self_(self), outer_(outer), to_(to), end_(end) {
        // The farthest corner is known for finite queries only.
#pragma unroll
        for (int j = 0; j < sums; ++j)
            if (j < tree_.d) finite_ = finite_ && isfinite(q(j, j));
    }

    // Returns false if it reached most_steps.
    __device__ __forceinline__ bool run() {
        const int lane = threadIdx.x % 32;
        int level = tree_.levels - 1;
        std::uint32_t node = 0;
        open(level, node);
        for (;;) {
            const unsigned lanes = __shfl_sync(whole_warp, waiting_, level);
            if (lanes == 0) {
                if (++level == tree_.levels) return true;
                node /= node_boxes;
                continue;
            }
            if (lane == level) waiting_ &= waiting_ - 1;
            const std::uint32_t child =
                node * node_boxes + static_cast<std::uint32_t>(__ffs(lanes) - 1);
            if (steps_ >= task_.most_steps) return false;
            if (level > 0) {
                node = child;
                open(--level, node);
            } else {
                look(child);
            }
        }
    }

    // The number of points within the bound, to every lane.
    __device__ __forceinline__ std::int64_t total() const {
        std::int64_t sum = whole_;
        for (int half = 16; half > 0; half /= 2) sum += __shfl_xor_sync(whole_warp, sum, half);
        // Boxes are counted whole for finite queries only. Such a query's own point has key 0, so
        // it is within the bound: in a counted box, or met in a leaf.
        return sum + found_ - (any_whole_ && self_ != no_point && !met_ ? 1 : 0);
    }
    __device__ std::uint32_t looked_at() const {
        return looked_at_;
    }
    __device__ std::uint32_t steps() const {
        return steps_;
    }

private:
    __device__ __forceinline__ void open(int level, std::uint32_t node) {
        const int lane = threadIdx.x % 32;
        const std::int64_t at = tree_.first_node[level] + node;
        const std::uint32_t count = tree_.counts[at * node_boxes + lane];
        bool within = bits_to_double(box_key<M, sums>(tree_, at, q_)) <= outer_ && count > 0;
        ++steps_;
        if constexpr (!listing) {
            if (finite_ && __any_sync(whole_warp, within)) {
                const bool all =
                    within && bits_to_double(farthest_key<M, sums>(tree_, at, q_)) <= outer_;
                if (all) whole_ += count;
                any_whole_ = any_whole_ || __any_sync(whole_warp, all);
                within = within && !all;
            }
        }
        const unsigned lanes = __ballot_sync(whole_warp, within);
        if (lane == level) waiting_ = lanes;
    }

    __device__ __forceinline__ void look(std::uint32_t leaf) {
        const int lane = threadIdx.x % 32;
        const std::uint32_t id = tree_.ids[static_cast<std::int64_t>(leaf) * leaf_points + lane];
        const double* const x = tree_.coordinates + leaf * tree_.d * leaf_points + lane;
        const std::uint64_t key =
            lane_key<M, sums>(tree_.d, q_, [&](std::int64_t i, int) { return x[i * leaf_points]; });
        const bool there = !(id & nan_point), own = there && id == self_,
                   within = there && !own && bits_to_double(key) <= outer_;
        ++steps_;
        looked_at_ += static_cast<std::uint32_t>(__popc(__ballot_sync(whole_warp, there)));
        met_ = met_ || __any_sync(whole_warp, own);
        const unsigned lanes = __ballot_sync(whole_warp, within);
        if constexpr (listing) {
            const std::int64_t place = to_ + found_ + __popc(lanes & ((1u << lane) - 1));
            if (within && place < end_) {
                task_.keys[place] = key | std::uint64_t{1} << 63;
                task_.ids[place] = static_cast<std::int64_t>(id);
            }
        }
        found_ += __popc(lanes);
    }

    const BallTask& task_;
    const TreeView& tree_;
    const TreeQuery<sums>& q_;
    std::uint32_t self_;
    double outer_;
    std::int64_t to_, end_;
    bool finite_ = true, any_whole_ = false, met_ = false;
    unsigned waiting_ = 0;    // lane l: boxes of level l that are still to be opened
    std::int64_t whole_ = 0;  // this lane's: points of boxes that are entirely within
    std::int64_t found_ = 0;  // points of leaves
    std::uint32_t looked_at_ = 0, steps_ = 0;
};

template <class M, int sums, bool listing>
__global__ void __launch_bounds__(traversal_warps * 32)
    ball_kernel(const __grid_constant__ BallTask task) {
    const std::int64_t at = blockIdx.x * static_cast<std::int64_t>(traversal_warps) +
                            threadIdx.x / 32,
                       d = task.tree.d;
    if (at >= task.count) return;
    const int lane = threadIdx.x % 32;
    const std::int64_t turn = task.first + at * task.step,
                       query = task.order ? task.order[turn] : turn;
    std::int64_t row = query;
    const double* from = nullptr;
    bool nan = false;
    if (task.queries) {
        from = task.queries + query * d;
        nan = task.nan[query];
    } else {
        const std::uint32_t id = task.tree.ids[query];
        nan = id & nan_point;
        row = id & ~nan_point;
        from = task.tree.coordinates + query / leaf_points * d * leaf_points + query % leaf_points;
    }
    std::uint32_t self = no_point;
    const std::int64_t own = task.first_own + row;
    if (task.graph && own >= 0 && own < task.tree.points) self = static_cast<std::uint32_t>(own);
    const double outer = task.outer[row];
    std::int64_t total = 0;
    if (!nan && outer == outer) {
        const TreeQuery<sums> q(from, task.queries ? 1 : leaf_points, d);
        const std::int64_t to = listing ? task.offsets[row] : 0,
                           end = listing ? task.offsets[row + 1] : 0;
        BallTraversal<M, sums, listing> traversal(task, q, self, outer, to, end);
        const bool whole = traversal.run();
        total = traversal.total();
        if (lane == 0) {
            unsigned long long* const tally = task.tallies + blockIdx.x % tree_tallies * 3;
            atomicAdd(tally, static_cast<unsigned long long>(traversal.looked_at()));
            atomicAdd(tally + 1, static_cast<unsigned long long>(traversal.steps()));
            if (!whole) atomicAdd(tally + 2, 1ull);
        }
    }
    if (!listing && lane == 0) task.totals[row] = total;
}

template <class M>
struct BallLaunch {
    template <int sums>
    static void balls_sums(const BallTask& task, cudaStream_t stream) {
        const auto blocks = blocks_for(task.count, traversal_warps);
        if (task.keys)
            ball_kernel<M, sums, true><<<blocks, traversal_warps * 32, 0, stream>>>(task);
        else ball_kernel<M, sums, false><<<blocks, traversal_warps * 32, 0, stream>>>(task);
        check_launch("balls");
    }
    static void balls(const BallTask& task, cudaStream_t stream) {
        static_assert(most_ball_dimensions == few_coordinates);
        if (task.tree.d <= few_coordinates / 2) balls_sums<few_coordinates / 2>(task, stream);
        else balls_sums<few_coordinates>(task, stream);
    }
};

}  // namespace kith::gpu
