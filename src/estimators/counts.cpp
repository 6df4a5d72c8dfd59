// See counts.h.
#include "estimators/counts.h"

#include <algorithm>
#include <bit>

#include "api/radius/radius.h"
#include "api/request.h"
#include "estimators/parallel.h"
#include "exact/report/watched.h"
#include "kith/radius.h"

namespace kith::estimators {

namespace {

// In one dimension the samples within a radius are contiguous in sorted order: two binary searches
// per sample. fl(v - u) is monotone in v, so the values within a rounded difference form a range.
std::vector<std::int64_t> counts_in_line(const Sample& sample, const std::vector<double>& radii,
                                         bool open, const Options& options) {
    const int threads = api::threads_of(options);
    std::vector<double> sorted = sample.values;
    sort_parallel(threads, sorted);
    std::vector<std::int64_t> counts(radii.size());
    ProgressMeter progress(options.progress, static_cast<double>(sample.n));
    watched_for(threads, sample.n, rows_per_range, progress, "count",
                [&](std::int64_t first, std::int64_t last) {
                    for (std::int64_t i = first; i < last; ++i) {
                        const double at = sample.values[static_cast<std::size_t>(i)],
                                     r = radii[static_cast<std::size_t>(i)];
                        const auto outside = [&](double distance) {
                            return open ? distance >= r : distance > r;
                        };
                        const auto from = std::partition_point(
                            sorted.begin(), sorted.end(),
                            [&](double v) { return v < at && outside(at - v); });
                        const auto to = std::partition_point(from, sorted.end(), [&](double v) {
                            return v <= at || !outside(v - at);
                        });
                        // Excludes the sample itself, which an open range of radius 0 does not
                        // contain.
                        counts[static_cast<std::size_t>(i)] =
                            open && r == 0 ? 0 : static_cast<std::int64_t>(to - from) - 1;
                    }
                    progress.add(static_cast<double>(last - first));
                });
    progress.throw_if_cancelled();
    return counts;
}

// Equal rows have equal hashes (there is no -0).
std::uint64_t hash_of(const double* row, std::int64_t d) {
    std::uint64_t hash = 0;
    for (std::int64_t c = 0; c < d; ++c) {
        hash = (hash ^ std::bit_cast<std::uint64_t>(row[c])) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 29;
    }
    return hash;
}

}  // namespace

std::vector<std::int64_t> equal_counts(const Sample& sample, int threads) {
    struct Hashed {
        std::uint64_t hash;
        std::int64_t row;
    };
    std::vector<Hashed> order(static_cast<std::size_t>(sample.n));
    for_ranges(threads, sample.n, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i)
            order[static_cast<std::size_t>(i)] = {hash_of(sample.row(i), sample.d), i};
    });
    sort_parallel(threads, order, [&](const Hashed& a, const Hashed& b) {
        if (a.hash != b.hash) return a.hash < b.hash;
        const double *u = sample.row(a.row), *v = sample.row(b.row);
        return std::lexicographical_compare(u, u + sample.d, v, v + sample.d);
    });
    const auto equal = [&](const Hashed& a, const Hashed& b) {
        const double* const u = sample.row(a.row);
        return a.hash == b.hash && std::equal(u, u + sample.d, sample.row(b.row));
    };
    std::vector<std::int64_t> counts(order.size());
    for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
        while (last < order.size() && equal(order[first], order[last])) ++last;
        for (std::size_t i = first; i < last; ++i)
            counts[static_cast<std::size_t>(order[i].row)] =
                static_cast<std::int64_t>(last - first) - 1;
    }
    return counts;
}

std::vector<std::int64_t> counts_within(const Sample& sample, const std::vector<double>& radii,
                                        bool open, const Options& options) {
    if (sample.d == 1) return counts_in_line(sample, radii, open, options);
    std::vector<std::int64_t> rows;
    std::vector<double> asked_radii;
    for (std::size_t i = 0; i < radii.size(); ++i) {
        if (radii[i] == 0) continue;
        rows.push_back(static_cast<std::int64_t>(i));
        asked_radii.push_back(radii[i]);
    }
    const auto within = [&](const std::vector<double>& each) {
        Radius r(kith::view(each.data(), static_cast<std::int64_t>(each.size()), 1));
        r.open = open;
        return r;
    };
    if (rows.size() == radii.size())
        return radius_graph_counts(sample.view(), within(radii), api::for_radius(options)).counts;
    const int threads = api::threads_of(options);
    std::vector<std::int64_t> counts(radii.size());
    if (!open) counts = equal_counts(sample, threads);
    if (rows.empty()) return counts;
    const Sample asked = rows_of(sample, rows, threads);
    const std::vector<std::int64_t> found =
        radius_counts(sample.view(), asked.view(), within(asked_radii), api::for_radius(options))
            .counts;
    for (std::size_t i = 0; i < rows.size(); ++i)
        counts[static_cast<std::size_t>(rows[i])] = found[i] - 1;  // excludes the sample itself
    return counts;
}

}  // namespace kith::estimators
