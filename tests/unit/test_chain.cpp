// The chain of attempts: who takes which queries, what the trace and the counters say of it.
#include <gtest/gtest.h>

#include <vector>

#include "strategy/chain.h"
#include "strategy/trace.h"

namespace {

using kith::exact::Cause;
using kith::strategy::CauseSet;
using kith::strategy::Chain;
using kith::strategy::Facts;
using kith::strategy::Numbers;
using kith::strategy::Queries;
using kith::strategy::raise;

constexpr Facts noop{.name = "noop"}, odd{.name = "odd"}, scan{.name = "exact"};

Numbers numbers_of(const Queries& queries) {
    Numbers out;
    for (std::int64_t i = 0; i < queries.count; ++i) out.push_back(queries.number(i));
    return out;
}

// Leaves queries of even numbers, for ties where they are multiples of four.
const char* leave_even(Chain& chain, const Queries& queries, Numbers& left) {
    for (const std::int64_t query : numbers_of(queries)) {
        if (query % 2) continue;
        left.push_back(query);
        raise(chain.causes()[static_cast<std::size_t>(query)], query % 4 ? Cause::alike : Cause::ties);
    }
    return nullptr;
}

const char* leave_all(const Queries& queries, Numbers& left) {
    left = numbers_of(queries);
    return nullptr;
}

const char* answer_all(const Queries&, Numbers&) {
    return nullptr;
}

void expect_entry(const kith::TraceEntry& e, const std::string& name, std::int64_t queries, std::int64_t left,
                  const std::string& cause) {
    EXPECT_EQ(name, e.strategy);
    EXPECT_EQ(queries, e.queries);
    EXPECT_EQ(queries - left, e.certified);
    EXPECT_EQ(left, e.left);
    EXPECT_EQ(cause, e.cause);
    EXPECT_GE(e.seconds, 0);
}

TEST(Chain, NoopLeavesAll) {
    kith::Report report;
    Chain chain(10, report);
    EXPECT_TRUE(chain.attempt(noop, CauseSet::all(), leave_all));
    EXPECT_EQ(10, chain.count());
    EXPECT_TRUE(chain.attempt(scan, CauseSet::all(), answer_all));
    EXPECT_TRUE(chain.done());
    ASSERT_EQ(2u, report.trace.size());
    expect_entry(report.trace[0], "noop", 10, 10, "");
    expect_entry(report.trace[1], "exact", 10, 0, "");
    EXPECT_EQ(&scan, chain.winner());
}

TEST(Chain, TakesQueriesByTheirCause) {
    kith::Report report;
    Chain chain(9, report);
    chain.attempt(odd, CauseSet::all(), [&](const Queries& q, Numbers& left) { return leave_even(chain, q, left); });
    EXPECT_EQ((Numbers{0, 2, 4, 6, 8}), chain.left());
    EXPECT_FALSE(chain.attempt(noop, CauseSet::of(Cause::boxes), answer_all));
    Numbers taken;
    chain.attempt(scan, CauseSet::of(Cause::ties, Cause::boxes), [&](const Queries& q, Numbers& left) {
        taken = numbers_of(q);
        left = {4};
        return nullptr;
    });
    EXPECT_EQ((Numbers{0, 4, 8}), taken);
    EXPECT_EQ((Numbers{2, 4, 6}), chain.left());
    ASSERT_EQ(2u, report.trace.size());
    expect_entry(report.trace[0], "odd", 9, 5, "ties");
    expect_entry(report.trace[1], "exact", 3, 1, "ties");
}

TEST(Chain, SaysWhyAStrategyDeclines) {
    kith::Report report;
    Chain chain(4, report);
    EXPECT_FALSE(chain.attempt(noop, CauseSet::all(), [](const Queries&, Numbers&) { return "too warm"; }));
    EXPECT_EQ(4, chain.count());
    ASSERT_EQ(1u, report.trace.size());
    expect_entry(report.trace[0], "noop", 0, 0, "too warm");
    EXPECT_EQ(nullptr, chain.winner());
}

TEST(Chain, DoesNotCountWhatWasSpared) {
    kith::Report report;
    Chain chain(10, report);
    chain.attempt(odd, CauseSet::all(), [&](const Queries&, Numbers& left) {
        left = {1, 5, 6, 7, 8, 9};
        chain.spare(5);
        return nullptr;
    });
    EXPECT_EQ(6, chain.count());
    expect_entry(report.trace.at(0), "odd", 5, 1, "");
}

TEST(Chain, CountsQueriesOfWavesOnce) {
    kith::Report report;
    Chain chain(10, report);
    kith::exact::Fallbacks fallbacks;
    const auto wave = [&](std::int64_t first, std::int64_t wanted, std::int64_t over) {
        chain.begin(first, wanted);
        chain.at(1);
        chain.attempt(odd, CauseSet::all(),
                      [&](const Queries& q, Numbers& left) { return leave_even(chain, q, left); });
        const Numbers last = chain.left();
        if (first > 0) {
            chain.at(2);
            chain.decline(noop, "too warm");
        }
        chain.at(3);
        chain.attempt(scan, CauseSet::all(), answer_all);
        chain.tally(over, last, true, Cause::none, Cause::not_tried, fallbacks);
        chain.commit(over);
    };
    wave(0, 6, 3);
    wave(3, 7, 7);
    ASSERT_EQ(3u, report.trace.size());
    expect_entry(report.trace[0], "odd", 10, 5, "ties");
    expect_entry(report.trace[1], "noop", 0, 0, "too warm");
    expect_entry(report.trace[2], "exact", 5, 0, "");
    EXPECT_EQ(5, report.certified);
    EXPECT_EQ(5, report.scanned);
}

TEST(Chain, TalliesWhatTheLastAttemptAnswered) {
    for (const bool scans : {true, false}) {
        kith::Report report;
        Chain chain(8, report);
        chain.attempt(odd, CauseSet::all(),
                      [&](const Queries& q, Numbers& left) { return leave_even(chain, q, left); });
        raise(chain.causes()[1], Cause::equal_rows);
        const Numbers last = chain.left();
        chain.attempt(scan, CauseSet::all(), answer_all);
        kith::exact::Fallbacks fallbacks;
        chain.tally(8, last, scans, Cause::none, chain.most(), fallbacks);
        fallbacks.describe(report);
        EXPECT_EQ(3, report.certified);
        EXPECT_EQ(scans ? 1 : 5, report.retried);
        EXPECT_EQ(scans ? 4 : 0, report.scanned);
        EXPECT_EQ(3u, report.fallbacks.size());
    }
}

TEST(Trace, AddsAttemptsOfOneStrategy) {
    std::vector<kith::TraceEntry> all;
    kith::strategy::add({{"tree", 0, 0, 0, "no boxes", 1}, {"rows", 5, 4, 1, "ties", 2}}, all);
    kith::strategy::add({{"rows", 7, 4, 3, "alike", 2}, {"exact", 3, 3, 0, "", 1}}, all);
    ASSERT_EQ(3u, all.size());
    expect_entry(all[0], "tree", 0, 0, "no boxes");
    expect_entry(all[1], "rows", 12, 4, "alike");
    EXPECT_EQ(4, all[1].seconds);
    expect_entry(all[2], "exact", 3, 0, "");
}

TEST(Trace, TakesBackWhatAScanAnswersAgain) {
    std::vector<kith::TraceEntry> all{{"rows", 5, 3, 2, "ties", 0}, {"exact", 2, 2, 0, "", 0}};
    kith::strategy::answer_again(4, "out of range", all);
    ASSERT_EQ(3u, all.size());
    expect_entry(all[0], "rows", 5, 4, "out of range");
    expect_entry(all[1], "exact", 2, 2, "out of range");
    expect_entry(all[2], "exact", 4, 0, "");
}

}  // namespace
