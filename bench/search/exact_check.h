// Holds answers against the library's plain scan in binary64: ids and distances, bit for bit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kith/kith.h"

namespace kith::bench {

class ExactCheck {
public:
    // Scans up to `sample` queries, evenly spread, by path "exact" of `index`. graph: the queries are its points, each
    // without itself.
    ExactCheck(const Index& index, const MatrixView& queries, std::int64_t k, bool graph, std::int64_t sample);

    // Compares the rows of a whole answer; one that differs in any of several answers is not exact.
    void hold(const NeighborsView& answer, bool f64);

    std::int64_t queries() const { return count_; }
    std::int64_t exact() const;
    // The first difference, for a person to read; "": none.
    const std::string& difference() const { return difference_; }

private:
    bool row_is_exact(std::int64_t i, const NeighborsView& answer, bool f64);

    std::int64_t k_, count_, step_;  // query i of the sample is i * step_
    std::vector<std::int64_t> ids_;
    std::vector<double> distances_;
    std::vector<bool> exact_;
    std::string difference_;
};

}  // namespace kith::bench
