// Looks at the folder of a job.
#include "groundtruth/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "groundtruth/unit_file.h"
#include "print.h"

namespace kith::cli::groundtruth {
namespace {

// The unit of a name, or nothing where it is none of this job.
std::optional<WorkUnit> unit_of(const Job& job, const std::string& name) {
    const std::size_t middle = name.find("-q");
    if (name.empty() || name[0] != 's' || middle == std::string::npos) return std::nullopt;
    WorkUnit unit;
    const char* const text = name.data();
    std::from_chars(text + 1, text + middle, unit.shard);
    std::from_chars(text + middle + 2, text + name.size(), unit.block);
    const bool known = unit.shard >= 0 && unit.shard < job.shards() && unit.block >= 0 && unit.block < job.blocks();
    return known && job.unit_name(unit) == name ? std::optional(unit) : std::nullopt;
}

}  // namespace

std::optional<double> Survey::seconds_left() const {
    if (is_complete()) return 0.0;
    if (!(rate > 0)) return std::nullopt;
    return std::max(0.0, pairs - pairs_done) / rate;
}

Survey Surveyor::look(bool tidy) {
    Survey survey;
    survey.done.assign(static_cast<std::size_t>(job_.units()), false);
    survey.pairs = job_.pairs();
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(job_.folder + "/units", failed)) {
        const std::optional<WorkUnit> unit = unit_of(job_, entry.path().filename().string());
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
    for (Seen& claim : claims_.list()) {
        const std::optional<WorkUnit> unit = unit_of(job_, claim.name);
        if (!unit) continue;
        const std::int64_t number = job_.number(*unit);
        if (survey.done[static_cast<std::size_t>(number)]) {
            if (tidy) claims_.remove(claim.name);
            continue;
        }
        if (!claim.stale) {
            survey.pairs_done += claim.standing.share * job_.pairs(*unit);
            if (claim.standing.seconds > 0) survey.rate += claim.standing.pairs / claim.standing.seconds;
        }
        survey.claimed.push_back({std::move(claim), number});
    }
    std::sort(survey.claimed.begin(), survey.claimed.end(), [](const ClaimedUnit& a, const ClaimedUnit& b) {
        return a.claim.stale != b.claim.stale ? b.claim.stale : a.unit < b.unit;
    });
    return survey;
}

std::string described(const Survey& survey) {
    std::string text = fmt::format("{} of {} done", grouped(survey.units_done),
                                   counted(static_cast<std::int64_t>(survey.done.size()), "unit", "units"));
    const auto live = std::count_if(survey.claimed.begin(), survey.claimed.end(),
                                    [](const ClaimedUnit& worker) { return !worker.claim.stale; });
    if (live > 0) text += fmt::format(", {}", counted(live, "worker", "workers"));
    if (survey.rate > 0) text += fmt::format(" at {}", pair_rate(survey.rate, 1));
    if (const auto left = survey.seconds_left(); left && !survey.is_complete())
        text += fmt::format(", {} left", duration(*left));
    return text;
}

}  // namespace kith::cli::groundtruth
