// Runs units one after the other.
#include "jobs/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string_view>
#include <thread>

#include "jobs/files/unit_file.h"
#include "kith/error.h"
#include "machine/float_state.h"

namespace kith::groundtruth {
namespace {

// Interval between checks of other workers while idle; the caller is polled more often.
constexpr double pause_seconds = 0.2, asked_seconds = 0.05;
// A survey of the folder is valid for look_serves seconds, and for looks_apart times its duration.
// Units that others finish meanwhile are noticed when they are claimed.
constexpr double look_serves = 1, looks_apart = 20;

constexpr std::int64_t no_unit = -1;

double checked_lease(double lease) {
    if (!(lease >= shortest_lease && lease <= longest_lease))
        throw Error(ErrorCode::invalid_argument, fmt::format("lease: {}; expected {} to {} seconds",
                                                             lease, shortest_lease, longest_lease));
    return lease;
}

void sleep(double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

Job checked_job(const std::string& folder, bool strict, Stop& stop) {
    Job job = read_job(folder, strict);
    require_same_files(job.base, stop);
    if (!job.graph) require_same_files(job.queries, stop);
    return job;
}

}  // namespace

UnitWorker::UnitWorker(const Job& job, const RunOptions& options, Stop& stop)
    : job_(job),
      options_(options),
      stop_(stop),
      claims_(job.claims(), options.lease),
      surveyor_(job, claims_),
      search_(job, options.search, stop),
      next_(no_unit) {}

RunResult UnitWorker::all() {
    for (;;) {
        const Stopwatch look;
        result_.status = surveyor_.look(true);
        look_seconds_ = look.seconds();
        if (ends()) break;
        if (run_free_units()) continue;
        // Other workers hold all remaining units.
        if (!options_.wait) break;
        stop_.at(standing(0, 0));
        rest();
    }
    result_.waited_seconds = search_.waited_seconds();
    return result_;
}

bool UnitWorker::one(const WorkUnit& unit) {
    if (has_unit(job_, unit)) return false;
    result_.status.done.assign(static_cast<std::size_t>(job_.units()), false);
    result_.status.pairs = job_.pairs(unit);
    const std::unique_ptr<Claim> claim = claims_.take(name(unit));
    run_unit(unit, claim.get());
    return true;
}

bool UnitWorker::ends() const {
    return result_.status.is_complete() || (options_.units > 0 && result_.units >= options_.units);
}

bool UnitWorker::is_last() const {
    return options_.units > 0 && result_.units + 1 >= options_.units;
}

void UnitWorker::rest() {
    const Stopwatch clock;
    const double pause = std::clamp(look_seconds_ * looks_apart, pause_seconds, options_.lease);
    for (double left = pause; left > 0; left = pause - clock.seconds()) {
        stop_.check();
        sleep(std::min(left, asked_seconds));
    }
}

// Runs the units that were free at the last survey, until that expires; false if there were none.
bool UnitWorker::run_free_units() {
    const Stopwatch since_look;
    bool any = false;
    const std::vector<std::int64_t> units = free_units();
    for (std::size_t i = 0; i < units.size(); ++i) {
        stop_.check();
        if (ends() || since_look.seconds() > std::max(look_serves, look_seconds_ * looks_apart))
            break;
        const WorkUnit unit = job_.unit(units[i]);
        const std::unique_ptr<Claim> claim = claims_.take(name(unit));
        // Another worker may have done it since the survey.
        if (!claim || has_unit(job_, unit)) continue;
        next_ = i + 1 < units.size() && !is_last() ? units[i + 1] : no_unit;
        run_unit(unit, claim.get());
        any = true;
    }
    return any;
}

// Units that are neither done nor claimed. First the one with rows read ahead, then those of a
// shard in memory, then those of shards that no worker is at. Workers thus share as little input as
// possible.
std::vector<std::int64_t> UnitWorker::free_units() const {
    std::map<std::int64_t, std::int64_t> at_shard;
    std::vector<bool> taken = result_.status.done;
    for (const Worker& other : result_.status.workers) {
        if (other.stale) continue;
        taken[static_cast<std::size_t>(job_.number(other.unit))] = true;
        ++at_shard[other.unit.shard];
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

void UnitWorker::run_unit(const WorkUnit& unit, Claim* claim) {
    if (claim && claim->was_taken_over()) remove_leftovers(job_, unit);
    const double pairs = job_.pairs(unit);
    const Stopwatch clock;
    const std::optional<WorkUnit> next =
        next_ == no_unit ? std::nullopt : std::optional(job_.unit(next_));
    const PartialNeighbors found = search_.run(unit, next, [&](const Progress& progress) {
        const machine::FloatState state;  // the search calls with its caller's floating-point state
        // Preparing the points does not count as progress.
        const bool searching = std::string_view(progress.stage) == "search" && progress.total > 0;
        if (searching) share_ = std::clamp(progress.done / progress.total, 0.0, 1.0);
        const Standing now{share_, result_.pairs + share_ * pairs,
                           result_.seconds + clock.seconds()};
        if (claim) claim->report(now);
        return stop_.tell(standing(share_ * pairs, now.seconds > 0 ? now.pairs / now.seconds : 0));
    });
    share_ = 0;
    stop_.check();
    try {
        write_unit(job_, unit, found);
    } catch (const Error&) {
        // A worker that took this one for dead has removed its temporary file, or has written the
        // same result.
        if ((!claim || claim->is_held()) && !has_unit(job_, unit)) throw;
        ++result_.repeated;
        return;
    }
    Status& status = result_.status;
    status.done[static_cast<std::size_t>(job_.number(unit))] = true;
    ++status.units_done;
    status.pairs_done += pairs;
    ++result_.units;
    if (claim) result_.taken_over += claim->was_taken_over();
    result_.pairs += pairs;
    result_.seconds += clock.seconds();
    if (options_.on_unit)
        machine::for_caller(options_.on_unit)(UnitDone{unit, pairs, clock.seconds()});
}

// Progress of all workers: `pairs` of the current unit and this worker's rate, plus the others'
// last reports.
Step UnitWorker::standing(double pairs, double rate) const {
    Step step;
    step.stage = "units";
    step.done = result_.status.pairs_done + pairs;
    step.total = result_.status.pairs;
    step.rate = result_.status.rate + rate;
    step.units_done = result_.status.units_done;
    step.units = job_.units();
    return step;
}

RunResult run(const std::string& folder, const RunOptions& options) {
    const machine::FloatState state;
    checked_lease(options.lease);
    if (options.units < 0)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("units is {}: expected at least 0", options.units));
    Stop stop(options.on_step);
    const Job job = checked_job(folder, options.strict, stop);
    return UnitWorker(job, options, stop).all();
}

bool run_unit(const std::string& folder, const WorkUnit& unit, const RunOptions& options) {
    const machine::FloatState state;
    checked_lease(options.lease);
    Stop stop(options.on_step);
    const Job job = checked_job(folder, options.strict, stop);
    if (unit.shard < 0 || unit.shard >= job.shards() || unit.block < 0 ||
        unit.block >= job.blocks())
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("unit: shard {}, block {}; expected a shard below {} and a block below {}",
                        unit.shard, unit.block, job.shards(), job.blocks()));
    return UnitWorker(job, options, stop).one(unit);
}

}  // namespace kith::groundtruth
