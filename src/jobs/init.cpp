// Creates a job: reads the files' headers, cuts the work into units, writes the manifest.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>

#include "jobs/files/job_files.h"
#include "jobs/files/manifest.h"
#include "jobs/job.h"
#include "jobs/stop.h"
#include "kith/cut.h"
#include "kith/error.h"
#include "kith/kith.h"
#include "kith/memory.h"
#include "kith/searchable.h"
#include "machine/float_state.h"

namespace kith::groundtruth {
namespace {

// Shards are as large as memory permits: fewer shards mean fewer results to store and merge. Blocks
// are then cut so that a unit has about unit_pairs pairs and little is lost with one
// (docs/performance.md has the rates). Smaller blocks would cost more in preparing their shard.
constexpr double unit_pairs = 0x1p36, least_block_rows = 0x1p12;
constexpr std::int64_t most_block_rows = std::int64_t{1} << 16;

std::string new_id() {
    std::random_device device;
    return fmt::format("{:08x}{:08x}", device(), device());
}

void check_options(const InitOptions& options) {
    const auto refuse = [](const std::string& message) {
        throw Error(ErrorCode::invalid_argument, message);
    };
    if (options.base.empty()) refuse("base: expected at least one file");
    if (options.graph != options.queries.empty())
        refuse("expected either queries, or graph for a graph of the base");
    if (options.k < 1) refuse(fmt::format("k is {}: expected at least 1", options.k));
    if (options.shard_rows < 0)
        refuse(fmt::format("shard_rows: {}; expected at least 1", options.shard_rows));
    if (options.query_rows < 0)
        refuse(fmt::format("query_rows: {}; expected at least 1", options.query_rows));
}

// Reads all rows at once, to estimate a metric's parameters from them.
Matrix whole(const Rows& rows, Stop& stop) {
    Matrix all;
    for (const RowFile& file : rows.files) {
        Matrix part = read_points(file.path, rows.format, stop);
        if (all.bytes.empty()) {
            all = std::move(part);
            continue;
        }
        if (part.info.type != all.info.type)
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("{}: values that f32 does not hold, among files of values that "
                                    "it holds; give the "
                                    "metric's numbers by variances or inverse_covariance",
                                    file.path));
        require_memory(static_cast<std::int64_t>(part.bytes.size()), file.path);
        all.bytes.insert(all.bytes.end(), part.bytes.begin(), part.bytes.end());
        all.info.rows += part.info.rows;
    }
    return all;
}

// The numbers of a metric's parameter, row by row.
std::vector<double> copied(const char* name, const MatrixView& numbers) {
    if (numbers.type != ElementType::f64 || numbers.device != host_memory)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{}: expected f64 in host memory", name));
    std::vector<double> all;
    const auto* const data = static_cast<const double*>(numbers.data);
    for (std::int64_t row = 0; row < numbers.rows; ++row) {
        for (std::int64_t col = 0; col < numbers.cols; ++col)
            all.push_back(numbers.layout == Layout::row_major ? data[row * numbers.stride + col]
                                                              : data[col * numbers.stride + row]);
    }
    return all;
}

// Gives the job its own copy of the metric's parameter. If it is not given, it is estimated from
// all points, as a search would.
void complete_metric(Job& job, Stop& stop) {
    const bool covariance = job.metric.id == MetricId::mahalanobis;
    if (!covariance && job.metric.id != MetricId::seuclidean) return;
    const std::int64_t d = job.base.cols;
    MatrixView& numbers = covariance ? job.metric.inverse_covariance : job.metric.variances;
    if (numbers.data) {
        job.numbers = copied(covariance ? "inverse_covariance" : "variances", numbers);
        numbers = view(job.numbers.data(), numbers.rows, numbers.cols);
        return;
    }
    job.estimated = true;
    const Matrix all = whole(job.base, stop);
    job.numbers = covariance ? inverse_covariance(all.view()) : variances(all.view());
    numbers = view(job.numbers.data(), covariance ? d : 1, d);
}

Matrix first_row(const Rows& rows) {
    MatrixReader reader(rows.files[0].path, rows.format);
    Matrix row;
    row.info = {reader.info().format, 1, rows.cols, rows.type};
    row.bytes.resize(static_cast<std::size_t>(rows.cols) * size_of(rows.type));
    reader.read(0, 1, row.bytes.data());
    return searchable(std::move(row), rows.files[0].path);
}

// Searches one row, to throw errors that every unit would throw.
void check_search(const Job& job) {
    if (!job.graph && job.queries.cols != job.base.cols)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("queries: {} columns; expected {}, as base has", job.queries.cols,
                                job.base.cols));
    Options options;
    options.metric = job.metric;
    options.device = "cpu";
    search_shard(first_row(job.base).view(), 0, first_row(job.queries).view(), 1, options);
}

