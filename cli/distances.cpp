// kith distances: the distance of every query to every point, to a file, by blocks of rows.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "command.h"
#include "files.h"
#include "inputs.h"
#include "interrupt.h"
#include "json.h"
#include "kith/distances.h"
#include "options.h"
#include "print.h"
#include "progress.h"
#include "results.h"

namespace kith::cli {
namespace {

struct Args {
    std::string base;
    std::string queries;
    InputArgs input;
    std::string out;
    bool f64 = false;
    bool force = false;
    DistanceArgs distance;
    ExecutionArgs execution;
    OutputArgs output;
};

int execute(const Args& args) {
    const Stopwatch total;
    std::vector<double> numbers;
    Options options;
    options.metric = make_metric(args.distance, numbers);
    options.f64 = args.f64;
    set_execution(args.execution, options);
    const bool among = args.queries.empty();
    Inputs inputs(args.input, options.memory);
    const std::string base_path = part_of(args.base, inputs.format(), "train"),
                      queries_path = among ? "" : part_of(args.queries, inputs.format(), "test"),
                      out = with_data_set(args.out, "distances");
    OutputSet outputs(args.force, [] { return !interrupted(); });
    outputs.reads("--base", base_path);
    if (!among) outputs.reads("--queries", queries_path);
    reads_distance(outputs, args.distance);
    outputs.add("--out", out);

    const auto [base, own] = inputs.points_and_queries(base_path, queries_path);
    const Matrix& queries = among ? base : own;
    const double read_seconds = total.seconds();
    options.memory = inputs.memory_left();
    const ElementType type = args.f64 ? ElementType::f64 : ElementType::f32;
    MatrixWriter writer = open_writer(outputs, out, queries.info.rows, base.info.rows, {type});

    double write_seconds = 0;
    Report report;
    {
        ProgressBar bar(!args.output.quiet);
        options.progress = bar.callback();
        report = distances_by_rows(base.view(), queries.view(), options,
                                   [&](std::int64_t, std::int64_t count, const void* rows) {
                                       const Stopwatch writing;
                                       writer.append(rows, count);
                                       write_seconds += writing.seconds();
                                   });
    }
    stop_if_interrupted();
    const Stopwatch writing;
    writer.commit();
    outputs.commit();
    write_seconds += writing.seconds();

    inputs.compare(options.metric);
    const Json files = {{"out", args.out}};
    if (args.output.json) {
        Json object = {{"command", "distances"}, {"kith", KITH_VERSION}};
        object["shape"] = {
            {"n", base.info.rows}, {"q", queries.info.rows}, {"d", base.info.cols}, {"type", name(base.info.type)}};
        object["metric"] = to_json(options.metric);
        object["inputs"] = inputs.json();
        object["report"] = {{"path", report.path}, {"device", report.device}, {"pairs", report.pairs}};
        add_end(object,
                {{"read", read_seconds},
                 {"compute", report.seconds - write_seconds},
                 {"write", write_seconds},
                 {"total", total.seconds()}},
                files);
        print_json(object);
        return exit_ok;
    }
    say_end(
        args.output,
        fmt::format("{} x {} distances ({}) in {} on {}, {}\n{}", grouped(queries.info.rows), grouped(base.info.rows),
                    name(options.metric.id), duration(report.seconds), report.device, report.path, inputs.text()),
        files);
    return exit_ok;
}

}  // namespace

void add_distances(CLI::App& app, CommandRun& run) {
    const auto args = std::make_shared<Args>();
    CLI::App* command = app.add_subcommand("distances", "The distance of every query to every point");
    command->footer(
        "One row per query, one column per point: what kith search reports of the pair. Rows are written as they are\n"
        "computed, so the matrix may be larger than memory. NaN where either has a NaN coordinate.\n"
        "--path garcia, or another distance kernel of kith info, estimates them in f32 on a GPU: these are not the "
        "bits\n"
        "of a search, and NaN also where f32 does not hold a row.");
    command->add_option("-b,--base", args->base, "The points")->type_name("FILE")->required()->group("Input");
    command->add_option("-q,--queries", args->queries, "The queries; without them, the points among themselves")
        ->type_name("FILE")
        ->group("Input");
    add_input(*command, args->input, "the input files, where their names do not say");
    add_distance(*command, args->distance);
    const char* output = "Output";
    command->add_option("-o,--out", args->out, "The matrix: npy, fbin, fvecs, hdf5, ...")
        ->type_name("FILE")
        ->required()
        ->group(output);
    command->add_flag("--f64", args->f64, "Distances as f64 instead of f32")->group(output);
    command->add_flag("--force", args->force, "Replace a data set that an HDF5 file holds already")->group(output);
    add_execution(*command, args->execution);
    add_output(*command, args->output);
    command->callback([args, &run] { run = [args] { return execute(*args); }; });
}

}  // namespace kith::cli
