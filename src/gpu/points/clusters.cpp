// Centres are rows of a sample; as many as find clusters whose number is a quarter of theirs. See
// clusters.h.
#include "gpu/points/clusters.h"
#include "gpu/filter/cluster_order.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "gpu/filter/tuning.h"
#include "gpu/points/prepare_filter.h"
#include "gpu/points/tuning.h"
#include "gpu/refine/cluster_keys.h"
#include "gpu/runtime/pinned_words.h"
#include "gpu/tree/order.h"

namespace kith::gpu {

namespace {

// Sizes, whole tiles all of them. Positions [0, centres) are the centres, [0, sampled) are in no
// cluster: searches take their thresholds from there. Behind the centres come `tried` points and
// `pilots` queries of the trial.
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
        tried = std::min<std::int64_t>(
            tiles(static_cast<double>(n) / tuning::expected_neighbours(n)), 1 << 14);
    }
    bool serve(std::int64_t n) const {
        return tried > 0 && centres + tried + pilots <= n && 2 * sampled <= n &&
               n <= most_listed_tiles * filter_tile_points;
    }
};

// Whether a filter's values say how far its rounded vectors are from each other.
bool can_cluster(const FilterForm& form) {
    return !form.is_direct() && form.terms == 1 && form.least == 0 &&
           form.width <= tuning::augmented_width;
}

class ClusterMaking {
public:
    ClusterMaking(const FilterVectors& filter, FilterIsa isa, cudaStream_t stream)
        : filter_(&filter), isa_(isa), stream_(stream) {}

