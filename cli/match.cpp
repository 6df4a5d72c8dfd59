// kith match: which rows of two sets of features belong together.
#include <fmt/format.h>

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
#include "kith/match.h"
#include "numbers.h"
#include "options.h"
#include "print.h"
#include "progress.h"
#include "say.h"

namespace kith::cli {
namespace {

struct Args {
    std::string a, b;
    InputArgs input;
    std::optional<double> ratio;
    bool mutual = false;
    std::string out, distances;
    bool force = false;
    DistanceArgs distance;
    ExecutionArgs execution;
    OutputArgs output;
};

// The first matches.
Json json_of(const Matches& found) {
    Json pairs = Json::array();
    for (std::size_t i = 0; i < std::min<std::size_t>(found.first.size(), printed_rows); ++i)
        pairs.push_back({{"a", found.first[i]}, {"b", found.second[i]}, {"distance", found.distances[i]}});
    return pairs;
}

int execute(const Args& args) {
    const Stopwatch total;
    std::vector<double> numbers;
    MatchOptions options;
    options.search.metric = make_metric(args.distance, numbers);
    options.ratio = args.ratio;
    options.mutual = args.mutual;
    set_execution(args.execution, options.search);
    OutputSet outputs(args.force, [] { return !interrupted(); });
    outputs.reads("A", args.a);
    outputs.reads("B", args.b);
    reads_distance(outputs, args.distance);
    if (!args.out.empty()) outputs.add("--out", args.out);
    if (!args.distances.empty()) outputs.add("--distances", args.distances);
    Inputs inputs(args.input, options.search.memory);
    const auto [a, b] = inputs.points_and_queries(args.a, args.b);
    options.search.memory = inputs.memory_left();
    Matches found;
    {
        ProgressBar bar(!args.output.quiet);
        options.search.progress = bar.callback();
        found = match(a.view(), b.view(), options);
    }
    stop_if_interrupted();
    const auto count = static_cast<std::int64_t>(found.first.size());
    if (count == 0 && (!args.out.empty() || !args.distances.empty()))
        throw Error(ErrorCode::invalid_argument, "no row of A has a match: there is nothing to write");
    std::vector<std::int64_t> pairs;
    for (std::size_t i = 0; i < found.first.size(); ++i) pairs.insert(pairs.end(), {found.first[i], found.second[i]});
    write_values(outputs, args.out, count, 2, pairs);
    write_values(outputs, args.distances, count, 1, found.distances);
    outputs.commit();
    inputs.compare(options.search.metric);
    const bool shown = args.out.empty() && args.distances.empty();
    if (args.output.json) {
        Json object = {{"command", "match"}, {"kith", KITH_VERSION}, {"matches", count}};
        object["rows"] = {a.info.rows, b.info.rows};
        object["inputs"] = inputs.json();
        if (shown) object["pairs"] = json_of(found);
        object["report"] = to_json(found.report);
        object["seconds"] = total.seconds();
        print_json(object);
        return exit_ok;
    }
    if (shown) {
        for (std::int64_t i = 0; i < std::min(count, printed_rows); ++i) {
            const auto at = static_cast<std::size_t>(i);
            fmt::print("{:8}  {} ({})\n", found.first[at], found.second[at], short_distance(found.distances[at]));
        }
        if (count > printed_rows) fmt::print("     ...\n");
        std::fflush(stdout);
    }
    if (!args.output.quiet)
        say("{} of {} rows match one of {}, in {}\n{}", grouped(count), grouped(a.info.rows), grouped(b.info.rows),
            duration(total.seconds()), inputs.text());
    return exit_ok;
}

}  // namespace

void add_match(CLI::App& app, CommandRun& run) {
    const auto args = std::make_shared<Args>();
    CLI::App* command = app.add_subcommand("match", "Which rows of two sets of features belong together");
    command->footer("Each row of A and its nearest row of B, where the tests that are asked for keep it.");
    command->add_option("a", args->a, "The features to be matched")->type_name("FILE")->required();
    command->add_option("b", args->b, "Those that are looked through")->type_name("FILE")->required();
    add_input(*command, args->input, "the files, where their names do not say");
    add_real(*command, "--ratio", args->ratio,
             "Keep a match that is nearer than this times the second nearest: 0.8 of Lowe; without, all")
        ->type_name("R");
    command->add_flag("--mutual", args->mutual, "Keep a match that is nearest from the other side as well");
    add_distance(*command, args->distance, {.metric = "euclidean", .estimated_from = ""});
    const char* output = "Output (without a file: the first of them)";
    command->add_option("-o,--out", args->out, "Write pairs of rows: npy, csvi64")->type_name("FILE")->group(output);
    command->add_option("--distances", args->distances, "Write their distances, of f64: npy, csv64")
        ->type_name("FILE")
        ->group(output);
    command->add_flag("--force", args->force, "Replace data sets that an HDF5 file holds already")->group(output);
    add_execution(*command, args->execution);
    add_output(*command, args->output);
    command->callback([args, &run] { run = [args] { return execute(*args); }; });
}

}  // namespace kith::cli
