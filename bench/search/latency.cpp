// Small calls on an Index of points in a cube, one after the other, each with other queries: what is left when there is
// next to nothing to compute.
#include "search/latency.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "arrays.h"
#include "document.h"
#include "kith/kith.h"
#include "kith/radius.h"
#include "timing.h"

namespace kith::bench {

namespace {

struct SmallCall {
    const char* what;
    std::int64_t n, q, k;
    double r = 0;  // a radius, of the distance itself, in a cube of side 1; 0: the k nearest
};
// The first is what follows an object, a robot or a molecule step by step. In the second's ball lie 7 points.
constexpr SmallCall calls[] = {
    {"the 16 nearest of one", 200'000, 1, 16}, {"within a radius of one", 200'000, 1, 0, 0.02},
    {"the nearest of ten", 200'000, 10, 1},    {"the 16 nearest of one", 20, 1, 16},
    {"the nearest of one", 1'000, 1, 1},       {"the 16 nearest of a thousand", 200'000, 1'000, 16},
};
constexpr std::int64_t dimensions = 3, all_queries = 1'000;

}  // namespace

bool run_latency(const TableStudy& study, const Options& asked) {
    Options options = asked;
    options.device = "cpu";
    options.metric = metric_named("euclidean");
    fmt::print("small calls on an Index of points uniform in a cube, f32, d {}; microseconds of a call, {} rounds\n",
               dimensions, study.repeat);
    fmt::print("{:>30} {:>8} {:>6} {:>4} {:>10} {:>10}\n", "call", "n", "q", "k", "median", "least");
    Json document = head("cpu", study.quick);
    Json table = Json::array();
    bool all_agree = true;
    for (const SmallCall& call : calls) {
        const Recipe recipe{.data = Data::uniform, .seed = points_seed},
            other{.data = Data::uniform, .seed = queries_seed};
        const Rows points = rows_of(recipe, call.n, dimensions, ElementType::f32, host_memory);
        const Rows queries = rows_of(other, all_queries, dimensions, ElementType::f32, host_memory);
        const Index index(points.view, options);
        const auto some = [&](std::int64_t first) {
            MatrixView view = queries.view;
            view.data = static_cast<const float*>(view.data) + first * dimensions;
            view.rows = call.q;
            return view;
        };
        const Timing timing = repeated(study.repeat, [&] {
            Report last;
            for (std::int64_t first = 0; first + call.q <= all_queries; first += call.q)
                last = call.r > 0 ? index.radius(some(first), call.r, options).report
                                  : index.search(some(first), call.k, options).report;
            return last;
        });
        bool agree = true;
        if (call.r == 0) {
            const Neighbors together = index.search(some(0), call.k, options);
            for (std::int64_t i = 0; i < call.q; ++i) {
                MatrixView one = some(i);
                one.rows = 1;
                const Neighbors alone = index.search(one, call.k, options);
                agree &= std::equal(alone.ids.begin(), alone.ids.end(), together.ids.begin() + i * call.k);
            }
        }
        all_agree &= agree;
        const std::int64_t calls_of_round = all_queries / call.q;
        const double microseconds = 1e6 / static_cast<double>(calls_of_round);
        fmt::print("{:>30} {:>8} {:>6} {:>4} {:>10.2f} {:>10.2f}{}\n", call.what, call.n, call.q, call.k,
                   microseconds * timing.median(), microseconds * timing.seconds.front(), agree ? "" : " NO");
        std::fflush(stdout);
        table.push_back({{"call", call.what},
                         {"n", call.n},
                         {"q", call.q},
                         {"d", dimensions},
                         {"k", call.k},
                         {"r", call.r},
                         {"path", timing.report.path},
                         {"microseconds", microseconds * timing.median()},
                         {"least", microseconds * timing.seconds.front()},
                         {"agree", agree}});
        document["latency"] = table;
        document["repeat"] = study.repeat;
        if (!study.json.empty()) write(document, study.json);
    }
    return all_agree;
}

}  // namespace kith::bench
