// Passes of a tile of queries without the clusters of points that are too far from them.
#pragma once

#include <algorithm>

#include "gpu/filter/tuning.h"
#include "gpu/points/partition/clusters.h"

namespace kith::gpu {

// Calls use(values, first, count) for batches of the q queries. `values`: those of queries [first,
// first + count) and the centres, whole_tiles(number of centres) apart. `queries`: vectors of the
// filter.
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

// The numbers of the queries, ordered by the cluster with the nearest centre. Enqueues.
Buffer<std::int64_t> order_by_cluster(const Clusters& clusters, const FilterForm& form,
                                      const DeviceMetric& metric, const PreparedRows& queries,
                                      FilterIsa isa, cudaStream_t stream);

class ClusteredPass {
public:
    ClusteredPass(const Clusters& clusters, FilterIsa isa, cudaStream_t stream)
        : view_(clusters.view), isa_(isa), stream_(stream) {}

    // The first position of the clusters. Passes compare the points before it without clusters.
    std::int64_t first() const { return view_.first; }
    // Restricts a pass, which begins at first() or later, to the tiles in which its queries may
    // have candidates. This object owns the lists of tiles, until the next call. Enqueues.
    FilterPass of(FilterPass pass);

private:
    const ClusterView& view_;
    FilterIsa isa_;
    cudaStream_t stream_;
    Buffer<std::uint32_t> tiles_, counts_;
};

}  // namespace kith::gpu
