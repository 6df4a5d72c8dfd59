// A corpus of 16,777,216 x 128 in host memory, searched as Sismanis et al. 2012 did (Fig. 5) and as kith does.
#include "search/streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "cell_file.h"
#include "gpu/backend.h"
#include "kith/kith.h"
#include "search/partitioned.h"
#include "search/pinned_copy.h"
#include "timing.h"

namespace kith::bench {

namespace {

// The paper's corpus.
constexpr std::int64_t corpus_points = std::int64_t{1} << 24, dimensions = 128, quick_part = 8;
constexpr std::int64_t subcorpus_points = std::int64_t{1} << 18;
constexpr int stream_counts[] = {1, 2, 4, 8};
struct Lists {
    std::int64_t q, k;
};
constexpr Lists paper_lists[] = {{1, 32}, {128, 32}, {128, 256}, {512, 32}};
// kith's: what the device may hold, so that points stream; and the queries, from where the bus limits to where it does
// not.
constexpr std::int64_t budget = std::int64_t{4} << 30;
constexpr std::int64_t query_counts[] = {1, 128, 1024, 8192, 32768};
constexpr std::int64_t neighbours = 10;
constexpr std::size_t bus_bytes = std::size_t{1} << 30;

// Points on the device first, where they are made fastest, then in the host's pinned memory.
Rows pinned_points(std::int64_t n, int device) {
    Rows points = rows_of({.seed = points_seed}, n, dimensions, ElementType::f32, device);
    const std::shared_ptr<void> memory = pinned_array(points.bytes());
    gpu::copy(memory.get(), points.view.data, points.bytes());
    points.memory = memory;
    points.view.data = memory.get();
    points.view.device = host_memory;
    return points;
}

// Points in host memory, and their Index on the device, which says what is right and how fast it is without a bus.
struct Corpus {
    int device;
    Rows points;
    std::map<std::int64_t, Rows> queries;  // by their number, in host memory
    double bus;                            // bytes a second from pinned memory

    Corpus(int device_, std::int64_t n)
        : device(device_),
          points(pinned_points(n, device_)),
          bus(static_cast<double>(bus_bytes) / pinned_copy_seconds(device_, bus_bytes)) {}
    const Rows& of(std::int64_t q) {
        const auto found = queries.find(q);
        if (found != queries.end()) return found->second;
        const Rows made = rows_of({.seed = queries_seed}, q, dimensions, ElementType::f32, device);
        return queries.emplace(q, made.on(host_memory)).first->second;
    }
    double copy_seconds() const { return static_cast<double>(points.bytes()) / bus; }
};

double median(int repeat, PartitionedSearch& search, Pass pass) {
    search.run(pass);
    std::vector<double> seconds;
    for (int i = 0; i < repeat; ++i) seconds.push_back(search.run(pass));
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
}

// The share of neighbours that a search in f32 has, too.
double agreement(const std::vector<std::int64_t>& found, const std::int64_t* exact, std::int64_t k) {
    std::size_t same = 0;
    const auto width = static_cast<std::size_t>(k);
    for (std::size_t row = 0; row < found.size(); row += width)
        for (std::size_t i = 0; i < width; ++i)
            same += std::find(exact + row, exact + row + width, found[row + i]) != exact + row + width;
    return static_cast<double>(same) / static_cast<double>(found.size());
}

// Points, their Index and what both take of time, made for the first cell that is measured.
struct Resident {
    Corpus corpus;
    Index index;

