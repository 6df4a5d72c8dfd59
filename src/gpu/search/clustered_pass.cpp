// See clustered_pass.h.
#include "gpu/search/clustered_pass.h"
#include "gpu/filter/cluster_order.h"

#include <bit>

#include "gpu/tree/order.h"

namespace kith::gpu {

Buffer<std::int64_t> order_by_cluster(const Clusters& clusters, const FilterForm& form,
                                      const DeviceMetric& metric, const PreparedRows& queries,
                                      FilterIsa isa, cudaStream_t stream) {
    const ClusterView& view = clusters.view;
    const std::int64_t q = queries.rows.count;
    const Buffer<char> vectors(vector_bytes(form, q), stream);
    const Buffer<float> error(2 * q, stream);
    const Buffer<std::uint8_t> unfit(q, stream);
    metric.kernels->filter_queries(queries, form, vectors.get(), error.get(), unfit.get(),
                                   metric.params, stream);
    const Buffer<std::uint32_t> nearest(q, stream);
    with_centre_values(view, vectors.get(), q, isa, stream,
                       [&](const float* values, std::int64_t first, std::int64_t count) {
                           nearest_centres(values, whole_tiles(view.count), count, view.count,
                                           nearest.get() + first, nullptr, stream);
                       });
    const Buffer<std::uint32_t> order =
        sorted_numbers(nearest, std::bit_width(static_cast<std::uint64_t>(view.count)), stream);
    Buffer<std::int64_t> out(q, stream);
    deal_queries(order.get(), q, out.get(), stream);
    return out;
}

FilterPass ClusteredPass::of(FilterPass pass) {
    static_assert(tuning::dense_queries % listed_queries == 0);
    const std::int64_t groups = (pass.q + listed_queries - 1) / listed_queries,
                       tiles = (pass.count + filter_tile_points - 1) / filter_tile_points;
    const Buffer<std::uint8_t> flags(groups * view_.count, stream_);
    with_centre_values(
        view_, pass.queries, pass.q, isa_, stream_,
        [&](const float* values, std::int64_t first, std::int64_t count) {
            active_clusters(
                view_,
                {.vectors = static_cast<const __half*>(pass.queries) + first * view_.width,
                 .threshold = pass.threshold + first,
                 .values = values,
                 .q = count,
                 .ld = whole_tiles(view_.count)},
                flags.get() + first / listed_queries * view_.count, stream_);
        });
    tiles_ = Buffer<std::uint32_t>(groups * tiles, stream_);
    counts_ = Buffer<std::uint32_t>(groups, stream_);
    list_tiles(view_, flags.get(), groups, pass.first, tiles, tiles_.get(), counts_.get(), stream_);
    pass.tiles = tiles_.get();
    pass.tile_counts = counts_.get();
    pass.tile_stride = tiles;
    return pass;
}

}  // namespace kith::gpu
