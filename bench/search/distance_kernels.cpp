// A row for every shape, a column for every kernel of the list.
#include "search/distance_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "cell_file.h"
#include "exact/refuse.h"
#include "gpu/backend.h"
#include "kith/kith.h"
#include "papers/distance/distance_kernels.h"
#include "search/matrix_times.h"
#include "timing.h"

namespace kith::bench {

namespace {

constexpr std::int64_t quick_part = 8;

// For Fig. 5.1 the queries and dimensions, the work of a cell, and what a matrix and a side may have: where that is
// less, so is n, as in the thesis.
constexpr std::int64_t figure_queries[] = {1, 8, 32, 128, 1024, 8192}, figure_dimensions[] = {4, 16, 32, 64, 128, 512};
constexpr std::int64_t work = std::int64_t{1} << 36, most_values = std::int64_t{1} << 31,
                       most_words = std::int64_t{1} << 30;

std::vector<MatrixShape> shapes_of(const TableStudy& study) {
    const std::int64_t part = study.quick ? quick_part : 1;
    std::vector<MatrixShape> shapes;
    if (study.table == kernels_table) {
        for (const std::int64_t d : {16, 32, 64, 128, 256}) shapes.push_back({(1 << 17) / part, 1 << 10, d});
        return shapes;
    }
    for (const std::int64_t d : figure_dimensions)
        for (const std::int64_t q : figure_queries)
            shapes.push_back({std::min({work / (q * d), most_values / q, most_words / d}) / part, q, d});
    return shapes;
}

exact::Step step_of(MetricId metric) {
    if (metric == MetricId::sqeuclidean || metric == MetricId::euclidean) return exact::Step::squares;
    if (metric == MetricId::cityblock) return exact::Step::cityblock;
    if (metric == MetricId::chebyshev) return exact::Step::chebyshev;
    if (metric == MetricId::canberra) return exact::Step::quotients;
    if (metric == MetricId::braycurtis) return exact::Step::quotient;
    if (metric == MetricId::hamming) return exact::Step::mismatches;
    if (metric == MetricId::jensenshannon) return exact::Step::divergence;
    refuse(
        "metric: '{}'; the matrix alone is timed of sqeuclidean, euclidean, cityblock, chebyshev, canberra, "
        "braycurtis, hamming and jensenshannon",
        name(metric));
}

}  // namespace

bool run_kernels(const TableStudy& study, const Options& options) {
    const exact::Step step = step_of(options.metric.id);
    const int device = plan({1, 1, 1, 1}, options).device;
    if (device == host_memory) {
        const std::string why = gpu::absence();
        throw Error(ErrorCode::device, "distance kernels: need a GPU" + (why.empty() ? "" : "; " + why));
    }
    std::vector<const char*> kernels;
    for (const gpu::DistanceKernel& kernel : gpu::distance_kernels)
        if (step == exact::Step::squares || !kernel.expanded()) kernels.push_back(kernel.name);

    // The thesis' points are uniform in [0, 1)^d.
    const Data data = study.table == throughput_table ? Data::uniform : Data::gaussian;
    const MatrixRuns runs = study.mean ? MatrixRuns{10, 10} : MatrixRuns{1, study.repeat};
    const char* const typical = study.mean ? "mean_s" : "median_s";
    const std::string on = gpu::device_info(device).name;
    fmt::print("{}: {} of {} f32 rows by distance kernels, the matrix alone; ms (G pairs/s), {}\n{:>9} {:>6} {:>5}", on,
               name(options.metric.id), data_names[static_cast<int>(data)],
               study.mean ? "means of 10 runs behind 10" : fmt::format("medians of {}", study.repeat), "n", "q", "d");
    for (const char* const kernel : kernels) fmt::print(" {:>18}", kernel);
    fmt::print("\n");
    Json document = head(on, study.quick);
    document["table"] = study.table;
    document["metric"] = name(options.metric.id);
    document["data"] = data_names[static_cast<int>(data)];
    document["repeat"] = study.repeat;
    document["statistic"] = study.mean ? "mean" : "median";
    CellFile file(std::move(document), "rows", study.json, study.resume, study.deadline);
    for (const MatrixShape& shape : shapes_of(study)) {
        const Json& row = file.cell({{"n", shape.n}, {"q", shape.q}, {"d", shape.d}}, [&](Json& json) {
            for (const char* const kernel : kernels) {
                const Timing timing{matrix_seconds(device, kernel, step, data, shape, runs), {}};
                const double seconds = study.mean ? timing.mean() : timing.median();
                Json one{{"name", kernel}, {typical, seconds}};
                if (study.mean) one["deviation_s"] = timing.deviation();
                one["min_s"] = timing.seconds.front();
                one["max_s"] = timing.seconds.back();
                one["pairs_per_s"] = static_cast<double>(shape.n) * static_cast<double>(shape.q) / seconds;
                json["kernels"].push_back(std::move(one));
            }
        });
        fmt::print("{:>9} {:>6} {:>5}", shape.n, shape.q, shape.d);
        for (const Json& kernel : row.at("kernels"))
            fmt::print(" {:>9.3f} {:>8}", 1e3 * kernel.at(typical).get<double>(),
                       fmt::format("({:.1f})", 1e-9 * kernel.at("pairs_per_s").get<double>()));
        fmt::print("\n");
        std::fflush(stdout);
    }
    return true;
}

}  // namespace kith::bench
