// Merges units.
#include "jobs/merged.h"

#include <optional>

#include "jobs/files/unit_file.h"

namespace kith::groundtruth {

std::optional<PartialNeighbors> Merger::block(std::int64_t block) {
    std::optional<PartialNeighbors> merged;
    bool whole = true;
    for (std::int64_t shard = 0; shard < job_.shards(); ++shard) {
        stop_.check();
        const WorkUnit unit{shard, block};
        try {
            std::optional<PartialNeighbors> part = read_unit(job_, unit);
            missing_ += !part;
            whole = whole && part;
            if (!whole) continue;
            if (merged) merge(*merged, *part);
            else merged = std::move(part);
        } catch (const DamagedUnit& error) {
            damaged_.push_back(std::string(error.what()) + " (" + set_aside(job_, unit) + ")");
            whole = false;
        }
    }
    return whole ? std::move(merged) : std::nullopt;
}

}  // namespace kith::groundtruth
