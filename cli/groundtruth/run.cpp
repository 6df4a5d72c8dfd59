// kith groundtruth run: a worker. It takes units one after the other until none is left.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "groundtruth/claims.h"
#include "groundtruth/commands.h"
#include "groundtruth/search_unit.h"
#include "groundtruth/survey.h"
#include "groundtruth/unit_file.h"
#include "interrupt.h"
#include "kith/error.h"
#include "numbers.h"
#include "options.h"
#include "print.h"
#include "progress.h"
#include "say.h"

namespace kith::cli::groundtruth {
namespace {

constexpr double default_lease = 60, shortest_lease = 0.5, longest_lease = 86400;
// Between two looks at what others do while there is nothing to do.
constexpr double pause_seconds = 0.2;
// A look at the folder serves for so long, and for so many times what it took: units that others do meanwhile are seen
// when they are to be claimed.
constexpr double look_serves = 1, looks_apart = 20;

struct Args {
    std::string folder;
    ExecutionArgs execution;
    std::int64_t units = 0;
    bool no_wait = false;
    double lease = default_lease;
    OutputArgs output;
};

struct Totals {
    std::int64_t units = 0;
    std::int64_t taken_over = 0;
    std::int64_t repeated = 0;  // done by another worker meanwhile as well
    double pairs = 0;
    double seconds = 0;  // of units, reading included
};

constexpr std::int64_t no_unit = -1;

class Worker {
public:
    Worker(const Args& args, const Job& job, const Options& options)
        : args_(args),
          job_(job),
          claims_(job.claims(), args.lease),
          surveyor_(job, claims_),
          search_(job, options),
          bar_(!args.output.quiet) {}

    // Returns how the job then stands.
    Survey work() {
        for (;;) {
            const Stopwatch look;
            survey_ = surveyor_.look(true);
            look_seconds_ = look.seconds();
            if (ends()) return survey_;
            if (run_free_units()) continue;
            // Others are at all that is left.
            if (args_.no_wait) return survey_;
            draw(0, 0);
            stop_if_interrupted();
            const double pause = std::clamp(look_seconds_ * looks_apart, pause_seconds, args_.lease);
            std::this_thread::sleep_for(std::chrono::duration<double>(pause));
        }
    }

    const Totals& totals() const { return totals_; }
    double waited_seconds() const { return search_.waited_seconds(); }

private:
    bool ends() const { return survey_.is_complete() || (args_.units > 0 && totals_.units >= args_.units); }
    // Whether the unit that is taken now is the last that was asked for.
    bool is_last() const { return args_.units > 0 && totals_.units + 1 >= args_.units; }

    // Does what is free by the last look, until that is old; false where nothing was.
    bool run_free_units() {
        const Stopwatch since_look;
        bool any = false;
        const std::vector<std::int64_t> units = free_units();
        for (std::size_t i = 0; i < units.size(); ++i) {
            stop_if_interrupted();
            if (ends() || since_look.seconds() > std::max(look_serves, look_seconds_ * looks_apart)) break;
            const WorkUnit unit = job_.unit(units[i]);
            const std::unique_ptr<Claim> claim = claims_.take(job_.unit_name(unit));
            // Another may have done it since the look.
            if (!claim || has_unit(job_, unit)) continue;
            next_ = i + 1 < units.size() && !is_last() ? units[i + 1] : no_unit;
            run_unit(unit, *claim);
            any = true;
        }
        return any;
    }

    // Units that are neither done nor another's: the one whose rows were read ahead and those of a shard that is in
    // memory first, then of shards that nobody is at, so that workers share as little of what they read as they can.
    std::vector<std::int64_t> free_units() const {
        std::map<std::int64_t, std::int64_t> at_shard;
        std::vector<bool> taken = survey_.done;
        for (const ClaimedUnit& other : survey_.claimed) {
            if (other.claim.stale) continue;
            taken[static_cast<std::size_t>(other.unit)] = true;
            ++at_shard[job_.unit(other.unit).shard];
        }
        std::vector<std::int64_t> units;
        for (std::int64_t number = 0; number < job_.units(); ++number) {
            if (!taken[static_cast<std::size_t>(number)]) units.push_back(number);
        }
        const auto cost = [&](std::int64_t number) {
            const std::int64_t shard = job_.unit(number).shard;
            if (search_.has_shard(shard)) return std::int64_t{number == next_ ? -2 : -1};
            const auto found = at_shard.find(shard);
            return found == at_shard.end() ? 0 : found->second;
        };
        std::stable_sort(units.begin(), units.end(), [&](auto a, auto b) { return cost(a) < cost(b); });
        return units;
    }

