// kith groundtruth init: looks at the files, cuts the work into units, writes the manifest.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>

#include "cut.h"
#include "files.h"
#include "groundtruth/commands.h"
#include "groundtruth/job_files.h"
#include "interrupt.h"
#include "kith/error.h"
#include "kith/memory.h"
#include "kith/shards.h"
#include "numbers.h"
#include "options.h"
#include "print.h"
#include "progress.h"
#include "say.h"

namespace kith::cli::groundtruth {
namespace {

// What a worker may take where nothing is said.
constexpr double default_memory = 4.0 * (1 << 30);
// Shards are as large as memory permits: fewer of them means fewer results to keep and to merge. Blocks are then cut so
// that a unit has about this many pairs, and little is lost with one: on two cores some minutes, on a GPU a tenth of a
// second (docs/performance.md has the rates). Smaller blocks would cost more in preparing their shard.
constexpr double unit_pairs = 0x1p36, least_block_rows = 0x1p12;
constexpr std::int64_t most_block_rows = std::int64_t{1} << 16;

struct Args {
    std::string folder;
    std::vector<std::string> base;
    std::string queries;
    bool graph = false;
    std::string format;
    std::int64_t k = 0;
    DistanceArgs distance;
    std::string memory;
    std::int64_t shard_rows = 0;
    std::int64_t query_rows = 0;
    OutputArgs output;
};

std::string new_id() {
    std::random_device device;
    return fmt::format("{:08x}{:08x}", device(), device());
}

// All rows at once, for what is estimated from them.
Matrix whole(const Rows& rows) {
    Matrix all;
    for (const RowFile& file : rows.files) {
        Matrix part = load_points(file.path, rows.format);
        if (all.bytes.empty()) {
            all = std::move(part);
            continue;
        }
        if (part.info.type != all.info.type)
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("{}: values that f32 does not hold, among files of values that it holds; give the "
                                    "metric's numbers by --variances or --inverse-covariance",
                                    file.path));
        require_memory(static_cast<std::int64_t>(part.bytes.size()), file.path);
        all.bytes.insert(all.bytes.end(), part.bytes.begin(), part.bytes.end());
        all.info.rows += part.info.rows;
    }
    return all;
}

// The numbers of a metric that are not given are those of all points, as a search would take them.
void complete_metric(Job& job) {
    Metric& metric = job.metric;
    const std::int64_t d = job.base.cols;
    const bool given = !job.numbers.empty();
    if (metric.id == MetricId::mahalanobis && !metric.inverse_covariance.data) {
        job.numbers = inverse_covariance(whole(job.base).view());
        metric.inverse_covariance = view(job.numbers.data(), d, d);
    }
    if (metric.id == MetricId::seuclidean && !metric.variances.data) {
        job.numbers = variances(whole(job.base).view());
        metric.variances = view(job.numbers.data(), 1, d);
    }
    job.estimated = !given && !job.numbers.empty();
}

Matrix first_row(const Rows& rows) {
    MatrixReader reader(rows.files[0].path, reading(rows.format));
    Matrix row;
    row.info = {reader.info().format, 1, rows.cols, rows.type};
    row.bytes.resize(static_cast<std::size_t>(rows.cols) * size_of(rows.type));
    reader.read(0, 1, row.bytes.data());
    return searchable(std::move(row), rows.files[0].path);
}

// Refuses what every unit would refuse, by a search of one row.
void check(const Job& job) {
    if (!job.graph && job.queries.cols != job.base.cols)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("--queries: {} columns; expected {}, as --base has", job.queries.cols, job.base.cols));
    Options options;
    options.metric = job.metric;
    options.device = "cpu";
    search_shard(first_row(job.base).view(), 0, first_row(job.queries).view(), 1, options);
}

void cut_rows(Job& job, const Args& args) {
    const bool given = args.query_rows > 0;
    RowSizes sizes{.memory = job.memory, .cols = job.base.cols, .k = job.k};
    sizes.points = job.base.type;
    sizes.queries = job.queries.type;
    sizes.shards_held = sizes.blocks_held = 2;
    sizes.most_queries = given ? args.query_rows : std::min(most_block_rows, job.queries.count);
    sizes.fixed_queries = given;
    const RowCut rows = cut_by_memory(sizes, "a worker");
    const std::int64_t shard = std::min(args.shard_rows > 0 ? args.shard_rows : rows.points, job.base.count);
    const double enough = std::max(least_block_rows, std::ceil(unit_pairs / static_cast<double>(shard)));
    const std::int64_t block = given ? rows.queries : std::min(rows.queries, static_cast<std::int64_t>(enough));
    cut(job.queries, std::min(block, job.queries.count));
    cut(job.base, shard);
}

