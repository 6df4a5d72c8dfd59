// Search of one query in a tree: visits the nearest nodes first, and prunes those that cannot hold
// a neighbour.
#pragma once

#include <bit>
#include <cstdint>

#include "cpu/tree/tree.h"

namespace kith::cpu {

// List collects the neighbours (cpu/primitives/nearest.h is one). List::threshold(): the largest
// key that may enter; admits(key, id): whether a point with that key and an id no smaller may
// enter; push(key, id): offers a point.
class Traversal {
public:
    static constexpr std::int64_t none = -1;

    Traversal(const Tree& tree, const TreeKernels& kernels, const metric::Params& params)
        : tree_(tree), kernels_(kernels), params_(params) {}

    // Visits all points but the one with id `left_out`, for query q, which is mapped and has no
    // NaN. Leaf `home` comes first; if it is none, the leaf that looks nearest. Polls go_on() now
    // and then, and ends early if it returns false.
    template <class List, class GoOn>
    void visit(const double* q, std::int64_t home, std::int64_t left_out, List& list,
               const GoOn& go_on) {
        if (tree_.points() == 0) return;
        home_ = home == none ? nearest_leaf(q) : home;
        look(q, home_, left_out, list);
        waiting_ = 0;
        open(q, tree_.levels() - 1, 0, list);
        while (waiting_ > 0) {
            const Box box = boxes_[--waiting_];
            if (!list.admits(box.bound, box.least_id)) continue;
            if (box.level > 0) {
                open(q, box.level - 1, box.number, list);
                continue;
            }
            look(q, box.number, left_out, list);
            if (++leaves_ % leaves_per_question == 0 && !go_on()) return;
        }
    }

    // The number of distance keys so far.
    double distance_keys() const { return keys_; }

private:
    // A box of a level: a leaf at level 0, else a node of the level below.
    struct Box {
        double bound;
        std::int64_t least_id, number;
        int level;
    };
    static constexpr int most_levels = 21;  // enough for 2^63 points
    static constexpr std::int64_t leaves_per_question = 32;

    template <class List>
    void look(const double* q, std::int64_t leaf, std::int64_t left_out, List& list) {
        const std::int64_t count = tree_.count(leaf);
        std::uint64_t within =
            kernels_.keys(q, tree_.coordinates(leaf), list.threshold(), params_, out_);
        within &= ~std::uint64_t{0} >> (64 - count);
        const std::int64_t* const ids = tree_.ids(leaf);
        for (; within; within &= within - 1) {
            const int p = std::countr_zero(within);
            if (ids[p] != left_out) list.push(out_[p], ids[p]);
        }
        keys_ += static_cast<double>(count);
    }

    // Puts the boxes of a node on the stack, the nearest on top.
    template <class List>
    void open(const double* q, int level, std::int64_t node, const List& list) {
        std::uint64_t within =
            kernels_.bounds(q, tree_.bounds(level, node), list.threshold(), params_, out_);
        within &= ~std::uint64_t{0} >> (64 - tree_.boxes(level, node));
        const std::int64_t* const least_ids = tree_.least_ids(level, node);
        const int base = waiting_;
        for (; within; within &= within - 1) {
            const int b = std::countr_zero(within);
            const Box box{out_[b], least_ids[b], node * node_boxes + b, level};
            if ((level == 0 && box.number == home_) || !list.admits(box.bound, box.least_id))
                continue;
            int at = waiting_++;
            for (; at > base && before(boxes_[at - 1], box); --at) boxes_[at] = boxes_[at - 1];
            boxes_[at] = box;
        }
    }
    static bool before(const Box& a, const Box& b) {
        return a.bound < b.bound || (a.bound == b.bound && a.least_id < b.least_id);
    }

    std::int64_t nearest_leaf(const double* q) {
        std::int64_t number = 0;
        for (int level = tree_.levels() - 1; level >= 0; --level) {
            kernels_.bounds(q, tree_.bounds(level, number), 0, params_, out_);
            const std::int64_t* const least_ids = tree_.least_ids(level, number);
            std::int64_t best = 0;
            for (std::int64_t b = 1; b < tree_.boxes(level, number); ++b) {
                if (out_[b] < out_[best] ||
                    (out_[b] == out_[best] && least_ids[b] < least_ids[best]))
                    best = b;
            }
            number = number * node_boxes + best;
        }
        return number;
    }

    const Tree& tree_;
    const TreeKernels& kernels_;
    const metric::Params& params_;
    std::int64_t home_ = none, leaves_ = 0;
    double keys_ = 0;
    int waiting_ = 0;
    Box boxes_[most_levels * node_boxes];
    alignas(64) double out_[leaf_points];
};

}  // namespace kith::cpu
