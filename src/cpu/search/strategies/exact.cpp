// Strategy exact: the full scan, every pair in binary64. It leaves no queries.
#include "cpu/search/scan/scan.h"

#include <algorithm>

#include "cpu/search/nearest_call.h"
#include "cpu/search/radius/radius_levels.h"
#include "cpu/search/scan/scan_tile.h"
#include "cpu/search/scan/selected_scan.h"

namespace kith::cpu {

namespace {

const char* nearest(NearestCall& call, const strategy::Queries& queries, strategy::Numbers&) {
    call.report.candidates +=
        static_cast<double>(call.points.rows.rows) * static_cast<double>(queries.count);
    if (call.when == When::first && !call.plan.selector.empty()) {
        selected_scan(call.points, call.queries, call.graph, call.plan, call.progress,
                      call.results);
        return nullptr;
    }
    const strategy::Numbers& numbers = queries.numbers ? *queries.numbers : call.chain.left();
    scan(call.points, call.queries, numbers.data(), queries.count, call.graph, call.isa,
         call.threads, call.progress, call.results);
    return nullptr;
}

strategy::Tile tile(const Plan& plan, const Shape& s) {
    return scan_tile(s.n, s.q, s.d,
                     std::clamp<std::int64_t>(s.k, 1, std::max<std::int64_t>(s.n, 1)),
                     std::max(plan.threads, 1));
}

std::unique_ptr<RadiusLevel> within(const RadiusCall& call) {
    return scan_level(call);
}

}  // namespace

constinit const Strategy strategies::exact{
    .facts = {.name = "exact", .path = Path::exact, .what = "every pair in binary64", .tile = tile},
    .nearest = nearest,
    .within = within};

}  // namespace kith::cpu
