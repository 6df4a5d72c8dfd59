// kith groundtruth verify: reads every unit that is done, and computes a sample of the queries again.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <memory>

#include "groundtruth/commands.h"
#include "groundtruth/describe.h"
#include "numbers.h"
#include "options.h"
#include "print.h"
#include "progress.h"
#include "say.h"

namespace kith::cli::groundtruth {
namespace {

struct Args {
    std::string folder;
    std::int64_t sample = 0;
    bool strict = false;
    ExecutionArgs execution;
    OutputArgs output;
};

void report(const Args& args, const JobInfo& job, const Verification& outcome, double seconds) {
    if (args.output.json) {
        Json json = {{"command", "groundtruth verify"}};
        json.update(job_json(job));
        json["exact"] = outcome.is_exact();
        json["complete"] = outcome.is_complete();
        json["missing"] = outcome.missing;
        json["damaged"] = outcome.damaged;
        json["sample"] = {{"computed", outcome.computed}, {"left_out", outcome.left_out}, {"wrong", outcome.wrong}};
        json["seconds"] = seconds;
        print_json(json);
        return;
    }
    const auto damaged = static_cast<std::int64_t>(outcome.damaged.size());
    fmt::print("{} of {} whole, {} damaged, {} not done\n", grouped(job.units() - outcome.missing - damaged),
               counted(job.units(), "unit", "units"), grouped(damaged), grouped(outcome.missing));
    for (const std::string& what : outcome.damaged) fmt::print("{}\n", printable(what));
    if (args.sample > 0) {
        const auto wrong = static_cast<std::int64_t>(outcome.wrong.size());
        fmt::print("{} computed again: {} exact, {} wrong{}\n", counted(outcome.computed, "query", "queries"),
                   grouped(outcome.computed - wrong), grouped(wrong),
                   outcome.left_out > 0 ? fmt::format("; {} not done", grouped(outcome.left_out)) : "");
        if (wrong > 0) fmt::print("first wrong query: {}\n", outcome.wrong[0]);
    }
}

int execute(const Args& args) {
    const Stopwatch time;
    const JobInfo job = info(args.folder);
    VerifyOptions options;
    options.sample = args.sample;
    options.strict = args.strict;
    set_execution(args.execution, options.search);
    Verification outcome;
    {
        ProgressBar bar(!args.output.quiet);
        options.on_step = drawn(bar);
        outcome = verify(args.folder, options);
    }
    report(args, job, outcome, time.seconds());
    return outcome.is_exact() && outcome.is_complete() ? exit_ok : exit_not_exact;
}

}  // namespace

void add_verify(CLI::App& app, CommandRun& run) {
    const auto args = std::make_shared<Args>();
    CLI::App* command =
        app.add_subcommand("verify", "Are all units done and whole, and a sample exact? Exit code 1 if not");
    command->footer(
        "Reads every unit that is done. One that is damaged is renamed, so that kith groundtruth run does it again.\n"
        "With --sample, reads all points and their checksums too.");
    add_folder(*command, args->folder);
    add_count(*command, "--sample", args->sample,
              "Compute N queries, evenly spaced, again by a full scan, and compare ids and keys bit by bit", 1)
        ->type_name("N");
    add_strict(*command, args->strict);
    add_execution(*command, args->execution);
    add_output(*command, args->output);
    command->callback([args, &run] { run = [args] { return execute(*args); }; });
}

}  // namespace kith::cli::groundtruth
