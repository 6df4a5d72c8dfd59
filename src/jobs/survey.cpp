// Examines the folder of a job.
#include "jobs/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "jobs/files/job_files.h"
#include "jobs/files/unit_file.h"
#include "machine/float_state.h"

namespace kith::groundtruth {
namespace {

// Assumed for claims without a lease.
constexpr double unknown_lease = 60;
// Seconds of work from which a claim tells a rate.
constexpr double shortest_measured = 1e-3;

// The unit with this name; none if the job has no such unit.
std::optional<WorkUnit> unit_of(const Job& job, const std::string& name) {
    const std::size_t middle = name.find("-q");
    if (name.empty() || name[0] != 's' || middle == std::string::npos) return std::nullopt;
    WorkUnit unit;
    const char* const text = name.data();
    std::from_chars(text + 1, text + middle, unit.shard);
    std::from_chars(text + middle + 2, text + name.size(), unit.block);
    const bool known = unit.shard >= 0 && unit.shard < job.shards() && unit.block >= 0 &&
                       unit.block < job.blocks();
    return known && groundtruth::name(unit) == name ? std::optional(unit) : std::nullopt;
}

Worker worker_of(const Seen& claim, const WorkUnit& unit) {
    Worker worker{unit,
                  "",
                  0,
                  claim.standing.share,
                  claim.standing.pairs,
                  claim.standing.seconds,
                  claim.age,
                  claim.stale};
    if (claim.process) {
        worker.host = claim.process->host;
        worker.pid = claim.process->pid;
    }
    return worker;
}

}  // namespace

Status Surveyor::look(bool tidy) {
    Status survey;
    survey.done.assign(static_cast<std::size_t>(job_.units()), false);
    survey.pairs = job_.pairs();
    for (const std::string& file : names_in(job_.folder + "/units")) {
        const std::optional<WorkUnit> unit = unit_of(job_, file);
        if (!unit) continue;
        const std::int64_t number = job_.number(*unit);
        if (!whole_.count(number)) {
            if (!has_unit(job_, *unit)) continue;
            whole_.insert(number);
        }
        survey.done[static_cast<std::size_t>(number)] = true;
        ++survey.units_done;
        survey.pairs_done += job_.pairs(*unit);
    }
    for (const Seen& claim : claims_.list()) {
        const std::optional<WorkUnit> unit = unit_of(job_, claim.name);
        if (!unit) continue;
        const std::int64_t number = job_.number(*unit);
        if (survey.done[static_cast<std::size_t>(number)]) {
            if (tidy) claims_.remove(claim.name);
            continue;
        }
        if (!claim.stale) {
            survey.pairs_done += claim.standing.share * job_.pairs(*unit);
            if (claim.standing.pairs >= 1 && claim.standing.seconds >= shortest_measured)
                survey.rate += claim.standing.pairs / claim.standing.seconds;
        }
        survey.workers.push_back(worker_of(claim, *unit));
    }
    std::sort(survey.workers.begin(), survey.workers.end(), [&](const Worker& a, const Worker& b) {
        return a.stale != b.stale ? b.stale : job_.number(a.unit) < job_.number(b.unit);
    });
    return survey;
}

Status status(const std::string& folder) {
    const machine::FloatState state;
    const Job job = read_job(folder);
    Claims claims(job.claims(), unknown_lease);
    return Surveyor(job, claims).look(false);
}

}  // namespace kith::groundtruth
