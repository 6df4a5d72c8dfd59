// What certified search on a GPU should reach, as data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "search/data.h"

namespace kith::bench {

// What a goal's figure is.
enum class GoalKind : std::uint8_t {
    rate,          // at least that many 10^9 (query, point) pairs a second
    milliseconds,  // at most that many
    of_gaussian,   // at least that share of the rate of Gaussian f32 of the same shape, squared Euclidean
    of_parts,      // kith::search from host memory: at most that many times the copy to the device from pinned memory
                   // plus the Index's search
};

struct Goal {
    std::int64_t k = 0;
    double figure = 0;
};

// Searches of the same points: one Index.
struct GoalSet {
    std::string name;  // on the command line
    Data data = Data::gaussian;
    ElementType type = ElementType::f32;
    MetricId metric = MetricId::sqeuclidean;
    std::int64_t n = std::int64_t{1} << 20, q = 8192, d = 128;
    bool graph = false;        // the points are the queries
    bool of_file = false;      // --images and --queries instead of `data`
    double p = 2;              // of minkowski
    bool packed_bits = false;  // of hamming
    std::string path = "";     // "": the planner's
    GoalKind kind = GoalKind::rate;
    std::vector<Goal> goals = {};
};

const std::vector<GoalSet>& search_goals();

}  // namespace kith::bench