    // Centres of the first rows, in the order of the nearest of every sixteenth of them: queries
    // and points that are near to different centres of one cluster lie near each other then.
    void take_centres(std::int64_t count) {
        const FilterForm& form = filter_->form;
        const std::int64_t few = std::max(count / 16, std::int64_t{1});
        Buffer<std::uint32_t> nearest(count, stream_);
        {
            const Buffer<float> half_square(whole_tiles(few), stream_),
                values(count * whole_tiles(few), stream_);
            half_squares(row(0), few, form.width, half_square.get(), stream_);
            const ClusterView firsts{.centres = row(0),
                                     .half_square = half_square.get(),
                                     .count = few,
                                     .width = form.width};
            centre_values(firsts, row(0), count, isa_, values.get(), stream_);
            nearest_centres(values.get(), whole_tiles(few), count, few, nearest.get(), nullptr,
                            stream_);
        }
        const Buffer<std::uint32_t> order =
            sorted_numbers(nearest, std::bit_width(static_cast<std::uint64_t>(few)), stream_);
        use_centres(order);
    }
    void use_centres(const Buffer<std::uint32_t>& order) {
        const FilterForm& form = filter_->form;
        const std::int64_t count = order.size();
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

    // Centres of the first rows that lie apart: none is near an earlier one of them, by what is
    // typical of `pilots` rows from `first` on and the row nearest to each. Synchronises.
    void take_centres_apart(std::int64_t count, std::int64_t first, std::int64_t pilots) {
        const FilterForm& form = filter_->form;
        const std::int64_t ld = whole_tiles(count), step = std::min(count, tuning::dense_queries);
        const Buffer<float> half_square(ld, stream_), own_square(whole_tiles(pilots), stream_),
            least(pilots, stream_), values(std::max(step, pilots) * ld, stream_);
        half_squares(row(0), count, form.width, half_square.get(), stream_);
        half_squares(row(first), pilots, form.width, own_square.get(), stream_);
        const ClusterView rows{.centres = row(0),
                               .half_square = half_square.get(),
                               .count = count,
                               .width = form.width};
        centre_values(rows, row(first), pilots, isa_, values.get(), stream_);
        nearest_centres(values.get(), ld, pilots, count, nullptr, least.get(), stream_);
        std::vector<float> apart2(static_cast<std::size_t>(pilots)), square(apart2.size());
        to_host(least, apart2);
        to_host(own_square, square);
        for (std::size_t i = 0; i < apart2.size(); ++i) apart2[i] = 2 * (apart2[i] + square[i]);
        const auto middle = apart2.begin() + pilots / 2;
        std::nth_element(apart2.begin(), middle, apart2.end());
        const float near2 = static_cast<float>(tuning::near_centres * tuning::near_centres) *
                            std::max(*middle, 0.0f);
        const Buffer<std::uint8_t> near(count, stream_);
        for (std::int64_t at = 0; at < count; at += step) {
            const std::int64_t some = std::min(step, count - at);
            centre_values(rows, row(at), some, isa_, values.get(), stream_);
            near_earlier(values.get(), ld, at, some, half_square.get(), near2, near.get() + at,
                         stream_);
        }
        std::vector<std::uint8_t> flags(static_cast<std::size_t>(count));
        to_host(near, flags);
        std::vector<std::uint32_t> kept;
        for (std::size_t i = 0; i < flags.size(); ++i)
            if (!flags[i]) kept.push_back(static_cast<std::uint32_t>(i));
        Buffer<std::uint32_t> order(std::ssize(kept), stream_);
        InFlight copy(stream_);
        check(cudaMemcpyAsync(order.get(), kept.data(), kept.size() * sizeof(kept[0]),
                              cudaMemcpyDefault, stream_),
              "cudaMemcpy");
        copy.wait("clusters");
        use_centres(order);
    }

    // Clusters of `count` points from `first` on, with their bounds: their numbers less `first`,
    // cluster by cluster.
    Buffer<std::uint32_t> divide(std::int64_t first, std::int64_t count) {
        return members(divided(first, count));
    }

    // The same of all points, with their rows. The clusters of the view are then of those from
    // `first` on.
    Buffer<std::uint32_t> divide_all(std::int64_t first, std::int64_t n) {
        const Buffer<std::uint32_t> clusters = divided(0, n), all = members(clusters);
        out_.row_begin = std::move(out_.begin);
        std::vector<std::uint32_t> begin(static_cast<std::size_t>(out_.row_begin.size()));
        to_host(out_.row_begin, begin);
        for (std::size_t c = 1; c < begin.size(); ++c)
            out_.largest = std::max<std::int64_t>(out_.largest, begin[c] - begin[c - 1]);
        out_.rows = Buffer<std::uint32_t>(n, stream_);
        ordered_rows(all.get(), 0, n, filter_->form.stride, out_.rows.get(), stream_);
        const Buffer<std::uint32_t> later(n - first, stream_);
        check(cudaMemcpyAsync(later.get(), clusters.get() + first,
                              static_cast<std::size_t>(later.size()) * sizeof(std::uint32_t),
                              cudaMemcpyDefault, stream_),
              "cudaMemcpy");
        ClusterView& view = out_.view;
        view.first = first;
        out_.begin = Buffer<std::uint32_t>(view.count + 1, stream_);
        view.begin = out_.begin.get();
        cluster_begins(later.get(), n - first, view.count, out_.begin.get(), stream_);
        return sorted(later);
    }
    void forget_rows() { out_.rows = {}; }
    std::int64_t largest() const { return out_.largest; }
    std::int64_t centres() const { return out_.view.count; }

    // The nearest centres of `count` points from `first` on.
    Buffer<std::uint32_t> divided(std::int64_t first, std::int64_t count) {
        ClusterView& view = out_.view;
        view.first = first;
        const std::int64_t step = std::min(count, tuning::dense_queries);
        Buffer<std::uint32_t> clusters(count, stream_);
        {
            const Buffer<float> values(step * whole_tiles(view.count), stream_);
            for (std::int64_t at = 0; at < count; at += step) {
                const std::int64_t some = std::min(step, count - at);
                centre_values(view, row(first + at), some, isa_, values.get(), stream_);
                nearest_centres(values.get(), whole_tiles(view.count), some, view.count,
                                clusters.get() + at, nullptr, stream_);
            }
        }
        return clusters;
    }

    // Of `count` points from `first` on, which have been divided, what `pilots` queries behind them
    // must be compared with, if the nearest of those points is what their thresholds will be: the
    // share of the points, and of the pilots those to which no more than one cluster is left; and
    // how many of the points, in the mean, their values cannot tell from the nearest. Synchronises.
    struct Share {
        double active, alone, near;
    };
    Share share(std::int64_t first, std::int64_t count, std::int64_t pilots) {
        const ClusterView& view = out_.view;
        const void* const queries = row(first + count);
        Buffer<float> values(pilots * whole_tiles(std::max(count, view.count)), stream_),
            thresholds(pilots, stream_);
        FilterPass among;
        among.queries = queries;
        among.points = row(first);
        among.half_norm = filter_->half_norm.get() + first;
        among.q = pilots;
        among.n = among.count = count;
        among.width = view.width;
        among.all = values.get();
        among.ld = whole_tiles(count);
        filter_pass(among, isa_, stream_);
        nearest_centres(values.get(), among.ld, pilots, count, nullptr, thresholds.get(), stream_);
        Buffer<unsigned long long> total(3, stream_);
        total.clear_to(0);
        count_near(values.get(), among.ld, pilots, count, thresholds.get(),
                   filter_->point_error.get() + first + count, total.get() + 2, stream_);
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
        count_active(view, flags.get(), pilots, total.get(), stream_);
        PinnedWords words;
        words.fetch(total.get(), 3, stream_);
        const unsigned long long* const seen = words.wait("clusters");
        const auto all = static_cast<double>(pilots);
        return {static_cast<double>(seen[0]) / (all * static_cast<double>(count)),
                static_cast<double>(seen[1]) / all, static_cast<double>(seen[2]) / all};
    }

    Clusters take() { return std::move(out_); }

private:
    template <class T>
    void to_host(const Buffer<T>& from, std::vector<T>& to) const {
        InFlight copy(stream_);
        check(cudaMemcpyAsync(to.data(), from.get(), to.size() * sizeof(T), cudaMemcpyDefault,
                              stream_),
              "cudaMemcpy");
        copy.wait("clusters");
    }
    Buffer<std::uint32_t> sorted(const Buffer<std::uint32_t>& clusters) const {
        return sorted_numbers(clusters, std::bit_width(static_cast<std::uint64_t>(out_.view.count)),
                              stream_);
    }
    // Of points that have been divided, from view.first on: begins, bounds, and their numbers
    // cluster by cluster.
    Buffer<std::uint32_t> members(const Buffer<std::uint32_t>& clusters) {
        const ClusterView& view = out_.view;
        cluster_begins(clusters.get(), clusters.size(), view.count, out_.begin.get(), stream_);
        Buffer<std::uint32_t> out = sorted(clusters);
        bound_clusters(view, filter_->vectors.get(), filter_->half_norm.get(), out.get(),
                       out_.bounds.get(), stream_);
        return out;
    }
    const void* row(std::int64_t position) const {
        return filter_->vectors.get() + vector_bytes(filter_->form, position);
    }

    const FilterVectors* filter_;
    FilterIsa isa_;
    cudaStream_t stream_;
    Clusters out_;
};

// Clusters around few rows that lie apart, where a sample says that nearly every query has
// candidates in one of them alone, of which the filter would leave much.
std::optional<ClusterMaking> apart_clusters(const DeviceMetric& metric, const FilterVectors& filter,
                                            FilterIsa isa, const Sizes& sizes, std::int64_t n,
                                            cudaStream_t stream) {
    const std::int64_t rows = std::min(2 * sizes.centres, tuning::most_centres),
                       pilots = rows + sizes.tried;
    if (!has_cluster_keys(metric.spec.id, metric.params.d) || pilots + sizes.pilots > n)
        return std::nullopt;
    ClusterMaking making(filter, isa, stream);
    making.take_centres_apart(rows, pilots, sizes.pilots);
    if (making.centres() > sizes.centres) return std::nullopt;
    making.divide(rows, sizes.tried);
    const auto [active, alone, near] = making.share(rows, sizes.tried, sizes.pilots);
    if (active > tuning::most_active_share || alone < tuning::least_alone) return std::nullopt;
    const double ratio = static_cast<double>(n) / static_cast<double>(sizes.tried);
    if (active * static_cast<double>(n) > tuning::most_compared(near * ratio)) return std::nullopt;
    return making;
}

}  // namespace

