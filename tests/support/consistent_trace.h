// Invariants of every trace (Report::trace) of a search.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "kith/plan.h"

namespace trace_cases {

// The entries are consistent, and what they say is what the report says. `noop` may leave queries without a cause.
inline void expect_consistent(const kith::Report& report, bool names_winner, const std::string& what) {
    ASSERT_FALSE(report.trace.empty()) << what;
    std::int64_t certified = 0, most = 0;
    for (const kith::TraceEntry& e : report.trace) {
        EXPECT_EQ(e.queries, e.certified + e.left) << what << ", " << e.strategy;
        EXPECT_TRUE(e.strategy == "noop" || (e.queries == 0 || e.left > 0) == !e.cause.empty())
            << what << ", " << e.strategy << " " << e.cause;
        EXPECT_GE(e.seconds, 0) << what;
        EXPECT_LE(e.queries, report.queries) << what << ", " << e.strategy;
        certified += e.certified;
        most = std::max(most, e.certified);
    }
    EXPECT_EQ(report.queries, certified) << what << "\n" << explain(report);
    EXPECT_EQ(0, report.trace.back().left) << what << "\n" << explain(report);
    const auto winner = std::ranges::find(report.trace, most, &kith::TraceEntry::certified);
    if (names_winner && winner->strategy != "rows") {
        EXPECT_EQ(winner->strategy, report.path) << what;
    }
}

}  // namespace trace_cases
