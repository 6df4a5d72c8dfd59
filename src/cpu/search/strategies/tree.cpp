// Strategy tree: prunes the leaves of a k-d tree whose boxes are too far.
#include <algorithm>

#include "cpu/search/nearest_call.h"
#include "cpu/search/radius/radius_levels.h"
#include "cpu/search/tree/tree_search.h"

namespace kith::cpu {

namespace {

// Range search: a query that computes more than n / share_of_radius keys in vain is left to a
// filter, which is as fast.
constexpr double share_of_radius = 10;

const char* obstacle(const strategy::Problem& p) {
    if (p.user) return "needs a built-in metric";
    return p.traits.monotone ? nullptr : "needs a metric that grows with each difference";
}

double bytes(const Shape& s, const std::string&) {
    return static_cast<double>(s.n) * (16.0 * static_cast<double>(s.d) + 40.0);
}

// If the plan is that of a filter, coordinates and order of a tile take at most `most` bytes.
strategy::Tile tile(const Plan& plan, const Shape& s) {
    constexpr std::int64_t most = std::int64_t{1} << 28;
    const std::int64_t beside_filters = std::clamp<std::int64_t>(most / (8 * s.d + 40), 1, s.q);
    return {plan.path == Path::tree ? plan.query_tile : beside_filters, leaf_points};
}

const char* nearest(NearestCall& call, const strategy::Queries& queries, strategy::Numbers&) {
    const Points& points = call.points;
    if (call.when == When::made) {
        search_tree(points, call.queries, queries.numbers ? *queries.numbers : call.chain.left(),
                    call.graph, call.isa, call.threads, call.progress, call.results, call.report);
        return nullptr;
    }
    if (queries.count < call.queries.rows) return "serves all queries of a search at once";
    if (call.when == When::boxes && !points.boxes_pay)
        return "a sample of the points says that boxes leave out too few of them";
    // A tree that a sample of the points favoured is not tried again once it has served too few of
    // the searches.
    if (points.boxes_pay && !call.plan.forced && !points.tree_record().pays())
        return "queries have been unlike the points too often";
    const std::int64_t at_once =
        tile(call.plan, {.q = queries.count, .d = points.rows.cols}).queries;
    const bool found = tree_search(points, call.queries, call.graph, call.isa, call.threads,
                                   at_once, call.progress, call.results, call.report);
    points.tree_record().note(1, found ? 0 : 1);
    call.tree_left = !found;
    return found ? nullptr : "a few of the queries look at too many of the points";
}

std::unique_ptr<RadiusLevel> within(const RadiusCall& call) {
    return call.when == When::made
               ? tree_level(call, call.points.known_tree(), 1)
               : tree_level(call, call.points.tree(call.isa, call.threads, call.progress),
                            share_of_radius);
}

}  // namespace

constinit const Strategy strategies::tree{
    .facts = {.name = "tree",
              .path = Path::tree,
              .what = "boxes of points that are too far are left out, the others in binary64",
              .obstacle = obstacle,
              .bytes = bytes,
              .tile = tile},
    .nearest = nearest,
    .within = within};

}  // namespace kith::cpu
