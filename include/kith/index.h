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
// bound. Owns all it needs: the caller's points may go once the constructor returns. Movable, not copyable. search()
// and graph() are const and may run from several threads at once. On the CPU they may run in a child of fork() as well,
// also while other threads of the parent were within them; not where fork() is called from within a callback. A CUDA
// Index cannot be used in a child.
class Index {
public:
    // points n x d (n may be 0, d >= 1). Options::metric and device are fixed here, memory and isa unless a search has
    // its own; the rest can change per search. On a CPU the first search with another isa packs the points for that,
    // too, where it filters in bf16, in 8 bits or along directions.
    KITH_EXPORT explicit Index(const MatrixView& points, const Options& options = {});
    // The same without a copy: points in host memory, which must stay as they are as long as the Index lives, are read
    // there, and prepared by the first search. Where a GPU has no room for them but for their filter
    // (Plan::host_points), the memory is registered with CUDA meanwhile: it must not be registered, nor unregistered,
    // by anybody else until the Index is gone.
    KITH_EXPORT static Index borrowing(const MatrixView& points, const Options& options = {});
    KITH_EXPORT ~Index();
    KITH_EXPORT Index(Index&&) noexcept;
    KITH_EXPORT Index& operator=(Index&&) noexcept;

    KITH_EXPORT std::int64_t size() const;        // n
    KITH_EXPORT std::int64_t dimensions() const;  // d

    // As kith::search, without preparing the points again. `options` gives f64, threads, memory, path, isa, stream,
    // progress. Metric and device are the Index's own: left alone they stand for those, and any other that is chosen is
    // refused with invalid_argument (of a metric: one that was assigned, or whose id is not sqeuclidean; the parameters
    // count as well).
    KITH_EXPORT Neighbors search(const MatrixView& queries, std::int64_t k, const Options& options = {}) const;
    KITH_EXPORT Report search_into(const MatrixView& queries, std::int64_t k, const Options& options,
                                   const NeighborsView& out) const;

    // As kith::graph: the points among themselves.
    KITH_EXPORT Neighbors graph(std::int64_t k, const Options& options = {}) const;
    KITH_EXPORT Report graph_into(std::int64_t k, const Options& options, const NeighborsView& out) const;

    // As the functions of those names in kith/radius.h: where nobody named a metric, neither of the Index nor of the
    // call, r and the distances are of euclidean (of search() and graph() sqeuclidean). Of points that a GPU has in
    // clusters the first call makes their filter once more, in their own order, where memory permits.
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
