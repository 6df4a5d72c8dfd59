// Passes of a tile of queries without the clusters of points that are too far from them.
#pragma once

#include <algorithm>

#include "gpu/filter/tuning.h"
#include "gpu/points/clusters.h"

namespace kith::gpu {

// Calls use(values, first, count) for some of q queries at a time, whose values with the centres
// (whole_tiles(count of the centres) apart) these are; `queries`: vectors of the filter.
template <class Use>
void with_centre_values(const ClusterView& view, const void* queries, std::int64_t q, FilterIsa isa,
                        cudaStream_t stream, Use use) {
    const std::int64_t step = std::min(q, tuning::dense_queries);
    const Buffer<float> values(step * whole_tiles(view.count), stream);
    for (std::int64_t first = 0; first < q; first += step) {
        const std::int64_t count = std::min(step, q - first);
        centre_values(view, static_cast<const __half*>(queries) + first * view.width, count, isa,
                      values.get(), stream);
        use(values.get(), first, count);
    }
}

// Queries in the order of the clusters whose centres are nearest: rows of `queries`. Enqueues.
Buffer<std::int64_t> order_by_cluster(const Clusters& clusters, const FilterForm& form,
                                      const DeviceMetric& metric, const PreparedRows& queries,
                                      FilterIsa isa, cudaStream_t stream);

class ClusteredPass {
public:
    ClusteredPass(const Clusters& clusters, FilterIsa isa, cudaStream_t stream)
        : view_(clusters.view), isa_(isa), stream_(stream) {}

    // Where the clusters begin, behind what passes look at without them.
    std::int64_t first() const { return view_.first; }
    // The pass, which begins no sooner than that, with the tiles that its queries may have
    // candidates in. Memory of the tiles is this object's, until the next call.
    FilterPass of(FilterPass pass);

private:
    const ClusterView& view_;
    FilterIsa isa_;
    cudaStream_t stream_;
    Buffer<std::uint32_t> tiles_, counts_;
};

}  // namespace kith::gpu
