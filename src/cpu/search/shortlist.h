// A block of queries on one thread, from filter values to neighbours: candidates, thresholds,
// canonical refinement.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "cpu/filter/whole_rows.h"
#include "cpu/metric/distance_keys.h"
#include "cpu/points/points.h"
#include "cpu/primitives/top_k.h"
#include "cpu/search/candidates.h"
#include "cpu/search/scattered_keys.h"
#include "exact/fallbacks.h"

namespace kith::cpu {

// How thresholds fare that are guessed from the first of the points, before those that lower them
// to the same have been seen: wrong where the first points are unlike the others. Any thread.
class Guesses {
public:
    explicit Guesses(std::int64_t queries) : wrong_(static_cast<std::size_t>(queries), 0) {}
    // Whether the next query in a block, its i-th, is to guess: few do until these are known to be
    // right.
    bool next(std::int64_t i) const {
        const std::int64_t tried = tried_.load(std::memory_order_relaxed);
        return tried < least_judged ? i % tried_of == 0
                                    : missed_.load(std::memory_order_relaxed) * most_of <= tried;
    }
    // Query `number` has guessed; each once.
    void note(std::int64_t number, bool right) {
        tried_.fetch_add(1, std::memory_order_relaxed);
        if (right) return;
        missed_.fetch_add(1, std::memory_order_relaxed);
        wrong_[static_cast<std::size_t>(number)] = 1;
    }
    // Those of `queries` that have guessed wrongly.
    std::vector<std::int64_t> wrong(const std::vector<std::int64_t>& queries) const {
        std::vector<std::int64_t> out;
        for (const std::int64_t q : queries)
            if (wrong_[static_cast<std::size_t>(q)]) out.push_back(q);
        return out;
    }

private:
    static constexpr std::int64_t least_judged = 8, tried_of = 8, most_of = 64;
    std::vector<char> wrong_;
    std::atomic<std::int64_t> tried_{0}, missed_{0};
};

// What a search asks for, the same for all its blocks.
struct Search {
    const Points& points;
    const MatrixView& queries;
    std::int64_t k;  // at most the number of points
    bool graph;
    Isa isa;
    const Repeats* repeats =
        nullptr;  // rows with as many equal ones before as are wanted are left out
    // Of each query in one range of the points, candidates up to here are refined; beyond, the
    // query is left to the next filter.
    double max_candidates = std::numeric_limits<double>::infinity();
    // The same of the rows that coarse panels leave; `read_all`: without a limit.
    double max_rows_read = std::numeric_limits<double>::infinity();
    bool read_all = false;
    Guesses* guesses = nullptr;  // of thresholds; null: none are made

    // Whether as many rows as are wanted equal that one and come before it; a query that is among
    // the points is one of them, perhaps.
    bool left_out(std::int64_t id) const { return repeats && repeats->has_before(id, k + graph); }
    // Of the points of a panel, from `first` on, those that may be candidates: no padding, none
    // with a NaN, none that is left out.
    std::uint32_t candidates_of(const float* panel, std::int64_t first) const {
        std::uint32_t lanes = 0;
        for (int lane = 0; lane < panel_points; ++lane) {
            // Its half norm is +inf otherwise.
            const bool is_point = panel[lane] != std::numeric_limits<float>::infinity();
            lanes |= static_cast<std::uint32_t>(is_point && !left_out(first + lane)) << lane;
        }
        return lanes;
    }
};

// The step in which a block of so many queries goes through panels. Hostile orders (each point
// nearer than the last) are broken by it; few queries stream them in order instead, which suits
// hardware prefetching.
inline std::int64_t panel_stride(std::int64_t queries, std::int64_t panels) {
    if (queries <= 4 || panels <= 8) return 1;
    auto stride = static_cast<std::int64_t>(static_cast<double>(panels) * 0.618);
    while (std::gcd(stride, panels) != 1) ++stride;
    return stride;
}

class Shortlist {
public:
    // Loads `count` queries: of each its row.
    Shortlist(const Search& search, const std::int64_t* numbers, std::int64_t count);

    const RowBlock& rows() const { return rows_; }
    // The terms of query i, for every i in order.
    void add_query(const QueryTerms& terms);
    // Distance keys are made of these rows and queries, WholeRows::query_bytes() of each.
    void set_whole(const WholeRows& rows, const std::byte* queries) {
        whole_ = &rows;
        whole_queries_ = queries;
    }
    // Leaves query i to the next filter.
    void give_up(std::int64_t i, exact::Cause cause);

