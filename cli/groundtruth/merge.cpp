// kith groundtruth merge: the files that one search would have written, from the units.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <optional>

#include "groundtruth/commands.h"
#include "groundtruth/job_files.h"
#include "groundtruth/merged.h"
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

void open_outputs(OutputSet& outputs, const ResultArgs& args, const Job& job) {
    for (const Rows* rows : {&job.base, &job.queries}) {
        for (const RowFile& file : rows->files) outputs.reads("the job", file.path);
    }
    outputs.reads("the job", manifest_path(job.folder));
    if (!job.numbers.empty()) outputs.reads("the job", numbers_path(job));
    for (std::int64_t unit = 0; unit < job.units(); ++unit) outputs.reads("the job", job.unit_path(job.unit(unit)));
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
void reserve(Neighbors& all, const Job& job, bool f64) {
    const auto cells = static_cast<std::size_t>(job.queries.count * job.k);
    require_memory(static_cast<std::int64_t>(cells * (sizeof(std::int64_t) + (f64 ? sizeof(double) : sizeof(float)))),
                   "the result, which --out takes whole (--ids and --distances do not)");
    all.queries = job.queries.count;
    all.k = job.k;
    all.ids.reserve(cells);
    if (f64) all.distances64.reserve(cells);
    else all.distances.reserve(cells);
}

[[noreturn]] void refuse_incomplete(const Job& job, const Merger& merger) {
    const auto damaged = static_cast<std::int64_t>(merger.damaged().size());
    std::string why;
    if (damaged > 0)
        why = fmt::format("{} of {} damaged: {}", counted(damaged, "unit", "units"), job.units(), merger.damaged()[0]);
    if (merger.missing() > 0)
        why += fmt::format("{}{} of {} not done", why.empty() ? "" : "; ", counted(merger.missing(), "unit", "units"),
                           job.units());
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: {}; kith groundtruth run {} does what is missing", job.folder, why, job.folder));
}

int execute(const Args& args) {
    const Stopwatch time;
    const ResultArgs& result = args.result;
    check(result);
    const Job job = read_job(args.folder);
    OutputSet outputs(result.force, [] { return !interrupted(); });
    open_outputs(outputs, result, job);
    ResultFiles results = result_files(outputs, result, job.queries.count, job.k, job.base.count);
    Options options;
    options.metric = job.metric;
    options.f64 = result.f64;
    const bool whole = !result.out.empty();
    Neighbors all;
    if (whole) reserve(all, job, result.f64);
    Merger merger(job);
    {
        ProgressBar bar(!args.output.quiet);
        for (std::int64_t block = 0; block < job.blocks(); ++block) {
            bar.draw("merging", static_cast<double>(block), static_cast<double>(job.blocks()), 0);
            const std::optional<PartialNeighbors> merged = merger.block(block);
            // What is damaged is found in one go.
            if (!merged || merger.missing() > 0 || !merger.damaged().empty()) continue;
            const Neighbors neighbors = finish(*merged, options);
            results.append(neighbors);
            if (!whole) continue;
            append(all.ids, neighbors.ids);
            append(all.distances, neighbors.distances);
            append(all.distances64, neighbors.distances64);
        }
    }
    if (merger.missing() > 0 || !merger.damaged().empty()) refuse_incomplete(job, merger);
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
