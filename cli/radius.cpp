// kith radius: all points within a radius of each query, or of each point.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "command.h"
#include "files.h"
#include "inputs.h"
#include "interrupt.h"
#include "json.h"
#include "kith/csr.h"
#include "numbers.h"
#include "options.h"
#include "print.h"
#include "progress.h"
#include "radius_answer.h"
#include "results.h"

namespace kith::cli {
namespace {

struct Args {
    std::string base, queries;
    InputArgs input;
    double r = 0;
    CLI::Option* r_given = nullptr;
    std::string radii;
    bool open = false, include_self = false, only_counts = false;
    std::string csr, counts;
    bool f64 = false, force = false;
    DistanceArgs distance;
    ExecutionArgs execution;
    OutputArgs output;
};

[[noreturn]] void refuse(const std::string& message) {
    throw Error(ErrorCode::invalid_argument, message);
}

void check(const Args& args) {
    if ((args.r_given->count() > 0) != args.radii.empty())
        refuse(args.radii.empty() ? "-r: missing; expected -r or --radii FILE"
                                  : "-r: given beside --radii; expected one");
    if (!args.csr.empty() && !args.csr.ends_with(".npz"))
        refuse(fmt::format("--csr '{}': expected a name ending in .npz", args.csr));
    if (args.only_counts && !args.csr.empty()) refuse("--only-counts: needs no --csr, which holds the points");
    if (args.f64 && (args.only_counts || (args.csr.empty() && !args.counts.empty())))
        refuse("--f64: the distances are written nowhere; expected --csr");
    if (args.include_self && !args.queries.empty()) refuse("--include-self: is for the points among themselves");
}

// The library's message about "r" is about an option, whatever points are searched.
template <class Search>
RadiusAnswer with_option_name(const std::string& option, const Search& search) {
    try {
        return search();
    } catch (const Error& error) {
        const std::string text = error.what();
        if (!text.starts_with("r:")) throw;
        throw Error(error.code(), option + text.substr(1));
    }
}

Radii read_radii(const Args& args, std::int64_t q) {
    Radii radii{args.r, {}, args.open};
    if (args.radii.empty()) return radii;
    // Before any is read.
    MatrixReader reader(args.radii, reading(""));
    const FileInfo& info = reader.info();
    if ((info.rows != 1 && info.cols != 1) || info.rows * info.cols != q)
        refuse(fmt::format("--radii: {} x {} values; expected one of each of {} queries", info.rows, info.cols, q));
    radii.each = to_doubles(read_matrix(reader));
    return radii;
}

// Where --memory holds less than points and queries.
std::optional<StreamedJob> streamed_job(const Args& args, const std::string& base, const std::string& queries,
                                        const std::string& format, const Options& options) {
    if (options.memory == 0) return std::nullopt;
    StreamedJob job;
    job.base = base;
    job.queries = queries;
    job.format = format;
    job.base_info = MatrixReader(base, reading(format)).info();
    job.query_info = queries.empty() ? job.base_info : MatrixReader(queries, reading(format)).info();
    job.memory = options.memory;
    job.options = options;
    job.quiet = args.output.quiet;
    if (!queries.empty()) require_same_columns(base, job.base_info, queries, job.query_info);
    if (needs_all_points(options.metric) || !exceeds_memory(job)) return std::nullopt;
    return job;
}

RadiusAnswer radius_held(const Args& args, const Matrix& base, const Matrix* own_queries, const Radii& radii,
                         Options options, bool only_counts, CsrWriter* csr) {
    RadiusAnswer answer;
    ProgressBar bar(!args.output.quiet);
    options.progress = bar.callback();
    const MatrixView points = base.view(), queries = own_queries ? own_queries->view() : MatrixView{};
    const Radius r = radii.of(0, own_queries ? queries.rows : points.rows);
    if (only_counts) {
        RadiusCounts found =
            own_queries ? radius_counts(points, queries, r, options) : radius_graph_counts(points, r, options);
        set_counts(answer, std::move(found.counts));
        answer.report = std::move(found.report);
    } else {
        const TakeRadiusRows take = into(answer, csr);
        answer.report = own_queries ? radius_blocks(points, queries, r, options, take)
                                    : radius_graph_blocks(points, r, options, take);
    }
    return answer;
}

void print_rows(const RadiusAnswer& answer, const char* row_name, bool f64, bool only_counts) {
    fmt::print("{:>8}  {:>10}{}\n", row_name, "within", only_counts ? "" : "  nearest: id (distance)");
    for (std::size_t i = 0; i < answer.first.size(); ++i) {
        const RadiusRow& row = answer.first[i];
        std::string text = fmt::format("{:>8}  {:>10}", i, grouped(row.count));
        for (std::size_t j = 0; j < row.ids.size(); ++j)
            text += fmt::format("  {} ({})", row.ids[j],
                                f64 ? fmt::format("{}", row.distances[j]) : short_distance(row.distances[j]));
        if (!row.ids.empty() && static_cast<std::int64_t>(row.ids.size()) < row.count) text += "  ...";
        fmt::print("{}\n", text);
    }
    if (answer.first.size() < answer.counts.size())
        fmt::print("The first {} of {} rows; {} writes them all.\n", answer.first.size(),
                   grouped(static_cast<std::int64_t>(answer.counts.size())), only_counts ? "--counts" : "--csr");
    std::fflush(stdout);
}

Json json_of(const RadiusAnswer& answer) {
    Json rows = Json::array();
    for (const RadiusRow& row : answer.first)
        rows.push_back({{"count", row.count}, {"ids", row.ids}, {"distances", row.distances}});
    return rows;
}

int execute(const Args& args) {
    const Stopwatch total;
    check(args);
    std::vector<double> numbers;
    Options options;
    options.metric = make_metric(args.distance, numbers);
    options.f64 = args.f64;
    options.include_self = args.include_self;
    set_execution(args.execution, options);
    const bool graph = args.queries.empty();
    Inputs inputs(args.input, options.memory);
    OutputSet outputs(args.force, [] { return !interrupted(); });
    const std::string base_part = part_of(args.base, inputs.format(), "train");
    const std::string query_part = graph ? "" : part_of(args.queries, inputs.format(), "test");
    outputs.reads("--base", base_part);
    if (!graph) outputs.reads("--queries", query_part);
    outputs.reads("--radii", args.radii);
    reads_distance(outputs, args.distance);
    if (!args.csr.empty()) outputs.add_bytes("--csr", args.csr);
    if (!args.counts.empty()) outputs.add("--counts", with_data_set(args.counts, "counts"));

    const Stopwatch reading_time;
    const std::optional<StreamedJob> job = streamed_job(args, base_part, query_part, inputs.format(), options);
    const std::pair<Matrix, Matrix> held =
        job ? std::pair<Matrix, Matrix>() : inputs.points_and_queries(base_part, query_part);
    const Matrix& base = held.first;
    const Matrix& own_queries = held.second;
    if (!job) options.memory = inputs.memory_left();
    const FileInfo points = job ? job->base_info : base.info;
    const std::int64_t q = graph ? points.rows : job ? job->query_info.rows : own_queries.info.rows;
    const Radii radii = read_radii(args, q);
    const double read_seconds = reading_time.seconds();

    std::optional<MatrixWriter> count_file;
    if (!args.counts.empty())
        count_file.emplace(
            open_writer(outputs, with_data_set(args.counts, "counts"), q, 1, {ElementType::i64, ElementType::i32}));
    std::optional<CsrWriter> csr;
    if (!args.csr.empty()) csr.emplace(outputs, args.csr, points.rows, args.f64);
    const bool only_counts = args.only_counts || (!csr && count_file);
    CsrWriter* const writer = csr ? &*csr : nullptr;
    RadiusAnswer answer = with_option_name(args.radii.empty() ? "--radius" : "--radii", [&] {
        return job ? radius_streamed(*job, radii, only_counts, writer, args.csr)
                   : radius_held(args, base, graph ? nullptr : &own_queries, radii, options, only_counts, writer);
    });
    stop_if_interrupted();
    if (job) {
        job->add_to(inputs, *answer.streamed);
    } else {
        answer.gaps.nan_queries = inputs.nan_rows_of(graph ? base_part : query_part);
        if (!graph) answer.gaps.nan_points = inputs.nan_rows_of(base_part);
    }
    inputs.compare(options.metric);
    const Stopwatch writing;
    if (csr) csr->finish();
    if (count_file) {
        if (count_file->info().type == ElementType::i32) {
            const std::vector<std::int32_t> narrow(answer.counts.begin(), answer.counts.end());
            count_file->append(narrow.data(), q);
        } else {
            count_file->append(answer.counts.data(), q);
        }
        count_file->commit();
    }
    stop_if_interrupted();
    outputs.commit();
    Json files = Json::object();
    if (!args.counts.empty()) files["counts"] = args.counts;
    if (!args.csr.empty()) files["csr"] = args.csr;
    double pairs = 0;
    for (const std::int64_t of_row : answer.counts) pairs += static_cast<double>(of_row);
    if (args.output.json) {
        Json object = {{"command", "radius"},
                       {"kith", KITH_VERSION},
                       {"n", points.rows},
                       {"q", q},
                       {"d", points.cols},
                       {"graph", graph},
                       {"include_self", args.include_self},
                       {"open", args.open}};
        // JSON has no infinity.
        if (args.radii.empty()) object["r"] = std::isinf(args.r) ? Json(args.r > 0 ? "inf" : "-inf") : Json(args.r);
        object["metric"] = to_json(options.metric);
        object["within"] = static_cast<std::int64_t>(pairs);
        object["inputs"] = inputs.json();
        object["report"] = to_json(answer.report);
        object["report"]["nan_queries"] = answer.gaps.nan_queries;
        object["report"]["nan_points"] = answer.gaps.nan_points;
        if (answer.streamed) object["streamed"] = to_json(*answer.streamed);
        add_end(object,
                {{"read", read_seconds},
                 {"prepare", answer.report.prepare_seconds},
                 {"search", answer.report.seconds},
                 {"write", writing.seconds()},
                 {"total", total.seconds()}},
                files);
        if (files.empty()) object["rows"] = json_of(answer);
        print_json(object);
        return exit_ok;
    }
    if (files.empty()) print_rows(answer, graph ? "point" : "query", args.f64, only_counts);
    say_end(args.output,
            fmt::format("{}{} within, {:.4g} of each\n{}",
                        answer.streamed ? summary(*answer.streamed) : summary(answer.report),
                        counted(static_cast<std::int64_t>(pairs), "point", "points"),
                        pairs / static_cast<double>(std::max<std::int64_t>(q, 1)), inputs.text()),
            files);
    return exit_ok;
}

}  // namespace

void add_radius(CLI::App& app, CommandRun& run) {
    const auto args = std::make_shared<Args>();
    CLI::App* command = app.add_subcommand("radius", "All points within a radius of each query, or of each point");
    command->footer(
        "A point at exactly the radius is within, unless --open. Distances are compared as the metric reports them, "
        "in\n"
        "binary64. For inner_product, whose larger products are nearer, those of at least the radius are within.");
    command->add_option("-b,--base", args->base, "The points, one a row")
        ->type_name("FILE")
        ->required()
        ->group("Input");
    command
        ->add_option("-q,--queries", args->queries, "The queries, one a row; without, the points, each without itself")
        ->type_name("FILE")
        ->group("Input");
    args->r_given = add_real(*command, "-r,--radius", args->r, "The radius, in the metric's distance")
                        ->type_name("R")
                        ->group("Input");
    command->add_option("--radii", args->radii, "A radius of each query: a file of one column or one row")
        ->type_name("FILE")
        ->group("Input");
    command->add_flag("--open", args->open, "Leave out points at exactly the radius")->group("Input");
    command->add_flag("--include-self", args->include_self, "Without --queries: each point is in its own row, too")
        ->group("Input");
    add_input(*command, args->input, "the input, where its name does not say");
    add_distance(*command, args->distance, {.metric = "euclidean"});
    const char* output = "Output (without a file: a table of the first rows)";
    command
        ->add_option("--csr", args->csr,
                     "Write ids and distances as a sparse matrix for scipy.sparse.load_npz: .npz, as they are found")
        ->type_name("FILE")
        ->group(output);
    command
        ->add_option("--counts", args->counts,
                     "Write how many there are of each: npy, ivecs, hdf5; without --csr "
                     "they are only counted")
        ->type_name("FILE")
        ->group(output);
    command->add_flag("--only-counts", args->only_counts, "Count, and list nothing")->group(output);
    command->add_flag("--force", args->force, "Replace data sets that an HDF5 file holds already")->group(output);
    command->add_flag("--f64", args->f64, "Distances as f64 instead of f32")->group(output);
    add_execution(*command, args->execution);
    add_output(*command, args->output);
    command->callback([args, &run] { run = [args] { return execute(*args); }; });
}

}  // namespace kith::cli
