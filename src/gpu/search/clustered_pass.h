// Passes of a tile of queries without the clusters of points that are too far from them.
#pragma once

#include "gpu/filter/candidate_lists.h"
#include "gpu/points/clusters.h"

namespace kith::gpu {

// Queries in the order of the clusters whose centres are nearest: rows of `queries`. Enqueues.
Buffer<std::int64_t> order_by_cluster(const Clusters& clusters, const FilterForm& form, const DeviceMetric& metric,
                                      const PreparedRows& queries, FilterIsa isa, cudaStream_t stream);

class ClusteredPass {
public:
    ClusteredPass(const Clusters& clusters, FilterIsa isa, cudaStream_t stream)
        : view_(clusters.view), isa_(isa), stream_(stream) {}

    // Where the clusters begin, behind what passes look at without them.
    std::int64_t first() const { return view_.first; }
    // The pass, which begins no sooner than that, with the tiles that its queries may have candidates in. Memory of the
    // tiles is this object's, until the next call.
    FilterPass of(FilterPass pass);

private:
    const ClusterView& view_;
    FilterIsa isa_;
    cudaStream_t stream_;
    Buffer<std::uint32_t> tiles_, counts_;
};

// The same with vectors that are relative to the centres of their clusters (filter/relative.h). From begin() on the
// lists hold half of the squared distance in place of the filter's values, from canonical distances; without errors.
class RelativePass {
public:
    // Rounded vectors of the queries, of the filter's form. Has all memory that it needs.
    RelativePass(const Clusters& clusters, const FilterForm& form, const DeviceMetric& metric,
                 const PreparedRows& points, const PreparedRows& queries, const void* vectors, cudaStream_t stream);

    const float* query_error() const { return no_error_.get(); }
    const float* point_error() const { return clusters_.relative->no_error.get(); }
    // Lowers the thresholds of lists of the filter's own values where a few points of the clusters nearest to a query
    // show that they may be, for few neighbours; levels of samples of such searches.
    static FilterLevels levels(FilterLevels levels, std::int64_t wanted);
    void lower(const CandidateLists& lists, std::int64_t wanted, const std::uint8_t* unfit);
    // What run() adds to thresholds for the cluster nearest to each query, about; known from lower() on.
    const float* loss() const { return loss_.get(); }
    // What lists need of which that many of the first `sample` of n points are within that.
    static std::int64_t needed(std::int64_t length, std::int64_t sample, std::int64_t n) {
        return (length * (n / sample + 1) + 63) / 64 * 64;
    }
    // Lists that passes left of the points before the clusters, with their thresholds and errors: thresholds become
    // those up to which nothing has been left out.
    void begin(const CandidateLists& lists, const std::uint8_t* unfit);
    // Sets the values of all entries.
    void refine(const CandidateLists& lists);
    // Appends what is within the thresholds, of the tiles of clusters that may hold any by the thresholds that begin()
    // was given.
    void run(const FilterPass& pass);
    // Thresholds for the filter's own values: what `error` is of.
    void restore(float* threshold, const float* error);

private:
    // With the centres, of queries from `first` on, a multiple of step_.
    const float* values(std::int64_t first);

    const Clusters& clusters_;
    const FilterForm& form_;
    const DeviceMetric& metric_;
    PreparedRows points_, queries_;
    const void* vectors_;
    cudaStream_t stream_;
    std::int64_t step_;         // queries of a pass
    std::int64_t valued_ = -1;  // the first of those that values_ are of
    Buffer<double> coordinates_, half_square_, rest_;
    Buffer<float> no_error_, coarse_, values_, thresholds_, loss_;
    Buffer<std::uint8_t> flags_;
    Buffer<std::uint32_t> tiles_, tile_counts_, listed_, listed_counts_, nearest_;
    Buffer<std::uint32_t> rows_;  // of entries, of some queries at a time
    Buffer<std::uint64_t> keys_;
    Buffer<std::int32_t> counts_;
    ExactQueries exact_;
};

}  // namespace kith::gpu
