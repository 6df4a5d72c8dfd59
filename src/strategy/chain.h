// The chain of a search: which attempt takes what is left, by its cause, and what each has left in
// turn. On the host alone; what a driver calls for a strategy is its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "exact/fallbacks.h"
#include "kith/types.h"
#include "strategy/facts.h"

namespace kith::strategy {

using Numbers = std::vector<std::int64_t>;  // of queries, ascending

// `rest` takes the place of `some` among `all`.
void replace(Numbers& all, const Numbers& some, const Numbers& rest);

// What has happened to each query of a search; any thread.
using Causes = std::vector<std::atomic<exact::Cause>>;

void raise(std::atomic<exact::Cause>& to, exact::Cause cause);

// The queries that an attempt takes: those of these numbers, or all.
struct Queries {
    std::int64_t count;
    const Numbers* numbers;  // null: queries 0, ..., count - 1

    std::int64_t number(std::int64_t i) const {
        return numbers ? (*numbers)[static_cast<std::size_t>(i)] : i;
    }
};

class Chain {
public:
    // Entries of the trace are added to that of `report`.
    Chain(std::int64_t queries, Report& report)
        : report_(report), queries_(queries), first_(0), count_(queries) {
        report.trace.reserve(usual_entries);
    }

    // Goes on with queries [first, first + count), of which commit() says how many are over. From
    // now on attempts of one place (at()) are one entry, and entries are in the order of their
    // places.
    void begin(std::int64_t first, std::int64_t count);
    // The first `count` of them are over, those beyond begin anew.
    void commit(std::int64_t count);

    void at(int place) { place_ = place; }

    bool done() const { return !whole_ && left_.empty(); }
    // How many queries are left.
    std::int64_t count() const { return whole_ ? count_ : static_cast<std::int64_t>(left_.size()); }
    const Numbers& left();
    Causes& causes();
    // Of those left, the queries that a set of causes has.
    Numbers taken(CauseSet takes);

    // run(queries, after) answers some of those that the strategy takes, and puts the others into
    // `after`; it returns null, or why the strategy declines, with nothing answered. Whether it
    // ran.
    template <class Run>
    bool attempt(const Facts& facts, CauseSet takes, const Run& run) {
        const bool all = takes == CauseSet::all();
        Numbers some, after;
        if (!all) some = taken(takes);
        if (!all && some.empty()) return false;
        const Queries queries = all ? Queries{count(), whole_ && first_ == 0 ? nullptr : &left()}
                                    : Queries{std::ssize(some), &some};
        if (const char* const why = run(queries, after)) {
            decline(facts, why);
            return false;
        }
        ran(facts, all, some, after);
        return true;
    }
    // Of the queries of the attempt that runs, so many were not taken after all.
    void spare(std::int64_t queries) { spared_ += queries; }
    // The strategy was not asked: why not.
    void decline(const Facts& facts, const char* why);

    // What the counters and reasons of the report say of the queries of begin(), of which `count`
    // are over. Those of `last`, ascending, came to the last attempt, which `scans`, or is as good;
    // `no_reason`: why those did for which nothing else has a reason; `not_tried`: what stands for
    // Cause::not_tried.
    void tally(std::int64_t count, const Numbers& last, bool scans, exact::Cause no_reason,
               exact::Cause not_tried, exact::Fallbacks& fallbacks);
    // The cause of most queries that were given up.
    exact::Cause most() const;
    // The strategy of the attempt that certified most, of several the first; null where there was
    // none.
    const Facts* winner() const { return winner_; }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::size_t usual_entries = 2;
    // What an attempt took and left of the queries of begin(), and why; none: it was declined.
    struct Ran {
        const Facts* facts;
        int place;
        Numbers took, left;
        const char* why;
        double seconds;
    };

    void ran(const Facts& facts, bool all, const Numbers& some, Numbers& after);
    void add(const Ran& part, std::int64_t end);
    void won(const Facts& facts, std::int64_t certified);
    double lap();
    const char* cause_of(const Numbers& left) const;

    Report& report_;
    std::int64_t queries_, first_, count_, spared_ = 0;
    int place_ = 0;
    bool whole_ = true, in_parts_ = false;
    Numbers left_;
    Causes causes_;
    // In parts: what ran of these, and the places of the trace's entries.
    std::vector<Ran> ran_;
    std::vector<int> places_;
    const Facts* winner_ = nullptr;
    std::int64_t most_certified_ = 0;
    Clock::time_point last_ = Clock::now();
};

}  // namespace kith::strategy
