// The goals of certified search, as data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "search/data.h"
#include "search/ordinary_data.h"

namespace kith::bench {

// The kind of a goal's figure.
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
    std::string formula = "";  // of MetricId::formula
    std::int64_t n = std::int64_t{1} << 20, q = 8192, d = 128;
    bool graph = false;          // the points are the queries
    bool of_file = false;        // --images and --queries instead of `data`
    std::int64_t copies_to = 0;  // of files: the images shifted and mirrored until there are this many; 0: as they are
    const OrdinarySet* ordinary = nullptr;  // instead of `data`; null: none
    double p = 2;                           // of minkowski
    bool packed_bits = false;               // of hamming
    std::string path = "";                  // "": the planner's
    GoalKind kind = GoalKind::rate;
    std::vector<Goal> goals = {};
    double most_scanned = 1;  // a goal is missed where a larger share of the queries is scanned
};

// For a GPU.
const std::vector<GoalSet>& search_goals();

struct OrdinaryShape {
    std::int64_t n = 0;  // 0: 2^20 on a GPU, 2^17 on a CPU
    std::int64_t q = 1024, k = 10;
};

// Searches of every ordinary set, graphs with an eighth of the points: at least a third of the Gaussian rate, and at
// most one query in 1,000 scanned.
std::vector<GoalSet> ordinary_goals(OrdinaryShape shape, bool gpu);

}  // namespace kith::bench
