// The entries of a trace, counted from the steps that each query passed.
#include "gpu/search/attempts.h"

#include <algorithm>
#include <bit>

#include "strategy/trace.h"

namespace kith::gpu {

namespace {

// Calls use(value, count) for every run of equal values. Mostly all are equal.
template <class T, class Use>
void for_each_run_of(const T* first, const T* end, Use use) {
    if (first != end && std::count(first, end, *first) == end - first)
        return use(*first, end - first);
    while (first != end) {
        const T* const next =
            std::find_if(first, end, [value = *first](T other) { return other != value; });
        use(*first, next - first);
        first = next;
    }
}

}  // namespace

AttemptLog::State* AttemptLog::states() {
    if (states_.empty()) states_.assign(static_cast<std::size_t>(queries_), of_all_);
    return states_.data();
}

template <class Use>
void AttemptLog::for_each_run(std::int64_t first, std::int64_t count, Use use) const {
    if (count == 0) return;
    if (states_.empty()) return use(of_all_, count);
    for_each_run_of(states_.data() + first, states_.data() + first + count, use);
}

void AttemptLog::took(Step step, std::int64_t first, std::int64_t count) {
    of(step).ran |= count > 0;
    if (states_.empty() && count == queries_) {
        of_all_ |= bit(step);
        return;
    }
    State* const states = this->states() + base_ + first;
    for (std::int64_t i = 0; i < count; ++i) states[i] |= bit(step);
}

void AttemptLog::left(Step step, exact::Cause cause, std::int64_t queries) {
    of(step).left[static_cast<std::size_t>(cause)] += queries;
}

void AttemptLog::declined(Step step, const char* why) {
    if (!of(step).declined) of(step).declined = why;
}

void AttemptLog::lap(Step step) {
    const Clock::time_point now = Clock::now();
    of(step).seconds += std::chrono::duration<double>(now - last_).count();
    last_ = now;
}

void AttemptLog::mark(std::int64_t query, Outcome outcome, exact::Cause cause) {
    State& state = states()[base_ + query];
    const State steps = state & ((State{1} << outcome_at) - 1), was = state >> outcome_at & 0xff,
                because = state >> cause_at;
    state = steps | std::max<State>(was, outcome) << outcome_at |
            std::max(because, static_cast<State>(cause)) << cause_at;
}

void AttemptLog::forget(std::int64_t first, std::int64_t count) {
    if (count == queries_) {
        states_.clear();
        of_all_ = 0;
        return;
    }
    std::fill_n(states() + base_ + first, count, State{0});
}

void AttemptLog::count_outcomes(std::int64_t count, Report& report) const {
    const std::int64_t before = report.certified;
    exact::Fallbacks fallbacks;
    for_each_run(base_, count, [&](State state, std::int64_t queries) {
        const State outcome = state >> outcome_at & 0xff;
        if (outcome == first_try) {
            report.certified += queries;
            return;
        }
        (outcome == retried ? report.retried : report.scanned) += queries;
        fallbacks.add(static_cast<exact::Cause>(state >> cause_at), outcome == scanned, queries);
    });
    if (report.certified - before < count) fallbacks.describe(report);
}

const char* AttemptLog::why_left(Step step, const Noted& noted) {
    if (step == Step::noop) return "";
    if (step == Step::nearest_partition) return "other clusters";
    const auto most = std::max_element(noted.left.begin() + 1, noted.left.end());
    return exact::name(*most > 0 ? static_cast<exact::Cause>(most - noted.left.begin())
                                 : exact::Cause::alike);
}

void AttemptLog::write(const Plan& plan, Report& report) const {
    if (queries_ == 0) return;
    std::array<std::int64_t, step_count> took{}, certified{};
    for_each_run(0, queries_, [&](State state, std::int64_t queries) {
        const State steps = state & ((State{1} << outcome_at) - 1);
        for (State rest = steps; rest; rest &= rest - 1)
            took[static_cast<std::size_t>(std::countr_zero(rest))] += queries;
        if (steps) certified[static_cast<std::size_t>(std::bit_width(steps)) - 1] += queries;
    });
    if (plan.first == strategies::noop.name) took[0] = queries_;
    std::vector<TraceEntry> entries;
    entries.reserve(4);
    for (std::size_t i = 0; i < noted_.size(); ++i) {
        const Noted& noted = noted_[i];
        if (took[i] == 0 && !noted.declined) continue;
        const auto step = static_cast<Step>(i);
        const std::int64_t left = took[i] - certified[i];
        entries.push_back({.strategy = strategy_of(step, plan).name,
                           .queries = took[i],
                           .certified = certified[i],
                           .left = left,
                           .cause = took[i] == 0 ? noted.declined
                                    : left > 0   ? why_left(step, noted)
                                                 : "",
                           .seconds = noted.seconds});
    }
    if (report.trace.empty()) report.trace = std::move(entries);
    else strategy::add(entries, report.trace);
}

}  // namespace kith::gpu
