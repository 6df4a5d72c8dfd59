// The chain of a search: decides by cause which of the queries left an attempt takes, and records
// what each attempt leaves. Host code; a driver calls the strategies itself.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "exact/report/fallbacks.h"
#include "kith/types.h"
#include "strategy/facts.h"

namespace kith::strategy {

using Numbers = std::vector<std::int64_t>;  // numbers of queries, ascending

// Replaces `some` among `all` by `rest`, a subset of it.
void replace(Numbers& all, const Numbers& some, const Numbers& rest);

// The largest cause for each query of a search. Safe for concurrent use.
using Causes = std::vector<std::atomic<exact::Cause>>;

void raise(std::atomic<exact::Cause>& to, exact::Cause cause);

// The queries that an attempt takes: those with these numbers, or all.
struct Queries {
    std::int64_t count;
    const Numbers* numbers;  // null: queries 0, ..., count - 1

    std::int64_t number(std::int64_t i) const {
        return numbers ? (*numbers)[static_cast<std::size_t>(i)] : i;
    }
};

class Chain {
public:
    // Appends its entries to the trace of `report`, which must outlive it.
    Chain(std::int64_t queries, Report& report)
        : report_(report), queries_(queries), first_(0), count_(queries) {
        report.trace.reserve(usual_entries);
    }

    // Continues with queries [first, first + count); commit() tells how many of them are answered.
    // From now on the attempts of one place (at()) share an entry of the trace, and entries are in
    // the order of their places.
    void begin(std::int64_t first, std::int64_t count);
    // The first `count` of them are answered. The causes of the others are reset: they begin anew.
    void commit(std::int64_t count);

    void at(int place) { place_ = place; }

    bool done() const { return !whole_ && left_.empty(); }
    // The number of queries left.
    std::int64_t count() const { return whole_ ? count_ : static_cast<std::int64_t>(left_.size()); }
    const Numbers& left();
    Causes& causes();
    // The queries left whose cause is in the set.
    Numbers taken(CauseSet takes);

    // Calls run(queries, after) with the queries that the strategy takes. It answers some of them
    // and puts the others into `after`. It returns null, or why the strategy declines; then no
    // query is answered. Returns true if the strategy ran.
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
    // For run() of the current attempt: this many of its queries were not tried, and the trace does
    // not count them.
    void spare(std::int64_t queries) { spared_ += queries; }
    // Records that the strategy was not asked, and why.
    void decline(const Facts& facts, const char* why);

    // Adds the first `count` queries since begin() to the counters of the report and to
    // `fallbacks`. `last`: the queries that came to the last attempt, ascending. `scans`: that
    // attempt was the full scan. `no_reason`: the least cause of the queries in `last`.
    // `not_tried`: the cause that replaces Cause::not_tried.
    void tally(std::int64_t count, const Numbers& last, bool scans, exact::Cause no_reason,
               exact::Cause not_tried, exact::Fallbacks& fallbacks);
    // The cause for which most queries were given up; Cause::none if none was.
    exact::Cause most() const;
    // The strategy whose attempt certified most queries, the first of several; null without
    // attempts.
    const Facts* winner() const { return winner_; }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::size_t usual_entries = 2;
    // An attempt since begin(): the queries that it took and left, and why. Without queries it was
    // declined.
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
    // Since begin(): the attempts that ran, and the places of the trace's entries.
    std::vector<Ran> ran_;
    std::vector<int> places_;
    const Facts* winner_ = nullptr;
    std::int64_t most_certified_ = 0;
    Clock::time_point last_ = Clock::now();
};

}  // namespace kith::strategy
