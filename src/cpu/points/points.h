// Points of a metric, prepared once for any number of searches.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "cpu/filter/bound.h"
#include "cpu/points/repeats.h"
#include "cpu/primitives/buffer.h"
#include "cpu/simd/isa.h"
#include "cpu/tree/tree.h"
#include "exact/bounds/projection_record.h"
#include "exact/metric_spec.h"
#include "exact/report/progress.h"
#include "kith/plan.h"

namespace kith::cpu {

class Filter;

// The rounding of a path's filter.
inline Rounding rounding_of(Path path) {
    switch (path) {
        case Path::gemm_bf16:
            return Rounding::bf16;
        case Path::gemm_i8:
            return Rounding::bytes;
        case Path::direct_f32:
            return Rounding::direct;
        case Path::projected:
            return Rounding::projected;
        default:
            return Rounding::f32;
    }
}

class Points {
public:
    MetricSpec metric;
    MatrixView rows;  // row-major; the caller's memory or `storage`
    Buffer<std::byte> storage;
    bool boxes_pay = false;  // a sample favours the tree

    // The packed filter, made at the first call; null where the metric or the data have none. An
    // Index makes that of its path when it is built; a single search of few queries does without.
    // Each instruction set has its own copy, except f32 panels. `always`, `queries`: see
    // Filter::make(). Throws when `progress` is cancelled. If several calls make it at once, the
    // first result is kept.
    const Filter* filter(Isa isa, int threads, Rounding rounding, ProgressMeter& progress,
                         bool always = false, const MatrixView* queries = nullptr) const;
    // The path that will serve these points, with its filter made. Falls back to the
    // full-dimensional filter where coarse panels do not pay. `only`: there are no other queries,
    // so some of these serve to estimate the gain.
    Path served(Path path, const MatrixView& queries, Isa isa, int threads, ProgressMeter& progress,
                bool always, bool only = false) const;
    // The rounding of a path's filter for these queries.
    Rounding rounding(Path path, const MatrixView& queries, Isa isa) const;
    bool packed(Isa isa, Rounding rounding) const {
        const auto* const known = made(isa, rounding).value.load(std::memory_order_acquire);
        return known && *known;
    }
    // The tree, made likewise; null where the metric is not monotone.
    const Tree* tree(Isa isa, int threads, ProgressMeter& progress) const;
    // The tree if it exists, else null.
    const Tree* known_tree() const { return known(tree_); }
    // The duplicate rows (repeats), counted at the first call; null where they are few. Throws as
    // filter() does.
    const Repeats* repeats(int threads, ProgressMeter& progress) const;
    // The duplicate rows if they have been counted, else null.
    const Repeats* known_repeats() const { return known(repeats_); }
    // Counts duplicate rows if a sample contains some; otherwise returns those already counted, or
    // null.
    const Repeats* likely_repeats(int threads, ProgressMeter& progress) const;

    // Record of searches that tried a tree: how many of them fell back to a filter.
    exact::ProjectionRecord& tree_record() const { return tree_record_; }
    // Record of queries tried with the coarse panels of this instruction set and rounding.
    exact::ProjectionRecord& record(Isa isa, Rounding rounding) const {
        return records_[static_cast<int>(isa)][static_cast<int>(rounding)];
    }
    // Work spent on queries without a packed filter, in units of one query's scan of all rows.
    std::atomic<std::int64_t>& spared() const { return spared_; }

private:
    mutable exact::ProjectionRecord records_[isa_count][rounding_count], tree_record_;
    mutable std::atomic<std::int64_t> spared_{0};
    // Lock-free: a fork() could leave a lock held.
    template <class T>
    struct Lazy {
        std::atomic<const std::shared_ptr<const T>*> value{
            nullptr};  // null: not known; pointer to null: does not exist
        Lazy() = default;
        Lazy(const Lazy&) = delete;
        Lazy& operator=(const Lazy&) = delete;
        ~Lazy() { delete value.load(); }
        template <class Make>
        const T* get(const Make& make);
    };
    template <class T>
    static const T* known(const Lazy<T>& lazy) {
        const auto* const made = lazy.value.load(std::memory_order_acquire);
        return made ? made->get() : nullptr;
    }
    // Panels of f32 serve every instruction set; others serve the one that they were packed for.
    Lazy<Filter>& made(Isa isa, Rounding rounding) const {
        const bool for_all = rounding == Rounding::f32 || rounding == Rounding::direct;
        return made_[static_cast<int>(for_all ? Isa::baseline : isa)][static_cast<int>(rounding)];
    }
    mutable Lazy<Filter> made_[isa_count][rounding_count];
    mutable Lazy<Tree> tree_;
    mutable Lazy<Repeats> repeats_;
    mutable Lazy<bool> repeats_likely_;
};

}  // namespace kith::cpu
