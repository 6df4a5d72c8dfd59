// Jobs in words and in JSON.
#include "groundtruth/describe.h"

#include <fmt/format.h>

#include <algorithm>

#include "interrupt.h"
#include "print.h"

namespace kith::cli::groundtruth {
OnStep drawn(ProgressBar& bar) {
    return [&bar](const Step& step) {
        if (interrupted()) return false;
        const bool units = step.units > 0;
        bar.draw(units ? fmt::format("{} of {} units", step.units_done, step.units) : step.stage, step.done, step.total,
                 step.rate);
        return true;
    };
}

std::string described(const Status& status) {
    std::string text = fmt::format("{} of {} done", grouped(status.units_done),
                                   counted(static_cast<std::int64_t>(status.done.size()), "unit", "units"));
    const auto live =
        std::count_if(status.workers.begin(), status.workers.end(), [](const Worker& worker) { return !worker.stale; });
    if (live > 0) text += fmt::format(", {}", counted(live, "worker", "workers"));
    if (status.rate > 0) text += fmt::format(" at {}", pair_rate(status.rate, 1));
    if (const auto left = status.seconds_left(); left && !status.is_complete())
        text += fmt::format(", {} left", duration(*left));
    return text;
}

Json job_json(const JobInfo& job) {
    const auto rows = [](const RowFiles& of) {
        return Json{{"rows", of.rows}, {"type", name(of.type)}, {"files", of.paths}};
    };
    Json json = {{"folder", job.folder}, {"job", job.id}, {"kith", job.version}, {"graph", job.graph}};
    json["k"] = job.k;
    json["dimensions"] = job.dimensions;
    json["metric"] = to_json(job.metric);
    if (!job.numbers->empty()) json["metric"]["estimated"] = job.estimated;
    json["base"] = rows(job.base);
    json["queries"] = rows(job.queries);
    json["memory"] = job.memory;
    json["shards"] = job.shards;
    json["blocks"] = job.blocks;
    json["units"] = job.units();
    return json;
}

}  // namespace kith::cli::groundtruth
