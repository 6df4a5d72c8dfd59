// kith select: the k smallest or largest of each row of a distance matrix.
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
#include "inputs.h"
#include "interrupt.h"
#include "json.h"
#include "kith/cut.h"
#include "numbers.h"
#include "options.h"
#include "print.h"
#include "progress.h"
#include "say.h"

namespace kith::cli {
namespace {

struct Args {
    std::string distances;
    InputArgs input;
    std::int64_t k = 0;
    SelectArgs select;
    std::string ids;
    std::string values;
    bool force = false;
    bool explain = false;
    ExecutionArgs execution;
    OutputArgs output;
};

int execute(const Args& args) {
    const Stopwatch total;
    Options options;
    set_select(args.select, options);
    set_execution(args.execution, options);

    const std::string ids = with_data_set(args.ids, "neighbors");
    const std::string values = with_data_set(args.values, "distances");
    OutputSet outputs(args.force, [] { return !interrupted(); });
    outputs.reads("--distances", args.distances);
    if (!ids.empty()) outputs.add("--ids", ids);
    if (!values.empty()) outputs.add("--values", values);

    Inputs inputs(args.input, options.memory);
    const Matrix matrix = inputs.matrix(args.distances);
    const double read_seconds = total.seconds();
    inputs.take(result_bytes(matrix.info.rows, std::max<std::int64_t>(args.k, 0)), "the result");
    options.memory = inputs.memory_left();
    options.f64 = matrix.info.type == ElementType::f64;
    std::optional<ResultFiles> results;
    if (args.k > 0) results.emplace(outputs, ids, values, matrix.info.rows, args.k, matrix.info.cols, options.f64);

    Plan plan;
    if (args.output.json || args.explain)
        plan = plan_select(matrix.info.rows, matrix.info.cols, args.k, matrix.info.type, options);
    if (args.explain && !args.output.json) {
        fmt::print("{}\n", explain(plan));
        std::fflush(stdout);
    }

    Neighbors neighbors;
    {
        ProgressBar bar(!args.output.quiet);
        options.progress = bar.callback();
        neighbors = select(matrix.view(), args.k, options);
    }
    stop_if_interrupted();

    const Stopwatch writing;
    results->write(neighbors);
    stop_if_interrupted();
    outputs.commit();
    Json files = Json::object();
    if (!args.ids.empty()) files["ids"] = args.ids;
    if (!args.values.empty()) files["values"] = args.values;

    if (args.output.json) {
        Json object = {{"command", "select"}, {"kith", KITH_VERSION}};
        object["shape"] = {
            {"rows", matrix.info.rows}, {"cols", matrix.info.cols}, {"k", args.k}, {"type", name(matrix.info.type)}};
        object["largest"] = args.select.largest;
        object["sorted"] = !args.select.unsorted;
        object["order"] = args.select.order;
        object["inputs"] = inputs.json();
        object["plan"] = to_json(plan);
        if (args.explain) object["explain"] = explain(plan);
        object["report"] = {{"path", neighbors.report.path},
                            {"selector", neighbors.report.selector},
                            {"device", neighbors.report.device}};
        object["times"] = {{"read_seconds", read_seconds},
                           {"select_seconds", neighbors.report.seconds},
                           {"device_seconds", neighbors.report.device_seconds},
                           {"write_seconds", writing.seconds()},
                           {"total_seconds", total.seconds()}};
        object["files"] = files;
        if (files.empty()) object["neighbors"] = first_rows_json(neighbors);
        print_json(object);
        return exit_ok;
    }
    if (files.empty()) {
        fmt::print("{}", first_rows(neighbors, neighbors.queries, "row", terminal_width(STDOUT_FILENO)));
        std::fflush(stdout);
    }
    if (!args.output.quiet) {
        say("{} of {} values in {} on {}, {}\n", counted(matrix.info.rows, "row", "rows"), grouped(matrix.info.cols),
            duration(neighbors.report.seconds), neighbors.report.device,
            neighbors.report.selector.empty() ? neighbors.report.path : neighbors.report.selector);
        say_text(inputs.text());
        for (const auto& [what, path] : files.items()) {
            say("{} written to {}\n", what, path.get<std::string>());
        }
    }
    return exit_ok;
}

}  // namespace

void add_select(CLI::App& app, CommandRun& run) {
    const auto args = std::make_shared<Args>();
    CLI::App* command =
        app.add_subcommand("select", "The k smallest values of each row of a matrix, with their columns");
    command->footer("Ordered by (value, smaller column); NaN last.");
    command->add_option("-d,--distances", args->distances, "The matrix, f32, f64, f16 or bf16")
        ->type_name("FILE")
        ->required()
        ->group("Input");
    add_count(*command, "-k", args->k, "Values of each row", 1)->type_name("K")->required()->group("Input");
    add_input(*command, args->input, "the matrix, where its name does not say");
    add_select_options(*command, args->select, "Input");
    const char* output = "Output (without a file: a table of the first rows)";
    command->add_option("--ids", args->ids, "Write the columns: npy, ivecs, ibin")->type_name("FILE")->group(output);
    command->add_option("--values", args->values, "Write the values: npy, fvecs, fbin")
        ->type_name("FILE")
        ->group(output);
    command->add_flag("--force", args->force, "Replace data sets that an HDF5 file holds already")->group(output);
    command->add_flag("--explain", args->explain, "Print the plan")->group(output);
    add_execution(*command, args->execution);
    add_output(*command, args->output);
    command->callback([args, &run] { run = [args] { return execute(*args); }; });
}

}  // namespace kith::cli
