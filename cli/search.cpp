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
#include "interrupt.h"
#include "json.h"
#include "numbers.h"
#include "options.h"
#include "print.h"
#include "progress.h"
#include "results.h"
#include "say.h"

namespace kith::cli {
namespace {

struct Args {
    bool graph = false;
    std::string base;
    std::string queries;
    std::string format;
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

// What the file of --out cannot hold is refused, not left out.
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
    outputs.reads("--inverse-covariance", args.distance.inverse_covariance);
    outputs.reads("--variances", args.distance.variances);
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
    const std::string base_path = part_of(args.base, args.format, "train");
    const std::string queries_path = part_of(args.queries, args.format, "test");
    open_outputs(outputs, args, options.metric, base_path, queries_path);

    const Stopwatch reading;
    const Matrix base = load_points(base_path, args.format);
    const Matrix own_queries = args.graph ? Matrix{} : load_points(queries_path, args.format);
    const Matrix& queries = args.graph ? base : own_queries;
    const double read_seconds = reading.seconds();
    std::optional<ResultFiles> results;
    if (args.k > 0) {  // the library says better what is wrong with another
        results.emplace(result_files(outputs, args.result, queries.info.rows, args.k));
    }

    const Shape shape{base.info.rows, queries.info.rows, base.info.cols, args.k, base.info.type, args.graph};
    Plan plan;
    if (args.output.json || args.explain) plan = kith::plan(shape, options);
    if (args.explain && !args.output.json) {
        fmt::print("{}\n", explain(plan));
        std::fflush(stdout);
    }

    Neighbors neighbors;
    {
        ProgressBar bar(!args.output.quiet);
        options.progress = bar.callback();
        neighbors =
            args.graph ? graph(base.view(), args.k, options) : search(base.view(), queries.view(), args.k, options);
    }
    stop_if_interrupted();
    const Gaps gaps = gaps_of(neighbors, queries.view());

    const Stopwatch writing;
    results->write(neighbors);
    write_whole(outputs, args, neighbors, base.view(), queries.view());
    stop_if_interrupted();
    outputs.commit();
    const Json files = files_json(args);
    const double write_seconds = writing.seconds();

    if (args.output.json) {
        Json object = {{"command", args.graph ? "graph" : "search"}, {"kith", KITH_VERSION}, {"shape", to_json(shape)}};
        if (args.graph) object["include_self"] = args.include_self;
        object["metric"] = to_json(options.metric);
        object["plan"] = to_json(plan);
        if (args.explain) object["explain"] = explain(plan);
        object["report"] = to_json(neighbors.report);
        object["report"]["nan_queries"] = gaps.nan_queries;
        object["report"]["missing_neighbours"] = gaps.missing;
        object["times"] = {{"read_seconds", read_seconds},
                           {"prepare_seconds", neighbors.report.prepare_seconds},
                           {"search_seconds", neighbors.report.seconds},
                           {"write_seconds", write_seconds},
                           {"total_seconds", total.seconds()}};
        object["files"] = files;
        if (files.empty()) object["neighbors"] = first_rows_json(neighbors);
        print_json(object);
        return exit_ok;
    }
    if (args.explain) {
        fmt::print("{}", fallbacks_text(neighbors.report));
        std::fflush(stdout);
    }
    if (files.empty()) {
        fmt::print("{}", first_rows(neighbors, args.graph ? "point" : "query", terminal_width(STDOUT_FILENO)));
        std::fflush(stdout);
    }
    if (!args.output.quiet) {
        say_text(summary(neighbors.report) + gaps_text(gaps, args.k));
        say_written(files);
    }
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
    command->add_option("--format", args->format, "Format of the input, where its name does not say")
        ->type_name("NAME")
        ->group("Input");
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
    command->add_flag("--explain", args->explain, "Print the plan, and why queries were retried or scanned")
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
