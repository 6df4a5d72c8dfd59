// kith search and kith graph: the neighbours of queries among points, or of the points among themselves.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "command.h"
#include "files.h"
#include "gaps.h"
#include "inputs.h"
#include "interrupt.h"
#include "json.h"
#include "kith/cut.h"
#include "kith/memory.h"
#include "numbers.h"
#include "options.h"
#include "print.h"
#include "progress.h"
#include "results.h"
#include "streamed.h"

namespace kith::cli {
namespace {

struct Args {
    bool graph = false;
    std::string base;
    std::string queries;
    InputArgs input;
    std::int64_t k = 0;
    DistanceArgs distance;
    ExecutionArgs execution;
    OutputArgs output;
    ResultArgs result;
    bool explain = false;
    std::string csr;
    bool include_self = false;
    bool with_data = false;
};

// Anything that the file of --out cannot hold is refused, not left out.
void check_kind(const Args& args) {
    const ResultArgs& result = args.result;
    const OutKind kind = kind_of(result.out);
    const auto refuse = [](const std::string& message) { throw Error(ErrorCode::invalid_argument, message); };
    if (args.with_data && kind != OutKind::ann_benchmarks) {
        refuse(kind == OutKind::none ? "--with-data: needs --out FILE.hdf5"
                                     : fmt::format("--with-data: a big-ann ground truth ('{}') has no room for base "
                                                   "and queries; expected --out FILE.hdf5",
                                                   result.out));
    }
    if (!args.csr.empty() && !args.csr.ends_with(".npz"))
        refuse(fmt::format("--csr '{}': expected a name ending in .npz", args.csr));
    if (result.f64 && !result.ids.empty() && result.distances.empty() && result.out.empty() && args.csr.empty())
        refuse("--f64: the distances are written nowhere; expected --distances, --out or --csr besides --ids");
    check_out(result);
}

// All files of the command, before any work: an output that cannot be written or would destroy an input is found here.
void open_outputs(OutputSet& outputs, const Args& args, const Metric& metric, const std::string& base,
                  const std::string& queries) {
    outputs.reads("--base", base);
    outputs.reads("--queries", queries);
    reads_distance(outputs, args.distance);
    // Without test, it is a graph of train.
    open_results(outputs, args.result, metric, args.with_data, args.with_data && !args.graph);
    if (!args.csr.empty()) outputs.add_bytes("--csr", args.csr);
}

void write_whole(OutputSet& outputs, const Args& args, const Neighbors& neighbors, const MatrixView& base,
                 const MatrixView& queries) {
    const MatrixView none{};
    write_out(outputs, args.result, neighbors, args.with_data ? base : none,
              args.with_data && !args.graph ? queries : none);
    if (!args.csr.empty()) write_csr(outputs, args.csr, neighbors, base.rows);
}

Json files_json(const Args& args) {
    Json files = to_json(args.result);
    if (!args.csr.empty()) files["csr"] = args.csr;
    return files;
}

struct Paths {
    std::string base, queries;  // as MatrixReader takes them
};

struct Answer {
    Shape shape;
    Plan plan;
    Neighbors neighbors;  // all of them, or of the first queries where they are written in parts
    std::optional<StreamedReport> streamed;
    Gaps gaps;
    double read_seconds = 0, write_seconds = 0;
};

template <class MakePlan>
void explain_first(const Args& args, Answer& answer, const MakePlan& plan) {
    if (args.output.json || args.explain) answer.plan = plan();
    if (!args.explain || args.output.json) return;
    fmt::print("{}\n", explain(answer.plan));
    std::fflush(stdout);
}

Answer search_held(const Args& args, const Paths& paths, Inputs& inputs, Options options, OutputSet& outputs) {
    Answer answer;
    const Stopwatch reading_time;
    const auto [base, own_queries] = inputs.points_and_queries(paths.base, paths.queries);
    const Matrix& queries = args.graph ? base : own_queries;
    answer.read_seconds = reading_time.seconds();
    inputs.take(result_bytes(queries.info.rows, args.k), "the result");
    options.memory = inputs.memory_left();
    std::optional<ResultFiles> results;
    if (args.k > 0) {  // the library says better what is wrong with another
        results.emplace(result_files(outputs, args.result, queries.info.rows, args.k, base.info.rows));
    }
    answer.shape = {base.info.rows, queries.info.rows, base.info.cols, args.k, base.info.type, args.graph};
    explain_first(args, answer, [&] { return kith::plan(answer.shape, options); });
    {
        ProgressBar bar(!args.output.quiet);
        options.progress = bar.callback();
        answer.neighbors =
            args.graph ? graph(base.view(), args.k, options) : search(base.view(), queries.view(), args.k, options);
    }
    stop_if_interrupted();
    answer.gaps = gaps_of(answer.neighbors, queries.view());
    if (!args.graph) answer.gaps.nan_points = inputs.nan_rows_of(paths.base);

    const Stopwatch writing;
    results->write(answer.neighbors);
    write_whole(outputs, args, answer.neighbors, base.view(), queries.view());
    stop_if_interrupted();
    outputs.commit();
    answer.write_seconds = writing.seconds();
    return answer;
}

// Where --memory holds less than points, queries and results.
std::optional<StreamedJob> streamed_job(const Args& args, const Paths& paths, const std::string& format,
                                        const Options& options) {
    const bool needs_all = args.with_data || args.include_self || needs_all_points(options.metric);
    if (options.memory == 0 || args.k < 1) return std::nullopt;
    StreamedJob job;
    job.base = paths.base;
    job.queries = paths.queries;
    job.format = format;
    job.base_info = MatrixReader(paths.base, reading(format)).info();
    job.query_info = args.graph ? job.base_info : MatrixReader(paths.queries, reading(format)).info();
    job.k = args.k;
    job.memory = options.memory;
    job.options = options;
    job.quiet = args.output.quiet;
    if (!args.graph) require_same_columns(paths.base, job.base_info, paths.queries, job.query_info);
    if (needs_all || !exceeds_memory(job)) return std::nullopt;
    return job;
}

Answer search_in_shards(const Args& args, const StreamedJob& job, OutputSet& outputs) {
    Answer answer;
    const FileInfo& base = job.base_info;
    const bool wide = base.type == ElementType::i32 || base.type == ElementType::i64;
    answer.shape = {base.rows, job.query_info.rows, base.cols, job.k, wide ? ElementType::f32 : base.type, args.graph};
    explain_first(args, answer, [&] { return plan_of_part(job); });
    ResultFiles results = result_files(outputs, args.result, job.query_info.rows, job.k, base.rows);
    const bool keeps = !args.result.out.empty() || !args.csr.empty();
    if (keeps)
        require_memory(job.query_info.rows * job.k * static_cast<std::int64_t>(sizeof(std::int64_t) + sizeof(double)),
                       "the result");
    // All of them, or those that are printed.
    const std::int64_t kept = keeps ? job.query_info.rows : std::min(job.query_info.rows, printed_rows);
    Neighbors& all = answer.neighbors;
    all.k = job.k;
    const auto cells = static_cast<std::size_t>(kept * job.k);
    all.ids.reserve(cells);
    if (job.options.f64) all.distances64.reserve(cells);
    else all.distances.reserve(cells);
    answer.streamed = search_streamed(job, [&](Neighbors&& part) {
        results.append(part);
        const std::int64_t rows = std::min(part.queries, kept - all.queries);
        const auto append = [&](auto& to, const auto& from) {
            if (!from.empty()) to.insert(to.end(), from.begin(), from.begin() + rows * job.k);
        };
        append(all.ids, part.ids);
        append(all.distances, part.distances);
        append(all.distances64, part.distances64);
        all.queries += rows;
    });
    all.report = answer.streamed->report;
    answer.gaps = answer.streamed->gaps;
    const Stopwatch writing;
    results.finish();
    const MatrixView points{.data = nullptr, .rows = base.rows};
    write_whole(outputs, args, all, points, {});
    stop_if_interrupted();
    outputs.commit();
    answer.write_seconds = writing.seconds();
    return answer;
}

int execute(const Args& args) {
    const Stopwatch total;
    std::vector<double> numbers;
    Options options;
    options.metric = make_metric(args.distance, numbers);
    options.f64 = args.result.f64;
    options.include_self = args.include_self;
    set_execution(args.execution, options);
    check_kind(args);
    OutputSet outputs(args.result.force, [] { return !interrupted(); });
    Inputs inputs(args.input, options.memory);
    const Paths paths{part_of(args.base, inputs.format(), "train"),
                      args.graph ? "" : part_of(args.queries, inputs.format(), "test")};
    open_outputs(outputs, args, options.metric, paths.base, paths.queries);

    const std::optional<StreamedJob> job = streamed_job(args, paths, inputs.format(), options);
    const Answer answer =
        job ? search_in_shards(args, *job, outputs) : search_held(args, paths, inputs, options, outputs);
    if (job) job->add_to(inputs, *answer.streamed);
    inputs.compare(options.metric);
    const Neighbors& neighbors = answer.neighbors;
    const Json files = files_json(args);

    if (args.output.json) {
        Json object = {
            {"command", args.graph ? "graph" : "search"}, {"kith", KITH_VERSION}, {"shape", to_json(answer.shape)}};
        if (args.graph) object["include_self"] = args.include_self;
        object["inputs"] = inputs.json();
        object["metric"] = to_json(options.metric);
        object["plan"] = to_json(answer.plan);
        if (args.explain) object["explain"] = explain(answer.plan);
        object["report"] = to_json(neighbors.report);
        object["report"]["nan_queries"] = answer.gaps.nan_queries;
        object["report"]["nan_points"] = answer.gaps.nan_points;
        object["report"]["missing_neighbours"] = answer.gaps.missing;
        if (answer.streamed) object["streamed"] = to_json(*answer.streamed);
        add_end(object,
                {{"read", answer.read_seconds},
                 {"prepare", neighbors.report.prepare_seconds},
                 {"search", neighbors.report.seconds},
                 {"write", answer.write_seconds},
                 {"total", total.seconds()}},
                files);
        if (files.empty()) object["neighbors"] = first_rows_json(neighbors);
        print_json(object);
        return exit_ok;
    }
    if (args.explain) {
        const Report report = answer.streamed ? of_each_shard(*answer.streamed) : neighbors.report;
        fmt::print("{}{}", explain(report), fallbacks_text(report));
        std::fflush(stdout);
    }
    if (files.empty()) {
        fmt::print(
            "{}", first_rows(neighbors, answer.shape.q, args.graph ? "point" : "query", terminal_width(STDOUT_FILENO)));
        std::fflush(stdout);
    }
    say_end(args.output,
            (answer.streamed ? summary(*answer.streamed) : summary(neighbors.report)) + inputs.text() +
                gaps_text(answer.gaps, args.k),
            files);
    return exit_ok;
}

void add(CLI::App& app, CommandRun& run, bool graph) {
    const auto args = std::make_shared<Args>();
    args->graph = graph;
    CLI::App* command = graph ? app.add_subcommand("graph", "Each point's k nearest among the other points")
                              : app.add_subcommand("search", "The k nearest points of each query");
    command->footer(
        "Ids count the rows of --base as it was given: of file.fvecs:1000:5000 (rows 1000 to 5999), id 0 is row 1000.\n"
        "A data set in an HDF5 file: file.hdf5/train. Formats follow the file's name; kith info lists them.");
    command->add_option("-b,--base", args->base, "The points, one a row")
        ->type_name("FILE")
        ->required()
        ->group("Input");
    if (!graph) {
        command->add_option("-q,--queries", args->queries, "The queries, one a row")
            ->type_name("FILE")
            ->required()
            ->group("Input");
    }
    add_count(*command, "-k", args->k, "Neighbours of each", 1)->type_name("K")->required()->group("Input");
    if (graph) {
        command
            ->add_flag("--include-self", args->include_self,
                       "Each row begins with its own point, which k counts: as UMAP and scikit-learn take graphs")
            ->group("Input");
    }
    add_input(*command, args->input, "the input, where its name does not say");
    add_distance(*command, args->distance);

    const char* output = "Output (without a file: a table of the first rows)";
    add_result_files(*command, args->result, output);
    command
        ->add_option(
            "--csr", args->csr,
            "Write ids and distances as a sparse matrix for scipy.sparse.load_npz: .npz; missing neighbours are "
            "left out")
        ->type_name("FILE")
        ->group(output);
    command->add_flag("--with-data", args->with_data, "Put base and queries into the .hdf5 as well (train and test)")
        ->group(output);
    add_result_form(*command, args->result, output);
    command
        ->add_flag("--explain", args->explain,
                   "Print the plan, the attempts that ran, and why queries were retried or scanned")
        ->group(output);
    add_execution(*command, args->execution);
    add_output(*command, args->output);
    command->callback([args, &run] { run = [args] { return execute(*args); }; });
}

}  // namespace

void add_search(CLI::App& app, CommandRun& run) {
    add(app, run, false);
}
void add_graph(CLI::App& app, CommandRun& run) {
    add(app, run, true);
}

}  // namespace kith::cli
