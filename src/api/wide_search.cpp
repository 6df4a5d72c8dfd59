// See wide_search.h.
#include "api/wide_search.h"

#include <algorithm>
#include <cmath>

#include "api/data/host_view.h"
#include "api/data/rows.h"
#include "api/data/self.h"
#include "api/request.h"
#include "api/run.h"
#include "cpu/metric/distance_keys.h"
#include "cpu/search/scan/scan.h"
#include "exact/report/watched.h"
#include "exact/wide_key.h"
#include "strategy/trace.h"

namespace kith::api {

namespace {

constexpr std::int64_t queries_per_task = 64;

class WideSearch {
public:
    explicit WideSearch(const WideCall& call)
        : call_(call),
          metric_(wide(call.metric)),
          points_(on_host(call.points, point_storage_)),
          queries_(call.graph ? points_ : on_host(call.queries, query_storage_)) {
        // Slightly inside the distances that the ends of the range report.
        const cpu::ReportedDistance reported(call.metric);
        least_ = reported(exact::least_key * 0x1p10);
        most_ = reported(exact::end_of_keys * 0x1p-10);
    }

    // Corrects rows that an ordinary search has found; returns their number.
    std::int64_t correct(Neighbors& found) {
        std::vector<std::uint8_t> wrong(static_cast<std::size_t>(found.queries));
        const int threads = threads_of(call_.options);
        watched_for(
            threads, found.queries, queries_per_task, call_.progress, "search",
            [&](std::int64_t first, std::int64_t last) { look(found, first, last, wrong); });
        call_.progress.throw_if_cancelled();
        std::vector<std::int64_t> numbers;
        for (std::int64_t i = 0; i < found.queries; ++i)
            if (wrong[static_cast<std::size_t>(i)]) numbers.push_back(i);
        if (numbers.empty()) return 0;
        Plan plan;
        plan.path = Path::exact;
        plan.threads = threads;
        plan.isa = name(cpu::best_isa());
        const auto points = cpu::prepare(points_, metric_, plan, false, call_.progress);
        cpu::scan(*points, queries_, numbers.data(), std::ssize(numbers), call_.graph,
                  cpu::best_isa(), threads, call_.progress,
                  cpu::Results(metric_, found.k, found.ids.data(), found.distances64.data(), true));
        call_.progress.throw_if_cancelled();
        return std::ssize(numbers);
    }

private:
    // Marks queries for which an ordinary search may have found wrong neighbours or wrong
    // distances.
    void look(const Neighbors& found, std::int64_t first, std::int64_t last,
              std::vector<std::uint8_t>& wrong) const {
        cpu::DistanceKeys distance_keys(metric_, cpu::best_isa());
        cpu::RowBlock query(1, points_.cols), point(1, points_.cols);
        for (std::int64_t i = first; i < last; ++i) {
            std::uint8_t& is_wrong = wrong[static_cast<std::size_t>(i)];
            bool loaded = false;
            for (std::int64_t at = i * found.k; at < (i + 1) * found.k && !is_wrong; ++at) {
                const double distance = found.distances64[static_cast<std::size_t>(at)];
                const std::int64_t id = found.ids[static_cast<std::size_t>(at)];
                if (id < 0) break;
                if (distance > least_ && distance < most_) continue;
                if (!loaded) distance_keys.load(queries_, i, 1, query);
                loaded = true;
                distance_keys.load_points(points_, id, 1, point);
                double key = 0;
                distance_keys.compute(query, 0, point, 1, &key);
                // Among points with infinite keys the search found those with the smallest ids.
                is_wrong = std::isinf(key) ? call_.range.above : key != 0 && !exact::in_range(key);
            }
        }
    }

    static MetricSpec wide(MetricSpec metric) {
        metric.wide = true;
        return metric;
    }

    const WideCall& call_;
    const MetricSpec metric_;
    std::vector<std::byte> point_storage_, query_storage_;
    const MatrixView points_, queries_;
    double least_ = 0, most_ = 0;
};

// Counts queries as scanned instead of certified or retried, unless they had been scanned before:
// filters hardly cover them.
void count_scanned(std::int64_t queries, Report& report) {
    if (queries == 0) return;
    std::int64_t left = std::max<std::int64_t>(0, queries - report.scanned);
    for (std::int64_t* const others : {&report.certified, &report.retried}) {
        const std::int64_t taken = std::min(left, *others);
        *others -= taken;
        report.scanned += taken;
        left -= taken;
    }
    strategy::answer_again(queries, "out of range", report.trace);
    report.fallbacks.push_back(
        {queries, true,
         "the squares (powers) of distances among the nearest leave the range of f64, which "
         "the distances themselves do not",
         "leave such rows out, or multiply all by a power of two"});
}

}  // namespace

Report search_beyond_range(const WideCall& call, const OrdinarySearch& search) {
    Options options = call.options;
    if (call.graph && options.include_self) {
        options.include_self = false;
        return with_self(call.metric, call.points, call.k, call.options, call.progress, call.out,
                         [&](std::int64_t k, const NeighborsView& into) {
                             return search_beyond_range(
                                 {call.metric, call.points, call.queries, k, true, call.range,
                                  options, call.progress, into},
                                 search);
                         });
    }
    options.f64 = true;
    Neighbors found = collect(call.queries.rows, call.k, true, [&](const NeighborsView& into) {
        return search(call.k, options, into);
    });
    count_scanned(WideSearch(call).correct(found), found.report);
    if (!call.options.f64) {
        for (const double distance : found.distances64)
            found.distances.push_back(static_cast<float>(distance));
        found.distances64.clear();
    }
    put(found, call.out);
    return found.report;
}

}  // namespace kith::api