    void run_unit(const WorkUnit& unit, Claim& claim) {
        if (claim.was_taken_over()) remove_leftovers(job_, unit);
        const double pairs = job_.pairs(unit);
        const Stopwatch clock;
        const auto standing = [&](double share) {
            return Standing{share, totals_.pairs + share * pairs, totals_.seconds + clock.seconds()};
        };
        const std::optional<WorkUnit> next = next_ == no_unit ? std::nullopt : std::optional(job_.unit(next_));
        const PartialNeighbors found = search_.run(unit, next, [&](const Progress& progress) {
            // Preparing the points and their keys count nothing.
            const bool searching = std::string_view(progress.stage) == "search" && progress.total > 0;
            if (searching) share_ = std::clamp(progress.done / progress.total, 0.0, 1.0);
            const Standing now = standing(share_);
            claim.report(now);
            draw(share_ * pairs, now.seconds > 0 ? now.pairs / now.seconds : 0);
            return !interrupted();
        });
        share_ = 0;
        stop_if_interrupted();
        try {
            write_unit(job_, unit, found);
        } catch (const Error&) {
            // Whoever took this worker for dead has removed its temporary file, or has written the same.
            if (claim.is_held() && !has_unit(job_, unit)) throw;
            ++totals_.repeated;
            return;
        }
        survey_.done[static_cast<std::size_t>(job_.number(unit))] = true;
        ++survey_.units_done;
        survey_.pairs_done += pairs;
        ++totals_.units;
        totals_.taken_over += claim.was_taken_over();
        totals_.pairs += pairs;
        totals_.seconds += clock.seconds();
        if (!args_.output.quiet && !isatty(STDERR_FILENO))
            say("{} done in {} ({})\n", job_.unit_name(unit), duration(clock.seconds()),
                pair_rate(pairs, clock.seconds()));
    }

    // Of all workers: `own` pairs of the unit at hand and this worker's rate, and what the others said last.
    void draw(double own, double rate) {
        bar_.draw(fmt::format("{} of {} units", survey_.units_done, job_.units()), survey_.pairs_done + own,
                  survey_.pairs, survey_.rate + rate);
    }

    const Args& args_;
    const Job& job_;
    Claims claims_;
    Surveyor surveyor_;
    UnitSearch search_;
    ProgressBar bar_;
    Survey survey_;
    Totals totals_;
    std::int64_t next_ = no_unit;  // after the one that is searched, unless another worker takes it
    double share_ = 0;
    double look_seconds_ = 0;
};

int execute(const Args& args) {
    if (!(args.lease >= shortest_lease && args.lease <= longest_lease))
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("--lease: {}; expected {} to {} seconds", args.lease, shortest_lease, longest_lease));
    const Stopwatch time;
    const Job job = read_job(args.folder);
    require_same_files(job.base);
    if (!job.graph) require_same_files(job.queries);
    Options options;
    set_execution(args.execution, options);
    Worker worker(args, job, options);
    const Survey survey = worker.work();
    const Totals& totals = worker.totals();
    const double waited = worker.waited_seconds();
    if (args.output.json) {
        Json json = {{"command", "groundtruth run"}};
        json.update(job_json(job));
        json["done"] = survey.units_done;
        json["complete"] = survey.is_complete();
        json["here"] = {{"units", totals.units},   {"taken_over", totals.taken_over},  {"repeated", totals.repeated},
                        {"pairs", totals.pairs},   {"search_seconds", totals.seconds}, {"seconds", time.seconds()},
                        {"waited_seconds", waited}};
        print_json(json);
    } else if (!args.output.quiet) {
        say("{} done here in {}{}{}\n", counted(totals.units, "unit", "units"), duration(time.seconds()),
            waiting_text(waited),
            totals.taken_over > 0 ? fmt::format(", {} of them taken over", totals.taken_over) : "");
        say("{}{}\n", described(survey),
            survey.is_complete() ? fmt::format("; kith groundtruth merge {} writes the result", job.folder) : "");
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
    add_execution(*command, args->execution);
    add_output(*command, args->output);
    command->callback([args, &run] { run = [args] { return execute(*args); }; });
}

}  // namespace kith::cli::groundtruth
