// The Kullback-Leibler divergence of two samples.
#include "estimators/divergence.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "api/guard.h"
#include "api/request.h"
#include "estimators/bootstrap.h"
#include "estimators/sample.h"
#include "estimators/terms.h"
#include "exact/refuse.h"
#include "kith/radius.h"

namespace kith {

namespace estimators {

// A ball's radius has to stretch with the coordinates.
void check_divergence_metric(const Metric& metric) {
    switch (metric.id) {
        case MetricId::euclidean:
        case MetricId::cityblock:
        case MetricId::chebyshev:
        case MetricId::minkowski:
            return;
        case MetricId::seuclidean:
            if (metric.variances.data) return;
            refuse("metric: 'seuclidean' of two samples; expected its variances");
        case MetricId::mahalanobis:
            if (metric.inverse_covariance.data) return;
            refuse("metric: 'mahalanobis' of two samples; expected its inverse covariance");
        default:
            refuse(
                "metric: '{}'; expected euclidean, cityblock, chebyshev, minkowski, seuclidean or "
                "mahalanobis",
                name(metric.id));
    }
}

namespace {

// Of each sample what lies within its ball: how many, and how far the last is.
struct Within {
    std::vector<std::int64_t> counts;
    std::vector<double> last;
    void take(const RadiusRows& rows) {
        for (std::int64_t i = 0; i < rows.count; ++i) {
            counts.push_back(rows.offsets[i + 1] - rows.offsets[i]);
            last.push_back(counts.back() > 0 ? rows.distances64[rows.offsets[i + 1] - 1] : 0);
        }
    }
};

}  // namespace

KthNeighbors kth_of(const Neighbors& neighbors) {
    const auto k = static_cast<std::size_t>(neighbors.k);
    KthNeighbors out;
    for (std::size_t at = k - 1; at < neighbors.ids.size(); at += k) {
        out.ids.push_back(neighbors.ids[at]);
        out.distances.push_back(neighbors.distances64[at]);
    }
    return out;
}

Estimate divergence_of(const Sample& p, const KthNeighbors& in_own, const Sample& q, std::int64_t k,
                       DivergenceForm form, const Options& search_as) {
    const KthNeighbors in_other = kth_of(search(q.view(), p.view(), k, search_as));
    const std::vector<double>&own = in_own.distances, &other = in_other.distances;
    const auto n = static_cast<std::size_t>(p.n);
    std::vector<double> radii(n);
    for (std::size_t i = 0; i < n; ++i) radii[i] = std::max(own[i], other[i]);
    Within of_own, of_other;
    const Radius r(kith::view(radii.data(), p.n, 1));
    if (form == DivergenceForm::common_ball) {
        of_own.counts = radius_graph_counts(p.view(), r, search_as).counts;
        of_other.counts = radius_counts(q.view(), p.view(), r, search_as).counts;
    } else if (form == DivergenceForm::common_ball_distances) {
        radius_graph_blocks(p.view(), r, search_as,
                            [&](const RadiusRows& rows) { of_own.take(rows); });
        radius_blocks(q.view(), p.view(), r, search_as,
                      [&](const RadiusRows& rows) { of_other.take(rows); });
    }
    const double d = static_cast<double>(p.d);
    std::vector<double> terms;
    terms.reserve(n);
    std::int64_t left_out = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const auto usable = [](double distance) { return distance > 0 && std::isfinite(distance); };
        if (!usable(own[i]) || !usable(other[i])) {
            const auto row = static_cast<std::int64_t>(i);
            if (!usable(own[i])) require_equal(p, row, p, in_own.ids[i], own[i]);
            if (!usable(other[i])) require_equal(p, row, q, in_other.ids[i], other[i]);
            ++left_out;
            continue;
        }
        double term = 0;
        if (form == DivergenceForm::nearest) term = d * std::log(other[i] / own[i]);
        else term = digamma(of_own.counts[i]) - digamma(of_other.counts[i]);
        if (form == DivergenceForm::common_ball_distances)
            term += d * std::log(of_other.last[i] / of_own.last[i]);
        terms.push_back(term);
    }
    Estimate out =
        mean_of(terms, std::log(static_cast<double>(q.n) / static_cast<double>(p.n - 1)), left_out);
    if (terms.empty() &&
        std::all_of(other.begin(), other.end(), [](double distance) { return distance == 0; }))
        out.value = -std::numeric_limits<double>::infinity();
    return out;
}

}  // namespace estimators

Estimate kl_divergence(const MatrixView& x, const MatrixView& y, std::int64_t k,
                       DivergenceForm form, const Options& options, const Bootstrap& bootstrap) {
    using namespace estimators;
    return api::guarded([&] {
        const Options search_as = search_options(options);
        const int threads = api::threads_of(options);
        check_divergence_metric(search_as.metric);
        Sample p = sample_of(x, "x", threads), q = sample_of(y, "y", threads);
        if (q.d != p.d) refuse("y: {} columns; expected {}, as x has", q.d, p.d);
        check_k(k, std::min(p.n - 1, q.n), "fewer than the samples of x, no more than those of y");
        const Bootstrap as = checked(bootstrap, {p.n, q.n}, k);
        scale_together({&p, &q}, threads);
        const auto estimate = [&](const Sample& own, const Sample& other, const Options& as_asked) {
            return divergence_of(own, kth_of(graph(own.view(), k, as_asked)), other, k, form,
                                 as_asked);
        };
        return with_error(estimate(p, q, search_as), {p.n, q.n}, as, search_as,
                          [&](const Rows& rows, const Options& of_part) {
                              return estimate(rows_of(p, rows[0], threads),
                                              rows_of(q, rows[1], threads), of_part);
                          });
    });
}

}  // namespace kith
