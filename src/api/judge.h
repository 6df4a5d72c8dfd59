// Rows of neighbours against the true ones: exact, tied, or wrong and why.
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

// What the rows are held against. Points and queries as the metric takes them (api/magnitudes.h)
// lie in host memory, unless all ids are right and no row begins with its own.
struct Truth {
    const MetricSpec& metric;
    MatrixView points, queries;      // queries: one of each row that is judged
    std::vector<std::int64_t> rows;  // their numbers in what was found
    std::int64_t k = 0;
    bool graph = false;         // row i is of point i,
    bool include_self = false;  // which it begins with
    // rows x k: the neighbours, -1 where there is none, and their canonical distances.
    std::vector<std::int64_t> ids;
    std::vector<double> distances;

    double none() const;  // the distance of a neighbour that there is not
};

struct RowJudgement {
    bool exact = true;  // the same ids in order
    std::string why;    // what is wrong with them
    std::int64_t place = 0;
    std::int64_t neighbours = 0, hits = 0;  // as in Verification
    std::vector<double>
        distances;  // canonical, of the ids that were found; NaN where there is no such point
};

// Of one thread.
class RowJudge {
public:
    explicit RowJudge(const Truth& truth);
    // Row i of those that are judged, of which these ids were found.
    RowJudgement judge(std::int64_t i, const std::int64_t* found);

    // The canonical distance of a point to itself; NaN where it has a NaN coordinate.
    double self_distance(std::int64_t point);

private:
    using Keys = std::unordered_map<std::int64_t, double>;

    // Distance keys of row i's query to points; NaN where either has a NaN coordinate.
    Keys keys_of(std::int64_t i, const std::vector<std::int64_t>& points);
    double key(std::int64_t point);

    const Truth& truth_;
    cpu::DistanceKeys distance_keys_;
    cpu::RowBlock query_, point_;
    cpu::ReportedDistance reported_;
};

// Distances that were found, beside the canonical ones.
class DistanceJudge {
public:
    // `scale`: the largest canonical distance, for DistancesCompared::nearly.
    DistanceJudge(DistancesCompared how, double scale) : how_(how), scale_(scale) {}
    // Whether they agree. NaN as the canonical one is that of no point, and passes.
    bool agree(double found, double canonical);
    // What is wrong with the first of a row.
    std::string why(double found, double canonical, std::int64_t place) const;
    // Adds what was counted.
    void add_to(Verification& all) const;

private:
    DistancesCompared how_;
    double scale_;
    std::int64_t distances_ = 0, different_ = 0, nan_ = 0, largest_ulp_ = 0;
    double largest_share_ = 0;
};

}  // namespace kith::api