// Checks the manifest's limits before the pieces are made.
void require_few_units(std::int64_t shards, std::int64_t blocks) {
    if (shards <= most_pieces && blocks <= most_pieces - shards && shards <= most_units / blocks)
        return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} shards x {} blocks; expected at most {} of both and {} units: "
                            "larger ones, by more memory, "
                            "shard_rows or query_rows",
                            shards, blocks, most_pieces, most_units));
}

void cut_rows(Job& job, const InitOptions& options) {
    const bool given = options.query_rows > 0;
    RowSizes sizes{.memory = job.memory, .cols = job.base.cols, .k = job.k};
    sizes.points = job.base.type;
    sizes.queries = job.queries.type;
    sizes.shards_held = sizes.blocks_held = 2;
    sizes.most_queries = given ? options.query_rows : std::min(most_block_rows, job.queries.count);
    sizes.fixed_queries = given;
    const RowCut rows = cut_by_memory(sizes, "a worker");
    const std::int64_t shard =
        std::min(options.shard_rows > 0 ? options.shard_rows : rows.points, job.base.count);
    // Half of the allowed number of units: each file ends in a shorter block.
    const double shards = static_cast<double>(pieces_of(job.base, shard)),
                 most = static_cast<double>(most_units) / 2;
    const double enough =
        std::max({least_block_rows, std::ceil(unit_pairs / static_cast<double>(shard)),
                  std::ceil(static_cast<double>(job.queries.count) * shards / most)});
    std::int64_t block =
        given ? rows.queries : std::min(rows.queries, static_cast<std::int64_t>(enough));
    block = std::min(block, job.queries.count);
    require_few_units(pieces_of(job.base, shard), pieces_of(job.queries, block));
    cut(job.queries, block);
    cut(job.base, shard);
}

void read_checksums(Job& job, Stop& stop) {
    const auto bytes_of = [](const Rows& rows) {
        return static_cast<double>(rows.cols) * static_cast<double>(size_of(rows.type));
    };
    const double total = static_cast<double>(job.base.count) * bytes_of(job.base) +
                         static_cast<double>(job.queries.count) * bytes_of(job.queries);
    double done = 0;
    for (Rows* rows : {&job.base, &job.queries}) {
        add_checksums(*rows, stop, [&](std::int64_t count) {
            done += static_cast<double>(count) * bytes_of(*rows);
            stop.at("reading", done, total);
        });
    }
}

}  // namespace

JobInfo init(const std::string& folder, const InitOptions& options) {
    const machine::FloatState state;
    check_options(options);
    require_no_job(folder);
    Stop stop(options.on_step);
    Job job;
    job.folder = folder;
    job.id = new_id();
    job.version = KITH_VERSION;
    job.graph = options.graph;
    job.k = options.k;
    job.memory = options.memory;
    job.metric = options.metric;
    job.base = open_rows("base", options.base, options.format, stop);
    job.queries =
        options.graph ? job.base : open_rows("queries", {options.queries}, options.format, stop);
    complete_metric(job, stop);
    check_search(job);
    cut_rows(job, options);
    read_checksums(job, stop);
    write_job(job);
    return info_of(job);
}

}  // namespace kith::groundtruth
