// Index: points prepared once, searched often.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "kith/export.h"
#include "kith/types.h"

namespace kith {

// kith/radius.h
struct Radius;
struct RadiusNeighbors;
struct RadiusCounts;
struct RadiusRows;

// Prepared points on the device that Options::device names: converted, centred, rounded, with the terms of the error
// bound. Owns all its data: the caller's points may be freed after the constructor returns. Movable, not copyable.
// search() and graph() are const and may run concurrently. On the CPU they also work in a child of fork(), even if
// other threads of the parent were inside them, unless fork() is called from a callback. A CUDA Index cannot be used in
// a child.
class Index {
public:
    // points n x d (n may be 0, d >= 1). Options::metric and device are fixed here; memory and isa are defaults that a
    // search may override; the rest can change per search. On a CPU the first search with another isa packs the points
    // again for it, if it filters in bf16, in int8 or on a PCA projection.
    KITH_EXPORT explicit Index(const MatrixView& points, const Options& options = {});
    // Likewise without a copy. Points in host memory are read in place, must stay unchanged during the Index's life,
    // and are prepared by the first search. If a GPU has room only for the points' filter (Plan::host_points), the
    // memory is registered with CUDA meanwhile. No other code may register or unregister it until the Index is
    // destroyed.
    KITH_EXPORT static Index borrowing(const MatrixView& points, const Options& options = {});
    KITH_EXPORT ~Index();
    KITH_EXPORT Index(Index&&) noexcept;
    KITH_EXPORT Index& operator=(Index&&) noexcept;

    KITH_EXPORT std::int64_t size() const;        // n
    KITH_EXPORT std::int64_t dimensions() const;  // d

    // kith::search, without preparing the points again. `options` gives f64, threads, memory, path, isa, stream,
    // progress. Metric and device default to the Index's own. Any other choice throws invalid_argument. A metric counts
    // as chosen if it was assigned or its id is not sqeuclidean; its parameters are compared as well.
    KITH_EXPORT Neighbors search(const MatrixView& queries, std::int64_t k, const Options& options = {}) const;
    KITH_EXPORT Report search_into(const MatrixView& queries, std::int64_t k, const Options& options,
                                   const NeighborsView& out) const;

    // kith::graph: the points among themselves.
    KITH_EXPORT Neighbors graph(std::int64_t k, const Options& options = {}) const;
    KITH_EXPORT Report graph_into(std::int64_t k, const Options& options, const NeighborsView& out) const;

    // The functions of these names in kith/radius.h. If neither the Index nor the call names a metric, r and the
    // distances are euclidean (for search() and graph() sqeuclidean). If a GPU holds the points in a ball-cover
    // partition (clusters), the first call prepares another filter in the original order, if memory permits.
    KITH_EXPORT RadiusNeighbors radius(const MatrixView& queries, const Radius& r, const Options& options = {}) const;
    KITH_EXPORT RadiusCounts radius_counts(const MatrixView& queries, const Radius& r,
                                           const Options& options = {}) const;
    KITH_EXPORT Report radius_blocks(const MatrixView& queries, const Radius& r, const Options& options,
                                     const std::function<void(const RadiusRows&)>& take) const;
    KITH_EXPORT RadiusNeighbors radius_graph(const Radius& r, const Options& options = {}) const;
    KITH_EXPORT RadiusCounts radius_graph_counts(const Radius& r, const Options& options = {}) const;
    KITH_EXPORT Report radius_graph_blocks(const Radius& r, const Options& options,
                                           const std::function<void(const RadiusRows&)>& take) const;

private:
    struct State;
    Index(const MatrixView& points, const Options& options, bool copy);
    std::unique_ptr<State> state_;
};

}  // namespace kith
