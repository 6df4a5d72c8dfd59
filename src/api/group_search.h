// What the blocks of one call of a DeviceGroup share.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "api/device_group.h"
#include "kith/shards.h"

namespace kith::api {

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

struct DeviceGroup::Search {
    MatrixView queries;  // of a graph of unsharded points nothing: each device has them
    bool graph;
    std::int64_t q, k, searched;  // rows, neighbours of a row of `out`, and those that are searched for
    Options call;
    NeighborsView out;
    std::int64_t block;
    // Of shards: the neighbours of each block among the points of those that are done.
    std::vector<PartialNeighbors> merged;
    std::mutex merging;

    std::int64_t first(std::int64_t b) const { return b * block; }
    std::int64_t rows(std::int64_t b) const { return std::min(block, q - b * block); }
};

}  // namespace kith::api