    Resident(int device, std::int64_t n, const Options& options)
        : corpus(device, n), index(corpus.points.view, options) {}
};

// A cell of Fig. 5: copies alone, kernels alone, then both in some numbers of streams.
void measure(const Lists& shape, Resident& resident, const Options& options, int repeat, Json& json) {
    Corpus& corpus = resident.corpus;
    const Rows& queries = corpus.of(shape.q);
    const Rows there = queries.on(corpus.device);
    const Output exact(shape.q, shape.k, host_memory);
    resident.index.search_into(queries.view, shape.k, options, exact.view);
    const Partition partition{corpus.device, corpus.points.view.rows, shape.q, dimensions, shape.k, subcorpus_points};
    const auto* const points = static_cast<const float*>(corpus.points.view.data);
    const auto* const of = static_cast<const float*>(there.view.data);
    json["bus_bytes_per_s"] = corpus.bus;
    json["streams"] = Json::array();
    double one_stream = 0;
    for (const int streams : stream_counts) {
        PartitionedSearch search(partition, streams, points, of);
        if (streams == 1) {
            json["copies_s"] = median(repeat, search, Pass::copies);
            json["kernels_s"] = median(repeat, search, Pass::kernels);
        }
        const double seconds = median(repeat, search, Pass::whole);
        if (streams == 1) one_stream = seconds;
        json["streams"].push_back({{"streams", streams},
                                   {"median_s", seconds},
                                   {"speed_up", one_stream / seconds},
                                   {"same_ids", agreement(search.ids(), exact.view.ids, shape.k)}});
    }
}

void print(const Json& cell) {
    fmt::print("{:>6} {:>5} {:>12.2f} {:>12.2f}", cell.at("q").get<int>(), cell.at("k").get<int>(),
               1e3 * cell.at("copies_s").get<double>(), 1e3 * cell.at("kernels_s").get<double>());
    double least_same = 1;
    std::string speed_ups;
    for (const Json& each : cell.at("streams")) {
        fmt::print(" {:>10.2f}", 1e3 * each.at("median_s").get<double>());
        least_same = std::min(least_same, each.at("same_ids").get<double>());
        if (each.at("streams") > 1) speed_ups += fmt::format(" {:>8.2f}", each.at("speed_up").get<double>());
    }
    fmt::print("{} {:>9.3f}%\n", speed_ups, 100 * least_same);
    std::fflush(stdout);
}

void run_table(const StreamStudy& study, int device, std::int64_t n, const Options& options, Json document) {
    fmt::print(
        "Sismanis et al. 2012, Fig. 5: subcorpora of {} points of {} x {}, three on the device, in CUDA streams; "
        "medians of {}\n"
        "(the paper, on a GTX 480: 2, 4 and 8 streams up to 1.75 times as fast as one)\n"
        "{:>6} {:>5} {:>12} {:>12} {:>10} {:>10} {:>10} {:>10} {:>8} {:>8} {:>8} {:>10}\n",
        subcorpus_points, n, dimensions, study.repeat, "q", "k", "copies ms", "kernels ms", "1 stream", "2", "4", "8",
        "2 / 1", "4 / 1", "8 / 1", "same ids");
    document["table"] = streams_table;
    std::optional<Resident> resident;
    CellFile file(std::move(document), "cells", study.json, study.resume, study.deadline);
    for (const Lists& shape : paper_lists)
        print(file.cell({{"q", shape.q}, {"k", shape.k}}, [&](Json& cell) {
            if (!resident) resident.emplace(device, n, options);
            measure(shape, *resident, options, study.repeat, cell);
        }));
}

bool same_bits(const Output& a, const Output& b, std::int64_t cells) {
    const auto count = static_cast<std::size_t>(cells);
    return std::memcmp(a.ids.get(), b.ids.get(), count * sizeof(std::int64_t)) == 0 &&
           std::memcmp(a.distances.get(), b.distances.get(), count * sizeof(float)) == 0;
}

Json own_table(const StreamStudy& study, Corpus& corpus, const Index& index, const Options& options, bool& all_same) {
    const std::int64_t n = corpus.points.view.rows, k = neighbours;
    Options streaming = options;
    streaming.memory = budget;
    Rows pageable(n, dimensions, ElementType::f32, host_memory);
    std::memcpy(pageable.memory.get(), corpus.points.view.data, corpus.points.bytes());
    const Rows there = corpus.points.on(corpus.device);
    fmt::print(
        "kith: {} x {} f32 in host memory, {:.0f} GiB of the device, k {}; a pass of the bus takes {:.2f} ms\n"
        "{:>6} {:>9} {:>8} {:>10} {:>12} {:>10} {:>10} {:>11} {:>10}\n",
        n, dimensions, static_cast<double>(budget) / (1 << 30), k, 1e3 * corpus.copy_seconds(), "q", "memory", "chunk",
        "ms", "of the bus", "on device", "/ that", "Index", "same bits");
    Json rows = Json::array();
    for (const std::int64_t q : query_counts) {
        const Rows& queries = corpus.of(q);
        const Output expected(q, k, host_memory);
        const Timing resident =
            repeated(study.repeat, [&] { return index.search_into(queries.view, k, options, expected.view); });
        const Output once(q, k, host_memory);
        const Timing one_call =
            repeated(study.repeat, [&] { return search_into(there.view, queries.view, k, options, once.view); });
        const std::int64_t chunk = plan({n, q, dimensions, k, ElementType::f32, false}, streaming).chunk_points;
        for (const bool pinned : {true, false}) {
            const char* const name = pinned ? "pinned" : "pageable";
            const MatrixView points = pinned ? corpus.points.view : pageable.view;
            const Output found(q, k, host_memory);
            const Timing timing =
                repeated(study.repeat, [&] { return search_into(points, queries.view, k, streaming, found.view); });
            const bool same = same_bits(found, expected, q * k);
            all_same &= same;
            const double of_bus = corpus.copy_seconds() / timing.median(),
                         of_one_call = timing.median() / one_call.median();
            fmt::print("{:>6} {:>9} {:>8} {:>10.2f} {:>10.1f} % {:>10.2f} {:>10.3f} {:>11.2f} {:>10}\n", q, name, chunk,
                       1e3 * timing.median(), 100 * of_bus, 1e3 * one_call.median(), of_one_call,
                       1e3 * resident.median(), same ? "yes" : "NO");
            std::fflush(stdout);
            rows.push_back({{"q", q},
                            {"k", k},
                            {"memory", name},
                            {"chunk_points", chunk},
                            {"median_s", timing.median()},
                            {"min_s", timing.seconds.front()},
                            {"max_s", timing.seconds.back()},
                            {"share_of_bus", of_bus},
                            {"on_device_s", one_call.median()},
                            {"over_on_device", of_one_call},
                            {"index_s", resident.median()},
                            {"same_bits", same},
                            {"candidates_per_query", timing.report.candidates / static_cast<double>(q)},
                            {"index_candidates_per_query", resident.report.candidates / static_cast<double>(q)},
                            {"retried", timing.report.retried},
                            {"scanned", timing.report.scanned}});
        }
    }
    return rows;
}

}  // namespace

bool run(const StreamStudy& study, const Options& options) {
    if (!study.table.empty() && study.streamed)
        throw Error(ErrorCode::invalid_argument, "--table, --streamed: expected one of them");
    const int device = plan({1, 1, 1, 1}, options).device;
    if (device == host_memory) {
        const std::string why = gpu::absence();
        throw Error(ErrorCode::device, "points that stream: needs a GPU" + (why.empty() ? "" : "; " + why));
    }
    const std::int64_t n = corpus_points / (study.quick ? quick_part : 1);
    Options here = options;
    here.device = "cuda:" + std::to_string(device);
    Json document = head(gpu::device_info(device).name, study.quick);
    document["repeat"] = study.repeat;
    document["n"] = n;
    document["d"] = dimensions;
    if (!study.streamed) {
        run_table(study, device, n, here, std::move(document));
        return true;
    }
    Resident resident(device, n, here);
    fmt::print("{}: {:.1f} GB/s from pinned memory; medians of {}\n", gpu::device_info(device).name,
               1e-9 * resident.corpus.bus, study.repeat);
    document["bus_bytes_per_s"] = resident.corpus.bus;
    bool same = true;
    document["streamed"] = own_table(study, resident.corpus, resident.index, here, same);
    if (!study.json.empty()) write(document, study.json);
    return same;
}

}  // namespace kith::bench
