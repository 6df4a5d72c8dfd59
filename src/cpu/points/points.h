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
#include "exact/metric_spec.h"
#include "exact/progress.h"
#include "exact/projection_record.h"
#include "kith/plan.h"

namespace kith::cpu {

class Filter;

// What the filter of a path rounds to.
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
    bool boxes_pay = false;  // a sample says so

    // The packed filter, made at the first call (an Index makes that of its path when it is built,
    // a single search of few queries does without; that of another instruction set is packed beside
    // it, but for f32); null where the metric or the data have none. `always`, `queries`: as
    // Filter::make() has it. Throws where `progress` is cancelled meanwhile. Of calls that make it
    // at the same time, the first one's is kept.
    const Filter* filter(Isa isa, int threads, Rounding rounding, ProgressMeter& progress,
                         bool always = false, const MatrixView* queries = nullptr) const;
    // Of a plan's path the one that serves these points, made: where coarse panels do not pay that
    // of all coordinates. `only`: no other queries will be searched for, so that whether they pay
    // is tried with some of these.
    Path served(Path path, const MatrixView& queries, Isa isa, int threads, ProgressMeter& progress,
                bool always, bool only = false) const;
    // What the filter of a path rounds to for these queries.
    Rounding rounding(Path path, const MatrixView& queries, Isa isa) const;
    bool packed(Isa isa, Rounding rounding) const {
        const auto* const known = made(isa, rounding).value.load(std::memory_order_acquire);
        return known && *known;
    }
    // The tree, made likewise; null where the metric is not monotone.
    const Tree* tree(Isa isa, int threads, ProgressMeter& progress) const;
    // The same where it has been made, else null.
    const Tree* known_tree() const { return known(tree_); }
    // Which rows are equal, counted at the first call; null where few are. Throws as filter() does.
    const Repeats* repeats(int threads, ProgressMeter& progress) const;
    // The same where they have been counted, else null.
    const Repeats* known_repeats() const { return known(repeats_); }
    // The same, counted where a sample has equal rows.
    const Repeats* likely_repeats(int threads, ProgressMeter& progress) const;

    // Of searches that a tree was tried with: how many it left to a filter.
    exact::ProjectionRecord& tree_record() const { return tree_record_; }
    // Of the queries that the coarse panels of that rounding and instruction set were tried with.
    exact::ProjectionRecord& record(Isa isa, Rounding rounding) const {
        return records_[static_cast<int>(isa)][static_cast<int>(rounding)];
    }
    // What has been spent on queries for which no filter was packed, in readings of all rows by one
    // query.
    std::atomic<std::int64_t>& spared() const { return spared_; }

private:
    mutable exact::ProjectionRecord records_[isa_count][rounding_count], tree_record_;
    mutable std::atomic<std::int64_t> spared_{0};
    // No lock, which a fork() could leave held.
    template <class T>
    struct Lazy {
        std::atomic<const std::shared_ptr<const T>*> value{
            nullptr};  // null: not known; of null: there is none
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
    // Panels of f32 serve the tiles of every instruction set, others those that they were packed
    // for.
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
