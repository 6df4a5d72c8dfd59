// Columns of Table I as they are measured: (c) one core, (b) one GPU, (a) two, then kith's own path on the same.
#include "search/kato.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "cell_file.h"
#include "exact/refuse.h"
#include "gpu/backend.h"
#include "kith/kith.h"
#include "timing.h"

namespace kith::bench {

namespace {

constexpr std::int64_t dimensions = 256, neighbours = 100;
constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

// The paper's seconds: two GTX 280, one, and one core of an i7 920.
struct Row {
    std::int64_t n;
    double two, one, cpu;
};
constexpr Row paper[] = {
    {10000, 1.8, 2.7, 354.2}, {20000, 5.7, 8.6, 1419.0}, {40000, 17.7, 34.1, 5680.7}, {80000, 68.6, 131.8, 22756.9}};

struct Column {
    const char* name;
    std::string device, path;
    bool serial = false;
};

std::vector<Column> columns_of(int gpus) {
    std::vector<Column> columns = {{"core", "cpu", "kato", true}};
    if (gpus > 0) columns.push_back({"gpu", "cuda:0", "kato"});
    if (gpus > 1) columns.push_back({"gpus", "cuda:0,1", "kato"});
    if (gpus > 0) columns.push_back({"gpu, default", "cuda:0", ""});
    if (gpus > 1) columns.push_back({"gpus, default", "cuda:0,1", ""});
    return columns;
}

std::vector<float> uniform(std::int64_t n) {
    std::mt19937 random(2009);
    std::uniform_real_distribution<float> value;
    std::vector<float> out(static_cast<std::size_t>(n * dimensions));
    for (float& x : out) x = value(random);
    return out;
}

double median_of(const Json& row, const char* column) {
    return row.contains(column) ? row[column].at("median_s").get<double>() : nothing;
}

// A row by every column that is not too long for one core, and whether all have the same bits.
void measure(std::int64_t n, const std::vector<float>& values, const std::vector<Column>& columns,
             const TableStudy& study, const Options& given, Json& json) {
    bool equal = true;
    std::vector<std::int64_t> first_ids;
    std::vector<float> first_distances;
    for (const Column& column : columns) {
        if (column.serial && n > study.cpu_points) continue;
        Options options = given;
        options.metric = MetricId::hellinger;
        options.device = column.device;
        options.path = column.path;
        std::vector<std::int64_t> ids(static_cast<std::size_t>(n * neighbours));
        std::vector<float> distances(ids.size());
        const auto call = [&] {
            return graph_into(view(values.data(), n, dimensions), neighbours, options,
                              {ids.data(), distances.data(), host_memory});
        };
        // The core takes minutes: once, without a call to warm up.
        Timing timing;
        if (column.serial) timing.seconds.push_back(timed([&] { timing.report = call(); }));
        else timing = repeated(study.repeat, call);
        json[column.name] = {{"median_s", timing.median()},    {"min_s", timing.seconds.front()},
                             {"max_s", timing.seconds.back()}, {"runs", timing.seconds.size()},
                             {"path", timing.report.path},     {"device", timing.report.device}};
        if (first_ids.empty()) {
            first_ids = std::move(ids);
            first_distances = std::move(distances);
        } else {
            equal = equal && ids == first_ids &&
                    std::memcmp(distances.data(), first_distances.data(), distances.size() * sizeof(float)) == 0;
        }
    }
    json["gpu_over_gpus"] = number(median_of(json, "gpu") / median_of(json, "gpus"));
    json["same_bits"] = equal;
}

void print(const Row& row, const Json& json, const std::vector<Column>& columns) {
    fmt::print("{:>7}", row.n);
    for (const Column& column : columns) {
        const double seconds = median_of(json, column.name);
        fmt::print(" {:>14}", std::isnan(seconds) ? "-" : fmt::format("{:.4f}", seconds));
    }
    const double core = median_of(json, "core"), one = median_of(json, "gpu"), two = median_of(json, "gpus");
    fmt::print("  {:>9} {:>9} {:>9}   {:.1f}, {:.1f}, {:.1f}{}\n", figure(one / two), figure(core / one),
               figure(core / two), row.cpu, row.one, row.two,
               json.at("same_bits").get<bool>() ? "" : "  DIFFERENT BITS");
    std::fflush(stdout);
}

}  // namespace

bool run_kato(const TableStudy& study, const Options& given) {
    const int gpus = given.device == "cpu" ? 0 : gpu::device_count();
    const std::vector<Column> columns = columns_of(gpus);
    const std::string device = gpus > 0 ? fmt::format("{} of {}", std::min(gpus, 2), gpu::device_info(0).name) : "cpu";
    fmt::print("Kato and Hosino 2009, Table I: hellinger, d {}, k {}, uniform f32; {}; seconds\n{:>7}", dimensions,
               neighbours, device, "n");
    for (const Column& column : columns) fmt::print(" {:>14}", column.name);
    fmt::print("  {:>9} {:>9} {:>9}   paper: core, GPU, two\n", "gpu/gpus", "core/gpu", "core/gpus");
    Json document = head(device, study.quick);
    document["table"] = "Kato and Hosino 2009, Table I";
    document["metric"] = "hellinger";
    document["d"] = dimensions;
    document["k"] = neighbours;
    document["data"] = "uniform in [0, 1), f32";
    document["cpu_points"] = study.cpu_points;
    CellFile file(std::move(document), "rows", study.json, study.resume, study.deadline);
    const std::size_t count = study.quick ? 2 : std::size(paper);
    std::vector<float> values;
    bool equal = true;
    for (std::size_t i = 0; i < count; ++i) {
        const Row& row = paper[i];
        const Json json =
            file.cell({{"n", row.n}, {"paper_core_s", row.cpu}, {"paper_gpu_s", row.one}, {"paper_gpus_s", row.two}},
                      [&](Json& cell) {
                          if (values.empty()) values = uniform(paper[count - 1].n);
                          measure(row.n, values, columns, study, given, cell);
                      });
        print(row, json, columns);
        equal = equal && json.at("same_bits").get<bool>();
    }
    return equal;
}

}  // namespace kith::bench
