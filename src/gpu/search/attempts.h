// The record that a search on a GPU keeps of its attempts, of which Report::trace is made at the
// end: for each query the steps that took it, for each step why it left queries and how long it
// took. Plain host code. After the construction nothing is allocated, and nothing waits for the
// device.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "exact/report/fallbacks.h"
#include "gpu/search/strategies.h"
#include "kith/types.h"

namespace kith::gpu {

// A query counts once for each step that took it, in any part of the points, and as certified by
// the last of these: by what the most expensive part needed. The sum of what all steps certified is
// the number of queries. One thread.
class AttemptLog {
public:
    // How a query was answered, for the counters of the report.
    enum Outcome : std::uint8_t { first_try, retried, scanned };

    explicit AttemptLog(std::int64_t queries) : queries_(queries), last_(Clock::now()) {}

    // The queries of the calls below are counted from this one on.
    void count_from(std::int64_t first) { base_ = first; }

    // The step takes queries [first, first + count), or one.
    void took(Step step, std::int64_t first, std::int64_t count);
    void took(Step step, std::int64_t query) { took(step, query, 1); }
    // It has left some of them for that cause. The numbers only decide which cause is named.
    void left(Step step, exact::Cause cause, std::int64_t queries = 1);
    void left(Step step, const std::vector<exact::Cause>& causes) {
        for (const exact::Cause cause : causes) left(step, cause);
    }
    // It was not taken: why not, in static text. The first reason stays, unless the step is taken
    // later.
    void declined(Step step, const char* why);
    // It is over, as far as the host knows: the time since the last step was.
    void lap(Step step);
    bool ran(Step step) const { return of(step).ran; }

    // Notes what a query needed in one part of the points; the most expensive part counts.
    void mark(std::int64_t query, Outcome outcome, exact::Cause cause);
    // Queries [first, first + count) are searched anew.
    void forget(std::int64_t first, std::int64_t count);

    // Adds the outcomes of queries [0, count) to the counters, and why queries were retried or
    // scanned.
    void count_outcomes(std::int64_t count, Report& report) const;
    // Adds the entries of all queries to the trace. `plan`: the call's plan; the strategy
    // plan.first has left all queries.
    void write(const Plan& plan, Report& report) const;

private:
    using Clock = std::chrono::steady_clock;
    // The state of a query: a bit for each step that took it, its outcome, and its cause.
    using State = std::uint32_t;
    static constexpr int outcome_at = 16, cause_at = 24;
    static_assert(step_count <= outcome_at);
    static constexpr State bit(Step step) { return State{1} << static_cast<int>(step); }

    struct Noted {
        bool ran = false;
        const char* declined = nullptr;
        double seconds = 0;
        std::array<std::int64_t, exact::cause_count> left{};
    };
    const Noted& of(Step step) const { return noted_[static_cast<std::size_t>(step)]; }
    Noted& of(Step step) { return noted_[static_cast<std::size_t>(step)]; }
    // The states of the queries, one each from now on.
    State* states();
    // Calls use(state, queries) for every run of equal states among queries [first, first + count).
    template <class Use>
    void for_each_run(std::int64_t first, std::int64_t count, Use use) const;
    static const char* why_left(Step step, const Noted& noted);

    std::int64_t queries_;
    State of_all_ = 0;  // the state of every query, while states_ is empty: a large search writes
                        // nothing for each query unless queries differ
    std::vector<State> states_;
    std::array<Noted, step_count> noted_{};
    std::int64_t base_ = 0;
    Clock::time_point last_;
};

}  // namespace kith::gpu
