// Judging listed neighbours against canonical ones, row by row: exact, tied, or wrong and why.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "kith/kith.h"

namespace kith::cli {

enum class Verdict {
    exact,  // the same ids at the same places
    tied,   // other ids, but at every place a point that the canonical order holds equal
    wrong,
};

struct RowCheck {
    Verdict verdict = Verdict::exact;
    std::string why;                // what is wrong
    std::int64_t first_place = 0;   // the first place with another id
    std::int64_t hits = 0;          // listed points no farther than the k-th nearest
    std::int64_t present = 0;       // neighbours that exist
    std::vector<double> distances;  // canonical, of the listed ids; NaN where the id is not a point
};

// Canonical distances of points that someone else chose.
class RowChecker {
public:
    // The views and options must outlive it; a matrix of mahalanobis must be given. `graph`: row r of the queries is
    // point r, which may not list itself.
    RowChecker(const MatrixView& base, const MatrixView& queries, const Options& options, bool graph);

    // `listed` and `expected` hold k ids, `expected_distances` the canonical distances of `expected`.
    RowCheck check(std::int64_t row, std::int64_t k, const std::int64_t* listed, const std::int64_t* expected,
                   const double* expected_distances) const;

    // Its distance to itself; NaN where it has a NaN coordinate.
    double self_distance(std::int64_t row) const;

private:
    // Where a point stands among others: those that the canonical order holds equal (before any root is taken and
    // rounded) share a place.
    struct Standing {
        double distance;
        std::int64_t place;
    };
    std::unordered_map<std::int64_t, Standing> standings(std::int64_t row, const std::vector<std::int64_t>& ids) const;

    const MatrixView& base_;
    const MatrixView& queries_;
    const Options& options_;
    bool graph_;
};

// Distances of a file against canonical ones, both rounded to f32, bit for bit.
struct DistanceCheck {
    std::int64_t compared = 0;
    std::int64_t different = 0;
    std::int64_t nan = 0;  // of the different ones, the listed NaN, which are no number of ulp away
    std::int64_t largest_ulp = 0;
    double largest_share = 0;  // of the canonical distance
    void compare(double listed, double canonical);
};

}  // namespace kith::cli
