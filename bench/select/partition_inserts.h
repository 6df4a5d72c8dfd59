// Tang 2015, III.E, on the host: how many entries a row's queue takes with a hierarchical partition and without.
#pragma once

#include <cstdint>
#include <vector>

namespace kith::bench {

// none: the row from its first value to its last. restarted: the queue is empty again at each level. kept: one queue
// throughout, to which a level's groups offer what is not in it yet.
enum class Partition : std::uint8_t { none, restarted, kept };

struct QueueRun {
    std::int64_t inserted = 0;
    std::vector<std::int64_t> columns;  // of the k smallest, best first; equal values by column
};

// 1 <= k <= row.size(), groups of `group` >= 2. The groups are opened as a sorted queue has them, that of the smallest
// minimum first.
QueueRun run_queue(const std::vector<float>& row, std::int64_t k, std::int64_t group, Partition partition);

// The mean of `inserted` over some rows of independent values.
double mean_inserted(std::int64_t n, std::int64_t k, std::int64_t group, Partition partition);

}  // namespace kith::bench
