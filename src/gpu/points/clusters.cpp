// Centres are rows of a sample, as many as find clusters whose number is a quarter of theirs, and what these miss. See
// clusters.h.
#include "gpu/points/clusters.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "gpu/filter/tuning.h"
#include "gpu/metric/prepared_rows.h"
#include "gpu/points/prepare_filter.h"
#include "gpu/points/tuning.h"
#include "gpu/tree/order.h"

namespace kith::gpu {

namespace {

// Sizes, whole tiles all of them. Centres are of positions [0, among); [0, sampled) are in no cluster: searches take
// their thresholds from there. `tried` points and `pilots` queries of the trial begin at position `centres`.
struct Sizes {
    std::int64_t centres, among, sampled, tried, pilots = listed_queries;
    explicit Sizes(std::int64_t n) {
        const double root = std::sqrt(static_cast<double>(n));
        const auto tiles = [](double x) {
            return static_cast<std::int64_t>(x) / filter_tile_points * filter_tile_points;
        };
        centres = tuning::centres_of(n);
        // The second of the levels of samples, of most searches (filter_levels).
        sampled = std::max(tiles(64 * root), centres);
        among = std::min(3 * centres, sampled);
        tried = std::min<std::int64_t>(tiles(static_cast<double>(n) / tuning::expected_neighbours), 1 << 14);
    }
    bool serve(std::int64_t n) const {
        return tried > 0 && centres + tried + pilots <= n && 2 * sampled <= n &&
               n <= most_listed_tiles * filter_tile_points;
    }
};

// Whether a filter's values say how far its rounded vectors are from each other.
bool can_cluster(const FilterForm& form) {
    return !form.is_direct() && form.terms == 1 && form.least == 0 && form.width <= tuning::augmented_width;
}

// Whether half of a squared distance of a form's vectors is what orders the points.
bool can_be_relative(const FilterForm& form, const DeviceMetric& metric) {
    return metric.kernels && form.gemm == metric::Gemm::l2 && !metric.kernels->traits.factored;
}

// Coordinates in binary64 that are held at a time.
constexpr std::int64_t most_coordinates = 1 << 22;

RelativeVectors relative_vectors(const DeviceRows& points, const DeviceMetric& metric, const FilterVectors& filter,
                                 const ClusterView& clusters, cudaStream_t stream) {
    const FilterForm& form = filter.form;
    const std::int64_t n = points.rows.count, own = n - clusters.first, d = metric.params.d;
    RelativeVectors out;
    out.view.most_tiles = most_relative_tiles(own, clusters.count);
    out.vectors = Buffer<char>(vector_bytes(form, own + filter_tile_points), stream);
    out.half_norm = Buffer<float>(out.view.most_tiles * filter_tile_points, stream);
    out.tiles = Buffer<RelativeTile>(out.view.most_tiles, stream);
    out.tile_begin = Buffer<std::uint32_t>(clusters.count + 1, stream);
    out.bounds = Buffer<RelativeBound>(clusters.count, stream);
    out.no_error = Buffer<float>(whole_tiles(n), stream);
    out.no_error.clear_to(0);
    out.view.vectors = out.vectors.get();
    out.view.half_norm = out.half_norm.get();
    out.view.tiles = out.tiles.get();
    out.view.tile_begin = out.tile_begin.get();
    out.view.bounds = out.bounds.get();
    const Buffer<std::uint32_t> position(n, stream);
    const std::int64_t step = std::clamp<std::int64_t>(most_coordinates / d, 1, n);
    const Buffer<double> coordinates(step * d, stream);
    row_positions(form, n, position.get(), stream);
    relative_tiles(clusters, out.view, own, stream);
    const FilterForm sampled = sampled_form(form);
    for (std::int64_t first = 0; first < n; first += step) {
        const std::int64_t count = std::min(step, n - first);
        metric.kernels->sample(points.prepared(first, count), count, sampled, coordinates.get(), metric.params, stream);
        relative_points(clusters, out.view, form,
                        {.coordinates = coordinates.get(),
                         .position = position.get() + first,
                         .half_norm = filter.half_norm.get(),
                         .count = count,
                         .d = d},
                        stream);
    }
    return out;
}

class ClusterMaking {
public:
    ClusterMaking(const FilterVectors& filter, FilterIsa isa, cudaStream_t stream)
        : filter_(filter), isa_(isa), stream_(stream) {}

