// Range search of one query in a tree: all points whose keys are within bounds known beforehand.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "cpu/tree/tree.h"

namespace kith::cpu {

class BallTraversal {
public:
    BallTraversal(const Tree& tree, const TreeKernels& kernels, const metric::Params& params)
        : tree_(tree), kernels_(kernels), params_(params) {}

    // Calls take(key, id) for every point with a key of at most `outer` from query q, which is
    // mapped and has no NaN. Boxes whose keys are all at most `inner` (NaN: there are none) are
    // only counted, by take_all(points). Polls go_on() now and then, and ends early if it returns
    // false.
    template <class Take, class TakeAll, class GoOn>
    void visit(const double* q, double outer, double inner, const Take& take,
               const TakeAll& take_all, const GoOn& go_on) {
        if (tree_.points() == 0) return;
        // Upper bounds of a box's keys hold for finite queries only.
        for (std::int64_t j = 0; j < params_.d; ++j)
            if (!std::isfinite(q[j])) inner = std::numeric_limits<double>::quiet_NaN();
        waiting_ = 0;
        push(q, tree_.levels() - 1, 0, outer, inner, take_all);
        while (waiting_ > 0) {
            const Box box = boxes_[--waiting_];
            if (box.level > 0) {
                push(q, box.level - 1, box.number, outer, inner, take_all);
                continue;
            }
            look(q, box.number, outer, take);
            if (++leaves_ % leaves_per_question == 0 && !go_on()) return;
        }
    }

    // The number of distance keys so far.
    double distance_keys() const { return keys_; }

private:
    // A box of a level: a leaf at level 0, else a node of the level below.
    struct Box {
        std::int64_t number;
        int level;
    };
    static constexpr int most_levels = 21;  // enough for 2^63 points
    static constexpr std::int64_t leaves_per_question = 32;

    template <class Take>
    void look(const double* q, std::int64_t leaf, double outer, const Take& take) {
        const std::int64_t count = tree_.count(leaf);
        std::uint64_t within = kernels_.keys(q, tree_.coordinates(leaf), outer, params_, out_);
        within &= ~std::uint64_t{0} >> (64 - count);
        const std::int64_t* const ids = tree_.ids(leaf);
        for (; within; within &= within - 1) {
            const int p = std::countr_zero(within);
            take(out_[p], ids[p]);
        }
        keys_ += static_cast<double>(count);
    }

    // Puts the boxes of a node that may hold points within on the stack.
    template <class TakeAll>
    void push(const double* q, int level, std::int64_t node, double outer, double inner,
              const TakeAll& take_all) {
        const double* const ends = tree_.bounds(level, node);
        std::uint64_t within = kernels_.bounds(q, ends, outer, params_, out_);
        within &= ~std::uint64_t{0} >> (64 - tree_.boxes(level, node));
        if (inner == inner && within) {
            std::uint64_t whole = within & kernels_.reaches(q, ends, inner, params_, out_);
            within &= ~whole;
            for (; whole; whole &= whole - 1)
                take_all(tree_.count(level, node * node_boxes + std::countr_zero(whole)));
        }
        for (; within; within &= within - 1)
            boxes_[waiting_++] = {node * node_boxes + std::countr_zero(within), level};
    }

    const Tree& tree_;
    const TreeKernels& kernels_;
    const metric::Params& params_;
    std::int64_t leaves_ = 0;
    double keys_ = 0;
    int waiting_ = 0;
    Box boxes_[most_levels * node_boxes];
    alignas(64) double out_[leaf_points];
};

}  // namespace kith::cpu
