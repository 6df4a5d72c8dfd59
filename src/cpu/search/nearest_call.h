// What the attempts at the k nearest share: what is asked for, and what has been found out on the
// way.
#pragma once

#include <cstdint>

#include "cpu/points/points.h"
#include "cpu/search/results.h"
#include "cpu/search/shortlist.h"
#include "cpu/search/strategies.h"
#include "exact/progress.h"
#include "strategy/chain.h"

namespace kith::cpu {

struct NearestCall {
    const Points& points;
    const MatrixView& queries;
    bool graph;
    bool only;  // the points serve no other search
    const Plan& plan;
    Isa isa;
    int threads;
    std::int64_t query_tile;  // of filters
    ProgressMeter& progress;
    const Results& results;
    Report& report;
    strategy::Chain& chain;
    Search search;
    std::int64_t spared_before;  // Points::spared() at the beginning

    When when = When::first;  // of the step
    Path path = Path::exact;  // that rows stand in for
    // The attempts so far: the one that ran last, with what rounding; coarse panels, where points
    // have such, and whether they answer most queries; the few rows as they are.
    const Strategy* used = nullptr;
    Rounding rounding = Rounding::f32;
    const Strategy* coarse = nullptr;
    bool coarse_pays = false, by_rows = false;
    bool tree_left = false;  // a tree has been tried, and left all

    // Whether any filter ran.
    bool filtered() const { return used != nullptr; }
    void ran(const Strategy& strategy, Rounding with) {
        used = &strategy;
        rounding = with;
    }
};

}  // namespace kith::cpu
