// See clustered_pass.h.
#include "gpu/search/clustered_pass.h"

#include <algorithm>
#include <bit>

#include "gpu/filter/tuning.h"
#include "gpu/metric/prepared_rows.h"
#include "gpu/runtime/check.h"
#include "gpu/search/tuning.h"
#include "gpu/tree/order.h"

namespace kith::gpu {

namespace {

// Calls use(values, first, count) for some of q queries at a time, whose values with the centres these are.
template <class Use>
void with_values(const ClusterView& view, const void* queries, std::int64_t q, FilterIsa isa, cudaStream_t stream,
                 Use use) {
    const std::int64_t step = std::min(q, tuning::dense_queries), ld = whole_tiles(view.count);
    const Buffer<float> values(step * ld, stream);
    for (std::int64_t first = 0; first < q; first += step) {
        const std::int64_t count = std::min(step, q - first);
        centre_values(view, static_cast<const __half*>(queries) + first * view.width, count, isa, values.get(), stream);
        use(values.get(), first, count);
    }
}

// Whether the nearest of a few points near to a query say enough of so many neighbours.
bool lowers(std::int64_t wanted) {
    return wanted <= near_points / 8;
}

}  // namespace

Buffer<std::int64_t> order_by_cluster(const Clusters& clusters, const FilterForm& form, const DeviceMetric& metric,
                                      const PreparedRows& queries, FilterIsa isa, cudaStream_t stream) {
    const ClusterView& view = clusters.view;
    const std::int64_t q = queries.rows.count;
    const Buffer<char> vectors(vector_bytes(form, q), stream);
    const Buffer<float> error(2 * q, stream);
    const Buffer<std::uint8_t> unfit(q, stream);
    metric.kernels->filter_queries(queries, form, vectors.get(), error.get(), unfit.get(), metric.params, stream);
    const Buffer<std::uint32_t> nearest(q, stream);
    with_values(view, vectors.get(), q, isa, stream, [&](const float* values, std::int64_t first, std::int64_t count) {
        nearest_centres(values, whole_tiles(view.count), count, view.count, nearest.get() + first, nullptr, stream);
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
    with_values(view_, pass.queries, pass.q, isa_, stream_,
                [&](const float* values, std::int64_t first, std::int64_t count) {
                    active_clusters(view_,
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

RelativePass::RelativePass(const Clusters& clusters, const FilterForm& form, const DeviceMetric& metric,
                           const PreparedRows& points, const PreparedRows& queries, const void* vectors,
                           cudaStream_t stream)
    : clusters_(clusters),
      form_(form),
      metric_(metric),
      points_(points),
      queries_(queries),
      vectors_(vectors),
      stream_(stream),
      step_(std::min(queries.rows.count, tuning::relative_queries)),
      coordinates_(queries.rows.count * form.width, stream),
      half_square_(queries.rows.count, stream),
      rest_(queries.rows.count, stream),
      no_error_(queries.rows.count, stream),
      coarse_(queries.rows.count, stream),
      loss_(queries.rows.count, stream),
      rows_(tuning::most_relative_entries, stream),
      keys_(tuning::most_relative_entries, stream),
      counts_(queries.rows.count, stream) {
    const ClusterView& view = clusters.view;
    const std::int64_t groups = (step_ + listed_queries - 1) / listed_queries, q = queries.rows.count,
                       d = metric.params.d;
    values_ = Buffer<float>(step_ * whole_tiles(view.count), stream);
    thresholds_ = Buffer<float>(groups * view.count * listed_queries, stream);
    flags_ = Buffer<std::uint8_t>(groups * view.count, stream);
    tiles_ = Buffer<std::uint32_t>(groups * clusters.relative->view.most_tiles, stream);
    tile_counts_ = Buffer<std::uint32_t>(groups, stream);
    listed_ = Buffer<std::uint32_t>(groups * view.count, stream);
    listed_counts_ = Buffer<std::uint32_t>(groups, stream);
    nearest_ = Buffer<std::uint32_t>(step_, stream);
    no_error_.clear_to(0);
    exact_ = {.coordinates = coordinates_.get(), .half_square = half_square_.get(), .rest = rest_.get(), .q = q};
    const std::int64_t some = std::clamp<std::int64_t>(tuning::most_relative_coordinates / d, 1, q);
    const Buffer<double> raw(some * d, stream);
    const FilterForm sampled = of_queries(sampled_form(form));
    for (std::int64_t first = 0; first < q; first += some) {
        const std::int64_t count = std::min(some, q - first);
        metric.kernels->sample(slice(queries, first, count), count, sampled, raw.get(), metric.params, stream);
        exact_queries(exact_, form, raw.get(), first, count, d, vectors, stream);
    }
}

const float* RelativePass::values(std::int64_t first) {
    const ClusterView& view = clusters_.view;
    if (valued_ != first)
        centre_values(view, static_cast<const __half*>(vectors_) + first * view.width,
                      std::min(step_, queries_.rows.count - first), FilterIsa::sm_90a, values_.get(), stream_);
    valued_ = first;
    return values_.get();
}

FilterLevels RelativePass::levels(FilterLevels levels, std::int64_t wanted) {
    if (levels.count == 2 && lowers(wanted)) {
        levels.sample[0] = std::min(levels.sample[0], tuning::relative_sample);
        levels.order[0] = sample_order(levels.order[1], levels.sample[0], levels.sample[1]);
    }
    return levels;
}

void RelativePass::lower(const CandidateLists& lists, std::int64_t wanted, const std::uint8_t* unfit) {
    const ClusterView& view = clusters_.view;
    for (std::int64_t first = 0; first < lists.q; first += step_) {
        const std::int64_t count = std::min(step_, lists.q - first);
        nearest_centres(values(first), whole_tiles(view.count), count, view.count, nearest_.get(), nullptr, stream_);
        near_thresholds(view, clusters_.relative->view, exact_,
                        {.first = first,
                         .count = count,
                         .nearest = nearest_.get(),
                         .error = lists.query_error,
                         .unfit = unfit,
                         .threshold = lists.threshold,
                         .loss = loss_.get()},
                        lowers(wanted) ? wanted : 0, stream_);
    }
}

void RelativePass::begin(const CandidateLists& lists, const std::uint8_t* unfit) {
    check(cudaMemcpyAsync(coarse_.get(), lists.threshold, static_cast<std::size_t>(lists.q) * sizeof(float),
                          cudaMemcpyDeviceToDevice, stream_),
          "cudaMemcpy");
    served_thresholds(exact_, coarse_.get(), lists.query_error, unfit, lists.threshold, stream_);
    refine(lists);
}

void RelativePass::refine(const CandidateLists& lists) {
    const std::int64_t step = std::min(lists.q, tuning::most_relative_entries / lists.capacity);
    for (std::int64_t first = 0; first < lists.q; first += step) {
        const CandidateLists some = lists.part(first, std::min(step, lists.q - first));
        entry_rows(some, form_, points_.rows.count, rows_.get(), counts_.get(), stream_);
        const RefineTask task{.queries = slice(queries_, first, some.q),
                              .points = points_,
                              .ids = rows_.get(),
                              .counts = counts_.get(),
                              .capacity = some.capacity,
                              .expected = some.capacity,
                              .keys = keys_.get()};
        metric_.kernels->refine(task, metric_.params, stream_);
        set_values(some, keys_.get(), counts_.get(), key_to_half_square(form_), stream_);
    }
}

void RelativePass::run(const FilterPass& all) {
    const ClusterView& view = clusters_.view;
    const RelativeView& relative = clusters_.relative->view;
    const RelativeLists lists{.tiles = tiles_.get(),
                              .tile_counts = tile_counts_.get(),
                              .clusters = listed_.get(),
                              .cluster_counts = listed_counts_.get(),
                              .thresholds = thresholds_.get()};
    for (std::int64_t first = 0; first < all.q; first += step_) {
        FilterPass pass = all;
        pass.q = std::min(step_, all.q - first);
        pass.queries = static_cast<const __half*>(vectors_) + first * view.width;
        pass.threshold = coarse_.get() + first;
        pass.counts += first;
        pass.candidates += first * pass.capacity;
        active_clusters(view,
                        {.vectors = pass.queries,
                         .threshold = pass.threshold,
                         .values = values(first),
                         .q = pass.q,
                         .ld = whole_tiles(view.count)},
                        flags_.get(), stream_);
        list_relative(view, relative, flags_.get(), (pass.q + listed_queries - 1) / listed_queries, lists, stream_);
        relative_thresholds(view, relative, form_, exact_, all.threshold, first, pass.q, lists, stream_);
        relative_pass_sm_90a(pass, view, relative, lists, stream_);
    }
}

void RelativePass::restore(float* threshold, const float* error) {
    unserved_thresholds(exact_, error, threshold, stream_);
}

}  // namespace kith::gpu
