// kith recommend: what users with much the same preferences have, and a user lacks.
#include "kith/recommend.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

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
#include "say.h"

namespace kith::cli {
namespace {

struct Args {
    std::string preferences;
    InputArgs input;
    std::int64_t k = 100, count = 10, at_once = 0;
    CLI::Option* count_given = nullptr;
    bool as_given = false, uniform = false, hold_out = false;
    double epsilon = 1e-3;
    std::int64_t seed = 0;
    std::string out, predictions, held_out;
    bool force = false;
    DistanceArgs distance;
    ExecutionArgs execution;
    OutputArgs output;
};

struct Read {
    std::int64_t users = 0, items = 0;
    double seconds = 0;
};

Recommendations recommended(const Args& args, Inputs& inputs, RecommendOptions options, Read& read) {
    const Stopwatch reading_time;
    // As many as are asked for, or of few items all.
    const auto count = [&] { return args.count_given->count() > 0 ? args.count : std::min(args.count, read.items); };
    if (is_csr(args.preferences, reading(inputs.format()))) {
        if (options.search.memory > 0) inputs.take(csr_bytes(args.preferences), args.preferences);
        options.search.memory = inputs.memory_left();
        const CsrMatrix sparse = read_csr(args.preferences, [] { return !interrupted(); });
        read = {sparse.rows, sparse.cols, reading_time.seconds()};
        return recommend(
            SparseView{sparse.rows, sparse.cols, sparse.offsets.data(), sparse.ids.data(), sparse.values.data()},
            args.k, count(), options);
    }
    const Matrix dense = inputs.points(args.preferences);
    options.search.memory = inputs.memory_left();
    read = {dense.info.rows, dense.info.cols, reading_time.seconds()};
    return recommend(dense.view(), args.k, count(), options);
}

// The items of a user, up to where there are no more.
std::int64_t told(const Recommendations& found, std::int64_t user) {
    const auto first = found.items.begin() + user * found.count;
    return std::find(first, first + found.count, -1) - first;
}

// The first users.
Json json_of(const Recommendations& found) {
    Json rows = Json::array();
    for (std::int64_t user = 0; user < std::min(found.users, printed_rows); ++user) {
        const std::int64_t first = user * found.count, last = first + told(found, user);
        const std::vector<std::int64_t> items(found.items.begin() + first, found.items.begin() + last);
        const std::vector<double> predictions(found.predictions.begin() + first, found.predictions.begin() + last);
        rows.push_back({{"user", user}, {"items", items}, {"predictions", predictions}});
    }
    return rows;
}

void print_rows(const Recommendations& found) {
    for (std::int64_t user = 0; user < std::min(found.users, printed_rows); ++user) {
        std::string line = fmt::format("{:8} ", user);
        for (std::int64_t j = 0; j < told(found, user); ++j) {
            const auto at = static_cast<std::size_t>(user * found.count + j);
            line += fmt::format(" {} ({:.3g})", found.items[at], found.predictions[at]);
        }
        fmt::print("{}\n", line);
    }
    if (found.users > printed_rows) fmt::print("     ...\n");
    std::fflush(stdout);
}

int execute(const Args& args) {
    const Stopwatch total;
    std::vector<double> numbers;
    RecommendOptions options;
    options.search.metric = make_metric(args.distance, numbers);
    set_execution(args.execution, options.search);
    if (args.as_given) options.form = PreferenceForm::as_given;
    if (args.uniform) options.weight = NeighborWeight::uniform;
    options.epsilon = args.epsilon;
    options.hold_out = args.hold_out;
    options.seed = static_cast<std::uint64_t>(args.seed);
    options.users_at_once = args.at_once;
    if (!args.held_out.empty() && !args.hold_out)
        throw Error(ErrorCode::invalid_argument, "--held-out: nothing is held out; expected --hold-out beside it");
    OutputSet outputs(args.force, [] { return !interrupted(); });
    outputs.reads("PREFERENCES", args.preferences);
    reads_distance(outputs, args.distance);
    if (!args.out.empty()) outputs.add("--out", args.out);
    if (!args.predictions.empty()) outputs.add("--predictions", args.predictions);
    if (!args.held_out.empty()) outputs.add("--held-out", args.held_out);
    Read read;
    Inputs inputs(args.input, options.search.memory);
    Recommendations found;
    {
        ProgressBar bar(!args.output.quiet);
        options.search.progress = bar.callback();
        found = recommended(args, inputs, options, read);
    }
    stop_if_interrupted();
    write_values(outputs, args.out, found.users, found.count, found.items);
    write_values(outputs, args.predictions, found.users, found.count, found.predictions);
    write_values(outputs, args.held_out, found.users, 1, found.held_out);
    outputs.commit();
    const bool shown = args.out.empty() && args.predictions.empty();
    if (args.output.json) {
        Json object = {{"command", "recommend"}, {"kith", KITH_VERSION}, {"users", read.users},
                       {"items", read.items},    {"k", args.k},          {"count", found.count}};
        if (args.hold_out) {
            object["judged"] = found.judged;
            object["hit_rate"] = found.hit_rate;
            object["popular_hit_rate"] = found.popular_hit_rate;
        }
        object["inputs"] = inputs.json();
        if (shown) object["rows"] = json_of(found);
        object["report"] = to_json(found.report);
        object["read_seconds"] = read.seconds;
        object["search_seconds"] = found.report.seconds;
        object["seconds"] = total.seconds();
        print_json(object);
        return exit_ok;
    }
    if (args.hold_out) {
        fmt::print(
            "the held-out item is among the {} recommended for {:.1f} % of {}; among the most popular for "
            "{:.1f} %\n",
            found.count, 100 * found.hit_rate, counted(found.judged, "user", "users"), 100 * found.popular_hit_rate);
        std::fflush(stdout);
    } else if (shown) {
        print_rows(found);
    }
    if (!args.output.quiet)
        say("{}{} of {}, in {}\n{}", summary(found.report), counted(read.users, "user", "users"),
            counted(read.items, "item", "items"), duration(total.seconds()), inputs.text());
    return exit_ok;
}

}  // namespace

void add_recommend(CLI::App& app, CommandRun& run) {
    const auto args = std::make_shared<Args>();
    CLI::App* command =
        app.add_subcommand("recommend", "What users with much the same preferences have, and one lacks");
    command->footer(
        "A row is a user, a column an item, a value what the user took of it or says of it; 0 is none. The prediction\n"
        "of an item is the mean of the nearest users' values, weighted by nearness.");
    command
        ->add_option("preferences", args->preferences,
                     "The users' preferences: a sparse matrix as scipy.sparse.save_npz writes it, or dense rows")
        ->type_name("FILE")
        ->required();
    add_input(*command, args->input, "the file, where its name does not say");
    add_count(*command, "-k", args->k, "The neighbours of each user (100)", 1)->type_name("K");
    args->count_given = add_count(*command, "-n,--items", args->count,
                                  "The items to recommend to each (10, or all where there are fewer)", 1)
                            ->type_name("N");
    command->add_flag("--as-given", args->as_given,
                      "Ratings: take the values as they are, not as shares of the user's");
    command->add_flag("--uniform", args->uniform, "Each neighbour counts the same, whatever its distance");
    add_real(*command, "--epsilon", args->epsilon, "A neighbour's weight is 1 / (distance + this) (0.001)")
        ->type_name("E");
    command->add_flag("--hold-out", args->hold_out,
                      "Leave out one item of each user, and say for how many it is recommended");
    add_count(*command, "--seed", args->seed, "Which item that is (0)", 0)->type_name("SEED");
    add_distance(*command, args->distance,
                 {.metric = "hellinger",
                  .packed_bits = false,
                  .estimated_from = "the users' vectors where all are dense at once"});
    const char* output = "Output (without a file: the first users)";
    command->add_option("-o,--out", args->out, "Write the items of each user, -1 where there are no more: npy, csvi64")
        ->type_name("FILE")
        ->group(output);
    command->add_option("--predictions", args->predictions, "Write their predictions, of f64: npy, csv64")
        ->type_name("FILE")
        ->group(output);
    command->add_option("--held-out", args->held_out, "Write the item of each user that was left out: npy, csvi64")
        ->type_name("FILE")
        ->group(output);
    command->add_flag("--force", args->force, "Replace data sets that an HDF5 file holds already")->group(output);
    add_execution(*command, args->execution);
    add_count(*command, "--users-at-once", args->at_once, "Users that are dense at once (0: what memory permits)", 0)
        ->type_name("N")
        ->group("Speed (never changes the answer)");
    add_output(*command, args->output);
    command->callback([args, &run] { run = [args] { return execute(*args); }; });
}

}  // namespace kith::cli
