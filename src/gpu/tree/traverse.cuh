// Nearest neighbours in a tree. A warp owns a query; each lane owns a box of a node, or a point of
// a leaf. Nodes are visited nearest first, without boxes that cannot hold a neighbour
// (docs/proofs/tree.md, lemma 2). Each level's pending boxes are in shared memory.
#pragma once

#include "exact/canonical.h"
#include "gpu/primitives/warp_nearest.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"
#include "gpu/tree/search.h"

namespace kith::gpu {

// Up to this many dimensions a query stays in registers.
inline constexpr int few_coordinates = 8;

// The canonical reduction tree over 2 * half partial sums.
template <class M, int half>
__device__ __forceinline__ void join(double* a) {
    if constexpr (half > 0) {
#pragma unroll
        for (int j = 0; j < half; ++j) M::template combine<ScalarOps<double>>(&a[j], &a[j + half]);
        join<M, half / 2>(a);
    }
}

// The distance key of each lane: x(i, j) is its coordinate i, which belongs to partial sum j; q(i,
// j) is the query's. Partial sums beyond `sums` are omitted: metrics are monotone, so sums without
// a coordinate change nothing.
template <class M, int sums, class Query, class Own>
__device__ __forceinline__ std::uint64_t lane_key(std::int64_t d, const Query& q, const Own& x) {
    static_assert(M::traits.monotone && M::accumulators == 1 && M::aux == 0);
    using O = ScalarOps<double>;
    const metric::Params none;
    double a[sums] = {};
    for (std::int64_t first = 0; first < d; first += sums) {
#pragma unroll
        for (int j = 0; j < sums; ++j)
            if (first + j < d) M::template step<O>(&a[j], q(first + j, j), x(first + j, j), none);
        if constexpr (sums < exact::partials) break;
    }
    join<M, sums / 2>(a);
    return double_to_bits(exact::ordered_rank(a[0]));
}

// The coordinates of a warp's query.
template <int sums>
class TreeQuery {
public:
    __device__ __forceinline__ TreeQuery(const double* from, std::int64_t stride, std::int64_t d)
        : from_(from), stride_(stride) {
        if constexpr (sums <= few_coordinates) {
#pragma unroll
            for (int j = 0; j < sums; ++j) held_[j] = j < d ? from[j * stride] : 0.0;
        }
    }
    // Coordinate i, which belongs to partial sum j.
    __device__ __forceinline__ double operator()(std::int64_t i, int j) const {
        if constexpr (sums <= few_coordinates) return held_[j];
        else return from_[i * stride_];
    }

private:
    const double* from_;
    std::int64_t stride_;
    double held_[sums <= few_coordinates ? sums : 1];
};

// The distance key from the query to the nearest point of a box; a lane per box of a node.
template <class M, int sums>
__device__ __forceinline__ std::uint64_t box_key(const TreeView& tree, std::int64_t node,
                                                 const TreeQuery<sums>& q) {
    const double* const ends = tree.ends + node * tree.d * 2 * node_boxes + threadIdx.x % 32;
    return lane_key<M, sums>(tree.d, q, [&](std::int64_t i, int j) {
        const double low = ends[i * 2 * node_boxes], high = ends[(i * 2 + 1) * node_boxes],
                     mine = q(i, j), above = mine < low ? low : mine;
        return high < above ? high : above;
    });
}

template <class M, int sums, int rows>
class Traversal {
public:
    // `waiting`: this warp's own shared memory, room() keys of 8 bytes: the boxes of each level,
    // then candidates.
    static constexpr int found_room = rows > 1 ? 64 : 0;
    static __host__ __device__ int room(int levels) {
        return (levels * node_boxes + found_room) * 3 / 2;
    }
    __device__ __forceinline__ Traversal(const TreeTask& task, const TreeQuery<sums>& q,
                                         std::uint32_t self, std::uint64_t* waiting)
        : task_(task),
          tree_(task.tree),
          q_(q),
          self_(self),
          keys_(waiting + threadIdx.x % 32),
          ids_(reinterpret_cast<std::uint32_t*>(waiting + tree_.levels * node_boxes) +
               threadIdx.x % 32),
          found_keys_(waiting + tree_.levels * node_boxes * 3 / 2),
          found_ids_(reinterpret_cast<std::uint32_t*>(found_keys_ + found_room)) {}

    // Returns false if it reached most_leaves.
    __device__ __forceinline__ bool run() {
        const bool whole = walk();
        if (rows > 1 && found_ > 0) take(0, found_);
        return whole;
    }

