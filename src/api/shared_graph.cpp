// Graphs whose pairs several GPUs share: each pair of blocks is computed by one of them, for its rows and its columns.
#include "api/group_report.h"
#include "api/group_search.h"
#include "api/rows.h"

namespace kith::api {

std::vector<Plan> DeviceGroup::shared_plans(const Search& search) const {
    if (probe_.shared_points == 0 || !search.graph || sharded() || kind_ != planner::Kind::equal_gpus ||
        parts_.size() < 2 || !lost_.empty())
        return {};
    std::vector<Plan> plans;
    for (const Part& part : parts_) {
        try {
            plans.push_back(
                part.index->shared_plan(search.k, static_cast<int>(parts_.size()), probe_.shared_points, search.call));
        } catch (const Error& error) {
            if (error.code() != ErrorCode::out_of_memory && error.code() != ErrorCode::device) throw;
            return {};
        }
        if (!plans.back().symmetric) return {};
    }
    return plans;
}

scale::Outcome DeviceGroup::share_graph(const Search& search, const std::vector<Plan>& plans, ProgressMeter& progress,
                                        std::vector<Report>& reports) const {
    const auto parts = static_cast<int>(parts_.size());
    const auto exchange = gpu::make_graph_exchange(parts);
    std::vector<char> done(parts_.size());
    scale::Outcome outcome = scale::run_blocks(
        parts, parts, scale::Sharing::own, "search", progress,
        [&](int device, std::int64_t block, ProgressMeter& own) {
            const auto part = static_cast<std::size_t>(device);
            const DeviceIndex& index = *parts_[part].index;
            const std::int64_t first = search.first(block), rows = search.rows(block);
            try {
                if (probe_.before) probe_.before(device, block);
                const std::shared_ptr<void> stream = gpu::call_stream(index.prepared().plan.device);
                Options call = search.call;
                call.stream = stream.get();
                const gpu::GraphShare share{*exchange, device, first, own};
                add(index.run_part(share, rows, search.k, plans[part], call, own,
                                   rows_of(search.out, first, search.k, search.call.f64)),
                    reports[part]);
                done[part] = 1;
            } catch (const gpu::GraphAbandoned&) {  // another part ended: this one's rows are left
            } catch (const Error& error) {
                // Sharing takes more memory than blocks of queries do: the device is asked for those.
                if (error.code() != ErrorCode::out_of_memory) throw;
                gpu::abandon(*exchange);
            }
        },
        [&] { gpu::abandon(*exchange); });
    outcome.left.clear();
    for (std::size_t part = 0; part < done.size(); ++part)
        if (!done[part]) outcome.left.push_back(static_cast<std::int64_t>(part));
    return outcome;
}

}  // namespace kith::api
