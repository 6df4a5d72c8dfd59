// How several GPUs would share a graph: what each computes, holds, is sent and sends, before it runs.
#pragma once

#include <string>
#include <vector>

#include "kith/export.h"
#include "kith/plan.h"
#include "kith/types.h"

namespace kith {

struct GraphSchedule {
    int devices = 0;
    // "symmetric": each pair once, on one GPU. "blocks" of queries, each with all points. "shards" of the points, each
    // with all queries. "kato": each pair once, in grids (docs/scale.md).
    std::string how;
    double pairs = 0;         // that all devices compute, over n^2
    double balance = 0;       // those of the busiest device over the mean: 1 where all have as many
    double device_bytes = 0;  // that each plans to hold: points, lists, workspace
    // Points and queries that the host sends to each, where they lie in its memory: points that do not fit come anew
    // for each pass.
    double received_bytes = 0;
    double sent_bytes = 0;  // neighbours that each sends to the host
};

// The schedules of a graph of that shape (Shape::graph) on 1 to 8 GPUs like the first of this machine, or of the
// measured one of that name (measured_machines()). None where there is no GPU; those that do not fit are left out.
KITH_EXPORT std::vector<GraphSchedule> graph_schedules(const Shape& shape, const Options& options = {},
                                                       const std::string& machine = "");

}  // namespace kith
