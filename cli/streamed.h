// Searches of points that are not held in memory: read in shards, the next one while one is searched, for one block of
// queries after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "gaps.h"
#include "inputs.h"
#include "json.h"
#include "kith/cut.h"
#include "kith/io.h"
#include "kith/kith.h"

namespace kith::cli {

struct StreamedReport;

struct StreamedJob {
    std::string base, queries, format;  // as MatrixReader takes them; no queries: a graph of the base
    FileInfo base_info, query_info;     // of a graph the same
    std::int64_t k = 0;                 // 0: within a radius
    std::int64_t memory = 0;            // bytes of the whole process
    Options options;                    // `memory` and `progress` are set here
    bool quiet = false;

    // Tells of what was read, as Inputs does itself of what it reads.
    void add_to(Inputs& inputs, const StreamedReport& report) const;
};

struct StreamedReport {
    // `queries` are those of the job, `pairs` all; what was certified, retried and scanned, and the fallbacks, count
    // each query once for each shard that it was searched in.
    Report report;
    std::int64_t shards = 0, blocks = 0;
    double waited_seconds = 0;  // for rows that had not been read yet
    Gaps gaps;
};

// True if points, queries and results, held at once, take more than `memory`.
bool exceeds_memory(const StreamedJob& job);

// True if the metric has to be estimated from all points.
bool needs_all_points(const Metric& metric);

// How many points and queries are held at once.
RowCut cut_of(const StreamedJob& job);
// Options of a search of these. A GPU's workspace is none of the host's memory, but no more than was asked for.
Options with_workspace(const StreamedJob& job, const RowCut& cut);

// One shard and one block of queries, whose first rows have those numbers.
struct StreamedPart {
    MatrixView shard;
    std::int64_t first_point = 0;
    MatrixView block;
    std::int64_t first_query = 0;
};
using SearchPart = std::function<Report(const StreamedPart& part, const Options& options)>;
using EndBlock = std::function<void(const MatrixView& block, std::int64_t first_query)>;
// Reads all parts, the shards of a block in order, and draws the progress of `search`. The report has of the gaps the
// rows with NaN.
StreamedReport each_part(const StreamedJob& job, const RowCut& cut, Options options, const SearchPart& search,
                         const EndBlock& end_block);

// The plan of the largest shard and block.
Plan plan_of_part(const StreamedJob& job);

// Hands the neighbours of one block of queries after the other, in order, to `take`. Throws as search() does;
// out_of_memory where `memory` is too little, invalid_argument for a metric that all points would have to be in memory
// for.
StreamedReport search_streamed(const StreamedJob& job, const std::function<void(Neighbors&&)>& take);

// The report with as many queries as its counts are of: each once for each shard.
Report of_each_shard(const StreamedReport& streamed);
Json to_json(const StreamedReport& streamed);  // how the points were read
// As summary(), and how often the points were read.
std::string summary(const StreamedReport& streamed);

}  // namespace kith::cli