std::optional<Clusters> find_clusters(const DeviceRows& points, const DeviceMetric& metric,
                                      FilterVectors& filter, FilterIsa isa, bool always,
                                      cudaStream_t stream) {
    const std::int64_t n = points.rows.count;
    const Sizes sizes(n);
    if (isa != FilterIsa::sm_90a || !can_cluster(filter.form) || !sizes.serve(n))
        return std::nullopt;
    ClusterMaking making(filter, isa, stream);
    making.take_centres(sizes.centres);
    if (!always) {
        making.divide(sizes.centres, sizes.tried);
        if (making.share(sizes.centres, sizes.tried, sizes.pilots).active >
            tuning::most_active_share)
            return std::nullopt;
    }
    Buffer<std::uint32_t> members;
    if (auto apart = apart_clusters(metric, filter, isa, sizes, n, stream)) {
        making = std::move(*apart);
        members = making.divide_all(sizes.sampled, n);
        if (making.largest() * tuning::least_clusters > n) making.forget_rows();
    } else {
        members = making.divide(sizes.sampled, n - sizes.sampled);
    }
    filter.order = Buffer<std::uint32_t>(n, stream);
    ordered_rows(members.get(), sizes.sampled, n, filter.form.stride, filter.order.get(), stream);
    filter.form.order = filter.order.get();
    fill_filter(points, metric, filter, stream);
    return making.take();
}

}  // namespace kith::gpu
