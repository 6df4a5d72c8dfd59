// kith groundtruth merge: the files that one search would have written, from the units.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "groundtruth/commands.h"
#include "groundtruth/describe.h"
#include "interrupt.h"
#include "kith/error.h"
#include "kith/memory.h"
#include "options.h"
#include "print.h"
#include "progress.h"
#include "results.h"

namespace kith::cli::groundtruth {
namespace {

struct Args {
    std::string folder;
    ResultArgs result;
    OutputArgs output;
};

void check(const ResultArgs& args) {
    const auto refuse = [](const std::string& message) { throw Error(ErrorCode::invalid_argument, message); };
    if (args.ids.empty() && args.distances.empty() && args.out.empty())
        refuse("expected a file to write: --out, --ids or --distances");
    check_out(args);
    if (args.f64 && args.distances.empty() && args.out.empty())
        refuse("--f64: the distances are written nowhere; expected --distances or --out besides --ids");
}

void open_outputs(OutputSet& outputs, const ResultArgs& args, const JobInfo& job) {
    for (const std::string& file : files_of(job)) outputs.reads("the job", file);
    // A file that names a metric without its numbers says that they are those of the points.
    Metric named = job.metric;
    if (job.estimated) named.inverse_covariance = named.variances = {};
    open_results(outputs, args, named, false, false);
}

template <class T>
void append(std::vector<T>& all, const std::vector<T>& part) {
    all.insert(all.end(), part.begin(), part.end());
}

// The formats of --out take ids and distances whole.
void reserve(Neighbors& all, const JobInfo& job, bool f64) {
    const auto cells = static_cast<std::size_t>(job.queries.rows * job.k);
    require_memory(static_cast<std::int64_t>(cells * (sizeof(std::int64_t) + (f64 ? sizeof(double) : sizeof(float)))),
                   "the result, which --out takes whole (--ids and --distances do not)");
    all.queries = job.queries.rows;
    all.k = job.k;
    all.ids.reserve(cells);
    if (f64) all.distances64.reserve(cells);
    else all.distances.reserve(cells);
}

int execute(const Args& args) {
    const Stopwatch time;
    const ResultArgs& result = args.result;
    check(result);
    const JobInfo job = info(args.folder);
    OutputSet outputs(result.force, [] { return !interrupted(); });
    open_outputs(outputs, result, job);
    ResultFiles results = result_files(outputs, result, job.queries.rows, job.k, job.base.rows);
    const bool whole = !result.out.empty();
    Neighbors all;
    if (whole) reserve(all, job, result.f64);
    {
        ProgressBar bar(!args.output.quiet);
        const auto take = [&](const Neighbors& block) {
            results.append(block);
            if (!whole) return;
            append(all.ids, block.ids);
            append(all.distances, block.distances);
            append(all.distances64, block.distances64);
        };
        merge(args.folder, take, {result.f64, drawn(bar)});
    }
    results.finish();
    if (whole) write_out(outputs, result, all, {}, {});
    stop_if_interrupted();
    outputs.commit();

    const Json files = to_json(result);
    if (args.output.json) {
        Json json = {{"command", "groundtruth merge"}};
        json.update(job_json(job));
        json["files"] = files;
        json["seconds"] = time.seconds();
        print_json(json);
    } else if (!args.output.quiet) {
        say_written(files);
    }
    return exit_ok;
}

}  // namespace

void add_merge(CLI::App& app, CommandRun& run) {
    const auto args = std::make_shared<Args>();
    CLI::App* command = app.add_subcommand("merge", "Write the result: the files of one search of everything");
    add_folder(*command, args->folder);
    const char* output = "Output";
    add_result_files(*command, args->result, output);
    add_result_form(*command, args->result, output);
    add_output(*command, args->output);
    command->callback([args, &run] { run = [args] { return execute(*args); }; });
}

}  // namespace kith::cli::groundtruth
