// Centres are rows of a sample; as many as find clusters whose number is a quarter of theirs. See clusters.h.
#include "gpu/points/clusters.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "gpu/filter/tuning.h"
#include "gpu/points/prepare_filter.h"
#include "gpu/points/tuning.h"
#include "gpu/tree/order.h"

namespace kith::gpu {

namespace {

// Sizes, whole tiles all of them. Positions [0, centres) are the centres, [0, sampled) are in no cluster: searches take
// their thresholds from there. Behind the centres come `tried` points and `pilots` queries of the trial.
struct Sizes {
    std::int64_t centres, sampled, tried, pilots = listed_queries;
    explicit Sizes(std::int64_t n) {
        const double root = std::sqrt(static_cast<double>(n));
        const auto tiles = [](double x) {
            return static_cast<std::int64_t>(x) / filter_tile_points * filter_tile_points;
        };
        centres = tuning::centres_of(n);
        // The second of the levels of samples, of most searches (filter_levels).
        sampled = std::max(tiles(64 * root), centres);
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

class ClusterMaking {
public:
    ClusterMaking(const FilterVectors& filter, FilterIsa isa, cudaStream_t stream)
        : filter_(filter), isa_(isa), stream_(stream) {}

    // Centres of the first rows, in the order of the nearest of every sixteenth of them: queries and points that are
    // near to different centres of one cluster lie near each other then.
    void take_centres(std::int64_t count) {
        const FilterForm& form = filter_.form;
        const std::int64_t few = std::max(count / 16, std::int64_t{1});
        Buffer<std::uint32_t> nearest(count, stream_);
        {
            const Buffer<float> half_square(whole_tiles(few), stream_), values(count * whole_tiles(few), stream_);
            half_squares(row(0), few, form.width, half_square.get(), stream_);
            const ClusterView firsts{
                .centres = row(0), .half_square = half_square.get(), .count = few, .width = form.width};
            centre_values(firsts, row(0), count, isa_, values.get(), stream_);
            nearest_centres(values.get(), whole_tiles(few), count, few, nearest.get(), nullptr, stream_);
        }
        const Buffer<std::uint32_t> order =
            sorted_numbers(nearest, std::bit_width(static_cast<std::uint64_t>(few)), stream_);
        out_.centres = Buffer<char>(vector_bytes(form, count), stream_);
        out_.half_square = Buffer<float>(whole_tiles(count), stream_);
        out_.bounds = Buffer<ClusterBound>(count, stream_);
        out_.begin = Buffer<std::uint32_t>(count + 1, stream_);
        permute_vectors(row(0), order.get(), count, form.width, out_.centres.get(), stream_);
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
    making.take_centres(sizes.centres);
    if (!always) {
        making.divide(sizes.centres, sizes.tried);
        if (making.share(sizes.centres, sizes.tried, sizes.pilots) > tuning::most_active_share) return std::nullopt;
    }
    const Buffer<std::uint32_t> members = making.divide(sizes.sampled, n - sizes.sampled);
    filter.order = Buffer<std::uint32_t>(n, stream);
    ordered_rows(members.get(), sizes.sampled, n, filter.form.stride, filter.order.get(), stream);
    filter.form.order = filter.order.get();
    fill_filter(points, metric, filter, stream);
    return making.take();
}

}  // namespace kith::gpu
