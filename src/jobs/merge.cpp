// The neighbours of all queries, from the units.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "jobs/job.h"
#include "jobs/merged.h"
#include "jobs/stop.h"
#include "kith/error.h"
#include "kith/memory.h"
#include "machine/float_state.h"

namespace kith::groundtruth {
namespace {

std::string units(std::int64_t count) {
    return fmt::format("{} {}", count, count == 1 ? "unit" : "units");
}

[[noreturn]] void refuse_incomplete(const Job& job, const Merger& merger) {
    const auto damaged = static_cast<std::int64_t>(merger.damaged().size());
    std::string why;
    if (damaged > 0)
        why = fmt::format("{} of {} damaged: {}", units(damaged), job.units(), merger.damaged()[0]);
    if (merger.missing() > 0)
        why += fmt::format("{}{} of {} not done", why.empty() ? "" : "; ", units(merger.missing()),
                           job.units());
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: {}; kith groundtruth run {} does what is missing", job.folder, why,
                            job.folder));
}

template <class T>
void append(std::vector<T>& all, const std::vector<T>& part) {
    all.insert(all.end(), part.begin(), part.end());
}

}  // namespace

void merge(const std::string& folder, const std::function<void(const Neighbors&)>& take,
           const MergeOptions& options) {
    const machine::FloatState state;
    Stop stop(options.on_step);
    const Job job = read_job(folder);
    Options form;
    form.metric = job.metric;
    form.f64 = options.f64;
    Merger merger(job, stop);
    for (std::int64_t block = 0; block < job.blocks(); ++block) {
        stop.at("merging", static_cast<double>(block), static_cast<double>(job.blocks()));
        const std::optional<PartialNeighbors> merged = merger.block(block);
        // What is damaged is found in one go.
        if (merged && merger.missing() == 0 && merger.damaged().empty())
            machine::for_caller(take)(finish(*merged, form));
    }
    if (merger.missing() > 0 || !merger.damaged().empty()) refuse_incomplete(job, merger);
}

Neighbors merge(const std::string& folder, const MergeOptions& options) {
    const machine::FloatState state;
    const JobInfo job = info(folder);
    Neighbors all;
    all.queries = job.queries.rows;
    all.k = job.k;
    const auto cells = static_cast<std::size_t>(all.queries * all.k);
    require_memory(
        static_cast<std::int64_t>(
            cells * (sizeof(std::int64_t) + (options.f64 ? sizeof(double) : sizeof(float)))),
        "the result");
    all.ids.reserve(cells);
    if (options.f64) all.distances64.reserve(cells);
    else all.distances.reserve(cells);
    const auto take = [&](const Neighbors& block) {
        append(all.ids, block.ids);
        append(all.distances, block.distances);
        append(all.distances64, block.distances64);
    };
    merge(folder, take, options);
    return all;
}

}  // namespace kith::groundtruth
