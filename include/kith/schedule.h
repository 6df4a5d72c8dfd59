// How several GPUs would share a graph: what each computes, stores, receives and sends, before it runs.
#pragma once

#include <string>
#include <vector>

#include "kith/export.h"
#include "kith/plan.h"
#include "kith/types.h"

namespace kith {

struct GraphSchedule {
    int devices = 0;
    // "symmetric": each pair once, on one GPU. "blocks": blocks of queries, each with all points. "shards": shards of
    // the points, each with all queries. "kato": each pair once, in grids (docs/guide/multi-gpu.md).
    std::string how;
    double pairs = 0;         // computed by all devices, over n^2
    double balance = 0;       // pairs of the busiest device over the mean: 1 if all have equally many
    double device_bytes = 0;  // planned for each device: points, lists, workspace
    // Points and queries in host memory that each device receives: points that do not fit are sent again for each pass.
    double received_bytes = 0;
    double sent_bytes = 0;  // neighbours that each device sends to the host
};

// The schedules of a graph of that shape (Shape::graph) on 1 to 8 GPUs like the first of this machine, or like the
// measured one with that name (measured_machines()). Empty without a GPU; schedules that do not fit are left out.
KITH_EXPORT std::vector<GraphSchedule> graph_schedules(const Shape& shape, const Options& options = {},
                                                       const std::string& machine = "");

}  // namespace kith
