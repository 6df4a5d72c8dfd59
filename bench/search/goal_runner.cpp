// Points prepared once, their searches timed and checked.
#include "search/goal_runner.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "api/check/validate.h"
#include "arrays.h"
#include "kith/io.h"
#include "kith/kith.h"
#include "search/exact_check.h"
#include "search/pinned_copy.h"

namespace kith::bench {

namespace {

constexpr double enough_seconds = 0.02;  // of short calls, more than `repeat`
constexpr std::int64_t quick_part = 8;
// Queries that are scanned in binary64.
constexpr std::int64_t sample = 64, sample_wide = 32, wide = 768;

Recipe recipe_of(const GoalSet& set, std::uint64_t seed) {
    return {.data = set.data, .non_negative = api::traits_of(set.metric).non_negative, .seed = seed};
}

Rows points_of(const GoalSet& set, const GoalInputs& inputs, int device) {
    if (set.copies_to > 0) return shifted_images(inputs.images, set.copies_to, device);
    if (set.of_file) return rows_of(inputs.images, device);
    if (set.ordinary) return points_of(*set.ordinary, set.n, device);
    return rows_of(recipe_of(set, points_seed), set.n, set.d, set.type, device);
}

Rows queries_of(const GoalSet& set, const GoalInputs& inputs, int device) {
    if (set.of_file) return rows_of(inputs.queries, device);
    if (set.ordinary) return queries_of(*set.ordinary, set.q, set.n, device);
    return rows_of(recipe_of(set, queries_seed), set.q, set.d, set.type, device);
}

// The rate that special data are compared with.
bool is_gaussian(const GoalSet& set) {
    return !set.of_file && !set.ordinary && set.data == Data::gaussian && set.type == ElementType::f32 &&
           set.metric == MetricId::sqeuclidean && set.path.empty();
}

// One way to answer all queries of a set.
using Search = std::function<Report(const Options&, const NeighborsView&)>;

// Times a search and holds both its f32 and its f64 answer against the scan.
Timing timed_and_held(const Search& search, Options options, std::int64_t rows, std::int64_t k, int device, int repeat,
                      ExactCheck& check) {
    Timing timing;
    {
        const Output out(rows, k, device);
        timing = repeated(
            repeat, [&] { return search(options, out.view); }, enough_seconds);
        check.hold(out.view, false);
    }
    options.f64 = true;
    const Output out(rows, k, device, true);
    search(options, out.view);
    check.hold(out.view, true);
    return timing;
}

}  // namespace

bool Measured::planned() const {
    const std::vector<TraceEntry>& trace = timing.report.trace;
    return !trace.empty() && std::ranges::all_of(trace, [&](const TraceEntry& entry) {
        return entry.queries == 0 ||
               std::ranges::find(plan.attempts, entry.strategy, &Attempt::strategy) != plan.attempts.end();
    });
}

bool Measured::began_as_planned() const {
    const std::vector<TraceEntry>& trace = timing.report.trace;
    return !trace.empty() && !plan.attempts.empty() && trace.front().strategy == plan.attempts.front().strategy;
}

GoalRunner::GoalRunner(Options options, int device, GoalInputs inputs)
    : options_(std::move(options)), device_(device), inputs_(std::move(inputs)) {
    options_.device = device == host_memory ? "cpu" : "cuda:" + std::to_string(device);
}

void GoalRunner::run(const GoalSet& set, const Done& done) {
    const GoalSet shape = shaped(set);
    if (shape.kind == GoalKind::of_gaussian) measure_gaussian(shape, done);
    measure(shape, done);
}

// The set with the sizes of this run.
GoalSet GoalRunner::shaped(GoalSet set) const {
    if (set.of_file) {
        if (inputs_.images.empty()) throw Error(ErrorCode::invalid_argument, "needs --images FILE");
        if (!set.graph && inputs_.queries.empty()) throw Error(ErrorCode::invalid_argument, "needs --queries FILE");
        const FileInfo info = MatrixReader(inputs_.images).info();
        set.n = set.copies_to > 0 ? set.copies_to : info.rows;
        set.d = info.cols;
        if (!set.graph) set.q = MatrixReader(inputs_.queries).info().rows;
    } else if (inputs_.quick) {
        set.n = std::max<std::int64_t>(1, set.n / quick_part);
        if (!set.ordinary) set.q = std::max<std::int64_t>(1, set.q / quick_part);
    }
    if (set.graph) set.q = set.n;
    if (inputs_.quick && (set.kind == GoalKind::rate || set.kind == GoalKind::milliseconds))
        for (Goal& goal : set.goals) goal.figure = not_measured;
    return set;
}

// The part of the set's shape that has not been measured on Gaussian data yet.
void GoalRunner::measure_gaussian(const GoalSet& set, const Done& done) {
    GoalSet beside{.name = "gaussian beside", .n = set.n, .q = set.q, .d = set.d, .graph = set.graph};
    for (const Goal& goal : set.goals)
        if (!gaussian_.contains({set.n, set.q, set.d, goal.k, set.graph}))
            beside.goals.push_back({goal.k, not_measured});
    if (!beside.goals.empty()) measure(beside, done);
}

void GoalRunner::measure(const GoalSet& set, const Done& done) {
    Options options = options_;
    options.metric = set.metric;
    options.metric.formula = set.formula;
    options.metric.p = set.p;
    options.metric.packed_bits = set.packed_bits;
    options.path = set.path;
    const Rows points = points_of(set, inputs_, device_);
    const Rows queries = set.graph ? points : queries_of(set, inputs_, device_);
    std::unique_ptr<Index> index;
    Measured m{.set = set};
    for (int run = 0; run < 2; ++run) {  // the first to warm up
        index.reset();
        m.prepare_seconds = timed([&] { index = std::make_unique<Index>(points.view, options); });
    }
    const Search by_index = [&](const Options& o, const NeighborsView& out) {
        return set.graph ? index->graph_into(m.k, o, out) : index->search_into(queries.view, m.k, o, out);
    };
    for (const Goal& goal : set.goals) {
        m.k = goal.k;
        ExactCheck check(*index, queries.view, m.k, set.graph, set.d >= wide ? sample_wide : sample);
        m.timing = timed_and_held(by_index, options, set.q, m.k, device_, inputs_.repeat, check);
        Shape planned{set.n, set.q, set.d, m.k, set.type, set.graph, true};
        m.plan = plan(planned, options);
        const std::tuple shape{set.n, set.q, set.d, m.k, set.graph};
        if (is_gaussian(set)) gaussian_[shape] = m.rate();
        switch (set.kind) {
            case GoalKind::rate:
                m.goal = 1e9 * goal.figure;
                break;
            case GoalKind::milliseconds:
                m.goal = 1e-3 * goal.figure;
                break;
            case GoalKind::of_gaussian:
                m.gaussian_rate = gaussian_.at(shape);
                m.goal = goal.figure * m.gaussian_rate;
                break;
            case GoalKind::of_parts: {
                const Rows host_points = points.on(host_memory), host_queries = queries.on(host_memory);
                const Search from_host = [&](const Options& o, const NeighborsView& out) {
                    return search_into(host_points.view, host_queries.view, m.k, o, out);
                };
                m.index_seconds = m.timing.median();
                m.copy_seconds = pinned_copy_seconds(device_, points.bytes() + queries.bytes());
                m.goal = goal.figure * (m.copy_seconds + m.index_seconds);
                m.timing = timed_and_held(from_host, options, set.q, m.k, host_memory, inputs_.repeat, check);
                planned.prepared = false;
                m.plan = plan(planned, options);
            }
        }
        m.checked = check.queries();
        m.exact = check.exact();
        m.difference = check.difference();
        done(m);
    }
}

}  // namespace kith::bench
