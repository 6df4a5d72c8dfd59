// A corpus of 16,777,216 x 128 in host memory, searched as Sismanis et al. 2012 did (Fig. 5) and as kith does.
#include "search/streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "arrays.h"
#include "document.h"
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

Json paper_table(const StreamStudy& study, Corpus& corpus, const Index& index, const Options& options) {
    const std::int64_t n = corpus.points.view.rows;
    fmt::print(
        "Sismanis et al. 2012, Fig. 5: subcorpora of {} points of {} x {}, three on the device, in CUDA streams\n"
        "(the paper, on a GTX 480: 2, 4 and 8 streams up to 1.75 times as fast as one)\n"
        "{:>6} {:>5} {:>12} {:>12} {:>10} {:>10} {:>10} {:>10} {:>8} {:>8} {:>8} {:>10}\n",
        subcorpus_points, n, dimensions, "q", "k", "copies ms", "kernels ms", "1 stream", "2", "4", "8", "2 / 1",
        "4 / 1", "8 / 1", "same ids");
    Json rows = Json::array();
    for (const Lists& shape : paper_lists) {
        const Rows& queries = corpus.of(shape.q);
        const Rows there = queries.on(corpus.device);
        const Output exact(shape.q, shape.k, host_memory);
        index.search_into(queries.view, shape.k, options, exact.view);
        const Partition partition{corpus.device, n, shape.q, dimensions, shape.k, subcorpus_points};
        const auto* const points = static_cast<const float*>(corpus.points.view.data);
        const auto* const of = static_cast<const float*>(there.view.data);
        Json row{{"q", shape.q}, {"k", shape.k}, {"streams", Json::array()}};
        double copies = 0, kernels = 0, least_same = 1;
        std::vector<double> seconds;
        for (const int streams : stream_counts) {
            PartitionedSearch search(partition, streams, points, of);
            if (streams == 1) {
                copies = median(study.repeat, search, Pass::copies);
                kernels = median(study.repeat, search, Pass::kernels);
            }
            seconds.push_back(median(study.repeat, search, Pass::whole));
            const double same = agreement(search.ids(), exact.view.ids, shape.k);
            least_same = std::min(least_same, same);
            row["streams"].push_back({{"streams", streams},
                                      {"median_s", seconds.back()},
                                      {"speed_up", seconds.front() / seconds.back()},
                                      {"same_ids", same}});
        }
        row["copies_s"] = copies;
        row["kernels_s"] = kernels;
        fmt::print("{:>6} {:>5} {:>12.2f} {:>12.2f}", shape.q, shape.k, 1e3 * copies, 1e3 * kernels);
        for (const double s : seconds) fmt::print(" {:>10.2f}", 1e3 * s);
        for (std::size_t i = 1; i < seconds.size(); ++i) fmt::print(" {:>8.2f}", seconds[0] / seconds[i]);
        fmt::print(" {:>9.3f}%\n", 100 * least_same);
        std::fflush(stdout);
        rows.push_back(row);
    }
    return rows;
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
    if (!study.table.empty() && study.table != streams_table)
        throw Error(ErrorCode::invalid_argument, fmt::format("--table: '{}'; expected {}", study.table, streams_table));
    const int device = plan({1, 1, 1, 1}, options).device;
    if (device == host_memory) {
        const std::string why = gpu::absence();
        throw Error(ErrorCode::device, "points that stream: needs a GPU" + (why.empty() ? "" : "; " + why));
    }
    const std::int64_t n = corpus_points / (study.quick ? quick_part : 1);
    Corpus corpus(device, n);
    Options here = options;
    here.device = "cuda:" + std::to_string(device);
    const Index index(corpus.points.view, here);
    const std::string name = gpu::device_info(device).name;
    fmt::print("{}: {:.1f} GB/s from pinned memory; medians of {}\n", name, 1e-9 * corpus.bus, study.repeat);
    Json document = head(name, study.quick);
    document["repeat"] = study.repeat;
    document["n"] = n;
    document["d"] = dimensions;
    document["bus_bytes_per_s"] = corpus.bus;
    bool same = true;
    const auto record = [&](const char* part, Json table) {
        document[part] = std::move(table);
        if (!study.json.empty()) write(document, study.json);
    };
    if (study.streamed) record("streamed", own_table(study, corpus, index, here, same));
    if (!study.table.empty()) record(streams_table, paper_table(study, corpus, index, here));
    return same;
}

}  // namespace kith::bench