    // Without NaN, covered by the bound, and not given up: the others are left to the next filter
    // or the full scan.
    bool filtered(std::int64_t i) const {
        return !rows_.nan()[i] && terms_[static_cast<std::size_t>(i)].usable;
    }
    // Without NaN, and as far from all points: take_first() answers it, unless go_on() ends it
    // early.
    bool alike(std::int64_t i) const {
        return !rows_.nan()[i] && terms_[static_cast<std::size_t>(i)].alike;
    }
    template <class GoOn>
    void take_first(std::int64_t i, const GoOn& go_on) {
        const std::int64_t n = search_.points.rows.rows;
        for (std::int64_t id = 0; id < n && !settled(i) && go_on(); id += panel_points)
            take_some(i, id, std::min<std::int64_t>(n, id + panel_points), {});
    }
    double error(std::int64_t i) const { return terms_[static_cast<std::size_t>(i)].error; }
    bool has_nan(std::int64_t i) const { return rows_.nan()[i] != 0; }
    // Why it was given up, or its list refined in place.
    exact::Cause cause(std::int64_t i) const { return causes_[static_cast<std::size_t>(i)]; }
    // One per query, valid until the next settle(): values not above it are to be offered.
    const float* thresholds() const { return thresholds_.data(); }

    // A point that the search does not leave out. At most panel_points offers of a query between
    // two calls of settle() for it.
    void offer(std::int64_t i, float value, float slack, std::int64_t id) {
        if (search_.graph && id == numbers_[i]) return;
        candidates_[static_cast<std::size_t>(i)].append(value, slack, id);
    }
    void settle(std::int64_t i) {
        if (candidates_[static_cast<std::size_t>(i)].full()) make_room(i);
    }
    // `seen` of the `all` groups of points have been offered. Whether that has changed thresholds:
    // those that are guessed follow from larger and larger parts of the points.
    bool advance(std::int64_t seen, std::int64_t all);
    // Refines what is left: best(i) is the answer among the points offered, which are rows [first,
    // last). Ends early when go_on() says so.
    template <class GoOn>
    void finish(std::int64_t first, std::int64_t last, const GoOn& go_on) {
        for (std::int64_t i = 0; i < count_ && go_on(); ++i) {
            finish_query(i);
            if (!filtered(i) || !terms_[static_cast<std::size_t>(i)].ends_finite) continue;
            // Points that have not been listed are at an infinite distance, in the order of their
            // ids. So may be some that have, which the bound does not cover.
            const std::vector<std::int64_t> listed = best(i).ids();
            const auto enters = [&](std::int64_t id) {
                return best(i).enters(std::numeric_limits<double>::infinity(), id);
            };
            for (std::int64_t id = first; id < last && enters(id) && go_on(); id += panel_points)
                take_some(i, id, std::min<std::int64_t>(last, id + panel_points), listed);
        }
    }

    TopK& best(std::int64_t i) { return best_[static_cast<std::size_t>(i)]; }
    double distance_keys() const { return evaluated_; }

private:
    void make_room(std::int64_t i);
    void refine(std::int64_t i);
    // Whether query i has k neighbours.
    bool settled(std::int64_t i) const {
        return best_[static_cast<std::size_t>(i)].threshold() <
               std::numeric_limits<double>::infinity();
    }
    // Refines rows [first, last) but for some, which are in ascending order.
    void take_some(std::int64_t i, std::int64_t first, std::int64_t last,
                   const std::vector<std::int64_t>& but);
    void finish_query(std::int64_t i);

    const Search& search_;
    const std::int64_t* numbers_;
    std::int64_t count_;
    DistanceKeys distance_keys_;
    RowBlock rows_;
    ScatteredKeys scattered_keys_;
    const WholeRows* whole_ = nullptr;
    const std::byte* whole_queries_ = nullptr;
    std::vector<float> thresholds_;
    // Of each query, before the end: candidates that were refined, and those as near as the k-th
    // then was.
    std::vector<double> refined_, ties_;
    std::vector<exact::Cause> causes_;
    std::vector<QueryTerms> terms_;
    std::vector<Candidates> candidates_;
    std::vector<float> upper_;  // for their tighten()
    std::vector<TopK> best_;
    std::vector<char> guesses_;  // whether a query does
    std::size_t part_ = 0;       // of guessed_parts, in which the points are
    double evaluated_ = 0;       // distance keys
};

}  // namespace kith::cpu
