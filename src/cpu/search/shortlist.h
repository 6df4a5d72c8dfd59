// A block of queries on one thread, from filter values to neighbours: candidates, thresholds,
// canonical distances.
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
#include "exact/report/fallbacks.h"

namespace kith::cpu {

// Statistics of guessed thresholds. A threshold is guessed from the first points, before all the
// points that would prove it have been seen. The guess is wrong if the first points are unlike the
// others. Safe for concurrent use.
class Guesses {
public:
    explicit Guesses(std::int64_t queries) : wrong_(static_cast<std::size_t>(queries), 0) {}
    // True if the next query should guess, the i-th of its block. Few queries do until the guesses
    // are known to be right.
    bool next(std::int64_t i) const {
        const std::int64_t tried = tried_.load(std::memory_order_relaxed);
        return tried < least_judged ? i % tried_of == 0
                                    : missed_.load(std::memory_order_relaxed) * most_of <= tried;
    }
    // Notes the result of the guess of query `number`; once per query.
    void note(std::int64_t number, bool right) {
        tried_.fetch_add(1, std::memory_order_relaxed);
        if (right) return;
        missed_.fetch_add(1, std::memory_order_relaxed);
        wrong_[static_cast<std::size_t>(number)] = 1;
    }
    // Returns the numbers in `queries` whose guess was wrong.
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

// The request of a search, shared by all its blocks.
struct Search {
    const Points& points;
    const MatrixView& queries;
    std::int64_t k;  // at most the number of points
    bool graph;
    Isa isa;
    const Repeats* repeats =
        nullptr;  // null, or: rows with at least k equal rows before them are left out
    // The candidates that a query may rescore in one range of the points. Beyond, the query is left
    // to the next filter.
    double max_candidates = std::numeric_limits<double>::infinity();
    // Likewise the rows that coarse panels may rescore for it. read_all: no limit on these.
    double max_rows_read = std::numeric_limits<double>::infinity();
    bool read_all = false;
    Guesses* guesses = nullptr;  // statistics of guessed thresholds; null: none are guessed

    // True if at least k rows with smaller ids equal row `id`, so that it is not needed. In a graph
    // the query itself may be one of them, hence k + 1.
    bool left_out(std::int64_t id) const { return repeats && repeats->has_before(id, k + graph); }
    // The candidates among the points of a panel, which begins at point `first`: one bit per lane.
    // Excludes padding, points with a NaN, and rows that are left out.
    std::uint32_t candidates_of(const float* panel, std::int64_t first) const {
        std::uint32_t lanes = 0;
        for (int lane = 0; lane < panel_points; ++lane) {
            // The half norm of padding, or of a point with a NaN, is +inf.
            const bool is_point = panel[lane] != std::numeric_limits<float>::infinity();
            lanes |= static_cast<std::uint32_t>(is_point && !left_out(first + lane)) << lane;
        }
        return lanes;
    }
};

// The stride in which a block of queries visits panels. A permutation breaks hostile orders (each
// point nearer than the last). A few queries read the panels in order, which suits hardware
// prefetching.
inline std::int64_t panel_stride(std::int64_t queries, std::int64_t panels) {
    if (queries <= 4 || panels <= 8) return 1;
    auto stride = static_cast<std::int64_t>(static_cast<double>(panels) * 0.618);
    while (std::gcd(stride, panels) != 1) ++stride;
    return stride;
}

class Shortlist {
public:
    // Loads the queries with these numbers.
    Shortlist(const Search& search, const std::int64_t* numbers, std::int64_t count);

    const RowBlock& rows() const { return rows_; }
    // Appends the terms of the next query: call it for each query in order.
    void add_query(const QueryTerms& terms);
    // Computes distance keys from these integer rows. `queries`: WholeRows::query_bytes() bytes
    // each, in the order of the block. Owns neither.
    void set_whole(const WholeRows& rows, const std::byte* queries) {
        whole_ = &rows;
        whole_queries_ = queries;
    }
    // Leaves query i to the next filter.
    void give_up(std::int64_t i, exact::Cause cause);

    // True if query i has no NaN, is covered by the bound, and was not given up. The others are
    // left to the next filter or to the full scan.
    bool filtered(std::int64_t i) const {
        return !rows_.nan()[i] && terms_[static_cast<std::size_t>(i)].usable;
    }
    // True if query i has no NaN and is equally far from all points: take_first() answers it,
    // unless go_on() ends it early.
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
    // Why the query was given up, or why its list was rescored in place.
    exact::Cause cause(std::int64_t i) const { return causes_[static_cast<std::size_t>(i)]; }
    // One per query: values up to it must be offered. settle() and advance() lower them.
    const float* thresholds() const { return thresholds_.data(); }

    // Offers a point that the search does not leave out. At most panel_points offers of a query
    // between two calls of settle() for it.
    void offer(std::int64_t i, float value, float slack, std::int64_t id) {
        if (search_.graph && id == numbers_[i]) return;
        candidates_[static_cast<std::size_t>(i)].append(value, slack, id);
    }
    void settle(std::int64_t i) {
        if (candidates_[static_cast<std::size_t>(i)].full()) make_room(i);
    }
    // Tells that `seen` of `all` groups of points have been offered. Guessed thresholds then follow
    // from a larger share of the points. True if thresholds have changed.
    bool advance(std::int64_t seen, std::int64_t all);
    // Rescores the remaining candidates: best(i) then holds the answer among the points offered,
    // rows [first, last). Ends early if go_on() returns false.
    template <class GoOn>
    void finish(std::int64_t first, std::int64_t last, const GoOn& go_on) {
        for (std::int64_t i = 0; i < count_ && go_on(); ++i) {
            finish_query(i);
            if (!filtered(i) || !terms_[static_cast<std::size_t>(i)].ends_finite) continue;
            // Points that were not listed are at an infinite distance, so they are ordered by id.
            // Listed points may be at an infinite distance, too: those that the bound does not
            // cover.
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
    // True if query i has k neighbours.
    bool settled(std::int64_t i) const {
        return best_[static_cast<std::size_t>(i)].threshold() <
               std::numeric_limits<double>::infinity();
    }
    // Rescores rows [first, last) without the ids in `but`, which are ascending.
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
    // Per query: the candidates rescored before the end, and how many keys were equal to the k-th
    // key known then.
    std::vector<double> refined_, ties_;
    std::vector<exact::Cause> causes_;
    std::vector<QueryTerms> terms_;
    std::vector<Candidates> candidates_;
    std::vector<float> upper_;  // scratch memory for Candidates::tighten()
    std::vector<TopK> best_;
    std::vector<char> guesses_;  // set if the query guesses its threshold
    std::size_t part_ = 0;       // number of guessed_parts that have been seen
    double evaluated_ = 0;       // distance keys computed
};

}  // namespace kith::cpu