    __device__ const WarpNearest<rows>& best() const { return best_; }
    __device__ std::uint32_t looked_at() const { return looked_at_; }

private:
    __device__ __forceinline__ bool walk() {
        const int lane = threadIdx.x % 32;
        int level = tree_.levels - 1;
        std::uint32_t node = 0, leaves = 0;
        open(level, node);
        for (;;) {
            // Boxes that were opened, and those without points, have no_key.
            const KeyAndId box{keys_[level * node_boxes], ids_[level * node_boxes]};
            const bool open_still = box.key != no_key && box < last_;
            const unsigned lanes = __ballot_sync(whole_warp, open_still);
            if (!lanes) {
                if (++level == tree_.levels) return true;
                node /= node_boxes;
                continue;
            }
            const int next = nearest(box, open_still);
            if (lane == next) keys_[level * node_boxes] = no_key;
            const std::uint32_t child = node * node_boxes + static_cast<std::uint32_t>(next);
            if (level > 0) {
                node = child;
                open(--level, node);
                continue;
            }
            look(child);
            if (++leaves >= task_.most_leaves) return false;
        }
    }

    __device__ __forceinline__ void open(int level, std::uint32_t node) {
        const std::int64_t at = tree_.first_node[level] + node;
        const std::uint32_t least = tree_.least_ids[at * node_boxes + threadIdx.x % 32];
        const std::uint64_t key = box_key<M, sums>(tree_, at, q_);
        keys_[level * node_boxes] = least == no_point ? no_key : key;
        ids_[level * node_boxes] = least;
    }

    // The approximately nearest box: keys are compared by their upper words, and ties go to the
    // least id.
    static __device__ __forceinline__ int nearest(const KeyAndId& box, bool any) {
        const std::uint32_t upper = any ? static_cast<std::uint32_t>(box.key >> 32) : 0xffffffffu;
        const std::uint32_t least = __reduce_min_sync(whole_warp, upper);
        const unsigned lanes = __ballot_sync(whole_warp, upper == least);
        if (__popc(lanes) == 1) return __ffs(lanes) - 1;
        const std::uint32_t id = upper == least ? box.id : 0xffffffffu,
                            least_id = __reduce_min_sync(whole_warp, id);
        return __ffs(__ballot_sync(whole_warp, upper == least && id == least_id)) - 1;
    }

    __device__ __forceinline__ void look(std::uint32_t leaf) {
        const int lane = threadIdx.x % 32;
        const std::uint32_t id = tree_.ids[static_cast<std::int64_t>(leaf) * leaf_points + lane];
        const double* const x = tree_.coordinates + leaf * tree_.d * leaf_points + lane;
        const std::uint64_t key =
            lane_key<M, sums>(tree_.d, q_, [&](std::int64_t i, int) { return x[i * leaf_points]; });
        const KeyAndId own{key, id};
        const bool there = !(id & nan_point);
        looked_at_ += static_cast<std::uint32_t>(__popc(__ballot_sync(whole_warp, there)));
        const unsigned lanes = __ballot_sync(whole_warp, there && id != self_ && own < last_);
        if (!lanes) return;
        if constexpr (rows == 1) {
            best_.push(own, lanes);
            last_ = best_.last(static_cast<int>(task_.k));
            return;
        }
        // A long list is merged 32 candidates at a time.
        if (lanes >> lane & 1) {
            const int at = found_ + __popc(lanes & ((1u << lane) - 1));
            found_keys_[at] = key;
            found_ids_[at] = id;
        }
        found_ += __popc(lanes);
        __syncwarp();
        if (found_ < 32) return;
        found_ -= 32;
        take(found_, 32);
    }

    // Merges `count` candidates from `first` on.
    __device__ __forceinline__ void take(int first, int count) {
        const int lane = threadIdx.x % 32, at = lane < count ? first + lane : 0;
        const KeyAndId x{found_keys_[at], found_ids_[at]};
        __syncwarp();
        best_.merge(x, lane < count);
        last_ = best_.last(static_cast<int>(task_.k));
    }