    // `count` of the first `among` rows as centres, in the order of the nearest of every sixteenth of them: queries and
    // points that are near to different centres of one cluster lie near each other then.
    void take_centres(std::int64_t count, std::int64_t among) {
        const FilterForm& form = filter_.form;
        const std::int64_t few = std::max(count / 16, std::int64_t{1});
        const Buffer<char> chosen = choose(count, among);
        const Buffer<std::uint32_t> nearest = nearest_of(chosen.get(), few, chosen.get(), count, nullptr);
        const Buffer<std::uint32_t> order =
            sorted_numbers(nearest, std::bit_width(static_cast<std::uint64_t>(few)), stream_);
        out_.centres = Buffer<char>(vector_bytes(form, count), stream_);
        out_.half_square = Buffer<float>(whole_tiles(count), stream_);
        out_.bounds = Buffer<ClusterBound>(count, stream_);
        out_.begin = Buffer<std::uint32_t>(count + 1, stream_);
        permute_vectors(chosen.get(), order.get(), count, form.width, out_.centres.get(), stream_);
        half_squares(out_.centres.get(), count, form.width, out_.half_square.get(), stream_);
        out_.view = {.centres = out_.centres.get(),
                     .half_square = out_.half_square.get(),
                     .bounds = out_.bounds.get(),
                     .begin = out_.begin.get(),
                     .count = count,
                     .width = form.width,
                     .gamma = form.gamma};
    }

    // Clusters of `count` points from `first` on, with their bounds: their numbers less `first`, cluster by cluster.
    Buffer<std::uint32_t> divide(std::int64_t first, std::int64_t count) {
        ClusterView& view = out_.view;
        view.first = first;
        const std::int64_t step = std::min(count, tuning::dense_queries);
        Buffer<std::uint32_t> clusters(count, stream_);
        {
            const Buffer<float> values(step * whole_tiles(view.count), stream_);
            for (std::int64_t at = 0; at < count; at += step) {
                const std::int64_t some = std::min(step, count - at);
                centre_values(view, row(first + at), some, isa_, values.get(), stream_);
                nearest_centres(values.get(), whole_tiles(view.count), some, view.count, clusters.get() + at, nullptr,
                                stream_);
            }
        }
        cluster_begins(clusters.get(), count, view.count, out_.begin.get(), stream_);
        Buffer<std::uint32_t> members =
            sorted_numbers(clusters, std::bit_width(static_cast<std::uint64_t>(view.count)), stream_);
        bound_clusters(view, filter_.vectors.get(), filter_.half_norm.get(), members.get(), out_.bounds.get(), stream_);
        return members;
    }

    // The share of `count` points from `first` on, which have been divided, that `pilots` queries behind them must be
    // compared with, if the nearest of those points is what their thresholds will be. Synchronises.
    double share(std::int64_t first, std::int64_t count, std::int64_t pilots) {
        const ClusterView& view = out_.view;
        const void* const queries = row(first + count);
        Buffer<float> values(pilots * whole_tiles(std::max(count, view.count)), stream_), thresholds(pilots, stream_);
        FilterPass among;
        among.queries = queries;
        among.points = row(first);
        among.half_norm = filter_.half_norm.get() + first;
        among.q = pilots;
        among.n = among.count = count;
        among.width = view.width;
        among.all = values.get();
        among.ld = whole_tiles(count);
        filter_pass(among, isa_, stream_);
        nearest_centres(values.get(), among.ld, pilots, count, nullptr, thresholds.get(), stream_);
        centre_values(view, queries, pilots, isa_, values.get(), stream_);
        // Each pilot for itself.
        Buffer<std::uint8_t> flags(pilots * view.count, stream_);
        active_clusters(view,
                        {.vectors = queries,
                         .threshold = thresholds.get(),
                         .values = values.get(),
                         .q = pilots,
                         .ld = whole_tiles(view.count),
                         .group = 1},
                        flags.get(), stream_);
        Buffer<unsigned long long> total(1, stream_);
        count_active(view, flags.get(), pilots, total.get(), stream_);
        PinnedWords words;
        words.fetch(total.get(), 1, stream_);
        return static_cast<double>(words.wait("clusters")[0]) / static_cast<double>(pilots * count);
    }

