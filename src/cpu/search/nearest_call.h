// The state that the attempts of one k-nearest-neighbour search share: the request, and what
// earlier attempts have found out.
#pragma once

#include <cstdint>

#include "cpu/points/points.h"
#include "cpu/search/results.h"
#include "cpu/search/shortlist.h"
#include "cpu/search/strategies.h"
#include "exact/report/progress.h"
#include "strategy/chain.h"

namespace kith::cpu {

struct NearestCall {
    const Points& points;
    const MatrixView& queries;
    bool graph;
    bool only;  // no other search uses the points
    const Plan& plan;
    Isa isa;
    int threads;
    std::int64_t query_tile;  // most queries per block of a filter; 0: no limit
    ProgressMeter& progress;
    const Results& results;
    Report& report;
    strategy::Chain& chain;
    Search search;
    std::int64_t spared_before;  // Points::spared() when the search began

    When when = When::first;  // the condition of the current step
    Path path = Path::exact;  // the path that `rows` replaces
    // The attempts so far. used, rounding: the filter that ran last. coarse, coarse_pays: the
    // strategy with coarse panels if the points have them, and whether it answers most queries.
    // by_rows: the caller's own rows have been compared.
    const Strategy* used = nullptr;
    Rounding rounding = Rounding::f32;
    const Strategy* coarse = nullptr;
    bool coarse_pays = false, by_rows = false;
    bool tree_left = false;  // a tree has been tried, and left all queries

    // True if any filter has run.
    bool filtered() const { return used != nullptr; }
    void ran(const Strategy& strategy, Rounding with) {
        used = &strategy;
        rounding = with;
    }
};

}  // namespace kith::cpu
