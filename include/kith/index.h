// Index: points prepared once, searched often.
#pragma once

#include <cstdint>
#include <memory>

#include "kith/types.h"

namespace kith {

// Prepared points on the device that Options::device names: converted, centred, rounded, with the terms of the error
// bound. Owns all it needs: the caller's points may go once the constructor returns. Movable, not copyable. search()
// and graph() are const and may run from several threads at once.
class Index {
public:
    // points n x d (n, d >= 1). Options::metric, device, memory, isa are fixed here; the rest can change per search.
    explicit Index(const MatrixView& points, const Options& options = {});
    ~Index();
    Index(Index&&) noexcept;
    Index& operator=(Index&&) noexcept;

    std::int64_t size() const;        // n
    std::int64_t dimensions() const;  // d

    // As kith::search, without preparing the points again. `options` gives f64, threads, memory, path, isa, stream,
    // progress. Metric and device are the Index's own: left alone they stand for those, and any other that is chosen is
    // refused with invalid_argument (of a metric: one that was assigned, or whose id is not sqeuclidean; the parameters
    // count as well).
    Neighbors search(const MatrixView& queries, std::int64_t k, const Options& options = {}) const;
    Report search_into(const MatrixView& queries, std::int64_t k, const Options& options,
                       const NeighborsView& out) const;

    // As kith::graph: the points among themselves.
    Neighbors graph(std::int64_t k, const Options& options = {}) const;
    Report graph_into(std::int64_t k, const Options& options, const NeighborsView& out) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace kith
