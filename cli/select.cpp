// kith select: the k smallest or largest of each row of a distance matrix.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <memory>

#include "command.h"
#include "files.h"
#include "interrupt.h"
#include "json.h"
#include "options.h"
#include "print.h"
#include "progress.h"

namespace kith::cli {
namespace {

struct Args {
    std::string distances;
    std::string format;
    std::int64_t k = 0;
    bool largest = false;
    bool unsorted = false;
    std::string ids;
    std::string values;
    SpeedArgs speed;
    VoiceArgs voice;
};

int execute(const Args& args) {
    const Stopwatch total;
    Options options;
    options.largest = args.largest;
    options.sorted = !args.unsorted;
    set_speed(args.speed, options);

    const Matrix matrix = load_matrix(args.distances, args.format);
    const double read_seconds = total.seconds();
    options.f64 = matrix.info.type == ElementType::f64;
    if (!args.ids.empty() && args.ids == args.values) {
        throw Error(ErrorCode::invalid_argument, fmt::format("--ids and --values are both '{}'", args.ids));
    }
    if (args.k > 0 && !args.ids.empty()) check_ids_writable(args.ids, matrix.info.rows, args.k);
    if (args.k > 0 && !args.values.empty()) {
        check_distances_writable(args.values, matrix.info.rows, args.k, options.f64);
    }

    Neighbors neighbors;
    {
        ProgressBar bar(!args.voice.quiet);
        options.progress = bar.callback();
        neighbors = select(matrix.view(), args.k, options);
    }
    stop_if_interrupted();

    const Stopwatch writing;
    Json files = Json::object();
    if (!args.ids.empty()) {
        write_ids(args.ids, neighbors);
        files["ids"] = args.ids;
    }
    if (!args.values.empty()) {
        write_distances(args.values, neighbors);
        files["values"] = args.values;
    }

    if (args.voice.json) {
        Json object = {{"command", "select"}, {"kith", KITH_VERSION}};
        object["shape"] = {
            {"rows", matrix.info.rows}, {"cols", matrix.info.cols}, {"k", args.k}, {"type", name(matrix.info.type)}};
        object["largest"] = args.largest;
        object["sorted"] = !args.unsorted;
        object["report"] = {{"path", neighbors.report.path}, {"device", neighbors.report.device}};
        object["times"] = {{"read_seconds", read_seconds},
                           {"select_seconds", neighbors.report.seconds},
                           {"write_seconds", writing.seconds()},
                           {"total_seconds", total.seconds()}};
        object["files"] = files;
        if (files.empty()) object["neighbors"] = first_rows_json(neighbors);
        print_json(object);
        return exit_ok;
    }
    if (files.empty()) {
        fmt::print("{}", first_rows(neighbors, "row", terminal_width(STDOUT_FILENO)));
        std::fflush(stdout);
    }
    if (!args.voice.quiet) {
        fmt::print(stderr, "{} of {} values in {} on {}, {}\n", counted(matrix.info.rows, "row", "rows"),
                   grouped(matrix.info.cols), duration(neighbors.report.seconds), neighbors.report.device,
                   neighbors.report.path);
        for (const auto& [what, path] : files.items()) {
            fmt::print(stderr, "{} written to {}\n", what, path.get<std::string>());
        }
    }
    return exit_ok;
}

}  // namespace

void add_select(CLI::App& app, Run& run) {
    const auto args = std::make_shared<Args>();
    CLI::App* command =
        app.add_subcommand("select", "The k smallest values of each row of a matrix, with their columns");
    command->footer("Ordered by (value, smaller column); NaN last.");
    command->add_option("-d,--distances", args->distances, "The matrix, f32 or f64")
        ->type_name("FILE")
        ->required()
        ->group("Input");
    command->add_option("-k", args->k, "Values of each row")->type_name("K")->required()->group("Input");
    command->add_option("--format", args->format, "Format of the matrix, where its name does not say")
        ->type_name("NAME")
        ->group("Input");
    command->add_flag("--largest", args->largest, "The k largest instead")->group("Input");
    command->add_flag("--unsorted", args->unsorted, "Permit any order within a row")->group("Input");
    const char* output = "Output (without a file: a table of the first rows)";
    command->add_option("--ids", args->ids, "Write the columns: npy, ivecs, ibin")->type_name("FILE")->group(output);
    command->add_option("--values", args->values, "Write the values: npy, fvecs, fbin")
        ->type_name("FILE")
        ->group(output);
    add_speed(*command, args->speed);
    add_voice(*command, args->voice);
    command->callback([args, &run] { run = [args] { return execute(*args); }; });
}

}  // namespace kith::cli
