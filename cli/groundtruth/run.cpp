// kith groundtruth run: a worker. It takes units one after the other until none is left.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "groundtruth/commands.h"
#include "groundtruth/describe.h"
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
    ExecutionArgs execution;
    std::int64_t units = 0;
    bool no_wait = false;
    bool strict = false;
    double lease = RunOptions{}.lease;
    OutputArgs output;
};

int execute(const Args& args) {
    const Stopwatch time;
    const JobInfo job = info(args.folder);
    RunOptions options;
    set_execution(args.execution, options.search);
    options.units = args.units;
    options.wait = !args.no_wait;
    options.lease = args.lease;
    options.strict = args.strict;
    if (!args.output.quiet && !isatty(STDERR_FILENO)) {
        options.on_unit = [](const UnitDone& unit) {
            say("{} done in {} ({})\n", name(unit.unit), duration(unit.seconds), pair_rate(unit.pairs, unit.seconds));
        };
    }
    RunResult here;
    {
        ProgressBar bar(!args.output.quiet);
        options.on_step = drawn(bar);
        here = with_option_names([&] { return kith::groundtruth::run(args.folder, options); });
    }
    const Status& found = here.status;
    if (args.output.json) {
        Json json = {{"command", "groundtruth run"}};
        json.update(job_json(job));
        json["done"] = found.units_done;
        json["complete"] = found.is_complete();
        json["here"] = {{"units", here.units},
                        {"taken_over", here.taken_over},
                        {"repeated", here.repeated},
                        {"pairs", here.pairs},
                        {"search_seconds", here.seconds},
                        {"seconds", time.seconds()},
                        {"waited_seconds", here.waited_seconds}};
        print_json(json);
    } else if (!args.output.quiet) {
        say("{} done here in {}{}{}\n", counted(here.units, "unit", "units"), duration(time.seconds()),
            waiting_text(here.waited_seconds),
            here.taken_over > 0 ? fmt::format(", {} of them taken over", here.taken_over) : "");
        say("{}{}\n", described(found),
            found.is_complete() ? fmt::format("; kith groundtruth merge {} writes the result", job.folder) : "");
    }
    return exit_ok;
}

}  // namespace

void add_run(CLI::App& app, CommandRun& run) {
    const auto args = std::make_shared<Args>();
    CLI::App* command = app.add_subcommand("run", "Do units until none is left, beside any number of others");
    command->footer(
        "May be interrupted or killed at any time, and started again, here or elsewhere: a unit that is done stays\n"
        "done, and one that a worker left behind is taken over.");
    add_folder(*command, args->folder);
    add_count(*command, "--units", args->units, "End after so many units", 1)->type_name("N");
    command->add_flag("--no-wait", args->no_wait, "End where others are at all units that are left");
    add_real(*command, "--lease", args->lease,
             "Seconds after which a worker that has not been heard of is taken for dead (60)")
        ->type_name("SECONDS");
    add_strict(*command, args->strict);
    add_execution(*command, args->execution);
    add_output(*command, args->output);
    command->callback([args, &run] { run = [args] { return execute(*args); }; });
}

}  // namespace kith::cli::groundtruth
