// Compares rows of neighbours with the true ones: exact, tied, or wrong and why.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "cpu/metric/distance_keys.h"
#include "cpu/metric/reported_distance.h"
#include "exact/metric_spec.h"
#include "kith/verify.h"

namespace kith::api {

// The reference. Points and queries are in the metric's form (api/check/magnitudes.h) and in host
// memory, unless all ids are right and no row begins with its own point.
struct Truth {
    const MetricSpec& metric;
    MatrixView points, queries;      // queries: one per verified row
    std::vector<std::int64_t> rows;  // their row numbers in the given result
    std::int64_t k = 0;
    bool graph = false;         // row i is the neighbourhood of point i
    bool include_self = false;  // each row begins with its own point
    // rows x k: the neighbours, -1 for a missing one, and their canonical distances.
    std::vector<std::int64_t> ids;
    std::vector<double> distances;

    double none() const;  // the distance of a missing neighbour
};

struct RowJudgement {
    bool exact = true;  // the same ids in order
    std::string why;    // describes the first fault
    std::int64_t place = 0;
    std::int64_t neighbours = 0, hits = 0;  // as in Verification
    std::vector<double> distances;          // canonical, of the given ids; NaN for an invalid id
};

// For one thread.
class RowJudge {
public:
    explicit RowJudge(const Truth& truth);
    // Verifies the i-th row, with the ids that were given for it.
    RowJudgement judge(std::int64_t i, const std::int64_t* found);

    // The canonical distance of a point to itself; NaN if it has a NaN coordinate.
    double self_distance(std::int64_t point);

private:
    using Keys = std::unordered_map<std::int64_t, double>;

    // Distance keys of row i's query to points; NaN if either has a NaN coordinate.
    Keys keys_of(std::int64_t i, const std::vector<std::int64_t>& points);
    double key(std::int64_t point);

    const Truth& truth_;
    cpu::DistanceKeys distance_keys_;
    cpu::RowBlock query_, point_;
    cpu::ReportedDistance reported_;
};

// Compares given distances with the canonical ones.
class DistanceJudge {
public:
    // `scale`: the largest canonical distance, for DistancesCompared::nearly.
    DistanceJudge(DistancesCompared how, double scale) : how_(how), scale_(scale) {}
    // True if they agree. A canonical NaN means an invalid id and passes.
    bool agree(double found, double canonical);
    // Describes the first wrong distance of a row.
    std::string why(double found, double canonical, std::int64_t place) const;
    // Adds the counters.
    void add_to(Verification& all) const;

private:
    DistancesCompared how_;
    double scale_;
    std::int64_t distances_ = 0, different_ = 0, nan_ = 0, largest_ulp_ = 0;
    double largest_share_ = 0;
};

}  // namespace kith::api
