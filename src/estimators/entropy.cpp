// The differential entropy of a sample (Kozachenko and Leonenko 1987).
#include <cmath>

#include "api/guard.h"
#include "api/request.h"
#include "estimators/bootstrap.h"
#include "estimators/sample.h"
#include "estimators/terms.h"
#include "exact/refuse.h"

namespace kith {

namespace {

using namespace estimators;

// std::lgamma keeps a sign for the whole process.
double log_gamma(double x) {
    int sign = 0;
    return lgamma_r(x, &sign);
}

// The logarithm of the volume of the unit ball of d dimensions.
double log_ball_volume(const Metric& metric, std::int64_t dimensions) {
    const double d = static_cast<double>(dimensions);
    double p = 0;
    switch (metric.id) {
        case MetricId::euclidean:
            p = 2;
            break;
        case MetricId::cityblock:
            p = 1;
            break;
        case MetricId::chebyshev:
            return d * std::log(2.0);
        case MetricId::minkowski:
            p = metric.p;
            break;
        default:
            refuse("metric: '{}'; entropy expected euclidean, cityblock, chebyshev or minkowski",
                   name(metric.id));
    }
    if (std::isinf(p)) return d * std::log(2.0);
    return d * (std::log(2.0) + log_gamma(1 + 1 / p)) - log_gamma(1 + d / p);
}

Estimate entropy_of(const Sample& sample, std::int64_t k, const Options& search_as,
                    double constant) {
    const Neighbors near = graph(sample.view(), k, search_as);
    std::vector<double> terms;
    terms.reserve(static_cast<std::size_t>(sample.n));
    std::int64_t left_out = 0;
    for (std::int64_t i = 0; i < sample.n; ++i) {
        const auto at = static_cast<std::size_t>((i + 1) * k - 1);
        const double e = near.distances64[at];
        if (e > 0 && std::isfinite(e)) {
            terms.push_back(static_cast<double>(sample.d) * std::log(e));
            continue;
        }
        require_equal(sample, i, sample, near.ids[at], e);
        ++left_out;
    }
    return mean_of(terms, digamma(sample.n) - digamma(k) + constant, left_out);
}

}  // namespace

Estimate entropy(const MatrixView& x, std::int64_t k, const Options& options,
                 const Bootstrap& bootstrap) {
    return api::guarded([&] {
        const Options search_as = search_options(options);
        const int threads = api::threads_of(options);
        const double volume = log_ball_volume(search_as.metric, x.cols);
        Sample sample = sample_of(x, "x", threads);
        const int exponent = scale_together({&sample}, threads);
        check_k(k, sample.n - 1, "fewer than the samples");
        const Bootstrap as = checked(bootstrap, {sample.n}, k);
        const double constant = volume - static_cast<double>(sample.d) * exponent * std::log(2.0);
        return with_error(entropy_of(sample, k, search_as, constant), {sample.n}, as, search_as,
                          [&](const Rows& rows, const Options& of_part) {
                              return entropy_of(rows_of(sample, rows[0], threads), k, of_part,
                                                constant);
                          });
    });
}

}  // namespace kith
