// A row for every shape of the three figures: the matrix, each selector on it, the fused kernel.
#include "search/kernels_alone.h"

#include <fmt/format.h>

#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cell_file.h"
#include "gpu/backend.h"
#include "kith/kith.h"
#include "search/matrix_times.h"
#include "timing.h"

namespace kith::bench {

namespace {

const std::vector<std::string> selectors = {"bits", "bits-global", "sample-select-1", "radix-select"};
constexpr const char* distances = "register-tiled";
constexpr const char* fused = "hanak-fused";

struct Cell {
    const char* figure;
    MatrixShape shape;
    std::int64_t k;
};

std::vector<Cell> cells_of(bool quick) {
    const std::int64_t part = quick ? 8 : 1;
    std::vector<Cell> cells;
    for (const std::int64_t d : {4, 8, 16, 32, 64, 128})
        for (const std::int64_t k : {16, 64, 127}) cells.push_back({"5.8", {(1 << 19) / part, 1 << 13, d}, k});
    for (const int log_n : {15, 17, 19, 21})
        for (const std::int64_t q : {128, 1024, 8192})
            if (log_n < 21 || q < 8192)  // the matrix has 64 GiB
                cells.push_back({"5.9", {(std::int64_t{1} << log_n) / part, q, 16}, 32});
    for (const std::int64_t d : {4, 16, 32, 128})
        for (const std::int64_t k : {16, 64, 256, 1024, 2048, 4096, 8192})
            cells.push_back({"5.12", {(1 << 17) / part, 1 << 13, d}, k});
    return cells;
}

}  // namespace

bool run_kernels_alone(const TableStudy& study, const Options& options) {
    const int device = plan({1, 1, 1, 1}, options).device;
    if (device == host_memory) {
        const std::string why = gpu::absence();
        throw Error(ErrorCode::device, "kernels alone: need a GPU" + (why.empty() ? "" : "; " + why));
    }
    const MatrixRuns runs = study.mean ? MatrixRuns{10, 10} : MatrixRuns{1, study.repeat};
    const auto typical = [&](std::vector<double> seconds) {
        if (seconds.empty()) return number(std::numeric_limits<double>::quiet_NaN());
        const Timing timing{std::move(seconds), {}};
        return Json(study.mean ? timing.mean() : timing.median());
    };
    const std::string on = gpu::device_info(device).name;
    fmt::print("{}: kernels alone, uniform f32, squared differences; ms, {}\n{:>6} {:>8} {:>6} {:>5} {:>5} {:>15}", on,
               study.mean ? "means of 10 runs behind 10" : fmt::format("medians of {}", study.repeat), "figure", "n",
               "q", "d", "k", distances);
    for (const std::string& each : selectors) fmt::print(" {:>16}", each);
    fmt::print(" {:>12}\n", fused);
    Json document = head(on, study.quick);
    document["table"] = study.table;
    document["repeat"] = study.repeat;
    document["statistic"] = study.mean ? "mean" : "median";
    CellFile file(std::move(document), "rows", study.json, study.resume, study.deadline);
    for (const auto& [figure, shape, k] : cells_of(study.quick)) {
        const Json row =
            file.cell({{"figure", figure}, {"n", shape.n}, {"q", shape.q}, {"d", shape.d}, {"k", k}}, [&](Json& json) {
                json["distance_s"] =
                    typical(matrix_seconds(device, distances, exact::Step::squares, Data::uniform, shape, runs));
                const auto selected = selection_seconds(device, Data::uniform, shape, k, selectors, runs);
                for (std::size_t i = 0; i < selectors.size(); ++i)
                    json["select_s"][selectors[i]] = typical(selected[i]);
                json["fused_s"] = typical(fused_seconds(device, fused, Data::uniform, shape, k, runs));
            });
        const auto ms = [](const Json& seconds) {
            return seconds.is_null() ? std::string("-") : fmt::format("{:.3f}", 1e3 * seconds.get<double>());
        };
        fmt::print("{:>6} {:>8} {:>6} {:>5} {:>5} {:>15}", figure, shape.n, shape.q, shape.d, k,
                   ms(row.at("distance_s")));
        for (const std::string& each : selectors) fmt::print(" {:>16}", ms(row.at("select_s").at(each)));
        fmt::print(" {:>12}\n", ms(row.at("fused_s")));
        std::fflush(stdout);
    }
    return true;
}

}  // namespace kith::bench
