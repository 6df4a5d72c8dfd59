// Data of the kinds that people search, by name: made on the host, every row a function of its number.
//
// The tests search the same sets, smaller, against the oracle.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kith/types.h"

namespace kith::bench {

// A row to be made.
struct OrdinaryRow {
    std::int64_t number;
    bool query;           // of the queries, not of the points
    std::int64_t points;  // in the set
    std::int64_t d;
};

struct OrdinarySet {
    std::string name;
    std::int64_t d;
    void (*make)(const OrdinaryRow& row, double* to);  // writes d coordinates
    MetricId metric = MetricId::sqeuclidean;
    ElementType type = ElementType::f32;
    bool graph = false;        // the points are the queries
    bool packed_bits = false;  // of hamming, jaccard and dice
};

const std::vector<OrdinarySet>& ordinary_sets();

// rows x set.d elements at `to`, in host memory, row-major and dense: points, or queries of that many points.
void fill(const OrdinarySet& set, bool queries, std::int64_t rows, std::int64_t points, void* to);

}  // namespace kith::bench
