// kith groundtruth init: a job of files.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "files.h"
#include "groundtruth/commands.h"
#include "groundtruth/describe.h"
#include "inputs.h"
#include "kith/error.h"
#include "numbers.h"
#include "option_names.h"
#include "options.h"
#include "print.h"
#include "progress.h"
#include "say.h"

namespace kith::cli::groundtruth {
namespace {

struct Args {
    std::string folder;
    std::vector<std::string> base;
    std::string queries;
    bool graph = false;
    InputArgs input;
    std::int64_t k = 0;
    DistanceArgs distance;
    std::string memory;
    std::int64_t shard_rows = 0;
    std::int64_t query_rows = 0;
    OutputArgs output;
};

int execute(const Args& args) {
    const Stopwatch time;
    if (args.graph != args.queries.empty())
        throw Error(ErrorCode::invalid_argument, "expected either --queries, or --graph for a graph of the base");
    InitOptions options;
    std::vector<double> numbers;
    options.k = args.k;
    options.graph = args.graph;
    Inputs inputs(args.input);
    options.format = inputs.format();
    if (!args.memory.empty()) options.memory = parse_bytes(args.memory);
    options.metric = make_metric(args.distance, numbers);
    options.shard_rows = args.shard_rows;
    options.query_rows = args.query_rows;
    for (const std::string& path : args.base) options.base.push_back(part_of(path, options.format, "train"));
    if (!args.graph) options.queries = part_of(args.queries, options.format, "test");
    JobInfo job;
    {
        ProgressBar bar(!args.output.quiet);
        options.on_step = drawn(bar);
        job = with_option_names([&] { return init(args.folder, options); });
    }
    for (const std::string& path : options.base) inputs.add_other(path);
    if (!args.graph) inputs.add_other(options.queries);
    inputs.compare(options.metric);
    if (args.output.json) {
        Json json = {{"command", "groundtruth init"}};
        json.update(job_json(job));
        json["inputs"] = inputs.json();
        json["seconds"] = time.seconds();
        print_json(json);
    } else if (!args.output.quiet) {
        say("{} x {} in {} ({} x {}) written to {}/manifest.json in {}\n",
            counted(job.queries.rows, "query", "queries"), counted(job.base.rows, "point", "points"),
            counted(job.units(), "unit", "units"), counted(job.blocks, "block", "blocks"),
            counted(job.shards, "shard", "shards"), job.folder, duration(time.seconds()));
        say_text(inputs.text());
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
    add_input(*command, args->input, "the input, where its name does not say");
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