void read_checksums(Job& job, bool quiet) {
    ProgressBar bar(!quiet);
    const Stopwatch clock;
    const auto bytes_of = [](const Rows& rows) {
        return static_cast<double>(rows.cols) * static_cast<double>(size_of(rows.type));
    };
    const double total = static_cast<double>(job.base.count) * bytes_of(job.base) +
                         static_cast<double>(job.queries.count) * bytes_of(job.queries);
    double done = 0;
    for (Rows* rows : {&job.base, &job.queries}) {
        add_checksums(*rows, [&](std::int64_t count) {
            done += static_cast<double>(count) * bytes_of(*rows);
            bar.draw("reading", done, total, 0);
        });
    }
}

int execute(const Args& args) {
    const Stopwatch time;
    if (args.graph != args.queries.empty())
        throw Error(ErrorCode::invalid_argument, "expected either --queries, or --graph for a graph of the base");
    require_no_job(args.folder);
    Job job;
    job.folder = args.folder;
    job.id = new_id();
    job.version = KITH_VERSION;
    job.graph = args.graph;
    job.k = args.k;
    job.memory = args.memory.empty() ? static_cast<std::int64_t>(default_memory) : parse_bytes(args.memory);
    job.metric = make_metric(args.distance, job.numbers);
    std::vector<std::string> base;
    for (const std::string& path : args.base) base.push_back(part_of(path, args.format, "train"));
    job.base = open_rows("--base", base, args.format);
    job.queries =
        args.graph ? job.base : open_rows("--queries", {part_of(args.queries, args.format, "test")}, args.format);
    complete_metric(job);
    check(job);
    cut_rows(job, args);
    read_checksums(job, args.output.quiet);
    write_job(job);
    if (args.output.json) {
        Json json = {{"command", "groundtruth init"}};
        json.update(job_json(job));
        json["seconds"] = time.seconds();
        print_json(json);
    } else if (!args.output.quiet) {
        say("{} x {} in {} ({} x {}) written to {}/manifest.json in {}\n",
            counted(job.queries.count, "query", "queries"), counted(job.base.count, "point", "points"),
            counted(job.units(), "unit", "units"), counted(job.blocks(), "block", "blocks"),
            counted(job.shards(), "shard", "shards"), job.folder, duration(time.seconds()));
    }
    return exit_ok;
}

}  // namespace

void add_init(CLI::App& app, CommandRun& run) {
    const auto args = std::make_shared<Args>();
    CLI::App* command = app.add_subcommand("init", "Cut a search or a graph into units and write the manifest");
    command->footer(
        "Reads every file once, for its checksums. The files must stay where and as they are: workers read the rows "
        "of\n"
        "their units from them. Ids count the rows of the base files, one file after the other.");
    add_folder(*command, args->folder);
    command->add_option("-b,--base", args->base, "The points, one a row, in one or several files")
        ->type_name("FILE")
        ->required()
        ->group("Input");
    command->add_option("-q,--queries", args->queries, "The queries, one a row")->type_name("FILE")->group("Input");
    command->add_flag("--graph", args->graph, "Instead of --queries: each point's neighbours among the other points")
        ->group("Input");
    add_count(*command, "-k", args->k, "Neighbours of each", 1)->type_name("K")->required()->group("Input");
    command->add_option("--format", args->format, "Format of the input, where its name does not say")
        ->type_name("NAME")
        ->group("Input");
    add_distance(*command, args->distance);
    const char* group = "The cut (never changes the answer)";
    command->add_option("--memory", args->memory, "What a worker may take; shards and blocks are cut by it (4GiB)")
        ->type_name("SIZE")
        ->group(group);
    add_count(*command, "--shard-rows", args->shard_rows, "Points of a shard at most, whatever memory it takes", 1)
        ->type_name("N")
        ->group(group);
    add_count(*command, "--query-rows", args->query_rows, "Queries of a block at most", 1)
        ->type_name("N")
        ->group(group);
    add_output(*command, args->output);
    command->callback([args, &run] { run = [args] { return execute(*args); }; });
}

}  // namespace kith::cli::groundtruth