    const TreeTask& task_;
    const TreeView& tree_;
    const TreeQuery<sums>& q_;
    std::uint32_t self_;
    std::uint64_t* keys_;
    std::uint32_t* ids_;
    std::uint64_t* found_keys_;
    std::uint32_t* found_ids_;
    int found_ = 0;
    WarpNearest<rows> best_;
    KeyAndId last_{no_key, 0xffffffffu};  // the k-th nearest so far
    std::uint32_t looked_at_ = 0;
};

inline constexpr int traversal_warps = 8;

template <class M, int sums, int rows>
__global__ void __launch_bounds__(traversal_warps * 32)
    visit_kernel(const __grid_constant__ TreeTask task) {
    extern __shared__ std::uint64_t waiting[];
    const std::int64_t at = blockIdx.x * static_cast<std::int64_t>(traversal_warps) +
                            threadIdx.x / 32,
                       d = task.tree.d;
    if (at >= task.count) return;
    const int lane = threadIdx.x % 32;
    const std::int64_t turn = task.first + at * task.step,
                       query = task.order ? task.order[turn] : turn;
    // The row of the result, and the id to leave out.
    std::int64_t row = query;
    std::uint32_t self = no_point;
    const double* from = nullptr;
    bool nan = false;
    if (task.queries) {
        from = task.queries + query * d;
        nan = task.nan[query];
        if (task.self >= 0) self = static_cast<std::uint32_t>(task.self + query);
    } else {
        const std::uint32_t id = task.tree.ids[query];
        nan = id & nan_point;
        row = id & ~nan_point;
        if (task.self >= 0) self = static_cast<std::uint32_t>(row);
        from = task.tree.coordinates + query / leaf_points * d * leaf_points + query % leaf_points;
    }
    const TreeQuery<sums> q(from, task.queries ? 1 : leaf_points, d);
    using Own = Traversal<M, sums, rows>;
    Own traversal(task, q, self, waiting + threadIdx.x / 32 * Own::room(task.tree.levels));
    const bool whole = nan || traversal.run();
    if (lane == 0) {
        unsigned long long* const tally = task.tallies + blockIdx.x % tree_tallies * 2;
        atomicAdd(tally, static_cast<unsigned long long>(traversal.looked_at()));
        if (!whole) atomicAdd(tally + 1, 1ull);
    }
    if (!task.keys) return;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
        const int place = r * 32 + lane;
        if (place >= task.k) continue;
        const KeyAndId found = traversal.best()[r];
        const bool missing = found.key == no_key;
        task.keys[row * task.k + place] = missing ? no_key : found.key | std::uint64_t{1} << 63;
        task.ids[row * task.k + place] = missing ? -1 : static_cast<std::int64_t>(found.id);
    }
}

template <class M, int sums>
__global__ void __launch_bounds__(traversal_warps * 32)
    homes_kernel(const __grid_constant__ TreeTask task, std::uint32_t* leaves) {
    const std::int64_t query = blockIdx.x * static_cast<std::int64_t>(traversal_warps) +
                               threadIdx.x / 32,
                       d = task.tree.d;
    if (query >= task.count) return;
    const int lane = threadIdx.x % 32;
    const TreeQuery<sums> q(task.queries + query * d, 1, d);
    std::uint32_t node = 0;
    for (int level = task.tree.levels - 1; level >= 0; --level) {
        const std::int64_t at = task.tree.first_node[level] + node;
        const std::uint64_t key = box_key<M, sums>(task.tree, at, q);
        const bool any = task.tree.least_ids[at * node_boxes + lane] != no_point;
        const std::uint32_t upper = any ? static_cast<std::uint32_t>(key >> 32) : 0xffffffffu;
        const std::uint32_t least = __reduce_min_sync(whole_warp, upper);
        node = node * node_boxes +
               static_cast<std::uint32_t>(__ffs(__ballot_sync(whole_warp, upper == least)) - 1);
    }
    if (lane == 0) leaves[query] = node;
}

template <class M>
struct TraverseLaunch {
    template <int sums, int rows>
    static void visit_rows(const TreeTask& task, cudaStream_t stream) {
        const std::size_t bytes =
            static_cast<std::size_t>(traversal_warps *
                                     Traversal<M, sums, rows>::room(task.tree.levels)) *
            8;
        visit_kernel<M, sums, rows>
            <<<blocks_for(task.count, traversal_warps), traversal_warps * 32, bytes, stream>>>(
                task);
        check_launch("visit");
    }
    template <int sums>
    static void visit_sums(const TreeTask& task, cudaStream_t stream) {
        if (task.k <= 32) visit_rows<sums, 1>(task, stream);
        else visit_rows<sums, most_tree_k / 32>(task, stream);
    }
    static void visit(const TreeTask& task, cudaStream_t stream) {
        if (task.tree.d <= few_coordinates / 2) visit_sums<few_coordinates / 2>(task, stream);
        else if (task.tree.d <= few_coordinates) visit_sums<few_coordinates>(task, stream);
        else visit_sums<exact::partials>(task, stream);
    }
    template <int sums>
    static void homes_sums(const TreeTask& task, std::uint32_t* leaves, cudaStream_t stream) {
        homes_kernel<M, sums>
            <<<blocks_for(task.count, traversal_warps), traversal_warps * 32, 0, stream>>>(task,
                                                                                           leaves);
        check_launch("homes");
    }
    static void homes(const TreeTask& task, std::uint32_t* leaves, cudaStream_t stream) {
        if (task.tree.d <= few_coordinates / 2)
            homes_sums<few_coordinates / 2>(task, leaves, stream);
        else if (task.tree.d <= few_coordinates) homes_sums<few_coordinates>(task, leaves, stream);
        else homes_sums<exact::partials>(task, leaves, stream);
    }
};

}  // namespace kith::gpu