    Clusters take() { return std::move(out_); }

private:
    // The nearest of `count` vectors for each of `rows` others, and how near.
    Buffer<std::uint32_t> nearest_of(const void* vectors, std::int64_t count, const void* others, std::int64_t rows,
                                     float* least) {
        const std::int64_t width = filter_.form.width, step = std::min(rows, tuning::dense_queries);
        Buffer<std::uint32_t> nearest(rows, stream_);
        const Buffer<float> half_square(whole_tiles(count), stream_), values(step * whole_tiles(count), stream_);
        half_squares(vectors, count, width, half_square.get(), stream_);
        const ClusterView view{.centres = vectors, .half_square = half_square.get(), .count = count, .width = width};
        for (std::int64_t first = 0; first < rows; first += step) {
            const std::int64_t some = std::min(step, rows - first);
            centre_values(view, static_cast<const char*>(others) + vector_bytes(filter_.form, first), some, isa_,
                          values.get(), stream_);
            nearest_centres(values.get(), whole_tiles(count), some, count, nearest.get() + first,
                            least ? least + first : nullptr, stream_);
        }
        return nearest;
    }
    // Vectors of the first rows, and an eighth of those of the others that are farthest from all of these: a cluster of
    // the points without a centre would be part of one around another's, which is wide then.
    Buffer<char> choose(std::int64_t count, std::int64_t among) {
        const FilterForm& form = filter_.form;
        const std::int64_t firsts = count - count / 8, others = among - firsts;
        Buffer<char> chosen(vector_bytes(form, count), stream_);
        const Buffer<float> half_square(whole_tiles(others), stream_), least(others, stream_);
        nearest_of(row(0), firsts, row(firsts), others, least.get());
        half_squares(row(firsts), others, form.width, half_square.get(), stream_);
        Buffer<std::uint32_t> keys(others, stream_);
        far_keys(least.get(), half_square.get(), others, keys.get(), stream_);
        const Buffer<std::uint32_t> order = sorted_numbers(keys, 32, stream_);
        check(cudaMemcpyAsync(chosen.get(), row(0), static_cast<std::size_t>(vector_bytes(form, firsts)),
                              cudaMemcpyDeviceToDevice, stream_),
              "cudaMemcpy");
        permute_vectors(row(firsts), order.get(), count - firsts, form.width, chosen.get() + vector_bytes(form, firsts),
                        stream_);
        return chosen;
    }
    const void* row(std::int64_t position) const {
        return filter_.vectors.get() + vector_bytes(filter_.form, position);
    }

    const FilterVectors& filter_;
    FilterIsa isa_;
    cudaStream_t stream_;
    Clusters out_;
};

}  // namespace

std::optional<Clusters> find_clusters(const DeviceRows& points, const DeviceMetric& metric, FilterVectors& filter,
                                      FilterIsa isa, bool always, cudaStream_t stream) {
    const std::int64_t n = points.rows.count;
    const Sizes sizes(n);
    if (isa != FilterIsa::sm_90a || !can_cluster(filter.form) || !sizes.serve(n)) return std::nullopt;
    ClusterMaking making(filter, isa, stream);
    making.take_centres(sizes.centres, sizes.among);
    if (!always) {
        making.divide(sizes.centres, sizes.tried);
        if (making.share(sizes.centres, sizes.tried, sizes.pilots) > tuning::most_active_share) return std::nullopt;
    }
    const Buffer<std::uint32_t> members = making.divide(sizes.sampled, n - sizes.sampled);
    filter.order = Buffer<std::uint32_t>(n, stream);
    ordered_rows(members.get(), sizes.sampled, n, filter.form.stride, filter.order.get(), stream);
    filter.form.order = filter.order.get();
    fill_filter(points, metric, filter, stream);
    Clusters out = making.take();
    if (!can_be_relative(filter.form, metric)) return out;
    try {
        out.relative = relative_vectors(points, metric, filter, out.view, stream);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::out_of_memory) throw;
    }
    return out;
}

}  // namespace kith::gpu
